//! Runs: starting, resuming, listing, waiting and canceling.
//! Must not know: the events of a stream.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use super::{
    Answer, LangGraphError, Request, count,
    input::{Act, RunAsk, answers},
    state::{ThreadView, interrupt_id, outcome_values},
};
use crate::{
    limits::{LISTED_MAX, PAGE_MAX, SEARCHED},
    repeats::is_replayed,
    rooms::{RoomClient, RoomRefusal, encoded},
    rpc::{json_response, replayed},
};

/// The statuses of runs in LangGraph's API.
const STATUSES: [&str; 6] = ["pending", "running", "error", "success", "timeout", "interrupted"];

/// A run that was started or resumed.
#[derive(Clone)]
pub(super) struct StartedRun {
    pub(super) agent: String,
    pub(super) thread: String,
    pub(super) run: String,
    /// The input; null for an answer.
    pub(super) input: Value,
    /// The event after which the output for this request starts.
    pub(super) after: u64,
    /// Whether the request is a repeated one.
    pub(super) is_replayed: bool,
}

/// A run in LangGraph's form.
fn shown(report: &Value) -> Value {
    let stored = &report["request"]["request_metadata"]["langgraph"];
    let metadata = if stored["metadata"].is_object() { stored["metadata"].clone() } else { json!({}) };
    json!({
        "run_id": report["run_id"], "thread_id": report["thread_id"], "assistant_id": report["agent"],
        "created_at": report["created_at"], "updated_at": report["updated_at"], "status": status(report),
        "metadata": metadata, "multitask_strategy": "enqueue", "kwargs": {},
    })
}

fn status(report: &Value) -> &'static str {
    match report["status"].as_str() {
        Some("queued") => "pending",
        Some("running") => "running",
        Some("completed") => "success",
        Some("error") => "error",
        _ => "interrupted",
    }
}

/// The id in a header of a response.
fn named(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned()
}

/// The error for a room's refusal, if the caller named a thread.
pub(super) fn of_thread(no: RoomRefusal) -> LangGraphError {
    match &*no.code {
        "thread_not_found" => LangGraphError::not_found("thread"),
        "run_not_found" => LangGraphError::not_found("run"),
        _ => no.into(),
    }
}

impl RunAsk {
    /// The request of a new run.
    pub(super) fn request(&self, input: &str, thread: Option<&str>) -> Value {
        let mut request = json!({"type": "ChatRequest", "input": input, "request_metadata": self.metadata});
        if let Some(thread) = thread {
            request["thread_id"] = thread.into();
            request["if_not_exists"] = if self.opens { "create" } else { "reject" }.into();
        }
        request
    }

    /// Starts or resumes a run, without waiting for it.
    async fn begin(
        &self,
        rooms: &RoomClient,
        thread: Option<&str>,
        key: Option<&str>,
    ) -> Result<StartedRun, LangGraphError> {
        match &self.act {
            Act::Start(input) => {
                let path = format!("/agent/{}/run", encoded(&self.assistant));
                let reply = rooms.post(&path, &self.request(input, thread), key).await.map_err(of_thread)?;
                Ok(self.started(input, &reply.headers))
            }
            Act::Resume(answer) => {
                let thread = thread
                    .ok_or_else(|| LangGraphError::invalid("Only a run of a thread can be resumed."))?;
                self.resume(rooms, thread, answer, key).await
            }
        }
    }

    /// The run that the headers of a response name.
    pub(super) fn started(&self, input: &str, headers: &HeaderMap) -> StartedRun {
        let (run, thread) = (named(headers, "x-run-id"), named(headers, "x-thread-id"));
        let (agent, input, is_replayed) = (self.assistant.clone(), input.into(), is_replayed(headers));
        StartedRun { agent, thread, run, input, after: 0, is_replayed }
    }

    /// Answers the waiting last run of a thread.
    pub(super) async fn resume(
        &self,
        rooms: &RoomClient,
        thread: &str,
        answer: &Value,
        key: Option<&str>,
    ) -> Result<StartedRun, LangGraphError> {
        let thread = ThreadView::find(rooms, thread).await?;
        let report = match thread.runs().last() {
            Some(last) => thread.run(rooms, last).await?,
            None => Value::Null,
        };
        if report["status"] != "waiting" {
            let text = "No run of the thread waits for an answer.";
            return Err(LangGraphError::new(StatusCode::CONFLICT, "run_not_active", text));
        }
        let questions: Map<String, Value> = report["request_keys"].as_object().cloned().unwrap_or_default();
        let run = report["run_id"].as_str().unwrap_or_default().to_owned();
        let event = &report["event_id"];
        let answers = answers(answer, &questions, &interrupt_id(&run, event));
        let body =
            json!({"type": "ResumeWithInput", "run_id": run, "event_id": event, "request_keys": answers});
        let answered = rooms
            .post(&format!("/agent/{}/run", encoded(&self.assistant)), &body, key)
            .await
            .map_err(of_thread)?;
        let (agent, after) = (thread.agent().to_owned(), event.as_u64().unwrap_or_default());
        let (thread, input, is_replayed) =
            (thread.id().to_owned(), Value::Null, is_replayed(&answered.headers));
        Ok(StartedRun { agent, thread, run, input, after, is_replayed })
    }
}

/// The values of a thread once its run is over or waits.
async fn outcome(rooms: &RoomClient, run: &StartedRun) -> Result<Value, LangGraphError> {
    let thread = ThreadView::find(rooms, &run.thread).await?;
    Ok(outcome_values(&thread.views(rooms, Some(&run.run)).await?))
}

/// Adds the URL of a run to a response.
fn located(mut response: Response, run: &StartedRun) -> Response {
    set(&mut response, header::CONTENT_LOCATION, &format!("/threads/{}/runs/{}", run.thread, run.run));
    replayed(response, run.is_replayed)
}

pub(super) fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

impl Request<'_> {
    pub(super) async fn create(&self, thread: Option<&str>) -> Answer {
        let run = RunAsk::read(&self.body)?.begin(&self.rooms, thread, self.key).await?;
        let path = format!("/agent/{}/runs/{}", encoded(&run.agent), encoded(&run.run));
        let report = self.rooms.get(&path).await?.value;
        Ok(located(json_response(&shown(&report)), &run))
    }

    pub(super) async fn wait(&self, thread: Option<&str>) -> Answer {
        let run = RunAsk::read(&self.body)?.begin(&self.rooms, thread, self.key).await?;
        self.followed(&run).await?;
        Ok(located(json_response(&outcome(&self.rooms, &run).await?), &run))
    }

    pub(super) async fn list_runs(&self, thread: &str) -> Answer {
        let thread = ThreadView::find(&self.rooms, thread).await?;
        let number = |name: &str| self.query.one(name).map_or(Value::Null, Value::from);
        let limit = count(&number("limit"), "limit", SEARCHED, PAGE_MAX)?;
        let offset = count(&number("offset"), "offset", 0, usize::MAX)?;
        let status = self.query.one("status");
        if let Some(status) = status.as_ref().filter(|status| !STATUSES.contains(&status.as_str())) {
            let text = format!("`status` must be one of {}, not {status:?}.", STATUSES.join(", "));
            return Err(LangGraphError::invalid(text));
        }
        // With a status filter, each skipped run must be read.
        let looked_at = if status.is_some() { LISTED_MAX } else { usize::MAX };
        let (mut runs, mut passed) = (Vec::new(), 0);
        for run in thread.runs().into_iter().rev().take(looked_at) {
            if runs.len() == limit {
                break;
            }
            if status.is_none() && passed < offset {
                passed += 1;
                continue;
            }
            let run = shown(&thread.run(&self.rooms, run).await?);
            if status.as_ref().is_some_and(|status| run["status"] != status.as_str()) {
                continue;
            }
            passed += 1;
            if passed > offset || status.is_none() {
                runs.push(run);
            }
        }
        Ok(json_response(&runs.into()))
    }

    pub(super) async fn run(&self, thread: &str, run: &str) -> Answer {
        let thread = ThreadView::find(&self.rooms, thread).await?;
        Ok(json_response(&shown(&thread.run(&self.rooms, run).await?)))
    }

    /// An existing run, and its report.
    pub(super) async fn known(&self, thread: &str, run: &str) -> Result<(StartedRun, Value), LangGraphError> {
        let thread = ThreadView::find(&self.rooms, thread).await?;
        let report = thread.run(&self.rooms, run).await?;
        let (agent, input) = (thread.agent().to_owned(), report["request"]["input"].clone());
        let (thread, run) = (thread.id().to_owned(), run.to_owned());
        Ok((StartedRun { agent, thread, run, input, after: 0, is_replayed: false }, report))
    }

    pub(super) async fn join(&self, thread: &str, run: &str) -> Answer {
        let (mut known, report) = self.known(thread, run).await?;
        if matches!(report["status"].as_str(), Some("queued" | "running")) {
            // Its earlier questions are answered.
            known.after = report["last_event_id"].as_u64().unwrap_or_default();
            self.followed(&known).await?;
        }
        Ok(json_response(&outcome(&self.rooms, &known).await?))
    }

    pub(super) async fn cancel(&self, thread: &str, run: &str) -> Answer {
        if self.query.one("action").is_some_and(|action| action != "interrupt") {
            return Err(LangGraphError::unsupported("`action` must be `interrupt`: runs are kept."));
        }
        let (mut known, report) = self.known(thread, run).await?;
        known.after = report["last_event_id"].as_u64().unwrap_or_default();
        let body = json!({"type": "CancelRequest", "run_id": run});
        let path = format!("/agent/{}/run", encoded(&known.agent));
        self.rooms.post(&path, &body, self.key).await.map_err(of_thread)?;
        if self.query.one("wait").is_some_and(|wait| wait == "1" || wait == "true") {
            self.ended(&known).await?;
        }
        Ok(StatusCode::ACCEPTED.into_response())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_of_a_run_has_one_there() {
        for (here, there) in [
            ("queued", "pending"),
            ("running", "running"),
            ("waiting", "interrupted"),
            ("completed", "success"),
            ("error", "error"),
            ("canceled", "interrupted"),
        ] {
            assert_eq!(status(&json!({"status": here})), there);
        }
    }
}
