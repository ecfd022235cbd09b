//! The demonstration as a story: a sentence for each exchange that advances the story. Pure.
//! Must not know: how it is printed.

use serde_json::Value;

pub(super) enum StoryLine {
    /// An action that advances the story.
    Deed(String),
    /// An effect of an action.
    Echo(String),
}

fn deed(text: impl Into<String>) -> Option<StoryLine> {
    Some(StoryLine::Deed(text.into()))
}

fn echo(text: impl Into<String>) -> Option<StoryLine> {
    Some(StoryLine::Echo(text.into()))
}

/// An action without a request.
pub(super) fn act(verb: &str, object: &str) -> Option<StoryLine> {
    match verb {
        // Here `object` is only a detail of the protocol.
        "connects" | "listens" => echo(verb),
        "fetches" => None,
        _ => echo(format!("{verb} {object}")),
    }
}

pub(super) fn request(method: &str, path: &str, body: Option<&Value>) -> Option<StoryLine> {
    let nothing = Value::Null;
    let body = body.unwrap_or(&nothing);
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path = path.strip_prefix("/peers/home").unwrap_or(path);
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    match (method, *segments.first()?, *segments.last()?) {
        ("POST", "sessions", "sessions" | "invite") => {
            deed(format!("invites {}{}", list(&body["invite"]), opening(body)))
        }
        ("POST", "sessions", "reopen") => deed(format!("opens the conversation again{}", opening(body))),
        ("POST", "sessions", "messages") => deed(format!("says {}", content(&body["content"]))),
        ("POST", "sessions", verb @ ("join" | "leave" | "end")) => deed(format!("{verb}s the conversation")),
        ("GET", "sessions", "events") => deed("reads what was said"),
        ("POST", "agent-channel", "agent-channel") => {
            deed(format!("opens a channel: {}", quoted(&body["title"])))
        }
        ("POST", "agent-channel", "event") => posted(&body["payload"], text(&body["kind"])),
        ("POST", "agent-channel", "close") => deed("closes the channel"),
        ("GET", "agent-channel", "state" | "presence") => None,
        ("GET", "agent-channel", _) => deed("reads the channel"),
        ("POST", "v1", "packages") => deed(format!("deposits {}", quoted(&body["title"]))),
        ("POST", "v1", "facts") => deed(format!(
            "notes that the {} of the {} is {}",
            text(&body["predicate"]),
            text(&body["subject"]),
            quoted(&body["value"])
        )),
        ("POST", "v1", "review") => {
            deed(format!("moves the review to {}{}", text(&body["status"]), opening(body)))
        }
        ("GET", "v1", "orient") => deed("asks where the work is"),
        ("GET", "v1", "packages") if query.is_empty() => deed("reads the packages of the project"),
        ("GET", "v1", "packages") => deed("searches in words of its own"),
        ("GET", "v1", "facts") => deed("asks for the facts"),
        ("POST", "_admin", "peers") => deed("invites the other network to an accord"),
        ("POST", "_admin", "accept") => deed("accepts"),
        ("DELETE", "_admin", _) => deed("revokes the accord"),
        ("POST", "frames", "frames") => frame_sent(text(&body["kind"]), &body["payload"]),
        ("POST", "agent", "run") => run_request(body),
        _ => None,
    }
}

fn run_request(body: &Value) -> Option<StoryLine> {
    match text(&body["type"]) {
        "CancelRequest" => deed("tells the run to stop"),
        "ResumeWithInput" => deed(format!("answers {}", quoted(&body["request_keys"]["reply"]))),
        _ => deed(format!("asks for {}", quoted(&body["input"]))),
    }
}

/// A post to a channel.
fn posted(payload: &Value, kind: &str) -> Option<StoryLine> {
    match kind {
        "spec" => deed(format!("states the mission: {}", quoted(&payload["mission"]))),
        "state" => {
            let handoff = &payload["handoff"];
            deed(format!(
                "says that {} holds the work: {}",
                text(&handoff["holder"]),
                quoted(&handoff["expected_action"])
            ))
        }
        "status" => deed(format!("is {}{}", text(&payload["phase"]), opening(payload))),
        "comms" => deed(format!("writes in the channel: {}", quoted(&payload["text"]))),
        _ => None,
    }
}

fn frame_sent(kind: &str, payload: &Value) -> Option<StoryLine> {
    match kind {
        "agent_advisory" => deed(format!("tells every session: {}", quoted(&payload["advisory_text"]))),
        "agent_query" => deed(format!("asks every session: {}", quoted(&payload["query_text"]))),
        "agent_response" => deed(format!("answers {}", quoted(&payload["response_text"]))),
        "agent_handover" => deed(format!("hands over: {}", quoted(&payload["handover_body"]))),
        "intent_declare" => deed(format!("intends {}", text(&payload["payload_ref"]))),
        "flush_executed" => deed(format!("makes one of all of them: {}", text(&payload["result_ref"]))),
        _ => None,
    }
}

/// The line for a reply; only a refusal has one.
pub(super) fn reply(status: u16, body: &Value) -> Option<StoryLine> {
    let code = [&body["error"]["code"], &body["error"], &body["code"]]
        .map(text)
        .into_iter()
        .find(|code| !code.is_empty());
    if status < 400 {
        return None;
    }
    echo(format!("is refused: {status} {}", code.unwrap_or_default()).trim_end())
}

/// An event of a session or of a run.
pub(super) fn event(reader: &str, event: &Value) -> Option<StoryLine> {
    let payload = if event["payload"].is_object() { &event["payload"] } else { event };
    let own = |member: &str| text(&payload[member]) == reader || text(&event[member]) == reader;
    let agent = || text(&payload["agent"]);
    match text(&event["type"]) {
        "session.message" if own("sender") => None,
        "session.disconnected" | "session.reconnected" | "session.left" if own("agent") => None,
        "session.message" => echo(format!("gets {}", content(&payload["content"]))),
        "session.invited" if own("invitee") || payload.get("initial_message").is_some() => {
            echo(format!("is invited by {}", text(&payload["by"])))
        }
        "session.disconnected" => echo(format!("sees that {} is gone", agent())),
        "session.reconnected" => echo(format!("sees that {} is back", agent())),
        "session.left" if payload["reason"] == "grace_expired" => {
            echo(format!("sees that {} stays away and has left", agent()))
        }
        "session.left" => echo(format!("sees that {} has left", agent())),
        "ToolCall" => echo(format!("sees the tool {}", text(&payload["function_name"]))),
        "ArtifactGenerated" => echo("sees a document"),
        "WaitForInput" => echo("is asked back"),
        "TextOutput" => echo(format!("gets {}", content(&payload["content"]))),
        "RunCompleted" => echo(format!("sees the run end: {}", text(&payload["finish_reason"]))),
        _ => None,
    }
}

/// A received frame.
pub(super) fn frame(kind: &str) -> Option<StoryLine> {
    echo(format!("hears it ({})", kind.replace('_', " ")))
}

/// A tool that a model calls.
pub(super) fn tool(tool: &str, arguments: &Value) -> Option<StoryLine> {
    let text = ["text", "note", "query", "intent", "title", "find"].map(|member| &arguments[member]);
    match text.into_iter().find(|text| text.is_string()) {
        Some(text) => deed(format!("calls {tool}: {}", quoted(text))),
        None => deed(format!("calls {tool}")),
    }
}

/// The text of the first message, or the note, in the request.
fn opening(body: &Value) -> String {
    let text = [&body["initial_message"]["content"], &body["note"]];
    let text = text.into_iter().find(|text| !content(text).is_empty() && !text.is_null());
    text.map(|text| format!(": {}", content(text))).unwrap_or_default()
}

/// Text, or the parts of a message: the texts, and the names of the rest.
fn content(content: &Value) -> String {
    let Value::Array(parts) = content else { return quoted(content) };
    let parts: Vec<String> = parts
        .iter()
        .map(|part| match text(&part["type"]) {
            "text" => quoted(&part["text"]),
            "file" => text(&part["name"]).to_owned(),
            _ => "data".to_owned(),
        })
        .collect();
    parts.join(", ")
}

fn list(names: &Value) -> String {
    names.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ")
}

fn quoted(value: &Value) -> String {
    match text(value) {
        "" => String::new(),
        text => format!("“{text}”"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text_of(line: Option<StoryLine>) -> String {
        match line {
            Some(StoryLine::Deed(text) | StoryLine::Echo(text)) => text,
            None => String::new(),
        }
    }

    #[test]
    fn a_conversation_reads_as_sentences() {
        let body = json!({"invite": ["@b.b"], "initial_message": {"content": "Is it done?"}});
        assert_eq!(text_of(request("POST", "/sessions", Some(&body))), "invites @b.b: “Is it done?”");
        let parts =
            json!({"content": [{"type": "text", "text": "Here."}, {"type": "file", "name": "a.tgz"}]});
        assert_eq!(
            text_of(request("POST", "/sessions/sess_1/messages", Some(&parts))),
            "says “Here.”, a.tgz"
        );
        assert_eq!(text_of(request("POST", "/sessions/sess_1/join", None)), "joins the conversation");
        assert_eq!(
            text_of(reply(404, &json!({"error": {"code": "not_found"}}))),
            "is refused: 404 not_found"
        );
        assert_eq!(text_of(reply(200, &json!({}))), "");
    }

    #[test]
    fn a_message_is_told_to_those_who_get_it() {
        let message = json!({"type": "session.message", "payload": {"sender": "@a.a", "content": "Hi"}});
        assert_eq!(text_of(event("@a.a", &message)), "");
        assert_eq!(text_of(event("@b.b", &message)), "gets “Hi”");
    }
}
