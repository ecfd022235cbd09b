//! A run as a task: converts its events one by one and folds them into the task. Pure.
//! Must not know: the source of events, or the form of updates.

use a2a::{
    Artifact, Message, Part, PartContent, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState,
    TaskStatus, TaskStatusUpdateEvent,
};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::limits::TASK_BYTES_MAX;

/// A task, folded from the events of its run or session so far.
#[derive(Debug, Clone)]
pub(crate) struct TaskSnapshot {
    id: String,
    context: String,
    base_url: String,
    state: TaskState,
    message: Option<Message>,
    changed_at: Option<DateTime<Utc>>,
    artifacts: Vec<Artifact>,
    bytes: usize,
    is_truncated: bool,
    /// The number of finished texts.
    texts: usize,
    /// All texts, to detect that the result repeats one.
    all_text: String,
    /// Whether a text is unfinished.
    is_open: bool,
    /// The number of the last event.
    pub(crate) last: u64,
}

impl TaskSnapshot {
    pub(crate) fn new(id: &str, context: &str, base_url: &str) -> Self {
        Self {
            id: id.to_owned(),
            context: context.to_owned(),
            base_url: base_url.to_owned(),
            state: TaskState::Submitted,
            message: None,
            changed_at: None,
            artifacts: Vec::new(),
            bytes: 0,
            is_truncated: false,
            texts: 0,
            all_text: String::new(),
            is_open: false,
            last: 0,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state.is_terminal()
    }

    /// Whether it waits for its client or is over.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_over() || self.state == TaskState::InputRequired
    }

    /// The same task with another id.
    pub(crate) fn with_id(&self, id: &str) -> Self {
        Self { id: id.to_owned(), ..self.clone() }
    }

    pub(crate) fn state(&self) -> TaskState {
        self.state.clone()
    }

    /// When its state last changed.
    pub(crate) fn changed_at(&self) -> Option<DateTime<Utc>> {
        self.changed_at
    }

    /// The bytes of text and data in its artifacts.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Drops the content; the state stays.
    pub(crate) fn drop_content(&mut self) {
        (self.message, self.artifacts, self.all_text) = (None, Vec::new(), String::new());
    }

    /// Sets the status from the agent's room, with its time.
    pub(crate) fn set_status(&mut self, status: &str, time: Option<DateTime<Utc>>) {
        self.enter(state_of(status), time);
    }

    /// Sets the status from the report of a run.
    pub(crate) fn set_report(&mut self, report: &Value, time: Option<DateTime<Utc>>) {
        self.enter(state_by(report), time);
    }

    fn enter(&mut self, state: TaskState, time: Option<DateTime<Utc>>) {
        self.state = state;
        if self.state != TaskState::InputRequired && !self.state.is_terminal() {
            self.message = None;
        }
        self.changed_at = time;
    }

    /// Applies the next event of the run; returns the updates for a streaming client.
    pub(crate) fn apply(&mut self, event: &Value, time: DateTime<Utc>) -> Vec<StreamResponse> {
        self.last = event["id"].as_u64().unwrap_or(self.last);
        match event["type"].as_str().unwrap_or_default() {
            "RunStarted" => vec![self.set_state(TaskState::Working, None, time)],
            "TextOutput" => {
                let text = event["content"].as_str().unwrap_or_default();
                self.texts += 1;
                self.is_open = false;
                if self.all_text.len() <= TASK_BYTES_MAX {
                    self.all_text.push_str(text);
                }
                let id = format!("text-{}", self.texts);
                vec![self.add_artifact(artifact(id, None, vec![Part::text(text)]))]
            }
            "ArtifactGenerated" => vec![self.add_artifact(generated_artifact(event, &self.base_url))],
            "WaitForInput" => {
                let keys = event["request_keys"].as_object().cloned().unwrap_or_default();
                let message = self.question_message(keys);
                vec![self.set_state(TaskState::InputRequired, Some(message), time)]
            }
            "RunCompleted" => self.complete(event, time),
            // The use of tools and models is internal to the agent.
            _ => Vec::new(),
        }
    }

    /// Applies a piece of an unfinished text.
    pub(crate) fn apply_delta(&mut self, event: &Value) -> Option<StreamResponse> {
        let text = event["content"].as_str().filter(|text| !text.is_empty())?;
        let append = std::mem::replace(&mut self.is_open, true);
        let id = format!("text-{}", self.texts + 1);
        Some(self.update(artifact(id, None, vec![Part::text(text)]), append, false))
    }

    fn complete(&mut self, event: &Value, time: DateTime<Utc>) -> Vec<StreamResponse> {
        let mut updates = Vec::new();
        let reason = event["finish_reason"].as_str().unwrap_or_default();
        let result = event["result"].as_str().unwrap_or_default();
        if reason == "success" && !result.is_empty() && !self.all_text.contains(result) {
            updates.push(self.add_artifact(artifact(
                "result".into(),
                Some("result"),
                vec![Part::text(result)],
            )));
        }
        let state = ended(state_of(reason), event);
        let why = event["error"].as_str().filter(|_| is_refusal(&state));
        let message = why.map(|why| self.agent_message(vec![Part::text(why)]));
        updates.push(self.set_state(state, message, time));
        updates
    }

    /// Completes the task with a single answer.
    pub(crate) fn complete_with(&mut self, parts: Vec<Part>, time: DateTime<Utc>) -> Vec<StreamResponse> {
        let message = self.agent_message(parts.clone());
        let reply = self.add_artifact(artifact("reply".into(), Some("reply"), parts));
        vec![reply, self.set_state(TaskState::Completed, Some(message), time)]
    }

    /// Changes the state, with an optional message.
    pub(crate) fn set_state(
        &mut self,
        state: TaskState,
        message: Option<Message>,
        time: DateTime<Utc>,
    ) -> StreamResponse {
        (self.state, self.message, self.changed_at) = (state, message, Some(time));
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: self.id.clone(),
            context_id: self.context.clone(),
            status: self.status(),
            metadata: None,
        })
    }

    pub(crate) fn agent_message(&self, parts: Vec<Part>) -> Message {
        Message {
            message_id: format!("{}-{}", self.id, self.last),
            context_id: Some(self.context.clone()),
            task_id: Some(self.id.clone()),
            role: Role::Agent,
            parts,
            metadata: None,
            extensions: None,
            reference_task_ids: None,
        }
    }

    fn add_artifact(&mut self, artifact: Artifact) -> StreamResponse {
        let bytes = weight_of(&artifact);
        if self.bytes + bytes <= TASK_BYTES_MAX {
            self.bytes += bytes;
            self.artifacts.push(artifact.clone());
        } else {
            self.is_truncated = true;
        }
        self.update(artifact, false, true)
    }

    fn update(&self, artifact: Artifact, append: bool, last_chunk: bool) -> StreamResponse {
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.id.clone(),
            context_id: self.context.clone(),
            artifact,
            append: Some(append),
            last_chunk: Some(last_chunk),
            metadata: None,
        })
    }

    fn status(&self) -> TaskStatus {
        TaskStatus { state: self.state.clone(), message: self.message.clone(), timestamp: self.changed_at }
    }

    /// The artifacts; the content of some is not inline.
    pub(crate) fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// Whether this many more bytes fit into a response.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= TASK_BYTES_MAX
    }

    /// Replaces the newest artifact with this id by one with its content, if it fits; otherwise the artifact keeps
    /// its URL.
    pub(crate) fn fill(&mut self, filled: &Artifact) {
        let Some(stored) =
            self.artifacts.iter_mut().rev().find(|stored| stored.artifact_id == filled.artifact_id)
        else {
            return;
        };
        let bytes = self.bytes - weight_of(stored) + weight_of(filled);
        if bytes <= TASK_BYTES_MAX {
            stored.clone_from(filled);
            self.bytes = bytes;
        }
    }

    /// Sets the state from the report of a run, for a list, which has no content.
    pub(crate) fn report(&mut self, report: &Value, time: Option<DateTime<Utc>>) {
        self.last = report["last_event_id"].as_u64().unwrap_or_default();
        self.set_report(report, time);
        self.message = match (&self.state, report["error"].as_str()) {
            (TaskState::InputRequired, _) => {
                let keys = report["request_keys"].as_object().cloned().unwrap_or_default();
                Some(self.question_message(keys))
            }
            (state, Some(why)) if is_refusal(state) => Some(self.agent_message(vec![Part::text(why)])),
            _ => None,
        };
    }

    /// The message that asks for input.
    fn question_message(&self, keys: Map<String, Value>) -> Message {
        let text = Part::text(question(&keys));
        self.agent_message(vec![
            text,
            Part::data(Value::Object(Map::from_iter([("request_keys".to_owned(), keys.into())]))),
        ])
    }

    /// The current task.
    pub(crate) fn task(&self) -> Task {
        let truncated = || [("truncated".to_owned(), Value::Bool(true))].into();
        Task {
            id: self.id.clone(),
            context_id: self.context.clone(),
            status: self.status(),
            artifacts: (!self.artifacts.is_empty()).then(|| self.artifacts.clone()),
            history: None,
            metadata: self.is_truncated.then(truncated),
        }
    }
}

/// The state of a task for a run's status or finish reason.
fn state_of(status: &str) -> TaskState {
    match status {
        "queued" => TaskState::Submitted,
        "running" => TaskState::Working,
        "waiting" => TaskState::InputRequired,
        "completed" | "success" => TaskState::Completed,
        "canceled" => TaskState::Canceled,
        "error" => TaskState::Failed,
        _ => TaskState::Unspecified,
    }
}

/// The state of an ended run: an error may be a rejection by the agent.
fn ended(state: TaskState, end: &Value) -> TaskState {
    if state == TaskState::Failed && end["rejected"] == true { TaskState::Rejected } else { state }
}

fn is_refusal(state: &TaskState) -> bool {
    matches!(state, TaskState::Failed | TaskState::Rejected)
}

/// The state of a task, from the report of its run.
pub(crate) fn state_by(report: &Value) -> TaskState {
    ended(state_of(report["status"].as_str().unwrap_or_default()), report)
}

/// The requested input, as text for people.
fn question(keys: &Map<String, Value>) -> String {
    let question_text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match keys.iter().collect::<Vec<_>>()[..] {
        [] => "The agent waits for an answer.".to_owned(),
        [(_, value)] => question_text(value),
        ref keys => keys
            .iter()
            .map(|(key, value)| format!("{key}: {}", question_text(value)))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn artifact(artifact_id: String, name: Option<&str>, parts: Vec<Part>) -> Artifact {
    let name = name.map(str::to_owned);
    Artifact { artifact_id, name, description: None, parts, metadata: None, extensions: None }
}

/// The artifact of an ArtifactGenerated, by its URL.
fn generated_artifact(event: &Value, base_url: &str) -> Artifact {
    let text = |name: &str| event[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let url = text("url").unwrap_or_default();
    let url = if url.starts_with('/') { format!("{base_url}{url}") } else { url };
    let part = Part {
        content: PartContent::Url(url),
        filename: text("name"),
        media_type: text("mime_type"),
        metadata: None,
    };
    let id = text("artifact_id").unwrap_or_else(|| format!("artifact-{}", event["id"]));
    let mut artifact = artifact(id, text("name").as_deref(), vec![part]);
    let bytes = event["artifact"]["octets"].as_u64();
    artifact.metadata = bytes.map(|bytes| [("bytes".to_owned(), bytes.into())].into());
    artifact
}

fn weight_of(artifact: &Artifact) -> usize {
    artifact.parts.iter().map(weight).sum()
}

fn weight(part: &Part) -> usize {
    match &part.content {
        PartContent::Text(text) | PartContent::Url(text) => text.len(),
        PartContent::Raw(bytes) => bytes.len(),
        PartContent::Data(value) => value.to_string().len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn updates(events: &[Value]) -> (Vec<Value>, Value) {
        let mut snapshot = TaskSnapshot::new("run_1", "thread_1", "http://h");
        let time = DateTime::from_timestamp_millis(0).unwrap();
        let updates = events.iter().flat_map(|event| match event["type"].as_str() {
            Some("TextDelta") => snapshot.apply_delta(event).into_iter().collect(),
            _ => snapshot.apply(event, time),
        });
        let updates = updates.map(|update| serde_json::to_value(update).unwrap()).collect();
        (updates, serde_json::to_value(snapshot.task()).unwrap())
    }

    #[test]
    fn a_run_is_a_task() {
        let (updates, task) = updates(&[
            json!({"id": 1, "type": "RunStarted"}),
            json!({"type": "TextDelta", "content": "a"}),
            json!({"type": "TextDelta", "content": "b"}),
            json!({"id": 2, "type": "ToolCall", "function_name": "secret"}),
            json!({"id": 3, "type": "TextOutput", "content": "ab"}),
            json!({"id": 4, "type": "ArtifactGenerated", "artifact_id": "art_1", "name": "n.txt", "mime_type": "text/plain",
                   "url": "/artifacts/art_1", "artifact": {"octets": 3}}),
            json!({"id": 5, "type": "RunCompleted", "finish_reason": "success", "result": "ab"}),
        ]);
        let kinds: Vec<_> = updates
            .iter()
            .map(|updates| updates.as_object().unwrap().keys().next().unwrap().as_str())
            .collect();
        assert_eq!(
            kinds,
            [
                "statusUpdate",
                "artifactUpdate",
                "artifactUpdate",
                "artifactUpdate",
                "artifactUpdate",
                "statusUpdate"
            ]
        );
        let texts: Vec<_> = updates[1..4]
            .iter()
            .map(|updates| &updates["artifactUpdate"])
            .map(|updates| {
                (
                    updates["artifact"]["artifactId"].clone(),
                    updates["append"].clone(),
                    updates["lastChunk"].clone(),
                )
            })
            .collect();
        let text = |append, last| (json!("text-1"), json!(append), json!(last));
        assert_eq!(texts, [text(false, false), text(true, false), text(false, true)]);
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
        assert_eq!(task["artifacts"].as_array().unwrap().len(), 2, "a result that was said is no artifact");
        assert_eq!(task["artifacts"][1]["parts"][0]["url"], "http://h/artifacts/art_1");
    }

    #[test]
    fn a_question_a_failure_and_a_cancel_have_their_states() {
        let (_, task) =
            updates(&[json!({"id": 2, "type": "WaitForInput", "request_keys": {"name": "Who?"}})]);
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        assert_eq!(task["status"]["message"]["parts"][0]["text"], "Who?");
        assert_eq!(task["status"]["message"]["parts"][1]["data"]["request_keys"]["name"], "Who?");
        let (_, task) =
            updates(&[json!({"id": 2, "type": "RunCompleted", "finish_reason": "error", "error": "why"})]);
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
        assert_eq!(task["status"]["message"]["parts"][0]["text"], "why");
        let (_, task) = updates(&[
            json!({"id": 2, "type": "RunCompleted", "finish_reason": "error", "error": "why", "rejected": true}),
        ]);
        assert_eq!(task["status"]["state"], "TASK_STATE_REJECTED");
        assert_eq!(task["status"]["message"]["parts"][0]["text"], "why");
        let (_, task) = updates(&[json!({"id": 2, "type": "RunCompleted", "finish_reason": "canceled"})]);
        assert_eq!(task["status"]["state"], "TASK_STATE_CANCELED");
    }

    #[test]
    fn what_is_too_long_is_left_out_and_that_is_said() {
        let long = json!({"id": 2, "type": "TextOutput", "content": "x".repeat(TASK_BYTES_MAX)});
        let (_, task) = updates(&[long.clone(), json!({"id": 3, "type": "TextOutput", "content": "y"})]);
        assert_eq!(task["metadata"]["truncated"], true);
        assert_eq!(task["artifacts"].as_array().unwrap().len(), 1);
        let (_, task) = updates(&[long]);
        assert_eq!(task["metadata"], Value::Null);
    }
}
