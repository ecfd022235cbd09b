//! Converts a message to a request, and the output of a run to a message. Pure.
//! Must not know: the session or thread.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use plenary_kernel::{AgentHandle, SessionId};
use plenary_runs::event::Artifact;
use plenary_sessions::event::json_object;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::limits::ANSWER_BYTES_MAX;

/// The end of a text that was cut.
const CUT: &str = " … (cut)";

/// The message that started a run, as its agent sees it: `run_context` of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Context {
    pub(crate) depth: u32,
    pub(crate) session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) topic: Option<String>,
    pub(crate) sequence: u64,
    pub(crate) message_id: String,
    /// The sender: the authenticated agent.
    pub(crate) sender: AgentHandle,
    /// How many agents of this server have passed it on.
    pub(crate) hops: u32,
    /// The index of the thread among the agent's threads for this session, from 0.
    pub(crate) part: u32,
    /// Whether the request is a repetition, because the first run was lost with its process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) again: bool,
}

impl Context {
    /// The context of a request.
    pub(crate) fn read(request: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct StoredRunContext {
            run_context: Context,
        }
        serde_json::from_slice::<StoredRunContext>(request).ok().map(|sent| sent.run_context)
    }

    /// A request of this server, with its context replaced by this one.
    pub(crate) fn in_request(&self, request: &[u8]) -> Option<Bytes> {
        let mut request: Map<String, Value> = serde_json::from_slice(request).ok()?;
        request.insert("run_context".into(), serde_json::to_value(self).ok()?);
        serde_json::to_vec(&request).ok().map(Bytes::from)
    }
}

/// A message as it was sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MessageBody {
    pub(crate) content: Value,
    pub(crate) metadata: Map<String, Value>,
}

impl MessageBody {
    /// From the members of a stored message.
    pub(crate) fn read(members: &[u8]) -> Self {
        #[derive(Default, Deserialize)]
        struct Members {
            #[serde(default)]
            content: Value,
            #[serde(default)]
            metadata: Map<String, Value>,
        }
        let object = json_object(members);
        let Members { content, metadata } = serde_json::from_slice(&object).unwrap_or_default();
        Self { content, metadata }
    }

    /// Its content as text; other parts become a line each.
    pub(crate) fn text(&self) -> String {
        let Value::Array(parts) = &self.content else {
            return self.content.as_str().unwrap_or_default().to_owned();
        };
        let member = |part: &Value, name: &str| part[name].as_str().map(str::to_owned);
        let lines = parts.iter().filter_map(|part| match part["type"].as_str()? {
            "text" => member(part, "text"),
            "data" => Some(part["data"].to_string()),
            kind => {
                let name = member(part, "name").unwrap_or_default();
                let address = member(part, "url").or_else(|| member(part, "file_id")).unwrap_or_default();
                Some(format!("[{}]", [kind, &name, &address].join(" ").trim_end()))
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Whether the message mentions an agent: in its text, or in `mentions` of its metadata.
    pub(crate) fn mentions(&self, agent: &AgentHandle) -> bool {
        let listed = self.metadata.get("mentions").and_then(Value::as_array);
        listed.is_some_and(|listed| listed.iter().any(|named| named == agent.as_str()))
            || names(&self.text(), agent.as_str())
    }

    /// The request for a run.
    pub(crate) fn request(&self, context: &Context) -> Bytes {
        let body = json!({
            "type": "ChatRequest",
            "input": self.text(),
            "content": self.content,
            "request_metadata": self.metadata,
            "run_context": context,
        });
        body.to_string().into()
    }

    /// The resume request for a run that asked for these keys. The values come from `request_keys` of the metadata,
    /// from an object among the parts or in the text, or else the text is the value of each key.
    pub(crate) fn answer(&self, run: &str, keys: &Map<String, Value>, context: &Context) -> Bytes {
        let text = self.text();
        let object = |value: &Value| value.as_object().cloned();
        let parts = self.content.as_array().into_iter().flatten();
        let values = self
            .metadata
            .get("request_keys")
            .and_then(object)
            .or_else(|| parts.filter(|part| part["type"] == "data").find_map(|part| object(&part["data"])))
            .or_else(|| if keys.len() > 1 { serde_json::from_str(&text).ok() } else { None })
            .unwrap_or_else(|| keys.keys().map(|key| (key.clone(), text.clone().into())).collect());
        let body = json!({
            "type": "ResumeWithInput",
            "run_id": run,
            "request_keys": values,
            "run_context": context,
        });
        body.to_string().into()
    }
}

/// Whether a text contains a handle that is not the beginning of a longer one.
fn names(text: &str, handle: &str) -> bool {
    let in_handle = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(handle).any(|(at, _)| {
        let mut rest = text[at + handle.len()..].chars();
        match rest.next() {
            Some('.') => !rest.next().is_some_and(in_handle),
            Some(next) => !in_handle(next),
            None => true,
        }
    })
}

/// The message for the keys that an agent requests.
pub(crate) fn question(keys: &Map<String, Value>) -> Value {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut lines: Vec<String> = match keys.len() {
        1 => keys.values().map(text).collect(),
        _ => keys.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect(),
    };
    lines.retain(|line| !line.trim().is_empty());
    if lines.is_empty() {
        return "What do you answer?".into();
    }
    cut(&lines.join("\n")).into()
}

/// The message with an agent's final text and its artifacts; `None` if both are empty.
pub(crate) fn answer(text: &str, artifacts: &[(Artifact, Option<Bytes>)]) -> Option<Value> {
    let mut text = cut(text);
    for (artifact, _) in artifacts.iter().filter(|(_, bytes)| bytes.is_none()) {
        let Artifact { id, name, mime_type, bytes, .. } = artifact;
        let line = format!("[{name}: {mime_type}, {bytes} bytes, /artifacts/{id}]");
        text = if text.is_empty() { line } else { format!("{text}\n{line}") };
    }
    let mut parts = Vec::new();
    if !text.trim().is_empty() {
        parts.push(json!({"type": "text", "text": text}));
    }
    for (artifact, bytes) in artifacts {
        let Some(bytes) = bytes else { continue };
        let Artifact { name, mime_type, bytes: size, .. } = artifact;
        let mut part = json!({
            "type": "file",
            "url": format!("data:{mime_type};base64,{}", STANDARD.encode(bytes)),
            "size": size,
        });
        for (member, value) in [("name", name), ("mime_type", mime_type)] {
            if !value.is_empty() {
                part[member] = Value::from(value.as_str());
            }
        }
        parts.push(part);
    }
    match (parts.len(), text.trim().is_empty()) {
        (0, _) => None,
        (1, false) => Some(text.into()),
        _ => Some(parts.into()),
    }
}

/// The text of a run's answer: the result alone if the output contains it, otherwise the output and then the result.
pub(crate) fn answer_text(text: &str, result: &str) -> String {
    let (output, result) = (text.trim(), result.trim());
    match (output.is_empty(), result.is_empty()) {
        (true, _) => result.to_owned(),
        (false, true) => output.to_owned(),
        (false, false) if output.contains(result) => result.to_owned(),
        (false, false) => format!("{output}\n\n{result}"),
    }
}

fn cut(text: &str) -> String {
    if text.len() <= ANSWER_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(ANSWER_BYTES_MAX - CUT.len());
    format!("{}{CUT}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(members: &str) -> MessageBody {
        MessageBody::read(members.as_bytes())
    }

    fn context() -> Context {
        Context {
            depth: 1,
            session_id: "sess_1".parse().unwrap(),
            topic: None,
            sequence: 7,
            message_id: "msg_1".into(),
            sender: "@a.b".parse().unwrap(),
            hops: 1,
            part: 0,
            again: false,
        }
    }

    #[test]
    fn a_message_is_text_and_its_parts_are_named() {
        assert_eq!(message(r#""content":"hi""#).text(), "hi");
        let parts = r#""content":[{"type":"text","text":"a"},{"type":"file","url":"u","name":"n"},
            {"type":"image","url":"v"},{"type":"data","data":{"x":1}}]"#;
        assert_eq!(message(parts).text(), "a\n[file n u]\n[image  v]\n{\"x\":1}");
    }

    #[test]
    fn a_handle_is_named_whole() {
        let me = "@acme.bot".parse().unwrap();
        let mentions = |text: &str| message(&format!(r#""content":{}"#, json!(text))).mentions(&me);
        for yes in
            ["@acme.bot", "hey @acme.bot, you", "ask @acme.bot.", "(@acme.bot)", "@acme.bots @acme.bot"]
        {
            assert!(mentions(yes), "{yes}");
        }
        for no in ["", "acme.bot", "@acme.bots", "@acme.bot-2", "@acme.bot.x", "@acme"] {
            assert!(!mentions(no), "{no}");
        }
        assert!(message(r#""content":"x","metadata":{"mentions":["@acme.bot"]}"#).mentions(&me));
    }

    #[test]
    fn the_request_has_what_was_said_and_who_said_it() {
        let body = message(r#""content":"hi","metadata":{"demo":["artifact"]}"#).request(&context());
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((&body["type"], &body["input"]), (&json!("ChatRequest"), &json!("hi")));
        assert_eq!(body["request_metadata"], json!({"demo": ["artifact"]}));
        assert_eq!(
            (&body["run_context"]["sender"], &body["run_context"]["sequence"]),
            (&json!("@a.b"), &json!(7))
        );
        assert_eq!(Context::read(body.to_string().as_bytes()), Some(context()));
        assert_eq!(Context::read(br#"{"run_context":{"depth":1}}"#), None);
    }

    #[test]
    fn an_answer_goes_to_the_keys_that_were_asked_for() {
        let keys = |members: &str, keys: Value| {
            let body = message(members).answer("run", keys.as_object().unwrap(), &context());
            serde_json::from_slice::<Value>(&body).unwrap()["request_keys"].clone()
        };
        let (one, two) = (json!({"a": "A?"}), json!({"a": "A?", "b": "B?"}));
        assert_eq!(keys(r#""content":"yes""#, one.clone()), json!({"a": "yes"}));
        assert_eq!(keys(r#""content":"{\"a\":1}""#, one.clone()), json!({"a": "{\"a\":1}"}));
        assert_eq!(keys(r#""content":"{\"a\":1,\"b\":2}""#, two.clone()), json!({"a": 1, "b": 2}));
        assert_eq!(keys(r#""content":"yes""#, two), json!({"a": "yes", "b": "yes"}));
        assert_eq!(keys(r#""content":[{"type":"data","data":{"a":3}}]"#, one.clone()), json!({"a": 3}));
        assert_eq!(keys(r#""content":"x","metadata":{"request_keys":{"a":4}}"#, one), json!({"a": 4}));
    }

    #[test]
    fn what_is_asked_for_is_a_message() {
        let asks = |keys: Value| question(keys.as_object().unwrap());
        assert_eq!(asks(json!({"name": "Your name?"})), "Your name?");
        assert_eq!(asks(json!({"a": "A?", "b": "B?"})), "a: A?\nb: B?");
        assert_eq!(asks(json!({})), "What do you answer?");
    }

    #[test]
    fn a_result_stands_alone_where_the_text_has_it_and_below_the_text_where_not() {
        for (text, result, expected) in [
            ("Hello", "Hello", "Hello"),
            ("Let me look.\nIt is 4.", "It is 4.", "It is 4."),
            ("It is 4.", "done", "It is 4.\n\ndone"),
            ("It is 4.", "", "It is 4."),
            (" ", "done", "done"),
            ("", "", ""),
        ] {
            assert_eq!(answer_text(text, result), expected);
        }
    }

    #[test]
    fn an_answer_is_text_or_parts_and_never_empty() {
        let artifact = |bytes: u64| Artifact {
            id: "art_1".into(),
            name: "a.txt".into(),
            mime_type: "text/plain".into(),
            bytes,
            sha256: String::new(),
        };
        assert_eq!(answer(" ", &[]), None);
        assert_eq!(answer("hi", &[]), Some("hi".into()));
        let inline = answer("hi", &[(artifact(1), Some(Bytes::from_static(b"x")))]).unwrap();
        assert_eq!(inline[1]["url"], "data:text/plain;base64,eA==");
        assert_eq!((&inline[0]["text"], &inline[1]["name"]), (&json!("hi"), &json!("a.txt")));
        assert_eq!(
            answer("", &[(artifact(9), None)]),
            Some("[a.txt: text/plain, 9 bytes, /artifacts/art_1]".into())
        );
        let alone = answer("", &[(artifact(1), Some(Bytes::from_static(b"x")))]).unwrap();
        assert_eq!(alone.as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_and_says_so() {
        let Some(Value::String(text)) = answer(&"é".repeat(ANSWER_BYTES_MAX), &[]) else { panic!("text") };
        assert!(text.len() <= ANSWER_BYTES_MAX && text.ends_with(CUT));
    }
}
