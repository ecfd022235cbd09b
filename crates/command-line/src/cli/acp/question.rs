//! A question of a run in the editor: a permission dialog if the agent offers options, a form if the editor supports
//! forms, otherwise text, and the next prompt is the answer. Pure.
//! Must not know: runs or the editor beyond their messages.

use plenary_runs::ELICITATION;
use serde_json::{Map, Value, json};

/// The prompt that skips an optional field.
const NOTHING: &str = "-";
/// The kinds of option that an editor knows.
const KINDS: [&str; 4] = ["allow_once", "allow_always", "reject_once", "reject_always"];
/// The kind of an option whose agent names none.
const KIND: &str = "allow_once";

/// The input that a run waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Question {
    pub(super) run: String,
    /// The id of the run's event with the question.
    pub(super) event: u64,
    /// The names and descriptions of the inputs without an answer.
    keys: Vec<(String, String)>,
    options: Map<String, Value>,
    form: Option<Form>,
    answers: Map<String, Value>,
}

/// The requested inputs as typed fields.
#[derive(Debug, Clone, PartialEq)]
struct Form {
    message: String,
    schema: Map<String, Value>,
}

impl Form {
    fn new(members: &Value) -> Option<Self> {
        let message = members["message"].as_str()?.to_owned();
        Some(Self { message, schema: members["form"].as_object()?.clone() })
    }

    /// Whether the form has no fields and only asks for consent.
    fn is_empty(&self) -> bool {
        self.schema.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty)
    }

    fn requires(&self, name: &str) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|one| one == name))
    }
}

/// An answer without values.
fn plain_answer(action: &str) -> Map<String, Value> {
    Map::from_iter([(ELICITATION.to_owned(), action.into())])
}

/// The editor's response to a question.
#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    /// The answers, by name.
    Answers(Map<String, Value>),
    /// The turn was canceled.
    Canceled,
    /// No answer for now; the run keeps waiting.
    Later,
}

impl Question {
    /// Reads the members of a WaitForInput event, or of a waiting run.
    pub(super) fn new((run, event): (&str, u64), members: &Value) -> Self {
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
        let form = Form::new(members);
        let has_fields = form.as_ref().is_some_and(|form| !form.is_empty());
        let keys = members["request_keys"].as_object().into_iter().flatten();
        // The word that declines is not a field.
        let keys = keys.filter(|(key, _)| !(has_fields && *key == ELICITATION)).map(described).collect();
        let options = members["options"].as_object().cloned().unwrap_or_default();
        Self { run: run.to_owned(), event, keys, options, form, answers: Map::new() }
    }

    /// The form, if it has fields.
    fn fields(&self) -> Option<&Form> {
        self.form.as_ref().filter(|form| !form.is_empty())
    }

    /// The question as text: the first input without an answer.
    pub(super) fn text(&self) -> String {
        let Some((key, prompt)) = self.keys.first() else {
            return "The agent waits for an answer.".to_owned();
        };
        let Some(form) = self.fields() else { return prompt.clone() };
        let message = if self.answers.is_empty() { format!("{}\n\n", form.message) } else { String::new() };
        let skip_hint = if form.requires(key) { "" } else { "; `-` leaves it out" };
        format!("{message}{key}: {prompt}\n\n`decline` or `cancel` gives nothing{skip_hint}.")
    }

    /// The permission request, under the id of a tool call; `None` unless there is exactly one input and it has options.
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

    /// Interprets the answer to the permission request.
    pub(super) fn permitted(&self, outcome: &Value) -> Reply {
        let chosen = outcome["outcome"]["optionId"].as_str();
        match (chosen, self.keys.as_slice()) {
            (Some(option), [(key, _)]) => Reply::Answers(Map::from_iter([(key.clone(), option.into())])),
            _ => Reply::Canceled,
        }
    }

    /// The request that shows the form.
    pub(super) fn form(&self, session: &str) -> Value {
        if let Some(Form { message, schema }) = &self.form {
            let mut schema = schema.clone();
            schema.entry("type").or_insert_with(|| "object".into());
            schema.entry("properties").or_insert_with(|| json!({}));
            return json!({"mode": "form", "sessionId": session, "message": message, "requestedSchema": schema});
        }
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

    /// Interprets the answer to the form.
    pub(super) fn filled(&self, answer: &Value) -> Reply {
        match (answer["action"].as_str(), &self.form) {
            (Some("accept"), Some(form)) if form.is_empty() => Reply::Answers(plain_answer("accept")),
            (Some("accept"), _) => {
                answer["content"].as_object().cloned().map_or(Reply::Later, Reply::Answers)
            }
            (Some(action @ ("decline" | "cancel")), Some(_)) => Reply::Answers(plain_answer(action)),
            _ => Reply::Later,
        }
    }

    /// Takes a prompt as the answer to the first open input; returns all answers once none is open.
    pub(super) fn answer_with(&mut self, text: &str) -> Option<Map<String, Value>> {
        if let action @ ("decline" | "cancel") = text.trim()
            && self.form.is_some()
        {
            return Some(plain_answer(action));
        }
        if !self.keys.is_empty() {
            let (key, _) = self.keys.remove(0);
            let may_be_left_out = self.fields().is_some_and(|form| !form.requires(&key));
            if !(may_be_left_out && text.trim() == NOTHING) {
                self.answers.insert(key, text.into());
            }
        }
        self.keys.is_empty().then(|| std::mem::take(&mut self.answers))
    }

    /// The options of an input: id, name and kind.
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
        Question::new(("r", 1), &json!({"request_keys": keys, "options": options}))
    }

    #[test]
    fn one_key_with_options_is_a_permission() {
        let options = json!({"permission": [
            {"id": "y", "name": "Yes", "kind": "allow_always"}, {"id": "n", "kind": "odd"}, {"name": "no id"},
        ]});
        let question = question(&json!({"permission": "rm?"}), &options);
        let permission = question.permission("s", "r:4").unwrap();
        assert_eq!(permission["toolCall"]["title"], "rm?");
        assert_eq!(
            permission["options"],
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
    fn several_keys_or_a_key_without_options_are_a_form() {
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
    fn prompts_answer_one_key_after_the_other() {
        let mut question = question(&json!({"a": "A?", "b": {"of": 1}}), &json!(null));
        assert_eq!(question.text(), "A?");
        assert_eq!(question.answer_with("one"), None);
        assert_eq!(question.text(), r#"{"of":1}"#);
        let answers = question.answer_with("two").unwrap();
        assert_eq!(Value::Object(answers), json!({"a": "one", "b": "two"}));
        let mut nothing = Question::new(("r", 1), &json!({"request_keys": {}}));
        assert_eq!(nothing.answer_with("go on"), Some(Map::new()), "a run may wait for any text");
    }

    fn form_question(schema: &Value) -> Question {
        let keys = schema["properties"].as_object().unwrap().keys();
        let mut keys: Map<String, Value> = keys.map(|key| (key.clone(), format!("({key})").into())).collect();
        keys.insert("elicitation".to_owned(), "Which? Answer decline or cancel, or give the values.".into());
        Question::new(("r", 1), &json!({"request_keys": keys, "message": "Which?", "form": schema}))
    }

    fn answers(value: &Value) -> Reply {
        Reply::Answers(value.as_object().cloned().unwrap())
    }

    #[test]
    fn a_form_of_the_agent_is_sent_unchanged_and_may_be_declined() {
        let schema = json!({"type": "object", "properties": {"branch": {"type": "string"}, "depth": {"type": "integer"}},
            "required": ["branch"]});
        let question = form_question(&schema);
        assert_eq!(question.permission("s", "c"), None);
        let form = question.form("s");
        assert_eq!((&form["message"], &form["requestedSchema"]), (&json!("Which?"), &schema));
        let content = json!({"branch": "main", "depth": 2});
        assert_eq!(question.filled(&json!({"action": "accept", "content": content})), answers(&content));
        for action in ["decline", "cancel"] {
            assert_eq!(question.filled(&json!({"action": action})), answers(&json!({"elicitation": action})));
        }
        let confirmation = form_question(&json!({"properties": {}}));
        let expected = json!({"type": "object", "properties": {}});
        assert_eq!(confirmation.form("s")["requestedSchema"], expected);
        let accepted = answers(&json!({"elicitation": "accept"}));
        assert_eq!(confirmation.filled(&json!({"action": "accept", "content": {}})), accepted);
        assert_eq!(confirmation.filled(&json!({"action": "accept"})), accepted);
    }

    #[test]
    fn prompts_fill_a_form_in_or_decline_it() {
        let schema = json!({"type": "object", "properties": {"branch": {"type": "string"}, "depth": {"type": "integer"}},
            "required": ["branch"]});
        let mut whole = form_question(&schema);
        let mut question = whole.clone();
        assert_eq!(question.text(), "Which?\n\nbranch: (branch)\n\n`decline` or `cancel` gives nothing.");
        assert_eq!(question.answer_with("main"), None);
        assert_eq!(
            question.text(),
            "depth: (depth)\n\n`decline` or `cancel` gives nothing; `-` leaves it out."
        );
        assert_eq!(
            question.clone().answer_with("3"),
            json!({"branch": "main", "depth": "3"}).as_object().cloned()
        );
        assert_eq!(question.answer_with(" - "), json!({"branch": "main"}).as_object().cloned());
        assert_eq!(whole.answer_with("decline"), json!({"elicitation": "decline"}).as_object().cloned());
        let mut confirmation = form_question(&json!({"properties": {}}));
        assert_eq!(confirmation.text(), "Which? Answer decline or cancel, or give the values.");
        assert_eq!(confirmation.answer_with("accept"), json!({"elicitation": "accept"}).as_object().cloned());
    }
}
