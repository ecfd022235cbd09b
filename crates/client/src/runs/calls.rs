//! The operations on agents, runs and threads (wire.md 4, D.8). Requests carry an `Idempotency-Key` and are retried
//! on transient failures.
//! Must not know: the transport of calls.

use bytes::Bytes;
use http::Method;
use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{Chat, Descriptor, RunEvent, RunReceipt, RunReport, Thread};
use crate::{
    Client, Error, IdempotencyKey, RawReply, Reply, Result,
    client::{json as bytes, segment},
    query::Query,
};

/// Stored events, in order.
#[derive(Debug)]
pub struct EventPage {
    /// The page.
    pub events: Vec<RunEvent>,
    /// The `since` of the next page, if there is one.
    pub next: Option<String>,
}

/// The run or thread whose events are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOrThread<'a> {
    /// A run's.
    Run(&'a str),
    /// All of a thread's runs.
    Thread(&'a str),
}

/// Threads, newest first.
#[derive(Debug)]
pub struct ThreadPage {
    /// The page.
    pub reply: Reply<Vec<Thread>>,
    /// Whether there are older threads.
    pub more: bool,
}

/// A document that an agent produced.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// Its media type.
    pub mime_type: String,
    /// Its bytes.
    pub content: Bytes,
}

#[derive(Serialize)]
struct TypedRequest<'a, T> {
    r#type: &'static str,
    #[serde(flatten)]
    request: &'a T,
}

pub(super) fn agent_path(agent: &str, rest: &str) -> String {
    format!("/agent/{}/{rest}", segment(agent))
}

/// Parses `<…?since=7>; rel="next"`.
fn next_since(link: &str) -> Option<String> {
    let (url, rel) = link.strip_prefix('<')?.split_once('>')?;
    let since = url.split_once('?')?.1.split('&').find_map(|pair| pair.strip_prefix("since="))?;
    rel.contains("next").then(|| since.to_owned())
}

fn accepted(raw: &RawReply) -> Result<RunReceipt> {
    let header = |name: &str| {
        let missing = || Error::Unreadable(format!("HTTP {} without {name}", raw.status));
        raw.header(name).map(str::to_owned).ok_or_else(missing)
    };
    let replayed = raw.header("idempotency-replayed") == Some("true");
    Ok(RunReceipt { run_id: header("x-run-id")?, thread_id: header("x-thread-id")?, replayed })
}

fn event(raw: &RawReply) -> Result<RunEvent> {
    RunEvent::read(&String::from_utf8_lossy(&raw.body))
}

impl Client {
    /// `GET /agent`: the descriptor of each agent, with its path.
    pub async fn described_agents(&self) -> Result<Reply<Vec<Descriptor>>> {
        self.get("/agent").await
    }

    /// `GET …/describe` (SC-20).
    ///
    /// # Errors
    /// 404 `agent_not_found`.
    pub async fn describe_agent(&self, agent: &str) -> Result<Reply<Descriptor>> {
        self.get(&agent_path(agent, "describe")).await
    }

    /// `POST …/stop`: cancels its runs; it accepts none until it is started.
    ///
    /// # Errors
    /// 403 unless the token belongs to the agent's owner or the operator.
    pub async fn stop_agent(&self, agent: &str) -> Result<Reply<Descriptor>> {
        self.post_empty(&agent_path(agent, "stop")).await
    }

    /// `POST …/start`: it accepts runs and joins sessions again.
    ///
    /// # Errors
    /// 403 unless the token belongs to the agent's owner or the operator.
    pub async fn start_agent(&self, agent: &str) -> Result<Reply<Descriptor>> {
        self.post_empty(&agent_path(agent, "start")).await
    }

    /// `POST …/dismiss`: removes an enlisted agent from the server.
    ///
    /// # Errors
    /// 403 unless the token belongs to the agent, its owner or the operator; 409 `agent_configured`.
    pub async fn dismiss_agent(&self, agent: &str) -> Result<Reply<Value>> {
        self.post_empty(&agent_path(agent, "dismiss")).await
    }

    /// `POST …/configure` (SC-43): sets each argument separately; null removes it.
    ///
    /// # Errors
    /// 403 unless the token belongs to the agent's owner or the operator.
    pub async fn configure_agent(&self, agent: &str, args: &Map<String, Value>) -> Result<RunEvent> {
        let body = bytes(&json!({"type": "ConfigureRequest", "args": args}))?;
        event(&self.post_once(&agent_path(agent, "configure"), Some(body), &IdempotencyKey::random()).await?)
    }

    /// `POST …/run`: starts a run, without waiting for it.
    pub async fn start_run(&self, agent: &str, chat: &Chat, key: &IdempotencyKey) -> Result<RunReceipt> {
        accepted(&self.request_run(&agent_path(agent, "run"), "ChatRequest", chat, key).await?)
    }

    /// ResumeWithInput: answers a waiting run (SC-44): its WaitForInput with the id `asked`, or its current one.
    ///
    /// # Errors
    /// 409 `run_not_active` if it does not wait for that.
    pub async fn resume_run(
        &self,
        agent: &str,
        run: &str,
        question: Option<u64>,
        answers: &Map<String, Value>,
    ) -> Result<RunReceipt> {
        let body = json!({"run_id": run, "event_id": question, "request_keys": answers});
        let key = IdempotencyKey::random();
        accepted(&self.request_run(&agent_path(agent, "run"), "ResumeWithInput", &body, &key).await?)
    }

    /// CancelRequest: cancels a run (SC-46). The run ends a little later.
    ///
    /// # Errors
    /// 409 `run_not_active` if it has ended.
    pub async fn cancel_run(&self, agent: &str, run: &str) -> Result<RunReceipt> {
        let key = IdempotencyKey::random();
        accepted(
            &self
                .request_run(&agent_path(agent, "run"), "CancelRequest", &json!({"run_id": run}), &key)
                .await?,
        )
    }

    async fn request_run<T: Serialize + Sync>(
        &self,
        path: &str,
        kind: &'static str,
        request: &T,
        key: &IdempotencyKey,
    ) -> Result<RawReply> {
        self.post_once(path, Some(bytes(&TypedRequest { r#type: kind, request })?), key).await
    }

    /// `GET …/runs/{run_id}` (SC-40).
    ///
    /// # Errors
    /// 404 `run_not_found`.
    pub async fn run_report(&self, agent: &str, run: &str) -> Result<Reply<RunReport>> {
        self.get(&agent_path(agent, &format!("runs/{}", segment(run)))).await
    }

    /// `GET …/threads` (SC-41): the threads that the token's owner opened; all threads for the agent's owner.
    pub async fn threads(&self, agent: &str, limit: Option<u32>, before: Option<&str>) -> Result<ThreadPage> {
        let path = Query::of(agent_path(agent, "threads")).with("limit", limit).with("before", before).path();
        let raw = self.raw(Method::GET, &path, None).await?.into_success()?;
        let more = raw.header("link").is_some_and(|link| link.contains("rel=\"next\""));
        Ok(ThreadPage { reply: Reply::read(raw)?, more })
    }

    /// `GET …/get_events` (SC-36, SC-42): the stored events after `since`, or from the beginning. Consumes nothing.
    pub async fn run_events(
        &self,
        agent: &str,
        scope: RunOrThread<'_>,
        since: Option<&str>,
    ) -> Result<EventPage> {
        let query = Query::of(agent_path(agent, "get_events"));
        let query = match scope {
            RunOrThread::Run(id) => query.with("run_id", Some(id)).with("since", since.or(Some("0"))),
            RunOrThread::Thread(id) => query.with("thread_id", Some(id)).with("since", since),
        };
        let raw = self.raw(Method::GET, &query.path(), None).await?.into_success()?;
        let next = raw.header("link").and_then(next_since);
        let events: Reply<Vec<Box<RawValue>>> = Reply::read(raw)?;
        let events = events.iter().map(|event| RunEvent::read(event.get())).collect::<Result<_>>()?;
        Ok(EventPage { events, next })
    }

    /// `GET /artifacts/{artifact_id}` (SC-47).
    ///
    /// # Errors
    /// 404 `artifact_not_found`.
    pub async fn artifact(&self, id: &str) -> Result<Artifact> {
        let path = format!("/artifacts/{}", segment(id));
        let raw = self.raw(Method::GET, &path, None).await?.into_success()?;
        let mime_type = raw.header("content-type").unwrap_or("application/octet-stream").to_owned();
        Ok(Artifact { mime_type, content: raw.body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc_36_a_link_says_how_to_go_on() {
        assert_eq!(next_since("<?since=7>; rel=\"next\"").as_deref(), Some("7"));
        assert_eq!(next_since("<?since=r:7>; rel=\"next\"").as_deref(), Some("r:7"));
        assert_eq!(next_since("<?since=7>; rel=\"prev\""), None);
        assert_eq!(next_since("nonsense"), None);
    }

    #[test]
    fn sc_23_a_request_says_its_type() {
        let chat = Chat { input: "hi".into(), ..Chat::default() };
        let body = bytes(&TypedRequest { r#type: "ChatRequest", request: &chat }).unwrap();
        assert_eq!(body, r#"{"type":"ChatRequest","input":"hi"}"#);
    }
}
