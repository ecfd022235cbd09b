//! The progress of a foreign task: converts its results one by one into events of the run. Pure.
//! Must not know: connections.

use std::collections::HashSet;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use plenary_runs::{Event, EventKind, RunEnd, limits::EVENT_BYTES_MAX};
use serde_json::{Map, Value};

/// Longest text of one artifact, in bytes, since an event holds no more; beyond it the run ends with an error.
const TEXT_BYTES_MAX: usize = EVENT_BYTES_MAX;
/// Most bytes of unfinished texts together; beyond it the run ends with an error.
const OPEN_BYTES_MAX: usize = 4 * TEXT_BYTES_MAX;
/// Most artifacts of one task; beyond it the run ends with an error.
const ARTIFACTS_MAX: usize = 10_000;
/// Longest id of an artifact, in bytes; a longer one ends the run with an error. A longer id of a task or context is
/// ignored.
const ID_BYTES_MAX: usize = 1_024;

/// The effect of one result on our run.
#[derive(Debug, PartialEq)]
pub(super) enum TaskOutput {
    /// An event of our run.
    Event(Event),
    /// A piece of unfinished text.
    Delta(String),
    /// The task requires input, with this question.
    Question(String),
    /// The task is over.
    Ended(RunEnd),
    /// The task exceeds the named limit of a run.
    TooLarge(String),
}

/// The state of a foreign task after its results so far.
#[derive(Debug, Default)]
pub(super) struct TaskProgress {
    pub(super) task: Option<String>,
    pub(super) context: Option<String>,
    /// Unfinished texts with their artifact ids, in the order in which they began.
    texts: Vec<(String, String)>,
    /// The bytes of these texts.
    text_bytes: usize,
    /// The ids of the artifacts that were emitted.
    emitted_ids: HashSet<String>,
    has_text: bool,
    /// The last status message.
    last_message: String,
}

impl TaskProgress {
    /// For a new task in this context.
    pub(super) fn new(context: Option<String>) -> Self {
        Self { context, ..Self::default() }
    }

    /// Applies a result of a call or a stream.
    pub(super) fn apply(&mut self, result: &Value) -> Vec<TaskOutput> {
        if let Some(message) = result.get("message") {
            return self.message(message);
        }
        if let Some(task) = result.get("task") {
            return self.task(task);
        }
        if let Some(update) = result.get("artifactUpdate") {
            self.learn_ids(&update["taskId"], &update["contextId"]);
            return self.artifact(&update["artifact"], update["append"] == true, update["lastChunk"] == true);
        }
        let Some(update) = result.get("statusUpdate") else { return Vec::new() };
        self.learn_ids(&update["taskId"], &update["contextId"]);
        self.status(&update["status"])
    }

    /// Applies a whole task; what was emitted before is not repeated. An active task may have unfinished texts.
    pub(super) fn task(&mut self, task: &Value) -> Vec<TaskOutput> {
        self.learn_ids(&task["id"], &task["contextId"]);
        let is_finished = !is_active(state_of(&task["status"]));
        let mut outputs = Vec::new();
        for artifact in task["artifacts"].as_array().into_iter().flatten() {
            outputs.extend(self.artifact(artifact, false, is_finished));
        }
        outputs.extend(self.status(&task["status"]));
        outputs
    }

    fn learn_ids(&mut self, task: &Value, context: &Value) {
        let text = |value: &Value| value.as_str().filter(|id| id.len() <= ID_BYTES_MAX).map(str::to_owned);
        self.task = text(task).or_else(|| self.task.take());
        self.context = text(context).or_else(|| self.context.take());
    }

    fn message(&mut self, message: &Value) -> Vec<TaskOutput> {
        self.learn_ids(&Value::Null, &message["contextId"]);
        let mut outputs = self.parts("message", &message["parts"]);
        outputs.push(TaskOutput::Ended(RunEnd::success()));
        outputs
    }

    fn artifact(&mut self, artifact: &Value, append: bool, is_last: bool) -> Vec<TaskOutput> {
        let id = artifact["artifactId"].as_str().unwrap_or_default();
        if self.emitted_ids.contains(id) {
            return Vec::new();
        }
        let known = self.texts.iter().position(|(text_id, _)| text_id == id);
        let is_new = known.is_none();
        if id.len() > ID_BYTES_MAX || (is_new && self.emitted_ids.len() + self.texts.len() >= ARTIFACTS_MAX) {
            return too_large(&format!(
                "more than {ARTIFACTS_MAX} artifacts, or one with an id of {} bytes",
                id.len()
            ));
        }
        let text = text_of(&artifact["parts"]);
        if has_more(&artifact["parts"]) {
            let outputs = self.parts(artifact["name"].as_str().unwrap_or(id), &artifact["parts"]);
            self.emitted_ids.insert(id.to_owned());
            return outputs;
        }
        let index = known.unwrap_or_else(|| {
            self.texts.push((id.to_owned(), String::new()));
            self.texts.len() - 1
        });
        let partial_text = &mut self.texts[index].1;
        // A replacement that does not continue the text is emitted once it is complete.
        let news =
            if append { Some(text.clone()) } else { text.strip_prefix(&**partial_text).map(str::to_owned) };
        self.text_bytes -= partial_text.len();
        if !append {
            partial_text.clear();
        }
        partial_text.push_str(&text);
        self.text_bytes += partial_text.len();
        if partial_text.len() > TEXT_BYTES_MAX || self.text_bytes > OPEN_BYTES_MAX {
            return too_large(&format!("an artifact's text of more than {TEXT_BYTES_MAX} bytes"));
        }
        if is_last {
            return self.finish_text(id).into_iter().collect();
        }
        news.filter(|news| !news.is_empty()).map(TaskOutput::Delta).into_iter().collect()
    }

    fn finish_text(&mut self, id: &str) -> Option<TaskOutput> {
        let index = self.texts.iter().position(|(text_id, _)| text_id == id)?;
        let (id, text) = self.texts.remove(index);
        self.emit_text(id, &text)
    }

    fn emit_text(&mut self, id: String, text: &str) -> Option<TaskOutput> {
        self.text_bytes -= text.len();
        if text.is_empty() {
            return None;
        }
        self.emitted_ids.insert(id);
        self.has_text = true;
        Some(TaskOutput::Event(Event::text(text)))
    }

    /// The parts of a message or artifact, one event each.
    fn parts(&mut self, name: &str, parts: &Value) -> Vec<TaskOutput> {
        let parts: Vec<&Value> = parts.as_array().into_iter().flatten().collect();
        let outputs = parts.iter().filter_map(|part| event_of(name, part).map(TaskOutput::Event)).collect();
        self.has_text |= parts.iter().any(|part| part["text"].is_string());
        outputs
    }

    fn status(&mut self, status: &Value) -> Vec<TaskOutput> {
        let text = text_of(&status["message"]["parts"]);
        let state = state_of(status);
        if is_active(state) {
            // Progress messages are not part of the result. A task that is read again repeats the last one.
            if text.is_empty() || text == self.last_message {
                return Vec::new();
            }
            let event = Event::tool_text(&text);
            self.last_message = text;
            return vec![TaskOutput::Event(event)];
        }
        let texts = std::mem::take(&mut self.texts).into_iter();
        let mut outputs: Vec<TaskOutput> = texts.filter_map(|(id, text)| self.emit_text(id, &text)).collect();
        match state {
            "INPUT_REQUIRED" => {
                outputs.push(TaskOutput::Question(if text.is_empty() {
                    "The agent waits for an answer.".into()
                } else {
                    text
                }));
            }
            "COMPLETED" => {
                if !self.has_text && !text.is_empty() {
                    outputs.push(TaskOutput::Event(Event::text(&text)));
                }
                outputs.push(TaskOutput::Ended(RunEnd::success()));
            }
            "CANCELED" => outputs.push(TaskOutput::Ended(RunEnd::error("the other agent canceled the task"))),
            "FAILED" | "REJECTED" | "AUTH_REQUIRED" => {
                let ending = state.to_ascii_lowercase().replace('_', " ");
                let detail = if text.is_empty() { String::new() } else { format!(": {text}") };
                let error = format!("the other agent's task is {ending}{detail}");
                let run_end =
                    if state == "REJECTED" { RunEnd::rejected(error) } else { RunEnd::error(error) };
                outputs.push(TaskOutput::Ended(run_end));
            }
            _ => {}
        }
        outputs
    }
}

fn too_large(excess: &str) -> Vec<TaskOutput> {
    vec![TaskOutput::TooLarge(format!("the other agent's task says too much: {excess}"))]
}

/// The name of a state without the common prefix.
fn state_of(status: &Value) -> &str {
    status["state"].as_str().unwrap_or_default().trim_start_matches("TASK_STATE_")
}

/// Whether a task in this state continues by itself.
fn is_active(state: &str) -> bool {
    matches!(state, "SUBMITTED" | "WORKING")
}

fn text_of(parts: &Value) -> String {
    let texts = parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether some parts are not text.
fn has_more(parts: &Value) -> bool {
    parts.as_array().into_iter().flatten().any(|part| !part["text"].is_string())
}

fn event_of(name: &str, part: &Value) -> Option<Event> {
    let name = part["filename"].as_str().unwrap_or(name);
    let kind = |default: &str| part["mediaType"].as_str().unwrap_or(default).to_owned();
    if let Some(text) = part["text"].as_str() {
        return Some(Event::text(text));
    }
    if let Some(raw) = part["raw"].as_str() {
        let bytes = Bytes::from(STANDARD.decode(raw).ok()?);
        return Some(Event::artifact(name, &kind("application/octet-stream"), bytes));
    }
    if let Some(url) = part["url"].as_str() {
        let kind = kind("application/octet-stream");
        let members: [(&str, &str); 3] = [("name", name), ("mime_type", &kind), ("url", url)];
        let members: Map<String, Value> =
            members.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        return Event::new(EventKind::ArtifactGenerated, &members).ok();
    }
    let data = part.get("data")?.to_string();
    Some(Event::artifact(name, &kind("application/json"), data.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn artifact(text: &str, append: bool, last: bool) -> Value {
        let artifact = json!({"artifactId": "a", "parts": [{"text": text}]});
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": append, "lastChunk": last}})
    }

    fn status(state: &str, text: &str) -> Value {
        let status = json!({"state": format!("TASK_STATE_{state}"), "message": {"parts": [{"text": text}]}});
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}})
    }

    fn outputs(results: &[Value]) -> (Vec<TaskOutput>, TaskProgress) {
        let mut progress = TaskProgress::default();
        let outputs = results.iter().flat_map(|result| progress.apply(result)).collect();
        (outputs, progress)
    }

    #[test]
    fn pieces_are_deltas_and_the_whole_is_an_event() {
        let text = |text| TaskOutput::Event(Event::text(text));
        let (emitted, progress) =
            outputs(&[artifact("a", false, false), artifact("b", true, false), status("COMPLETED", "")]);
        let pieces = [
            TaskOutput::Delta("a".into()),
            TaskOutput::Delta("b".into()),
            text("ab"),
            TaskOutput::Ended(RunEnd::success()),
        ];
        assert_eq!(emitted, pieces);
        assert_eq!((progress.task.as_deref(), progress.context.as_deref()), (Some("t"), Some("c")));
        let (emitted, _) =
            outputs(&[artifact("a", false, true), artifact("a", false, true), status("COMPLETED", "note")]);
        assert_eq!(
            emitted,
            [text("a"), TaskOutput::Ended(RunEnd::success())],
            "emitted once, and the note is not the result"
        );
    }

    #[test]
    fn a_text_that_was_half_made_when_a_stream_broke_goes_on() {
        let working = |text: &str| {
            let artifacts = json!([{"artifactId": "a", "parts": [{"text": text}]}]);
            json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": artifacts}})
        };
        let delta = |text: &str| TaskOutput::Delta(text.into());
        let whole = TaskOutput::Event(Event::text("abcd"));
        let (emitted, _) = outputs(&[
            artifact("a", false, false),
            working("a"),
            artifact("b", true, false),
            working("abc"),
            artifact("d", true, true),
            status("COMPLETED", ""),
        ]);
        assert_eq!(
            emitted,
            [delta("a"), delta("b"), delta("c"), whole, TaskOutput::Ended(RunEnd::success())]
        );
    }

    #[test]
    fn a_text_that_comes_in_pieces_ends_at_the_size_of_an_event() {
        let mut progress = TaskProgress::default();
        let piece = "x".repeat(TEXT_BYTES_MAX / 4);
        for _ in 0..4 {
            assert_eq!(progress.apply(&artifact(&piece, true, false)), [TaskOutput::Delta(piece.clone())]);
        }
        assert!(matches!(progress.apply(&artifact("x", true, false))[..], [TaskOutput::TooLarge(_)]));
    }

    #[test]
    fn texts_that_are_made_together_and_artifacts_have_a_number() {
        let artifact_named = |id: &str, text: &str| {
            let artifact = json!({"artifactId": id, "parts": [{"text": text}]});
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": false}})
        };
        let is_refused = |outputs: Vec<TaskOutput>| matches!(outputs[..], [TaskOutput::TooLarge(_)]);
        let long = "x".repeat(TEXT_BYTES_MAX);
        let mut progress = TaskProgress::default();
        for n in 0..OPEN_BYTES_MAX / TEXT_BYTES_MAX {
            assert!(!is_refused(progress.apply(&artifact_named(&n.to_string(), &long))));
        }
        assert!(is_refused(progress.apply(&artifact_named("one more", "x"))));
        let mut progress = TaskProgress::default();
        for n in 0..ARTIFACTS_MAX {
            assert!(!is_refused(progress.apply(&artifact_named(&n.to_string(), "x"))));
        }
        assert!(is_refused(progress.apply(&artifact_named("one more", "x"))));
        assert!(is_refused(
            TaskProgress::default().apply(&artifact_named(&"i".repeat(ID_BYTES_MAX + 1), "x"))
        ));
    }

    #[test]
    fn unfinished_texts_end_in_the_order_in_which_they_began() {
        let mut progress = TaskProgress::default();
        for id in ["9", "10", "1"] {
            let artifact = json!({"artifactId": id, "parts": [{"text": id}]});
            progress
                .apply(&json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact}}));
        }
        let ended = progress.apply(&status("COMPLETED", ""));
        let texts = ["9", "10", "1"].map(|text| TaskOutput::Event(Event::text(text)));
        assert_eq!(ended[..3], texts);
    }

    #[test]
    fn states_are_ends_and_questions() {
        assert_eq!(outputs(&[status("INPUT_REQUIRED", "Who?")]).0, [TaskOutput::Question("Who?".into())]);
        let failed = RunEnd::rejected("the other agent's task is rejected: no");
        assert_eq!(outputs(&[status("REJECTED", "no")]).0, [TaskOutput::Ended(failed)]);
        let (emitted, _) = outputs(&[status("COMPLETED", "all")]);
        assert_eq!(emitted, [TaskOutput::Event(Event::text("all")), TaskOutput::Ended(RunEnd::success())]);
        let (emitted, _) = outputs(&[json!({"message": {"parts": [{"text": "hi"}]}})]);
        assert_eq!(emitted, [TaskOutput::Event(Event::text("hi")), TaskOutput::Ended(RunEnd::success())]);
    }
}
