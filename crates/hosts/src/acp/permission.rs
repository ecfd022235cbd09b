//! What the agent asks permission for, as a question to the caller, and the answer as one of its options.
//! Must not know: how either travels.

use serde_json::{Map, Value, json};

/// The name of the answer.
const KEY: &str = "permission";

/// A permission that is asked for.
#[derive(Debug, PartialEq)]
pub(super) struct Permission {
    title: String,
    /// Ids and names.
    options: Vec<(String, String)>,
}

impl Permission {
    /// Of the members of `session/request_permission`.
    pub(super) fn new(params: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let options = params["options"].as_array().into_iter().flatten();
        let options = options.map(|option| (text(&option["optionId"]), text(&option["name"])));
        Self { title: text(&params["toolCall"]["title"]), options: options.collect() }
    }

    /// What the caller is asked.
    pub(super) fn request_keys(&self) -> Map<String, Value> {
        let options: Vec<_> = self.options.iter().map(|(id, name)| format!("{id} ({name})")).collect();
        let title = if self.title.is_empty() { "The agent asks for permission." } else { &self.title };
        let text = format!("{title} Answer with one of: {}", options.join(", "));
        Map::from_iter([(KEY.to_owned(), text.into())])
    }

    /// The outcome that the caller's answer means: the id or the name of an option. Anything else means nothing.
    pub(super) fn outcome(&self, answer: &Map<String, Value>) -> Option<Value> {
        let said = answer.get(KEY)?.as_str()?.trim();
        let by_id = self.options.iter().find(|(id, _)| id == said);
        let (id, _) = by_id.or_else(|| self.options.iter().find(|(_, name)| name == said))?;
        Some(json!({"outcome": {"outcome": "selected", "optionId": id}}))
    }
}

/// The outcome if nobody can answer.
pub(super) fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}
