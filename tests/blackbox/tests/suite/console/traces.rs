//! Which events belong to one trace, over the rooms, and who is told of it.

use blackbox::{Collector, Server, Stream, room};
use serde_json::{Value, json};

use super::{next_event, sign_in};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: (&str, &str) = ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");

/// Reads until a message of this text was told.
async fn until(stream: &mut Stream, text: &str) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        all.push(next_event(stream).await);
        let last = &all[all.len() - 1];
        if last["kind"] == "session.message" && last["data"]["text"] == text {
            return all;
        }
    }
}

fn of_trace(events: &[Value]) -> Vec<&str> {
    let of_it = events.iter().filter(|event| event["trace_id"] == TRACE);
    of_it.map(|event| event["kind"].as_str().expect("a kind")).collect()
}

/// A message, a run, an event of a channel and a fact that one chain of requests caused have one `trace_id`, which filters them; another
/// request's message has another one. Owners of participants are told of it; agents and strangers are not.
#[tokio::test]
async fn owners_see_which_events_belong_to_one_trace() {
    let collector = Collector::start().await;
    let server = Server::builder().spans_to(&collector.url()).start().await;
    let (nick, acme, zoe) =
        (server.owner("nick").await, server.owner("acme").await, server.owner("zoe").await);
    let (one, two) = (server.agent("@nick.one").await, server.agent("@acme.two").await);
    let third = server.agent("@zoe.three").await;
    let shared = room(&[&one, &two]).await;
    let path = format!("/sessions/{shared}/messages");
    let channel = one.post("/agent-channel", json!({"title": "a title"})).await.ok(200);
    let channel = format!("/agent-channel/{}/event", channel["id"].as_str().expect("an id"));
    one.call("POST", &path, &[CALLER], Some(&json!({"content": "begin"}))).await.ok(201);
    let run = json!({"type": "ChatRequest", "input": "x"});
    one.call("POST", "/agent/echo/run?wait=result", &[CALLER], Some(&run)).await.ok(200);
    let said = json!({"kind": "comms", "payload": {"text": "hi"}});
    one.call("POST", &channel, &[CALLER], Some(&said)).await.ok(200);
    let fact = json!({"subject": "s", "predicate": "p", "value": "v"});
    one.call("POST", "/v1/projects/garden/facts", &[CALLER], Some(&fact)).await.ok(201);
    one.post(&path, json!({"content": "apart"})).await.ok(201);
    one.call("POST", &path, &[CALLER], Some(&json!({"content": "end"}))).await.ok(201);

    let mine = sign_in(&server, &nick, json!({})).await;
    let all = until(&mut mine.watch("?after=0").await, "end").await;
    let kinds = of_trace(&all);
    for kind in
        ["session.message", "run.queued", "run.started", "run.completed", "channel.event", "fact.asserted"]
    {
        assert!(kinds.contains(&kind), "{kind}: {all:#?}");
    }
    let apart = all.iter().find(|event| event["data"]["text"] == "apart").expect("it is told");
    let other = apart["trace_id"].as_str().expect("the request is a trace of its own");
    assert!(other.len() == 32 && other != TRACE, "{apart}");
    let chosen = until(&mut mine.watch(&format!("?after=0&trace={TRACE}")).await, "end").await;
    assert_eq!(of_trace(&chosen), kinds);
    assert_eq!(chosen.len(), kinds.len(), "and nothing else: {chosen:#?}");

    let theirs = sign_in(&server, &acme, json!({})).await;
    let told = until(&mut theirs.watch("?after=0").await, "end").await;
    assert_eq!(of_trace(&told), ["session.message", "session.message"], "what its agent reads: {told:#?}");
    for agent in [&one, &two] {
        let told = until(&mut agent.stream("/watch?after=0").await, "end").await;
        assert!(!json!(told).to_string().contains("trace_id"), "an agent is not told: {told:#?}");
        assert!(!json!(agent.history(&shared).await).to_string().contains(TRACE), "nor by the session");
    }
    let apart = room(&[&third]).await;
    third.post(&format!("/sessions/{apart}/messages"), json!({"content": "mine"})).await.ok(201);
    let stranger = sign_in(&server, &zoe, json!({})).await;
    let told = until(&mut stranger.watch("?after=0").await, "mine").await;
    assert!(!json!(told).to_string().contains(TRACE), "{told:#?}");
    // Whoever knows the id gets its own events of that trace by it, and no others.
    third
        .call("POST", &format!("/sessions/{apart}/messages"), &[CALLER], Some(&json!({"content": "too"})))
        .await
        .ok(201);
    let told = until(&mut stranger.watch(&format!("?after=0&trace={TRACE}")).await, "too").await;
    assert_eq!(told.len(), 1, "{told:#?}");
}

/// Without a collector no span is known, and no event says one.
#[tokio::test]
async fn where_no_spans_are_recorded_no_event_has_a_trace() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let one = server.agent("@nick.one").await;
    let id = room(&[&one]).await;
    let path = format!("/sessions/{id}/messages");
    one.call("POST", &path, &[CALLER], Some(&json!({"content": "end"}))).await.ok(201);
    let browser = sign_in(&server, &owner, json!({})).await;
    let told = until(&mut browser.watch("?after=0").await, "end").await;
    assert!(!json!(told).to_string().contains("trace_id"), "{told:#?}");
    for wrong in ["", "4bf9", "4BF92F3577B34DA6A3CE929D0E0E4736", "4bf92f3577b34da6a3ce929d0e0e473g"] {
        browser.get(&format!("/watch?trace={wrong}")).await.assert_refused(400, "invalid_trace");
    }
}
