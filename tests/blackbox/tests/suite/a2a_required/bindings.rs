//! The bindings of Agent2Agent 1.0 that have paths for agents: one call, written for each as the specification has it.
//! Must not know: what a call does.

use blackbox::{Caller, Response};
use serde_json::{Value, json};

use crate::a2a::VERSION;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    JsonRpc,
    HttpJson,
}

pub(super) const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::HttpJson];

/// Sections 5.4, 9.5 and 11.6: the errors with their codes.
const ERRORS: [(&str, i64, u16); 9] = [
    ("TASK_NOT_FOUND", -32001, 404),
    ("TASK_NOT_CANCELABLE", -32002, 400),
    ("UNSUPPORTED_OPERATION", -32004, 400),
    ("CONTENT_TYPE_NOT_SUPPORTED", -32005, 400),
    ("VERSION_NOT_SUPPORTED", -32009, 400),
    ("INVALID_PARAMS", -32602, 400),
    ("METHOD_NOT_FOUND", -32601, 404),
    ("INSUFFICIENT_SCOPE", -32600, 403),
    ("AGENT_NOT_FOUND", -32600, 404),
];

/// An event of a stream: its id, and what it tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StreamEvent {
    pub(super) id: Option<u64>,
    pub(super) value: Value,
}

/// Who asks whom, and how.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) binding: Binding,
    pub(super) caller: &'a Caller,
    /// The base URL of the agent.
    pub(super) base: &'a str,
}

impl Line<'_> {
    /// The path and body of a call, and its verb.
    fn written(&self, method: &str, params: &Value) -> (&'static str, String, Option<Value>) {
        if self.binding == Binding::JsonRpc {
            let call = json!({"jsonrpc": "2.0", "id": "c-1", "method": method, "params": params});
            return ("POST", self.base.to_owned(), Some(call));
        }
        let text = |name: &str| params[name].as_str().unwrap_or("none").to_owned();
        let query = |left_out: &str| {
            let members = params.as_object().into_iter().flatten();
            let pairs = members.filter(|(name, _)| *name != left_out);
            let pair = |(name, value): (&String, &Value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                format!("{name}={}", value.replace('+', "%2B"))
            };
            pairs.map(pair).collect::<Vec<_>>().join("&")
        };
        let (verb, path, body) = match method {
            "SendMessage" => ("POST", "message:send".to_owned(), Some(params.clone())),
            "SendStreamingMessage" => ("POST", "message:stream".to_owned(), Some(params.clone())),
            "GetTask" => ("GET", format!("tasks/{}?{}", text("id"), query("id")), None),
            "ListTasks" => ("GET", format!("tasks?{}", query("")), None),
            "CancelTask" => ("POST", format!("tasks/{}:cancel", text("id")), Some(json!({}))),
            "SubscribeToTask" => ("POST", format!("tasks/{}:subscribe", text("id")), Some(json!({}))),
            "GetExtendedAgentCard" => ("GET", "extendedAgentCard".to_owned(), None),
            other => ("POST", other.to_owned(), Some(params.clone())),
        };
        (verb, format!("{}/{path}", self.base), body)
    }

    /// A call with these headers beside the version; its answer.
    pub(super) async fn call(&self, method: &str, params: &Value, headers: &[(&str, &str)]) -> Response {
        let (verb, path, body) = self.written(method, params);
        let headers: Vec<_> = [VERSION].into_iter().chain(headers.iter().copied()).collect();
        self.caller.call(verb, &path, &headers, body.as_ref()).await
    }

    /// The result of a call, or the reason why there is none.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        self.outcome(&self.call(method, &params, &[]).await)
    }

    pub(super) fn outcome(&self, answer: &Response) -> Result<Value, String> {
        let mut body = answer.json();
        let error = body.get_mut("error").map(Value::take).unwrap_or_default();
        let result = match self.binding {
            Binding::JsonRpc => {
                assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!("c-1")), "{answer}");
                body["result"].take()
            }
            Binding::HttpJson => body,
        };
        if error.is_null() {
            assert_eq!(answer.status, 200, "{answer}");
            return Ok(result);
        }
        let details = if self.binding == Binding::JsonRpc { &error["data"] } else { &error["details"] };
        assert_eq!(details[0]["@type"], "type.googleapis.com/google.rpc.ErrorInfo", "{answer}");
        assert_eq!(details[0]["domain"], "a2a-protocol.org", "{answer}");
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{answer}");
        let reason = details[0]["reason"].as_str().expect("a reason").to_owned();
        let (_, code, status) =
            ERRORS.iter().find(|(known, ..)| *known == reason).unwrap_or_else(|| panic!("{answer}"));
        match self.binding {
            Binding::JsonRpc => assert_eq!(error["code"], *code, "{answer}"),
            Binding::HttpJson => {
                assert_eq!((&error["code"], answer.status), (&json!(status), *status), "{answer}")
            }
        }
        Err(reason)
    }

    pub(super) fn events(&self, answer: &Response) -> Vec<StreamEvent> {
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("text/event-stream")),
            "{answer}"
        );
        let text = answer.text();
        let blocks = text.split("\n\n").filter(|block| block.contains("data: "));
        let event = |block: &str| {
            let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            let mut value: Value = serde_json::from_str(line("data: ").expect("data")).expect("JSON");
            if self.binding == Binding::JsonRpc {
                assert_eq!((&value["jsonrpc"], &value["id"]), (&json!("2.0"), &json!("c-1")), "{text}");
                value = value["result"].take();
            }
            StreamEvent { id: line("id: ").map(|id| id.parse().expect("a number")), value }
        };
        blocks.map(event).collect()
    }

    /// The task of a message that is sent.
    pub(super) async fn task(&self, message: Value) -> Value {
        self.ask("SendMessage", message).await.expect("a task")["task"].take()
    }
}
