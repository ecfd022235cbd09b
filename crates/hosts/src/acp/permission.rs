//! A permission request of the agent, as a question to the caller, and the answer as one of its options.
//! Must not know: the transport.

use plenary_runs::Event;
use serde_json::{Map, Value, json};

use super::subject::CallSubject;

/// The key of the answer.
const KEY: &str = "permission";

/// A permission request.
#[derive(Debug, PartialEq)]
pub(super) struct Permission {
    title: String,
    /// What the tool call would do, as text.
    subject: String,
    options: Vec<Choice>,
}

/// An option of the request.
#[derive(Debug, PartialEq)]
struct Choice {
    id: String,
    name: String,
    /// `allow_once`, `reject_always`, …
    kind: String,
}

impl Permission {
    /// Parses the parameters of `session/request_permission`. `known` is what earlier reports said about the call.
    ///
    /// # Errors
    /// A request without options, which nobody can answer.
    pub(super) fn new(params: &Value, mut known: CallSubject) -> Result<Self, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let options = params["options"].as_array().into_iter().flatten();
        let options = options.map(|option| Choice {
            id: text(&option["optionId"]),
            name: text(&option["name"]),
            kind: text(&option["kind"]),
        });
        let options: Vec<_> = options.collect();
        if options.is_empty() {
            return Err("`options` must have an option".to_owned());
        }
        known.update(&params["toolCall"]);
        Ok(Self { title: text(&params["toolCall"]["title"]), subject: known.text(), options })
    }

    /// The question to the caller: as text, and as options for a program.
    pub(super) fn event(&self) -> Event {
        let options = self.options.iter();
        let options: Vec<_> =
            options.map(|Choice { id, name, kind }| json!({"id": id, "name": name, "kind": kind})).collect();
        Event::wait_for_choice(&self.request_keys(), KEY, &options)
    }

    fn request_keys(&self) -> Map<String, Value> {
        let options: Vec<_> =
            self.options.iter().map(|Choice { id, name, .. }| format!("{id} ({name})")).collect();
        let title = if self.title.is_empty() { "The agent asks for permission." } else { &self.title };
        let subject = &self.subject;
        let subject = if subject.is_empty() { " ".to_owned() } else { format!("\n\n{subject}\n\n") };
        let text = format!("{title}{subject}Answer with one of: {}", options.join(", "));
        Map::from_iter([(KEY.to_owned(), text.into())])
    }

    /// The outcome for the caller's answer, the id or the name of an option; `None` for anything else.
    pub(super) fn outcome(&self, answer: &Map<String, Value>) -> Option<Value> {
        let choice = answer.get(KEY)?.as_str()?.trim();
        let by_id = self.options.iter().find(|option| option.id == choice);
        let Choice { id, .. } = by_id.or_else(|| self.options.iter().find(|option| option.name == choice))?;
        Some(json!({"outcome": {"outcome": "selected", "optionId": id}}))
    }
}

/// The outcome if nobody can answer.
pub(super) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}
