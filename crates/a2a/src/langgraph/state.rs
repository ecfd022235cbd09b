//! The state of a thread: its messages, one of the caller and one of the agent for each run.
//! Must not know: how a run is begun.

use serde_json::{Value, json};

use super::{
    Answer, LangGraphError, Request, count, objects,
    output::{RunText, failure},
    text,
};
use crate::{
    limits::{ANSWER_TEXT_BYTES_MAX, PAGE_MAX, SEARCHED, STATE_RUNS_MAX, STATE_TEXT_BYTES_MAX},
    rooms::{RoomClient, encoded},
    rpc::json_response,
};

/// A thread, from the report of the room of runs.
pub(super) struct ThreadView {
    pub(super) report: Value,
}

/// A run, from the report of the room of runs.
pub(super) struct RunView {
    pub(super) report: Value,
    /// The output of its agent.
    pub(super) output: String,
}

impl ThreadView {
    /// # Errors
    /// 404 if the thread does not exist or the caller may not see it.
    pub(super) async fn find(rooms: &RoomClient, thread: &str) -> Result<Self, LangGraphError> {
        match rooms.get(&format!("/threads/{}", encoded(thread))).await {
            Ok(found) => Ok(Self { report: found.value }),
            Err(no) if no.code == "thread_not_found" => Err(LangGraphError::not_found("thread")),
            Err(no) => Err(no.into()),
        }
    }

    pub(super) fn id(&self) -> &str {
        self.report["thread_id"].as_str().unwrap_or_default()
    }

    pub(super) fn agent(&self) -> &str {
        self.report["agent"].as_str().unwrap_or_default()
    }

    /// The ids of the thread's runs, oldest first.
    pub(super) fn runs(&self) -> Vec<&str> {
        self.report["runs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// A run of the thread, without its output.
    pub(super) async fn run(&self, rooms: &RoomClient, run: &str) -> Result<Value, LangGraphError> {
        if !self.runs().contains(&run) {
            return Err(LangGraphError::not_found("run"));
        }
        Ok(rooms.get(&format!("/agent/{}/runs/{}", encoded(self.agent()), encoded(run))).await?.value)
    }

    /// The thread's runs up to `last`, or all; at most the newest ones within the limit.
    pub(super) async fn views(
        &self,
        rooms: &RoomClient,
        last: Option<&str>,
    ) -> Result<Vec<RunView>, LangGraphError> {
        let runs = self.runs();
        let end = match last {
            Some(last) => {
                runs.iter()
                    .position(|run| *run == last)
                    .ok_or_else(|| LangGraphError::not_found("checkpoint"))?
                    + 1
            }
            None => runs.len(),
        };
        let (mut views, mut bytes) = (Vec::new(), 0);
        for run in runs[end.saturating_sub(STATE_RUNS_MAX)..end].iter().rev() {
            let report = self.run(rooms, run).await?;
            let output = run_output(rooms, self.agent(), run).await?;
            let view = RunView { report, output };
            bytes += view.bytes();
            if bytes > STATE_TEXT_BYTES_MAX && !views.is_empty() {
                break;
            }
            views.push(view);
        }
        views.reverse();
        Ok(views)
    }
}

impl RunView {
    pub(super) fn id(&self) -> &str {
        self.report["run_id"].as_str().unwrap_or_default()
    }

    /// The size of the run's messages.
    pub(super) fn bytes(&self) -> usize {
        self.output.len() + self.report["request"].to_string().len()
    }

    fn messages(&self) -> Vec<Value> {
        let request = &self.report["request"];
        let input = request["input"].as_str().map_or_else(|| request.to_string(), str::to_owned);
        let question = human(self.id(), &input);
        if self.output.is_empty() {
            vec![question]
        } else {
            vec![question, ai(self.id(), "ai", &self.output)]
        }
    }

    /// The questions of the waiting run.
    pub(super) fn interrupts(&self) -> Vec<Value> {
        interrupts(&self.report)
    }

    fn is_over(&self) -> bool {
        matches!(self.report["status"].as_str(), Some("completed" | "error" | "canceled"))
    }
}

/// The questions of a waiting run, from its report.
pub(super) fn interrupts(report: &Value) -> Vec<Value> {
    if report["status"] != "waiting" {
        return Vec::new();
    }
    let id = interrupt_id(report["run_id"].as_str().unwrap_or_default(), &report["event_id"]);
    vec![json!({"value": report["request_keys"], "id": id})]
}

/// The id of a question: the run, and the event's number in it.
pub(super) fn interrupt_id(run: &str, event: &Value) -> String {
    format!("{run}:{event}")
}

/// The message of the caller in a run.
pub(super) fn human(run: &str, input: &str) -> Value {
    json!({
        "type": "human", "id": format!("{run}:input"), "content": input, "name": null, "example": false,
        "additional_kwargs": {}, "response_metadata": {},
    })
}

/// The message of the agent in a run.
pub(super) fn ai(run: &str, kind: &str, content: &str) -> Value {
    json!({
        "type": kind, "id": format!("{run}:output"), "content": content, "name": null, "example": false,
        "additional_kwargs": {}, "response_metadata": {}, "tool_calls": [], "invalid_tool_calls": [],
        "usage_metadata": null,
    })
}

/// The output of a run so far, in the form of its stream.
async fn run_output(rooms: &RoomClient, agent: &str, run: &str) -> Result<String, LangGraphError> {
    let (mut text, mut since) = (RunText::default(), 0);
    loop {
        let path = format!("/agent/{}/get_events?run_id={}&since={since}", encoded(agent), encoded(run));
        let page = rooms.get(&path).await?.value;
        let events = page.as_array().map(Vec::as_slice).unwrap_or_default();
        // A question does not end the output: the run continues after its answer.
        for event in events.iter().filter(|event| event["type"] != "WaitForInput") {
            text.apply(event["type"].as_str().unwrap_or_default(), event);
        }
        match events.last().and_then(|event| event["id"].as_u64()) {
            Some(last) if last > since && text.text.len() < ANSWER_TEXT_BYTES_MAX => since = last,
            _ => break,
        }
    }
    Ok(text.text)
}

/// The values of a thread's state.
pub(super) fn values(views: &[RunView]) -> Value {
    if views.is_empty() {
        return json!({});
    }
    json!({"messages": views.iter().flat_map(RunView::messages).collect::<Vec<_>>()})
}

/// The values after a run, with its questions, or the error.
pub(super) fn outcome_values(views: &[RunView]) -> Value {
    let mut values = values(views);
    if let Some(last) = views.last() {
        let interrupts = last.interrupts();
        if !interrupts.is_empty() {
            values["__interrupt__"] = interrupts.into();
        }
        if last.report["status"] == "error" {
            values["__error__"] = json!({"error": "RunFailed", "message": failure(&last.report)});
        }
    }
    values
}

/// The state after the last of these runs.
fn snapshot(thread: &ThreadView, views: &[RunView], step: usize) -> Value {
    let checkpoint = |run: &str| json!({"thread_id": thread.id(), "checkpoint_ns": "", "checkpoint_id": run, "checkpoint_map": null});
    let Some(last) = views.last() else {
        return json!({
            "values": {}, "next": [], "tasks": [], "interrupts": [], "metadata": {}, "created_at": null,
            "checkpoint": {"thread_id": thread.id(), "checkpoint_ns": "", "checkpoint_id": null}, "parent_checkpoint": null,
        });
    };
    let runs = thread.runs();
    let index = runs.iter().position(|run| *run == last.id()).unwrap_or_default();
    let parent = index.checked_sub(1).map(|before| checkpoint(runs[before]));
    let interrupts = last.interrupts();
    let has_failed = last.report["status"] == "error";
    let is_over = last.is_over() && !has_failed;
    let task = json!({
        "id": last.id(), "name": thread.agent(), "error": has_failed.then(|| failure(&last.report)), "interrupts": interrupts,
        "checkpoint": null, "state": null, "result": null,
    });
    json!({
        "values": values(views),
        "next": if last.is_over() { json!([]) } else { json!([thread.agent()]) },
        "tasks": if is_over { json!([]) } else { json!([task]) },
        "interrupts": interrupts,
        "checkpoint": checkpoint(last.id()),
        "parent_checkpoint": parent,
        "metadata": {"source": "loop", "step": step, "run_id": last.id(), "graph_id": thread.agent()},
        "created_at": last.report["updated_at"],
    })
}

impl Request<'_> {
    pub(super) async fn state(&self, thread: &str, run: Option<&str>) -> Answer {
        let thread = ThreadView::find(&self.rooms, thread).await?;
        let views = thread.views(&self.rooms, run).await?;
        Ok(json_response(&snapshot(&thread, &views, views.len())))
    }

    /// The state at the checkpoint in the body; without an id it is the latest.
    pub(super) async fn state_at(&self, thread: &str) -> Answer {
        objects(&self.body, &["checkpoint"])?;
        let id = text(&self.body["checkpoint"], "checkpoint_id")?;
        self.state(thread, id.filter(|id| !id.is_empty())).await
    }

    /// The state after each run, newest first.
    pub(super) async fn history(&self, thread: &str) -> Answer {
        let limit = count(&self.body["limit"], "limit", SEARCHED, PAGE_MAX)?;
        if self.body["metadata"].as_object().is_some_and(|filter| !filter.is_empty()) {
            return Err(LangGraphError::unsupported(
                "`metadata` is not supported: states have none to search by.",
            ));
        }
        if self.body["checkpoint"].as_object().is_some_and(|checkpoint| !checkpoint.is_empty()) {
            return Err(LangGraphError::unsupported(
                "`checkpoint` is not supported: use `before`, or read the state of the checkpoint.",
            ));
        }
        let thread = ThreadView::find(&self.rooms, thread).await?;
        let before = &self.body["before"];
        let before = before.as_str().or_else(|| before["checkpoint_id"].as_str());
        let before = before.or_else(|| before_of(&self.body["before"]));
        let runs = thread.runs();
        let end = match before {
            Some(before) => runs
                .iter()
                .position(|run| *run == before)
                .ok_or_else(|| LangGraphError::not_found("checkpoint"))?,
            None => runs.len(),
        };
        let Some(last) = end.checked_sub(1).map(|last| runs[last]) else {
            return Ok(json_response(&json!([])));
        };
        let views = thread.views(&self.rooms, Some(last)).await?;
        let (mut states, mut bytes) = (Vec::new(), 0);
        for until in (1..=views.len()).rev().take(limit) {
            // Each state contains all messages before it.
            bytes += views[..until].iter().map(RunView::bytes).sum::<usize>();
            if bytes > STATE_TEXT_BYTES_MAX && !states.is_empty() {
                break;
            }
            states.push(snapshot(&thread, &views[..until], until));
        }
        Ok(json_response(&states.into()))
    }
}

/// The id of a checkpoint in a configuration object.
fn before_of(before: &Value) -> Option<&str> {
    before["configurable"]["checkpoint_id"].as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(run: &str, status: &str, output: &str) -> RunView {
        let report = json!({
            "run_id": run, "status": status, "request": {"input": "Hi"}, "error": "why", "event_id": 2,
            "request_keys": {"name": "Who?"}, "updated_at": "2026-01-01T00:00:00Z",
        });
        RunView { report, output: output.to_owned() }
    }

    #[test]
    fn each_run_is_a_message_and_its_answer() {
        let views = [view("run_1", "completed", "Hello"), view("run_2", "running", "")];
        let messages = values(&views)["messages"].clone();
        let messages_seen: Vec<_> = messages
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["type"].clone(), one["content"].clone()))
            .collect();
        assert_eq!(
            messages_seen,
            [("human".into(), "Hi".into()), ("ai".into(), "Hello".into()), ("human".into(), "Hi".into())]
        );
        assert_eq!(values(&[]), json!({}));
    }

    #[test]
    fn a_question_and_a_failure_are_in_the_values() {
        let waits = outcome_values(&[view("run_1", "waiting", "")]);
        assert_eq!(waits["__interrupt__"], json!([{"value": {"name": "Who?"}, "id": "run_1:2"}]));
        assert_eq!(outcome_values(&[view("run_1", "error", "")])["__error__"]["message"], "why");
        let mut silent = view("run_1", "error", "");
        silent.report["error"] = Value::Null;
        assert_eq!(outcome_values(&[silent])["__error__"]["message"], "The run failed.");
        assert!(outcome_values(&[view("run_1", "completed", "x")]).get("__error__").is_none());
        let thread =
            ThreadView { report: json!({"thread_id": "t", "agent": "echo", "runs": ["run_0", "run_1"]}) };
        let state = snapshot(&thread, &[view("run_1", "waiting", "")], 2);
        assert_eq!(
            (&state["next"], &state["tasks"][0]["interrupts"][0]["id"]),
            (&json!(["echo"]), &json!("run_1:2"))
        );
        assert_eq!(state["parent_checkpoint"]["checkpoint_id"], "run_0");
        let over = snapshot(&thread, &[view("run_1", "completed", "x")], 2);
        assert_eq!((&over["next"], &over["tasks"]), (&json!([]), &json!([])));
    }
}
