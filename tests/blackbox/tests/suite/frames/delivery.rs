//! FO-8, FO-54 to FO-56, FO-62, FO-63, FO-92: what a submission does: counts, echo, repeats, and that a refusal does
//! nothing. Must not know: how scopes are written, or how streams look.

use blackbox::{Agent, Server};
use serde_json::{Value, json};

use super::speak::{
    Field, advisory, before_fence, encode, frame, id_of, patient_server, payload, refused, refused_as, sent,
    submit, subscribe, subscribe_as, subscribe_to, subscribe_with,
};

/// FO-55: an empty set is a success.
#[tokio::test]
async fn fo_55_an_empty_fan_out_is_a_success() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    server.agent("@bob.bot").await;
    let mut before = 0;
    for _ in 0..3 {
        let frame = advisory(&alice, "~bob", "is anybody there");
        let answer = sent(&submit(&alice, &frame).await, &frame);
        assert_eq!(answer.count, 0);
        assert!(answer.event_id > before, "the number rises all the same");
        before = answer.event_id;
    }
}

/// FO-56: subscriptions, not sessions or agents, and after their filters.
#[tokio::test]
async fn fo_56_counts_are_of_emissions() {
    let (_server, [alice, other]) = Server::with(["@alice.bot", "@alice.other"]).await;
    let mut open = Vec::new();
    for wanted in 1..=3 {
        open.push(subscribe_as(&alice, "cc", "s1").await);
        assert_eq!(super::speak::tell(&alice, "~alice", "~alice", "count").await, wanted);
    }
    open.push(subscribe(&other).await);
    open.push(subscribe_to(&other, "kind:agent_query").await);
    open.push(subscribe_to(&other, "kind:agent_advisory").await);
    assert_eq!(super::speak::tell(&alice, "~alice", "~alice", "count").await, 5);
    assert_eq!(super::speak::tell(&alice, "~alice", "~alice/other*", "count").await, 2);
    let query = frame(&alice, "~alice", "agent_query", payload("agent_query", false));
    assert_eq!(sent(&submit(&alice, &query).await, &query).count, 5);
}

async fn submit_as(agent: &Agent, query: &str, headers: &[(&str, &str)], frame: &Value) -> u64 {
    let answer = agent.call("POST", &format!("/frames{query}"), headers, Some(frame)).await;
    sent(&answer, frame).count
}

/// The sender's own stream gets its frame, unless the session names itself and asks to be left out.
#[tokio::test]
async fn fo_43_echo() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut own = subscribe_as(&alice, "cc-laptop", "s1").await;
    let mut twin = subscribe_as(&alice, "cc-laptop", "s2").await;
    let mut other = subscribe_as(&alice, "cc-phone", "s1").await;
    let me = [("X-Agent-Instrument", "cc-laptop"), ("X-Agent-Session", "s1")];
    let to = |text: &str| advisory(&alice, "~alice", text);
    assert_eq!(submit_as(&alice, "", &me, &to("with echo")).await, 3);
    assert_eq!(submit_as(&alice, "?echo=1", &me, &to("echo=1")).await, 3);
    assert_eq!(submit_as(&alice, "?echo=0", &me, &to("echo=0")).await, 2);
    let scoped = format!("?echo=0&scope={}", encode("~alice/cc-laptop*"));
    assert_eq!(submit_as(&alice, &scoped, &me, &to("laptops, echo=0")).await, 1);
    let only = format!("?scope={}&echo=0", encode("~alice/cc-laptop@s1"));
    assert_eq!(submit_as(&alice, &only, &me, &to("to myself, echo=0")).await, 0);
    assert_eq!(submit_as(&alice, "?echo=0", &[], &to("nameless, echo=0")).await, 3);
    let wrapped = json!({"scope": "~alice", "frame": to("wrapped, echo=0")});
    let answer = alice.call("POST", "/frames?echo=0", &me, Some(&wrapped)).await;
    assert_eq!(sent(&answer, &wrapped["frame"]).count, 2);
    assert_eq!(before_fence(&alice, &alice, &mut own).await, ["with echo", "echo=1", "nameless, echo=0"]);
    let all = ["with echo", "echo=1", "echo=0", "laptops, echo=0", "nameless, echo=0", "wrapped, echo=0"];
    assert_eq!(before_fence(&alice, &alice, &mut twin).await[..6], all);
    let heard = before_fence(&alice, &alice, &mut other).await;
    assert_eq!(heard[..3], ["with echo", "echo=1", "echo=0"]);
    assert!(!heard.contains(&"laptops, echo=0".to_owned()));
}

/// The session left out is the sender's own: another principal's session of the same name hears.
#[tokio::test]
async fn fo_43_echo_is_about_ones_own_session() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let stream = subscribe_as(&bob, "cc-laptop", "s1").await;
    let me = [("X-Agent-Instrument", "cc-laptop"), ("X-Agent-Session", "s1")];
    let frame = advisory(&alice, "~bob", "hello");
    assert_eq!(submit_as(&alice, "?echo=0", &me, &frame).await, 1);
    drop(stream);
}

/// FO-8: the substrate does not discard a repeated `frame_id`; recipients may.
#[tokio::test]
async fn fo_8_the_same_frame_twice() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut stream = subscribe(&alice).await;
    let frame = advisory(&alice, "~alice", "twice");
    let first = sent(&submit(&alice, &frame).await, &frame);
    let second = sent(&submit(&alice, &frame).await, &frame);
    assert_eq!((first.count, second.count), (1, 1));
    assert!(second.event_id > first.event_id);
    let (one, two) = (stream.event().await, stream.event().await);
    assert_eq!((one.id, two.id), (first.event_id, second.event_id));
    assert_eq!(one.frame, two.frame);
    let mut changed = advisory(&alice, "~alice", "another text under the same id");
    changed["frame_id"] = frame["frame_id"].clone();
    sent(&submit(&alice, &changed).await, &changed);
    assert_eq!(stream.event().await.frame, changed);
}

/// FO-63: whatever the reason of a refusal, nobody hears of the frame: not live, not later.
#[tokio::test]
async fn fo_63_a_refused_frame_reaches_nobody() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let bob = server.agent("@bob.bot").await;
    let closed = server.closed_agent("@closed.bot", &[]).await;
    let mut to_bob = subscribe(&bob).await;
    let mut to_closed = subscribe(&closed).await;
    let first = advisory(&alice, "~bob", "first");
    let from = sent(&submit(&alice, &first).await, &first).event_id;
    let good = || advisory(&alice, "~bob", "refused");
    let change = |name: &str, value: Value| {
        let mut frame = good();
        frame[name] = value;
        frame
    };
    let too_long = advisory(&alice, "~bob", &"é".repeat(1_025));
    for frame in [
        change("kind", json!("agent_memo")),
        change("envelope_version", json!("9")),
        change("x", json!(1)),
        change("sender_handle", json!("~bob")),
        change("acted_by", json!("~bob")),
        change("recipient_handle", json!("~closed")),
        too_long,
    ] {
        let answer = submit(&alice, &frame).await;
        assert!(answer.status >= 400, "{answer}");
        refused_as(&answer, answer.status);
    }
    for scope in ["~closed", "", "~bob/x", "accord:bob/grant:x", "org:bob/members/*"] {
        let answer = super::speak::submit_to(&alice, scope, &good()).await;
        assert!(answer.status >= 400, "{answer}");
    }
    assert_eq!(before_fence(&alice, &bob, &mut to_bob).await, ["first"]);
    assert!(before_fence(&closed, &closed, &mut to_closed).await.is_empty());
    let mut later = super::speak::resume(&bob, &from.to_string()).await;
    let heard = before_fence(&alice, &bob, &mut later).await;
    assert!(!heard.contains(&"refused".to_owned()), "{heard:?}");
}

/// A frame reaches each of many kinds of subscription whole: from other owners, other instruments, other agents.
#[tokio::test]
async fn fo_53_many_subscribers_of_one_handle() {
    let (_server, [sender, one, two]) = Server::with(["@sender.bot", "@alice.one", "@alice.two"]).await;
    let mut streams = vec![
        subscribe(&one).await,
        subscribe(&two).await,
        subscribe_as(&one, "cc-laptop", "s1").await,
        subscribe_with(&two, "tool=codex").await,
    ];
    let mut frames = Vec::new();
    for kind in ["agent_handover", "agent_binding_moment", "flush_executed"] {
        let frame = frame(&sender, "~alice", kind, payload(kind, true));
        assert_eq!(sent(&submit(&sender, &frame).await, &frame).count, 4);
        frames.push(frame);
    }
    for stream in &mut streams {
        let heard = stream.until(id_of(&frames[2])).await;
        assert_eq!(heard.into_iter().map(|event| event.frame).collect::<Vec<_>>(), frames);
    }
}

/// FO-92: who asks a question knows its id; the answer comes back by it.
#[tokio::test]
async fn fo_92_a_question_and_its_answer() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let mut to_alice = subscribe(&alice).await;
    let mut to_bob = subscribe(&bob).await;
    let question = frame(&alice, "~bob", "agent_query", payload("agent_query", true));
    sent(&submit(&alice, &question).await, &question);
    let asked = to_bob.event().await.frame;
    let scope = asked["payload"]["response_scope"].as_str().expect("a scope").to_owned();
    let mut answer = payload("agent_response", true);
    answer["query_id"] = asked["payload"]["query_id"].clone();
    let answer = frame(&bob, "~alice", "agent_response", answer);
    let given = super::speak::submit_to(&bob, &scope, &answer).await;
    assert_eq!(sent(&given, &answer).count, 1);
    assert_eq!(to_alice.event().await.frame, answer);
    let astray = super::speak::submit_to(&bob, "~bob", &answer).await;
    refused(&astray, 403, "scope-unauthorised", Field::Any);
}
