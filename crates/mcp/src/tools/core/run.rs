//! Agents that the server runs: call, wait, answer, stop.
//! Must not know: what an agent does.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{WAIT_S_DEFAULT, WAIT_S_MAX};
use crate::tools::{
    AGAIN,
    api::{Answer, Refusal, Route, ToolApi, get, post},
    stream::{Stream, StreamItem},
};

pub(super) const DESCRIPTION: &str =
    "Run an agent, wait for its result; with run_id: wait, answer its question, or cancel.";
pub(super) const AGENTS: Route = get("/");
pub(super) const PATHS: Route = get("/_discovery");
pub(super) const RUN: Route = post("/agent/{name}/run");
pub(super) const SHOW: Route = get("/agent/{name}/runs/{run_id}");
pub(super) const EVENTS: Route = get("/agent/{name}/get_events");

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunArguments {
    /// Absent: lists them
    agent: Option<String>,
    input: Option<String>,
    thread_id: Option<String>,
    run_id: Option<String>,
    /// A value per key
    answer: Option<Map<String, Value>>,
    cancel: Option<bool>,
    /// 50 if absent, at most 110
    wait_s: Option<u64>,
    peer: Option<String>,
}

impl RunArguments {
    /// Whether the call has an answer with content. Some models fill in every argument, with nothing.
    fn has_answer(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| !answer.is_empty())
    }

    fn cancels(&self) -> bool {
        self.cancel == Some(true)
    }

    /// A text about arguments that exclude each other. One that is ignored would look obeyed.
    fn contradiction(&self) -> Option<&'static str> {
        if self.has_answer() && self.cancels() {
            return Some("`answer` and `cancel` exclude each other: give one of them.");
        }
        let is_new = self.input.is_some() && self.run_id.is_none();
        (is_new && (self.has_answer() || self.cancels()))
            .then_some("`answer` and `cancel` are for an existing run: give its `run_id`, without `input`.")
    }
}

pub(super) async fn run_agent(api: ToolApi, arguments: RunArguments) -> Answer {
    let api = api.at_peer(arguments.peer.clone());
    if let Some(problem) = arguments.contradiction() {
        return Err(Refusal::arguments(problem));
    }
    let Some(agent) = arguments.agent.as_deref() else {
        let is_about_run = arguments.run_id.is_some() || arguments.has_answer() || arguments.cancels();
        if arguments.input.is_some() || is_about_run {
            return Err(Refusal::arguments(
                "`agent` is missing: name the agent. Without any argument, agents are listed.",
            ));
        }
        return Ok(json!({"agents": names(&api).await?}));
    };
    let seconds = arguments.wait_s.unwrap_or(WAIT_S_DEFAULT);
    if seconds > WAIT_S_MAX {
        let text = format!("`wait_s` is at most {WAIT_S_MAX}; call again with the run_id to wait longer.");
        return Err(Refusal::arguments(text));
    }
    let run = match (&arguments.input, &arguments.run_id) {
        (Some(input), None) => {
            let mut body = json!({"type": "ChatRequest", "input": input});
            if let Some(thread) = &arguments.thread_id {
                body["thread_id"] = thread.clone().into();
            }
            let path = RUN.at(&[agent], &[]);
            let reply = api.reply(RUN.method, &path, Some(&body)).await.map_err(unknown)?;
            let id = reply.headers.get("x-run-id").and_then(|id| id.to_str().ok());
            id.ok_or_else(|| Refusal::new("internal", "The run has no id."))?.to_owned()
        }
        (None, Some(run)) => {
            if arguments.cancels() {
                api.write(&RUN, &[agent], &json!({"type": "CancelRequest", "run_id": run})).await?;
            } else if let Some(answer) = &arguments.answer {
                let body = json!({"type": "ResumeWithInput", "run_id": run, "request_keys": answer});
                api.write(&RUN, &[agent], &body).await?;
            }
            run.clone()
        }
        _ => {
            return Err(Refusal::arguments(
                "Give `input` for a new run, or the `run_id` of an existing one.",
            ));
        }
    };
    finished(&api, agent, &run, Duration::from_secs(seconds), arguments.answer.is_some()).await
}

/// A refusal in the tool's terms.
fn unknown(refused: Refusal) -> Refusal {
    match refused.code.as_str() {
        "agent_not_found" => {
            Refusal::new("agent_not_found", "There is no such agent; run_agent without `agent` lists them.")
        }
        _ => refused,
    }
}

/// The names of all agents.
pub(super) async fn names(api: &ToolApi) -> Result<Vec<Value>, Refusal> {
    if api.peer.is_some() {
        // A peer lists only the paths of its agents.
        let paths = api.read(&PATHS, &[], &[]).await?;
        let named = |path: &Value| Some(path.as_str()?.rsplit('/').next()?.into());
        return Ok(paths.as_array().into_iter().flatten().filter_map(named).collect());
    }
    let listed = api.read(&AGENTS, &[], &[]).await?;
    Ok(listed.as_array().into_iter().flatten().map(|pair| pair[0].clone()).collect())
}

/// The state of the run when it has ended, waits for an answer, or the time is up.
async fn finished(api: &ToolApi, agent: &str, run: &str, wait: Duration, resumed: bool) -> Answer {
    let mut report = api.read(&SHOW, &[agent, run], &[]).await?;
    if is_active(&report, resumed) && !wait.is_zero() {
        let last = report["last_event_id"].as_u64().unwrap_or_default().to_string();
        let path = EVENTS.at(&[agent], &[("run_id", run), ("stream", "true"), ("since", &last)]);
        let mut stream = Stream::new(api.open(&path).await?.into_body(), wait);
        while let Some(item) = stream.next().await {
            let StreamItem::Event(event) = item else { continue };
            if matches!(event.kind.as_deref(), Some("RunCompleted" | "WaitForInput")) {
                break;
            }
        }
        report = api.read(&SHOW, &[agent, run], &[]).await?;
    }
    let over = !is_active(&report, false);
    let mut shown = Map::new();
    for name in ["run_id", "thread_id", "status", "finish_reason", "result", "error", "request_keys"] {
        if let Some(value) = report.get(name) {
            shown.insert(name.into(), value.clone());
        }
    }
    let again = api.again(json!({"agent": agent, "run_id": run}));
    if !over {
        shown.insert("next".into(), again.clone());
    }
    shown.insert(AGAIN.into(), again);
    Ok(shown.into())
}

/// Whether to keep waiting. A run that was just answered may still appear to wait.
fn is_active(report: &Value, resumed: bool) -> bool {
    let status = report["status"].as_str();
    matches!(status, Some("queued" | "running")) || resumed && status == Some("waiting")
}
