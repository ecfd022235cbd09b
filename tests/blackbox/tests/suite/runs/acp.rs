//! Agents that speak the Agent Client Protocol on standard input and output, as editors' agents do; here a program
//! that does what it is told. SC-4, SC-14, SC-26, SC-29, SC-44 to SC-46. Must not know: how the server hosts it.

use blackbox::{Agent, Server};
use serde_json::{Value, json};

use super::exec::gone;
use super::speak::{
    Gates, cancel, chat, chat_on, events_of, finish, hosted, outcome, resume, said, serving, status_becomes,
    types, whole,
};
use super::sse::Events;

const AGENT: &str = "editor";

async fn editing() -> (Server, Agent) {
    let command = json!([env!("CARGO_BIN_EXE_puppet"), "acp"]);
    let server = serving(&[hosted(AGENT, &format!("kind = \"acp\"\ncommand = {command}"))]).await;
    let nick = server.agent("@nick.ann").await;
    (server, nick)
}

/// SC-14: what the agent says is the output, and its turn's end the run's.
#[tokio::test]
async fn sc_14_a_turn_is_a_run() {
    let (_server, nick) = editing().await;
    let events = outcome(&nick, AGENT, "text Hello \ntext \u{1f600} world").await;
    assert_eq!(finish(&events), "success", "{events:?}");
    assert_eq!(said(&events).concat(), "Hello \u{1f600} world");
    assert_eq!(events.last().expect("an end")["result"], "Hello \u{1f600} world");
}

/// The handshake is version 1's, and the prompt is the input as one text.
#[tokio::test]
async fn sc_23_the_agent_gets_what_its_protocol_says() {
    let (_server, nick) = editing().await;
    for (step, check) in [
        (
            "init",
            &(|params: &Value| params["protocolVersion"] == 1 && params["clientCapabilities"].is_object())
                as &dyn Fn(&Value) -> bool,
        ),
        ("new", &|params| {
            params["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')) && params["mcpServers"].is_array()
        }),
        ("prompt", &|params| {
            params["sessionId"].is_string() && params["prompt"] == json!([{"type": "text", "text": "prompt"}])
        }),
    ] {
        let events = outcome(&nick, AGENT, step).await;
        let params: Value = serde_json::from_str(&said(&events).concat()).expect("JSON");
        assert!(check(&params), "{step}: {params}");
    }
}

/// SC-4: a thread is a session of the agent, another thread another one.
#[tokio::test]
async fn sc_4_a_thread_is_a_session() {
    let (_server, nick) = editing().await;
    let first = chat(&nick, AGENT, "session").await;
    let session = said(&whole(&nick, &first).await).concat();
    let second = chat_on(&nick, &first, "session").await;
    assert_eq!(said(&whole(&nick, &second).await).concat(), session);
    let third = chat_on(&nick, &first, "turns").await;
    assert_eq!(said(&whole(&nick, &third).await).concat(), "3");
    assert_eq!(said(&outcome(&nick, AGENT, "turns").await).concat(), "1", "a new thread begins anew");
}

/// SC-29: tools are told, with what they gave.
#[tokio::test]
async fn sc_29_tools_are_told() {
    let (_server, nick) = editing().await;
    let events = outcome(&nick, AGENT, "text a\ntool list files\ntoolfail remove\ntext b").await;
    let find = |kind: &str| {
        let found = events.iter().find(|event| event["type"] == kind);
        found.unwrap_or_else(|| panic!("{kind}: {events:?}")).clone()
    };
    assert_eq!(find("ToolCall")["function_name"], "list files");
    assert_eq!(find("ToolCall")["args"], json!({"of": "list files"}));
    assert_eq!(find("ToolResult")["function_name"], "list files");
    assert!(find("ToolResult")["text_result"].as_str().expect("a text").contains("list files completed"));
    assert!(find("ToolError")["content"].as_str().expect("a text").contains("remove failed"));
    assert_eq!(said(&events), ["a", "b"]);
}

/// SC-44, SC-45: a permission that is asked for is a question, and its answer an option of it.
#[tokio::test]
async fn sc_44_sc_45_permissions_are_questions() {
    let (_server, nick) = editing().await;
    for (option, wanted) in [("yes", "yes"), ("no", "no")] {
        let run = chat(&nick, AGENT, "ask run rm?\nanswer").await;
        status_becomes(&nick, &run, "waiting").await;
        let events = super::speak::known(&nick, &run).await;
        let asked = events.last().expect("a question");
        assert_eq!(asked["type"], "WaitForInput");
        let text = asked["request_keys"].to_string();
        assert!(text.contains("run rm?") && text.contains("yes") && text.contains("no"), "{asked}");
        let key =
            asked["request_keys"].as_object().and_then(|keys| keys.keys().next().cloned()).expect("a key");
        resume(&nick, &run, json!({ key: option })).await;
        let events = whole(&nick, &run).await;
        let outcome: Value = serde_json::from_str(&said(&events).concat()).expect("JSON");
        assert_eq!(outcome, json!({"outcome": "selected", "optionId": wanted}));
    }
}

/// Who is asked for a permission sees what it is for, and not only how the agent calls that.
#[tokio::test]
async fn sc_44_a_permission_shows_what_it_is_for() {
    let (server, nick) = editing().await;
    let owner = server.owner("nick").await;
    let diff = json!({"type": "diff", "path": "/etc/passwd", "oldText": "a\n", "newText": "root::0:0\n"});
    let call = json!({"title": "Run tests", "rawInput": {"command": "rm -rf ~"}, "content": [diff]});
    let run = chat(&nick, AGENT, &format!("askcall {call}")).await;
    let request = crate::requests::listed(&owner, "run_input", 1).await["requests"][0].clone();
    let shown = request["detail"]["text"].as_str().expect("a text");
    for part in ["Run tests", "rm -rf ~", "--- /etc/passwd", "-a", "+root::0:0", "yes (Allow)"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    super::speak::tell(&nick, &run, "CancelRequest", json!({})).await;
    whole(&nick, &run).await;
}

/// An answer that is no option is never taken as a permission.
#[tokio::test]
async fn sc_45_an_odd_answer_permits_nothing() {
    let (_server, nick) = editing().await;
    for keys in [json!({}), json!({"x": "yes please"}), json!({"permission": 5})] {
        let run = chat(&nick, AGENT, "ask run rm?\nanswer").await;
        status_becomes(&nick, &run, "waiting").await;
        resume(&nick, &run, keys.clone()).await;
        let settled = blackbox::eventually("it asks again, or goes on", || async {
            let events = super::speak::known(&nick, &run).await;
            (events.len() > 2).then_some(events)
        })
        .await;
        assert!(!said(&settled).concat().contains("yes"), "{keys}: {settled:?}");
        super::speak::tell(&nick, &run, "CancelRequest", json!({})).await;
        whole(&nick, &run).await;
    }
}

/// The values of a form that is asked for, by `elicitation/create` of the protocol.
fn form() -> Value {
    json!({"mode": "form", "message": "Which branch?", "requestedSchema": {"type": "object",
        "properties": {"branch": {"type": "string", "enum": ["main", "next"]}, "depth": {"type": "integer", "minimum": 1}},
        "required": ["branch"]}})
}

/// What an agent asks its person for is a question to the people of whoever runs it, with a form, and the values or the no
/// go back to it.
#[tokio::test]
async fn sc_44_sc_45_a_form_is_filled_in_by_a_person() {
    let (server, nick) = editing().await;
    let owner = server.owner("nick").await;
    for (answer, expected) in [
        (
            json!({"type": "edit", "args": {"branch": "next", "depth": 3}}),
            json!({"action": "accept", "content": {"branch": "next", "depth": 3}}),
        ),
        (json!({"type": "ignore"}), json!({"action": "decline"})),
    ] {
        let run = chat(&nick, AGENT, &format!("elicit {}", form())).await;
        let request = crate::requests::listed(&owner, "run_input", 1).await["requests"][0].clone();
        assert_eq!(request["form"], form()["requestedSchema"], "{request}");
        assert_eq!(request["detail"]["text"], "Which branch?");
        let allow = json!({"accept": false, "edit": true, "respond": false, "ignore": true});
        assert_eq!(request["allow"], allow);
        let path = format!("/requests/{}/answer", request["request_id"].as_str().expect("an id"));
        for wrong in [json!({"branch": "old"}), json!({"depth": 3}), json!({"branch": "main", "depth": "3"})]
        {
            let body = json!({"type": "edit", "args": wrong, "version": request["version"]});
            owner.post(&path, body).await.assert_refused(400, "invalid_answer");
        }
        let mut body = answer;
        body["version"] = request["version"].clone();
        owner.post(&path, body).await.ok(200);
        let events = whole(&nick, &run).await;
        let heard: Value = serde_json::from_str(&said(&events).concat()).expect("JSON");
        assert_eq!((heard, finish(&events)), (expected, "success"));
    }
}

/// Whoever runs the agent may answer, too: by values, which may be texts, or by a word; anything else is asked again.
#[tokio::test]
async fn sc_45_a_form_is_answered_by_the_caller() {
    let (_server, nick) = editing().await;
    for (keys, expected) in [
        (
            json!({"branch": "main", "depth": "2"}),
            json!({"action": "accept", "content": {"branch": "main", "depth": 2}}),
        ),
        (json!({"elicitation": "cancel"}), json!({"action": "cancel"})),
    ] {
        let run = chat(&nick, AGENT, &format!("elicit {}", form())).await;
        status_becomes(&nick, &run, "waiting").await;
        let asked = super::speak::known(&nick, &run).await.pop().expect("a question");
        assert_eq!(
            (&asked["form"], &asked["message"]),
            (&form()["requestedSchema"], &json!("Which branch?"))
        );
        resume(&nick, &run, json!({"branch": "old"})).await;
        blackbox::eventually("it asks again", || async {
            let events = super::speak::known(&nick, &run).await;
            (types(&events).iter().filter(|kind| **kind == "WaitForInput").count() == 2).then_some(())
        })
        .await;
        resume(&nick, &run, keys).await;
        let events = whole(&nick, &run).await;
        let heard: Value = serde_json::from_str(&said(&events).concat()).expect("JSON");
        assert_eq!(heard, expected);
    }
}

/// A form without fields wants a yes or a no.
#[tokio::test]
async fn sc_44_a_confirmation_is_accepted_by_a_person() {
    let (server, nick) = editing().await;
    let owner = server.owner("nick").await;
    let asked = json!({"mode": "form", "message": "Really?", "requestedSchema": {"type": "object", "properties": {}}});
    let run = chat(&nick, AGENT, &format!("elicit {asked}")).await;
    let request = crate::requests::listed(&owner, "run_input", 1).await["requests"][0].clone();
    assert_eq!((&request["form"], &request["allow"]["accept"]), (&Value::Null, &json!(true)));
    let path = format!("/requests/{}/answer", request["request_id"].as_str().expect("an id"));
    owner.post(&path, json!({"type": "accept", "version": request["version"]})).await.ok(200);
    assert_eq!(said(&whole(&nick, &run).await).concat(), r#"{"action":"accept","content":{}}"#);
}

/// What nobody can be asked for is refused at once: pages to open, and schemas of other shapes.
#[tokio::test]
async fn sc_24_what_is_no_form_is_refused() {
    let (_server, nick) = editing().await;
    for asked in [
        json!({"mode": "url", "message": "Sign in", "url": "https://x.example", "elicitationId": "e"}),
        json!({"mode": "form", "message": "a", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}}),
        json!({"mode": "form", "message": "a"}),
        // Its value could not be told from the word that declines.
        json!({"mode": "form", "message": "a", "requestedSchema": {"type": "object", "properties": {"elicitation": {"type": "string"}}}}),
    ] {
        let events = outcome(&nick, AGENT, &format!("elicit {asked}")).await;
        assert_eq!((said(&events).concat().as_str(), finish(&events)), ("-32602", "success"), "{asked}");
    }
    let events = outcome(&nick, AGENT, "init").await;
    let greeting: Value = serde_json::from_str(&said(&events).concat()).expect("JSON");
    assert_eq!(greeting["clientCapabilities"]["elicitation"], json!({"form": {}}));
}

/// SC-46: cancelling a turn, a question, and an agent that does not listen.
#[tokio::test]
async fn sc_46_a_turn_is_canceled() {
    let (_server, nick) = editing().await;
    let elicits = format!("elicit {}", form());
    for script in ["hang", "ask may I?\nanswer", elicits.as_str(), "deaf\nhang"] {
        let gates = Gates::new();
        let run = chat(&nick, AGENT, &format!("pid\n{}{script}", gates.mark("on"))).await;
        gates.reached("on").await;
        if script.starts_with("ask") || script.starts_with("elicit") {
            status_becomes(&nick, &run, "waiting").await;
        }
        cancel(&nick, &run).await;
        let events = blackbox::in_time(script, whole(&nick, &run)).await;
        assert_eq!(finish(&events), "canceled", "{script}: {events:?}");
        if script.starts_with("deaf") {
            gone(said(&events).concat().as_str()).await;
        }
        let next = chat_on(&nick, &run, "text next").await;
        let events = whole(&nick, &next).await;
        assert_eq!(
            (said(&events), finish(&events)),
            (vec!["next"], "success"),
            "{script}: the thread goes on"
        );
    }
}

/// SC-26: an error of the agent, an agent that ends, one that cannot start.
#[tokio::test]
async fn sc_26_trouble_is_an_error() {
    let (_server, nick) = editing().await;
    for script in ["error out of order", "exit 0", "exit 1", "stop refusal"] {
        let run = chat(&nick, AGENT, &format!("text a\n{script}")).await;
        let events = whole(&nick, &run).await;
        assert_eq!((said(&events), finish(&events)), (vec!["a"], "error"), "{script}");
        let next = chat_on(&nick, &run, "text b").await;
        assert_eq!(finish(&whole(&nick, &next).await), "success", "{script}: the thread goes on");
    }
    let server = serving(&[hosted(AGENT, "kind = \"acp\"\ncommand = [\"/nonexistent\"]")]).await;
    let nick = server.agent("@nick.ann").await;
    assert_eq!(finish(&outcome(&nick, AGENT, "x").await), "error");
    // One that never shakes hands.
    let server = serving(&[hosted(AGENT, "kind = \"acp\"\ncommand = [\"true\"]")]).await;
    let nick = server.agent("@nick.ann").await;
    assert_eq!(finish(&outcome(&nick, AGENT, "x").await), "error");
}

/// Lines that are no messages, and updates of kinds unknown, end nothing.
#[tokio::test]
async fn sc_24_garbage_is_ignored() {
    let (_server, nick) = editing().await;
    let script = "text a\nline hello\nline {}\nline {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\nhex ff0a\n\
                  update unheard_of\nline {\"jsonrpc\":\"2.0\",\"method\":\"x/y\",\"params\":{}}\ntext b";
    let events = outcome(&nick, AGENT, script).await;
    assert_eq!((said(&events).concat().as_str(), finish(&events)), ("ab", "success"), "{events:?}");
}

/// What the agent asks of its client that the client does not offer is refused, not left open.
#[tokio::test]
async fn sc_24_unknown_requests_are_answered() {
    let (_server, nick) = editing().await;
    let script = "line {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"fs/read_text_file\",\"params\":{\"sessionId\":\"s-1\",\
                  \"path\":\"/etc/passwd\"}}\ntext b";
    let events = outcome(&nick, AGENT, script).await;
    assert_eq!((said(&events), finish(&events)), (vec!["b"], "success"));
    assert!(!json!(events).to_string().contains("root:"), "{events:?}");
}

/// What the agent says in another session of its own is not of the run, and nobody is asked for that one's permissions.
#[tokio::test]
async fn sc_14_other_sessions_are_not_of_the_run() {
    let (_server, nick) = editing().await;
    let update =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "foreign"}});
    let told = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s-99", "update": update}});
    let asks = json!({"jsonrpc": "2.0", "id": "p", "method": "session/request_permission", "params":
        {"sessionId": "s-99", "toolCall": {"title": "rm"}, "options": [{"optionId": "y", "name": "Yes"}]}});
    let events = outcome(&nick, AGENT, &format!("text a\nline {told}\nline {asks}\ntext b")).await;
    assert_eq!((said(&events).concat().as_str(), finish(&events)), ("ab", "success"), "{events:?}");
}

/// One that never shakes hands is given up after its time, not after the run's.
#[tokio::test]
async fn sc_26_an_agent_that_never_answers_is_given_up() {
    for script in [
        "while :; do sleep 600; done",
        r#"read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'; sleep 600"#,
    ] {
        let command = json!(["sh", "-c", script]);
        let lines = format!("kind = \"acp\"\ncommand = {command}\nopening_max = \"300ms\"");
        let server = serving(&[hosted(AGENT, &lines)]).await;
        let nick = server.agent("@nick.ann").await;
        let events = outcome(&nick, AGENT, "x").await;
        let error = events.last().expect("an end")["error"].as_str().unwrap_or_default();
        assert!(finish(&events) == "error" && error.contains("no session within 0.3 s"), "{events:?}");
    }
}

/// Thoughts are not the answer.
#[tokio::test]
async fn sc_14_thoughts_are_not_the_result() {
    let (_server, nick) = editing().await;
    let events = outcome(&nick, AGENT, "thought secret plan\ntext said").await;
    assert_eq!(events.last().expect("an end")["result"], "said", "{events:?}");
}

/// Long output comes whole, in pieces.
#[tokio::test]
async fn sc_14_long_output_comes_whole() {
    let (_server, nick) = editing().await;
    let run = chat(&nick, AGENT, "many 300 piece-\nhuge 200000").await;
    let events = Events::get(&nick, &events_of(&run, "?stream=true")).await.rest().await;
    let text = said(&events).concat();
    assert!(text.starts_with("piece-0piece-1piece-2") && text.len() > 200_000, "{}", text.len());
    assert_eq!(types(&events).last(), Some(&"RunCompleted"));
}
