//! Parses a run request in the form of LangGraph's SDK. Pure.
//! Must not know: how a run is carried out.

use serde_json::{Map, Value, json};

use super::{LangGraphError, objects, one_of};

/// Members for features that do not exist here; an empty value is accepted.
const UNSUPPORTED: [&str; 8] = [
    "webhook",
    "interrupt_before",
    "interrupt_after",
    "checkpoint",
    "checkpoint_id",
    "after_seconds",
    "feedback_keys",
    "langsmith_tracer",
];
/// Members of which only one value describes what happens here.
const ONLY: [(&str, &str); 3] =
    [("multitask_strategy", "enqueue"), ("on_completion", "keep"), ("on_disconnect", "continue")];

/// The action of a request.
#[derive(Debug, PartialEq)]
pub(super) enum Act {
    /// A new run with this input.
    Start(String),
    /// The answer to a waiting run.
    Resume(Value),
}

/// A request for a run.
#[derive(Debug)]
pub(super) struct RunAsk {
    pub(super) assistant: String,
    pub(super) act: Act,
    pub(super) modes: Modes,
    /// Whether a missing thread is created.
    pub(super) opens: bool,
    /// The metadata for the agent beside the input.
    pub(super) metadata: Value,
}

impl RunAsk {
    pub(super) fn read(body: &Value) -> Result<Self, LangGraphError> {
        let assistant = body["assistant_id"].as_str().filter(|id| !id.is_empty());
        let assistant =
            assistant.ok_or_else(|| LangGraphError::invalid("`assistant_id` must name an assistant."))?;
        for name in UNSUPPORTED {
            if !is_empty(&body[name]) {
                return Err(LangGraphError::unsupported(format!(
                    "`{name}` is not supported by this server."
                )));
            }
        }
        for (name, only) in ONLY {
            if !body[name].is_null() && body[name] != only {
                return Err(LangGraphError::unsupported(format!("`{name}` must be `{only}`, or absent.")));
            }
        }
        let opens = one_of(body, "if_not_exists", &["create", "reject"])? != Some("reject");
        objects(body, &["metadata", "config", "context"])?;
        let stored =
            ["metadata", "config", "context"].into_iter().map(|name| (name.to_owned(), body[name].clone()));
        let stored: Map<String, Value> = stored.filter(|(_, value)| !value.is_null()).collect();
        let (act, modes) = (act(body)?, Modes::read(&body["stream_mode"])?);
        let metadata = json!({"langgraph": stored});
        Ok(Self { assistant: assistant.to_owned(), act, modes, opens, metadata })
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn act(body: &Value) -> Result<Act, LangGraphError> {
    let command = &body["command"];
    if command.is_null() {
        return input(&body["input"]).map(Act::Start);
    }
    let members =
        command.as_object().ok_or_else(|| LangGraphError::invalid("`command` must be an object."))?;
    let others = members.iter().any(|(name, value)| name != "resume" && !is_empty(value));
    match members.get("resume").filter(|_| !others) {
        Some(answer) => Ok(Act::Resume(answer.clone())),
        None => Err(LangGraphError::unsupported(
            "`command` may only `resume`: an agent has no graph to go to, or to update.",
        )),
    }
}

/// The input for an agent, which is text: the text of messages, and anything else as JSON.
fn input(input: &Value) -> Result<String, LangGraphError> {
    if input.is_null() {
        return Err(LangGraphError::invalid("`input` is missing."));
    }
    match (input.as_str(), input.get("messages")) {
        (Some(text), _) => Ok(text.to_owned()),
        (None, Some(list)) => messages(list),
        (None, None) => Ok(input.to_string()),
    }
}

fn messages(messages: &Value) -> Result<String, LangGraphError> {
    let wrong = || LangGraphError::invalid("`messages` must be a list of messages with text as `content`.");
    let one = |message: &Value| {
        let (role, content) = match message.as_array().map(Vec::as_slice) {
            Some([role, content]) => (role.as_str()?, content),
            Some(_) => return None,
            None if message.is_string() => ("user", message),
            None => {
                let role = message["role"].as_str().or_else(|| message["type"].as_str());
                (role.unwrap_or("user"), &message["content"])
            }
        };
        let role = if role == "human" { "user" } else { role };
        Some((role.to_owned(), text(content)?))
    };
    let alone = std::slice::from_ref(messages);
    let all = messages.as_array().map_or(alone, Vec::as_slice);
    let texts = all.iter().map(one).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
    match &texts[..] {
        [] => Err(wrong()),
        [(_, text)] => Ok(text.clone()),
        texts => {
            Ok(texts.iter().map(|(role, text)| format!("{role}: {text}")).collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// Content: text, or parts that are text.
fn text(content: &Value) -> Option<String> {
    let part = |part: &Value| part.as_str().or_else(|| part["text"].as_str()).map(str::to_owned);
    match (content.as_str(), content.as_array()) {
        (Some(text), _) => Some(text.to_owned()),
        (None, Some(parts)) => Some(parts.iter().map(part).collect::<Option<Vec<_>>>()?.join("\n")),
        (None, None) => None,
    }
}

/// The answers to a waiting run: one per key, or one for all keys. `interrupt` is the id of the question.
pub(super) fn answers(answer: &Value, questions: &Map<String, Value>, interrupt: &str) -> Value {
    let answer = answer.get(interrupt).unwrap_or(answer);
    let is_by_key =
        answer.as_object().is_some_and(|members| members.keys().any(|key| questions.contains_key(key)));
    if is_by_key {
        return answer.clone();
    }
    let text = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
    questions.keys().map(|key| (key.clone(), Value::from(text.clone()))).collect::<Map<_, _>>().into()
}

/// The stream modes of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each mode is on or off by itself")]
pub(super) struct Modes {
    pub(super) values: bool,
    pub(super) updates: bool,
    pub(super) messages: bool,
    pub(super) tuples: bool,
    pub(super) custom: bool,
}

impl Modes {
    /// Parses a mode or a list of modes; absent is `values`.
    fn read(value: &Value) -> Result<Self, LangGraphError> {
        let all = match (value.is_null(), value.as_array()) {
            (true, _) => &[],
            (false, Some(all)) => all.as_slice(),
            (false, None) => std::slice::from_ref(value),
        };
        let named: Option<Vec<String>> = all.iter().map(|one| one.as_str().map(str::to_owned)).collect();
        Self::from_names(
            &named.ok_or_else(|| {
                LangGraphError::invalid("`stream_mode` must be a mode, or a list of modes.")
            })?,
        )
    }

    pub(super) fn from_names(named: &[String]) -> Result<Self, LangGraphError> {
        let mut modes = Self { values: named.is_empty(), ..Self::default() };
        for mode in named {
            match mode.as_str() {
                "values" => modes.values = true,
                "updates" => modes.updates = true,
                "messages" => modes.messages = true,
                "messages-tuple" => modes.tuples = true,
                "custom" => modes.custom = true,
                other => {
                    let text = format!("The stream mode `{other}` is not supported: an agent is no graph.");
                    return Err(LangGraphError::unsupported(text));
                }
            }
        }
        Ok(modes)
    }

    /// The modes as a query.
    pub(super) fn query(self) -> String {
        let all = [
            (self.values, "values"),
            (self.updates, "updates"),
            (self.messages, "messages"),
            (self.tuples, "messages-tuple"),
            (self.custom, "custom"),
        ];
        let named =
            all.iter().filter(|(is_chosen, _)| *is_chosen).map(|(_, name)| format!("stream_mode={name}"));
        named.collect::<Vec<_>>().join("&")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act_of(body: &Value) -> Result<Act, String> {
        let mut whole = json!({"assistant_id": "echo"});
        whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        RunAsk::read(&whole).map(|ask| ask.act).map_err(|wrong| wrong.code)
    }

    #[test]
    fn the_input_of_an_agent_is_text() {
        let start = |text: &str| Ok(Act::Start(text.to_owned()));
        assert_eq!(act_of(&json!({"input": "a"})), start("a"));
        assert_eq!(act_of(&json!({"input": {"messages": [{"role": "user", "content": "a"}]}})), start("a"));
        assert_eq!(act_of(&json!({"input": {"messages": [["human", "a"]]}})), start("a"));
        let two = json!({"input": {"messages": [{"type": "system", "content": "s"}, {"type": "human", "content": [{"type": "text", "text": "a"}]}]}});
        assert_eq!(act_of(&two), start("system: s\n\nuser: a"));
        assert_eq!(act_of(&json!({"input": {"x": 1}})), start("{\"x\":1}"));
        for wrong in
            [json!({}), json!({"input": {"messages": []}}), json!({"input": {"messages": [{"content": 1}]}})]
        {
            assert_eq!(act_of(&wrong), Err("invalid_value".to_owned()));
        }
    }

    #[test]
    fn what_has_no_meaning_here_is_refused() {
        for (name, value) in [
            ("webhook", json!("https://example.org")),
            ("checkpoint_id", json!("c")),
            ("interrupt_before", json!("*")),
            ("multitask_strategy", json!("reject")),
            ("on_completion", json!("delete")),
            ("stream_mode", json!(["values", "debug"])),
            ("command", json!({"goto": "x"})),
            ("command", json!({"resume": 1, "update": {"a": 1}})),
        ] {
            assert_eq!(
                act_of(&json!({"input": "a", name: value})),
                Err("not_supported".to_owned()),
                "{name}"
            );
        }
        for (name, value) in [
            ("webhook", Value::Null),
            ("interrupt_before", json!([])),
            ("multitask_strategy", json!("enqueue")),
        ] {
            assert!(act_of(&json!({"input": "a", name: value})).is_ok(), "{name}");
        }
        assert_eq!(act_of(&json!({"command": {"resume": "yes"}})), Ok(Act::Resume("yes".into())));
    }

    #[test]
    fn an_answer_is_for_its_key_or_for_all() {
        let questions = json!({"name": "Who?", "age": "How old?"});
        let questions = questions.as_object().unwrap();
        assert_eq!(answers(&json!("x"), questions, "i"), json!({"name": "x", "age": "x"}));
        assert_eq!(answers(&json!({"name": "x"}), questions, "i"), json!({"name": "x"}));
        assert_eq!(answers(&json!({"i": {"name": "x"}}), questions, "i"), json!({"name": "x"}));
        assert_eq!(answers(&json!(7), questions, "i"), json!({"name": "7", "age": "7"}));
    }

    #[test]
    fn modes_survive_a_query() {
        let modes = Modes::from_names(&["values".into(), "messages-tuple".into()]).unwrap();
        assert_eq!(modes.query(), "stream_mode=values&stream_mode=messages-tuple");
        assert_eq!(Modes::from_names(&[]).unwrap().query(), "stream_mode=values");
    }
}
