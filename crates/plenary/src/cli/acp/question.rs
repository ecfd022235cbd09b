//! A question of a run in the editor: a permission dialog if the agent offers options, a form if the editor supports
//! forms, otherwise text, and the next prompt is the answer. Pure.
//! Must not know: runs or the editor beyond their messages.

use serde_json::{Map, Value, json};

/// The kinds of option that an editor knows.
const KINDS: [&str; 4] = ["allow_once", "allow_always", "reject_once", "reject_always"];
/// The kind of an option whose agent names none.
const KIND: &str = "allow_once";

/// What a run waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    /// Which run.
    pub(super) run: String,
    /// The id of its event that asks.
    pub(super) event: u64,
    /// The names and descriptions of what has no answer yet.
    keys: Vec<(String, String)>,
    options: Map<String, Value>,
    answers: Map<String, Value>,
}

/// What the editor makes of a question.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// The answers, by name.
    Answers(Map<String, Value>),
    /// The turn was canceled.
    Canceled,
    /// Nobody answers now; the run waits.
    Later,
}

impl Question {
    /// From the members `request_keys` and `options` of a WaitForInput, or of a run that waits.
    pub(super) fn new(
        (run, event): (&str, u64),
        request_keys: &Map<String, Value>,
        options: Option<&Map<String, Value>>,
    ) -> Self {
        let described = |(key, description): (&String, &Value)| {
            let text = match description {
                Value::String(text) if !text.is_empty() => text.clone(),
                Value::Null | Value::String(_) => key.clone(),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    description.to_string()
                }
            };
            (key.clone(), text)
        };
        Self {
            run: run.to_owned(),
            event,
            keys: request_keys.iter().map(described).collect(),
            options: options.cloned().unwrap_or_default(),
            answers: Map::new(),
        }
    }

    /// In words: the first thing that has no answer.
    pub(super) fn words(&self) -> String {
        self.keys
            .first()
            .map_or_else(|| "The agent waits for an answer.".to_owned(), |(_, text)| text.clone())
    }

    /// The request for a permission, under the id of a call of a tool; none unless there is one thing to know, with options.
    pub(super) fn permission(&self, session: &str, call: &str) -> Option<Value> {
        let [(key, text)] = self.keys.as_slice() else { return None };
        let options = self.options_of(key)?;
        let options: Vec<Value> = options
            .iter()
            .map(|(id, name, kind)| json!({"optionId": id, "name": name, "kind": kind}))
            .collect();
        let call = json!({"toolCallId": call, "title": text, "kind": "other", "status": "pending"});
        Some(json!({"sessionId": session, "toolCall": call, "options": options}))
    }

    /// What the answer to that means.
    pub(super) fn permitted(&self, outcome: &Value) -> Reply {
        let chosen = outcome["outcome"]["optionId"].as_str();
        match (chosen, self.keys.as_slice()) {
            (Some(option), [(key, _)]) => Reply::Answers(Map::from_iter([(key.clone(), option.into())])),
            _ => Reply::Canceled,
        }
    }

    /// The request for a form.
    pub(super) fn form(&self, session: &str) -> Value {
        let property = |(key, text): &(String, String)| {
            let mut schema = json!({"type": "string", "title": key, "description": text});
            if let Some(options) = self.options_of(key) {
                let options = options.iter().map(|(id, name, _)| json!({"const": id, "title": name}));
                schema["oneOf"] = options.collect();
            }
            (key.clone(), schema)
        };
        let properties: Map<String, Value> = self.keys.iter().map(property).collect();
        let required: Vec<&str> = self.keys.iter().map(|(key, _)| key.as_str()).collect();
        let texts: Vec<&str> = self.keys.iter().map(|(_, text)| text.as_str()).collect();
        json!({
            "mode": "form", "sessionId": session, "message": texts.join("\n"),
            "requestedSchema": {"type": "object", "properties": properties, "required": required},
        })
    }

    /// What the answer to that means.
    pub(super) fn filled(&self, answer: &Value) -> Reply {
        match (answer["action"].as_str(), answer["content"].as_object()) {
            (Some("accept"), Some(content)) => Reply::Answers(content.clone()),
            _ => Reply::Later,
        }
    }

    /// A prompt answers the first thing that has no answer; all answers once there is nothing more to know.
    pub(super) fn answer_with(&mut self, text: &str) -> Option<Map<String, Value>> {
        if !self.keys.is_empty() {
            let (key, _) = self.keys.remove(0);
            self.answers.insert(key, text.into());
        }
        self.keys.is_empty().then(|| std::mem::take(&mut self.answers))
    }

    /// The options of a thing to know: id, name and kind.
    fn options_of(&self, key: &str) -> Option<Vec<(&str, &str, &str)>> {
        let options = self.options.get(key)?.as_array()?.iter();
        let options = options.filter_map(|option| {
            let id = option["id"].as_str()?;
            let name = option["name"].as_str().filter(|name| !name.is_empty()).unwrap_or(id);
            let kind = option["kind"].as_str().filter(|kind| KINDS.contains(kind)).unwrap_or(KIND);
            Some((id, name, kind))
        });
        let options: Vec<_> = options.collect();
        (!options.is_empty()).then_some(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(keys: &Value, options: &Value) -> Question {
        Question::new(("r", 1), keys.as_object().unwrap(), options.as_object())
    }

    #[test]
    fn one_thing_with_options_is_a_permission() {
        let options = json!({"permission": [
            {"id": "y", "name": "Yes", "kind": "allow_always"}, {"id": "n", "kind": "odd"}, {"name": "no id"},
        ]});
        let question = question(&json!({"permission": "rm?"}), &options);
        let asked = question.permission("s", "r:4").unwrap();
        assert_eq!(asked["toolCall"]["title"], "rm?");
        assert_eq!(
            asked["options"],
            json!([
                {"optionId": "y", "name": "Yes", "kind": "allow_always"},
                {"optionId": "n", "name": "n", "kind": "allow_once"},
            ])
        );
        let selected = json!({"outcome": {"outcome": "selected", "optionId": "y"}});
        let answers = Map::from_iter([("permission".to_owned(), json!("y"))]);
        assert_eq!(question.permitted(&selected), Reply::Answers(answers));
        assert_eq!(question.permitted(&json!({"outcome": {"outcome": "cancelled"}})), Reply::Canceled);
    }

    #[test]
    fn several_things_or_none_to_choose_from_are_no_permission_but_a_form() {
        let none = question(&json!({"name": "Your name?"}), &json!(null));
        assert_eq!(none.permission("s", "c"), None);
        assert_eq!(question(&json!({"name": "?"}), &json!({"name": []})).permission("s", "c"), None);
        let two = question(&json!({"a": "A?", "b": null}), &json!({"a": [{"id": "x"}]}));
        assert_eq!(two.permission("s", "c"), None);
        let form = two.form("s");
        assert_eq!(form["requestedSchema"]["required"], json!(["a", "b"]));
        let properties = &form["requestedSchema"]["properties"];
        assert_eq!(properties["a"]["oneOf"], json!([{"const": "x", "title": "x"}]));
        assert_eq!(properties["b"], json!({"type": "string", "title": "b", "description": "b"}));
        let content = json!({"a": "x", "b": "y"});
        let accepted = json!({"action": "accept", "content": content});
        assert_eq!(two.filled(&accepted), Reply::Answers(content.as_object().cloned().unwrap()));
        assert_eq!(two.filled(&json!({"action": "decline"})), Reply::Later);
    }

    #[test]
    fn prompts_answer_one_thing_after_the_other() {
        let mut question = question(&json!({"a": "A?", "b": {"of": 1}}), &json!(null));
        assert_eq!(question.words(), "A?");
        assert_eq!(question.answer_with("one"), None);
        assert_eq!(question.words(), r#"{"of":1}"#);
        let answers = question.answer_with("two").unwrap();
        assert_eq!(Value::Object(answers), json!({"a": "one", "b": "two"}));
        let mut nothing = Question::new(("r", 1), &Map::new(), None);
        assert_eq!(nothing.answer_with("go on"), Some(Map::new()), "a run may wait for nothing but a word");
    }
}
