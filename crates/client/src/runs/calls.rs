//! What agents are asked, and the events of runs (wire.md 4, D.8). Requests carry an `Idempotency-Key` and are repeated on
//! transient failures.
//! Must not know: how calls travel.

use http::Method;
use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{Accepted, Chat, RunEvent};
use crate::{
    Client, Error, IdempotencyKey, RawReply, Reply, Result,
    client::{json as octets, segment},
};

/// Events that lie behind, in order.
#[derive(Debug)]
pub struct EventPage {
    /// The page.
    pub events: Vec<RunEvent>,
    /// Where there is more: behind what it begins.
    pub next: Option<String>,
}

/// Whose events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// A run's.
    Run(&'a str),
    /// All of a thread's runs.
    Thread(&'a str),
}

#[derive(Serialize)]
struct Typed<'a, T> {
    r#type: &'static str,
    #[serde(flatten)]
    request: &'a T,
}

pub(super) fn at(agent: &str, rest: &str) -> String {
    format!("/agent/{}/{rest}", segment(agent))
}

/// Reads `<…?since=7>; rel="next"`.
fn next(link: &str) -> Option<String> {
    let (url, rel) = link.strip_prefix('<')?.split_once('>')?;
    let since = url.split_once('?')?.1.split('&').find_map(|pair| pair.strip_prefix("since="))?;
    rel.contains("next").then(|| since.to_owned())
}

fn accepted(raw: &RawReply) -> Result<Accepted> {
    let header = |name: &str| {
        let missing = || Error::Unreadable(format!("HTTP {} without {name}", raw.status));
        raw.header(name).map(str::to_owned).ok_or_else(missing)
    };
    let replayed = raw.header("idempotency-replayed") == Some("true");
    Ok(Accepted { run_id: header("x-run-id")?, thread_id: header("x-thread-id")?, replayed })
}

fn event(raw: &RawReply) -> Result<RunEvent> {
    RunEvent::read(&String::from_utf8_lossy(&raw.body))
}

impl Client {
    /// `POST …/configure` (SC-43): each argument by itself, null takes it away.
    ///
    /// # Errors
    /// As every call; 403 unless the token is of the agent's owner or the operator.
    pub async fn configure_agent(&self, agent: &str, args: &Map<String, Value>) -> Result<RunEvent> {
        let body = octets(&json!({"type": "ConfigureRequest", "args": args}))?;
        event(&self.post_once(&at(agent, "configure"), Some(body), &IdempotencyKey::random()).await?)
    }

    /// `POST …/run`: asks an agent for something, without waiting.
    ///
    /// # Errors
    /// As every call.
    pub async fn start_run(&self, agent: &str, chat: &Chat, key: &IdempotencyKey) -> Result<Accepted> {
        accepted(&self.request_run(&at(agent, "run"), "ChatRequest", chat, key).await?)
    }

    /// ResumeWithInput: answers a run that waits (SC-44).
    ///
    /// # Errors
    /// As every call; 409 `run_not_active` where it does not wait.
    pub async fn resume_run(&self, agent: &str, run: &str, answers: &Map<String, Value>) -> Result<Accepted> {
        let body = json!({"run_id": run, "request_keys": answers});
        let key = IdempotencyKey::random();
        accepted(&self.request_run(&at(agent, "run"), "ResumeWithInput", &body, &key).await?)
    }

    /// CancelRequest: tells a run to stop (SC-46). It ends a little later.
    ///
    /// # Errors
    /// As every call; 409 `run_not_active` where it is over.
    pub async fn cancel_run(&self, agent: &str, run: &str) -> Result<Accepted> {
        let key = IdempotencyKey::random();
        accepted(&self.request_run(&at(agent, "run"), "CancelRequest", &json!({"run_id": run}), &key).await?)
    }

    async fn request_run<T: Serialize + Sync>(
        &self,
        path: &str,
        kind: &'static str,
        request: &T,
        key: &IdempotencyKey,
    ) -> Result<RawReply> {
        self.post_once(path, Some(octets(&Typed { r#type: kind, request })?), key).await
    }

    /// `GET …/get_events` (SC-36, SC-42): what lies behind `since`, or from the beginning. Nothing is consumed.
    ///
    /// # Errors
    /// As every call.
    pub async fn run_events(&self, agent: &str, place: Place<'_>, since: Option<&str>) -> Result<EventPage> {
        let of = match place {
            Place::Run(id) => format!("run_id={}&since={}", segment(id), segment(since.unwrap_or("0"))),
            Place::Thread(id) => {
                let since = since.map(|since| format!("&since={}", segment(since)));
                format!("thread_id={}{}", segment(id), since.unwrap_or_default())
            }
        };
        let path = format!("{}?{of}", at(agent, "get_events"));
        let raw = self.raw(Method::GET, &path, None).await?.into_success()?;
        let next = raw.header("link").and_then(next);
        let events: Reply<Vec<Box<RawValue>>> = Reply::read(raw)?;
        let events = events.iter().map(|event| RunEvent::read(event.get())).collect::<Result<_>>()?;
        Ok(EventPage { events, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sc_36_a_link_says_how_to_go_on() {
        assert_eq!(next("<?since=7>; rel=\"next\"").as_deref(), Some("7"));
        assert_eq!(next("<?since=r:7>; rel=\"next\"").as_deref(), Some("r:7"));
        assert_eq!(next("<?since=7>; rel=\"prev\""), None);
        assert_eq!(next("nonsense"), None);
    }

    #[test]
    fn sc_23_a_request_says_its_type() {
        let chat = Chat { input: "hi".into(), ..Chat::default() };
        let body = octets(&Typed { r#type: "ChatRequest", request: &chat }).unwrap();
        assert_eq!(body, r#"{"type":"ChatRequest","input":"hi"}"#);
    }
}
