//! FO-9, FO-53, FO-76, FO-77: who may submit, in whose name, and what one is told without a token.
//! Must not know: whom a frame reaches.

use blackbox::{Agent, Response, Server};
use serde_json::{Value, json};

use super::lab::Lab;
use super::speak::{
    Field, advisory, before_fence, frame, payload, refused, refused_as, sent, stream_path, submit, subscribe,
};

const MISMATCH: &str = "sender-identity-mismatch";

#[track_caller]
fn unauthenticated(response: &Response) {
    refused(response, 401, "unauthenticated", Field::Any);
    let challenge = response.header("www-authenticate").unwrap_or_default();
    assert!(challenge.starts_with("Bearer"), "401 carries the challenge: {response}");
}

/// FO-76: everything wants a token, and says so before it looks at anything else.
#[tokio::test]
async fn fo_76_nothing_without_a_token() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let unknown = server.bearer("pla_0000000000000000000000000000000000000000000000000000000000000000");
    let paths = [
        ("POST", "/frames"),
        ("POST", "/frames?scope="),
        ("GET", "/handles/~alice/stream"),
        ("GET", "/handles/~alice/stream?filter=nonsense"),
        ("GET", "/handles/~nobody/stream"),
        ("GET", "/handles/~alice/roster"),
        ("GET", "/handles/~alice/retention"),
    ];
    for (method, path) in paths {
        unauthenticated(&server.stranger().call(method, path, &[], None).await);
        unauthenticated(&unknown.call(method, path, &[], None).await);
        for header in ["Basic YWxpY2U6c2VjcmV0", "Bearer", "Bearer ", "bearer"] {
            let extra = [("Authorization", header)];
            unauthenticated(&server.stranger().call(method, path, &extra, None).await);
        }
    }
    let mut good = advisory(&alice, "~alice", "hello");
    unauthenticated(&submit(&server.stranger(), &good).await);
    good["kind"] = json!("agent_memo");
    unauthenticated(&submit(&server.stranger(), &good).await);
    unauthenticated(&server.stranger().post_raw("/frames", b"{not json").await);
    let huge = vec![b' '; 64 * 1024];
    unauthenticated(&server.stranger().post_raw("/frames", &huge).await);
    let token = format!("/frames?token={}", alice.token());
    unauthenticated(&server.stranger().post(&token, good).await);
}

/// FO-9: the sender is the authenticated principal, and nobody else.
#[tokio::test]
async fn fo_9_the_sender_is_who_submits() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let mut to_bob = subscribe(&bob).await;
    let mut to_alice = subscribe(&alice).await;
    for (sender, recipient) in
        [("~bob", "~bob"), ("~bob", "~alice"), ("~nobody", "~bob"), ("~bot", "~bob"), ("~alice-2", "~bob")]
    {
        let mut forged = advisory(&alice, recipient, "forged");
        forged["sender_handle"] = json!(sender);
        refused(&submit(&alice, &forged).await, 403, MISMATCH, Field::Maybe("sender_handle"));
        forged["acted_by"] = json!(sender);
        refused(&submit(&alice, &forged).await, 403, MISMATCH, Field::Any);
    }
    assert!(before_fence(&bob, &bob, &mut to_bob).await.is_empty(), "FO-63");
    assert!(before_fence(&alice, &alice, &mut to_alice).await.is_empty(), "FO-63");
}

/// FO-77: an instrument acts by its own principal, in the frame and inside a declared intent.
#[tokio::test]
async fn fo_77_acted_by_is_ones_own_principal() {
    let mut lab = Lab::new().await;
    let bob = lab.server.agent("@bob.bot").await;
    for handle in ["~bob", "~nobody", "~bot", "~cc-example-model"] {
        let mut forged = lab.frame("agent_advisory", false);
        forged["acted_by"] = json!(handle);
        refused(&submit(&lab.alice, &forged).await, 403, MISMATCH, Field::At("acted_by"));
        let mut forged = lab.frame("intent_declare", true);
        forged["payload"]["acted_by"] = json!(handle);
        refused(&submit(&lab.alice, &forged).await, 403, MISMATCH, Field::At("payload.acted_by"));
    }
    let mut other = lab.frame("intent_declare", false);
    other["payload"]["drafted_with"] = json!("~cursor@2");
    other["drafted_with"] = json!("~bob");
    lab.takes("drafted with whatever instrument", other).await;
    let to_bob = frame(&lab.alice, "~bob", "intent_declare", payload("intent_declare", false));
    assert_eq!(sent(&submit(&lab.alice, &to_bob).await, &to_bob).count, 0);
    assert_eq!(bob.handle, "@bob.bot");
    lab.finish().await;
}

/// All agents of an owner speak as the same principal.
#[tokio::test]
async fn fo_9_agents_of_one_owner_are_one_principal() {
    let (server, [laptop]) = Server::with(["@nick.cc-laptop"]).await;
    let phone = server.closed_agent("@nick.phone", &[]).await;
    let mut stream = subscribe(&laptop).await;
    let (one, two) = (advisory(&laptop, "~nick", "one"), advisory(&phone, "~nick", "two"));
    sent(&submit(&laptop, &one).await, &one);
    sent(&submit(&phone, &two).await, &two);
    assert_eq!(before_fence(&phone, &laptop, &mut stream).await, ["one", "two"]);
}

/// Owners and the operator configure; they neither speak nor listen.
#[tokio::test]
async fn fo_9_owners_and_operator_do_not_speak() {
    let server = Server::start().await;
    let owner = server.owner("alice").await;
    let alice = server.agent("@alice.bot").await;
    let mut stream = subscribe(&alice).await;
    for caller in [&owner, &server.operator()] {
        let good = advisory(&alice, "~alice", "from above");
        let answer = submit(caller, &good).await;
        assert!([401, 403].contains(&answer.status), "{answer}");
        refused_as(&answer, answer.status);
        let answer = caller.get(&stream_path(&alice, "")).await;
        assert!([401, 403].contains(&answer.status), "{answer}");
        refused_as(&answer, answer.status);
    }
    assert!(before_fence(&alice, &alice, &mut stream).await.is_empty());
}

/// The header of the other protocol holds here too: it may be there, with the token's own handle.
#[tokio::test]
async fn fo_9_the_agent_header_must_agree() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let good = advisory(&alice, "~alice", "hello");
    let call = async |agent: &Agent, handle: &str, body: &Value| {
        agent.call("POST", "/frames", &[("X-ASP-Agent", handle)], Some(body)).await
    };
    sent(&call(&alice, "@alice.bot", &good).await, &good);
    unauthenticated(&call(&alice, &bob.handle, &good).await);
    unauthenticated(&call(&alice, "@nobody.here", &good).await);
}

/// Browsers cannot set headers on an event stream: a ticket opens one, once; a token in the query opens none.
#[tokio::test]
async fn fo_53_tickets_open_streams() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let made = alice.post_empty("/auth/ticket").await.json();
    let ticket = made["ticket"].as_str().expect("a ticket");
    let path = stream_path(&alice, &format!("ticket={ticket}"));
    let mut stream = server.stranger().stream(&path).await;
    let hello = advisory(&alice, "~alice", "hello");
    assert_eq!(sent(&submit(&alice, &hello).await, &hello).count, 1);
    assert_eq!(stream.event().await.frame, hello);
    unauthenticated(&server.stranger().get(&path).await);
    unauthenticated(&server.stranger().get(&stream_path(&alice, "ticket=nonsense")).await);
    let token = stream_path(&alice, &format!("token={}", alice.token()));
    unauthenticated(&server.stranger().get(&token).await);
}
