//! Agents that attach themselves over a WebSocket and speak the line protocol's messages there, one a text frame, each
//! with its run. SC-3, SC-14, SC-22, SC-26, SC-32, SC-44 to SC-46. Must not know: who is on the other side.

use blackbox::{Agent, Frame, Pongs, Server, Socket, eventually};
use serde_json::{Value, json};

use super::speak::{
    OWNER, Run, cancel, chat, chat_on, finish, hosted, known, resume, running, said, serving, status,
    status_becomes, types, whole,
};

const AGENT: &str = "live";
const ATTACH: &str = "/agent/live/attach";

/// A server with one agent that attaches itself, its own identity, and someone who runs it.
async fn attaching() -> (Server, Agent, Agent) {
    let server =
        serving(&[hosted(AGENT, "kind = \"connected\""), hosted("other", "kind = \"connected\"")]).await;
    let live = server.agent(&format!("@{OWNER}.{AGENT}")).await;
    let nick = server.agent("@nick.ann").await;
    (server, live, nick)
}

async fn attach(live: &Agent) -> Socket {
    live.socket(ATTACH, Pongs::Answer).await
}

/// The next request, which must be of this type.
async fn request(socket: &mut Socket, kind: &str) -> Value {
    socket.until_kind(kind).await.pop().expect("it came")
}

async fn tell(socket: &Socket, run: &Value, mut event: Value) {
    event["run_id"] = run.clone();
    socket.text(&event.to_string()).await;
}

async fn text(socket: &Socket, run: &Value, content: &str) {
    tell(socket, run, json!({"type": "TextOutput", "content": content})).await;
}

async fn done(socket: &Socket, run: &Value, result: &str) {
    let event = json!({"type": "RunCompleted", "finish_reason": "success", "result": result});
    tell(socket, run, event).await;
}

/// SC-14, SC-23, SC-32: a request goes out, and what comes back is the run.
#[tokio::test]
async fn sc_14_sc_32_a_run_goes_out_and_comes_back() {
    let (_server, live, nick) = attaching().await;
    let mut socket = attach(&live).await;
    let body = json!({"input": "hi \u{1f600}", "request_metadata": {"a": [1]}, "x-own": null});
    let run = super::speak::post_run(&nick, AGENT, body).await;
    let asked = request(&mut socket, "ChatRequest").await;
    for (member, value) in [
        ("input", json!("hi \u{1f600}")),
        ("run_id", json!(run.id)),
        ("thread_id", json!(run.thread)),
        ("request_metadata", json!({"a": [1]})),
    ] {
        assert_eq!(asked[member], value, "{asked}");
    }
    text(&socket, &asked["run_id"], "one").await;
    tell(&socket, &asked["run_id"], json!({"type": "ToolCall", "function_name": "f", "args": {}})).await;
    done(&socket, &asked["run_id"], "all").await;
    let events = whole(&nick, &run).await;
    assert_eq!(types(&events), ["RunStarted", "TextOutput", "ToolCall", "RunCompleted"]);
    assert_eq!((finish(&events), &events[3]["result"]), ("success", &json!("all")));
}

#[tokio::test]
async fn sc_1_only_the_agent_itself_attaches() {
    let (server, live, nick) = attaching().await;
    let sibling = server.agent(&format!("@{OWNER}.other")).await;
    for who in [&nick, &sibling] {
        let refusal = who.try_socket(ATTACH, &[], Pongs::Answer).await.expect_err("refused");
        assert!([401, 403, 404].contains(&refusal.status), "{refusal}");
    }
    for who in [server.stranger(), server.bearer("pla_unknown")] {
        assert_eq!(who.try_socket(ATTACH, &[], Pongs::Answer).await.expect_err("refused").status, 401);
    }
    for path in ["/agent/nobody/attach", "/agent/other/attach", "/agent/echo/attach"] {
        let refusal = live.try_socket(path, &[], Pongs::Answer).await.expect_err("refused");
        assert!([401, 403, 404].contains(&refusal.status), "{path}: {refusal}");
    }
    let response = live.get(ATTACH).await;
    assert!((400..500).contains(&response.status), "no upgrade was asked for: {response}");
    let key = [("Sec-WebSocket-Key", "zz")];
    let refusal = live.try_socket(ATTACH, &key, Pongs::Answer).await.expect_err("refused");
    assert_eq!((refusal.status, &refusal.json()["code"]), (400, &json!("websocket_required")), "{refusal}");
}

/// SC-3: several instances share the runs, each run is one instance's.
#[tokio::test]
async fn sc_3_each_run_is_one_instances() {
    let (_server, live, nick) = attaching().await;
    let (mut one, mut two) = (attach(&live).await, attach(&live).await);
    let mut runs = Vec::new();
    for number in 0..8 {
        runs.push(chat(&nick, AGENT, &format!("{number}")).await);
    }
    let served = std::sync::Mutex::new(Vec::new());
    let ended = async {
        for run in &runs {
            let events = whole(&nick, run).await;
            assert_eq!(finish(&events), "success");
        }
    };
    tokio::select! {
        () = serve_all(&mut one, &served) => {}
        () = serve_all(&mut two, &served) => {}
        () = ended => {}
    }
    let mut served = served.into_inner().expect("nobody panicked");
    served.sort();
    let mut wanted: Vec<_> = runs.iter().map(|run| run.id.clone()).collect();
    wanted.sort();
    assert_eq!(served, wanted, "each once");
}

async fn serve_all(socket: &mut Socket, served: &std::sync::Mutex<Vec<String>>) {
    loop {
        let asked = request(socket, "ChatRequest").await;
        let id = asked["run_id"].as_str().expect("an id").to_owned();
        served.lock().expect("nobody panics").push(id);
        done(socket, &asked["run_id"], "x").await;
    }
}

/// SC-26: an instance that vanishes in the middle ends its runs, and no others.
#[tokio::test]
async fn sc_26_a_vanished_instance_ends_its_own_runs() {
    let (_server, live, nick) = attaching().await;
    let mut one = attach(&live).await;
    let first = chat(&nick, AGENT, "first").await;
    let asked = request(&mut one, "ChatRequest").await;
    text(&one, &asked["run_id"], "half").await;
    eventually("the text is there", || async { (known(&nick, &first).await.len() == 2).then_some(()) }).await;
    let mut two = attach(&live).await;
    one.cut().await;
    let events = whole(&nick, &first).await;
    assert_eq!((said(&events), finish(&events)), (vec!["half"], "error"));
    let next = chat_on(&nick, &first, "next").await;
    let asked = request(&mut two, "ChatRequest").await;
    assert_eq!(asked["run_id"], next.id.as_str());
    done(&two, &asked["run_id"], "ok").await;
    assert_eq!(finish(&whole(&nick, &next).await), "success");
    // The second one's runs do not mind that the first is gone.
    let long = chat(&nick, AGENT, "long").await;
    let asked = request(&mut two, "ChatRequest").await;
    let three = attach(&live).await;
    three.cut().await;
    text(&two, &asked["run_id"], "still here").await;
    done(&two, &asked["run_id"], "ok").await;
    assert_eq!(said(&whole(&nick, &long).await), ["still here"]);
}

/// Nobody is attached: the run waits for one or ends `error`, but it does not hang for good, and it can be canceled.
#[tokio::test]
async fn sc_26_nobody_is_attached() {
    let (_server, live, nick) = attaching().await;
    let run = chat(&nick, AGENT, "anybody?").await;
    let response = super::speak::tell(&nick, &run, "CancelRequest", json!({})).await;
    let events = whole(&nick, &run).await;
    let wanted = if response.status == 202 { "canceled" } else { "error" };
    assert_eq!(finish(&events), wanted, "{response}");
    let mut socket = attach(&live).await;
    let next = chat_on(&nick, &run, "now").await;
    let asked = request(&mut socket, "ChatRequest").await;
    assert_eq!(asked["run_id"], next.id.as_str(), "what is over is not handed out");
    done(&socket, &asked["run_id"], "ok").await;
    assert_eq!(finish(&whole(&nick, &next).await), "success");
}

/// SC-44 to SC-46: questions, answers, cancels.
#[tokio::test]
async fn sc_44_sc_45_sc_46_questions_and_cancels_reach_it() {
    let (_server, live, nick) = attaching().await;
    let mut socket = attach(&live).await;
    let run = chat(&nick, AGENT, "ask me").await;
    let asked = request(&mut socket, "ChatRequest").await;
    tell(&socket, &asked["run_id"], json!({"type": "WaitForInput", "request_keys": {"a": "A?"}})).await;
    status_becomes(&nick, &run, "waiting").await;
    resume(&nick, &run, json!({"a": {"b": 1}})).await;
    let answer = request(&mut socket, "ResumeWithInput").await;
    assert_eq!((&answer["request_keys"], &answer["run_id"]), (&json!({"a": {"b": 1}}), &json!(run.id)));
    running(&nick, &run).await;
    cancel(&nick, &run).await;
    let told = request(&mut socket, "CancelRequest").await;
    assert_eq!((&told["run_id"], &told["thread_id"]), (&json!(run.id), &json!(run.thread)));
    tell(&socket, &told["run_id"], json!({"type": "RunCompleted", "finish_reason": "success"})).await;
    assert_eq!(finish(&whole(&nick, &run).await), "canceled");
}

/// Frames that are no events, and events for runs that are not this instance's, change nothing.
#[tokio::test]
async fn sc_22_garbage_and_forgeries_are_ignored() {
    let (server, live, nick) = attaching().await;
    let second = server.agent(&format!("@{OWNER}.other")).await;
    let mut socket = attach(&live).await;
    let mut other = second.socket("/agent/other/attach", Pongs::Answer).await;
    let victim: Run = chat(&nick, "other", "x").await;
    let asked_other = request(&mut other, "ChatRequest").await;
    let run = chat(&nick, AGENT, "x").await;
    let asked = request(&mut socket, "ChatRequest").await;
    for garbage in
        ["hello", "{}", "[]", "null", r#"{"type":"Unheard"}"#, r#"{"type":"TextOutput","content":"no run"}"#]
    {
        socket.text(garbage).await;
    }
    text(&socket, &asked_other["run_id"], "forged").await;
    done(&socket, &asked_other["run_id"], "forged").await;
    text(&socket, &json!("x"), "nowhere").await;
    text(&socket, &asked["run_id"], "own").await;
    done(&socket, &asked["run_id"], "ok").await;
    let events = whole(&nick, &run).await;
    assert_eq!(events.last().expect("an end")["result"], "ok");
    assert!(said(&events).contains(&"own") && !said(&events).contains(&"forged"), "{events:?}");
    assert_eq!(status(&nick, &victim).await["status"], "running");
    assert_eq!(types(&known(&nick, &victim).await), ["RunStarted"]);
    done(&other, &asked_other["run_id"], "ok").await;
    assert_eq!(finish(&whole(&nick, &victim).await), "success");
}

/// D.1: a token that is revoked closes what it opened, and its runs with it.
#[tokio::test]
async fn sc_26_a_dead_token_detaches() {
    let (server, live, nick) = attaching().await;
    let mut socket = attach(&live).await;
    let run = chat(&nick, AGENT, "x").await;
    request(&mut socket, "ChatRequest").await;
    let path = format!("/_admin/agents/{}/rotate-token", live.handle);
    server.operator().post_empty(&path).await.ok(200);
    loop {
        if let Frame::Close(_) | Frame::Gone(_) = socket.frame().await {
            break;
        }
    }
    assert_eq!(finish(&whole(&nick, &run).await), "error");
}
