//! FO-43 to FO-48, FO-50 to FO-52, FO-90: the forms of a scope, what they reach among a principal's own sessions, where
//! they may stand, and what is no scope. Must not know: other principals.

use blackbox::{Agent, Server, Stream};
use serde_json::{Value, json};

use super::speak::{
    Field, advisory, before_fence, encode, patient_server, refused, sent, submit, submit_to, subscribe,
    subscribe_as, tell,
};

/// Alice's sessions: instrument and session id.
const SESSIONS: &[(&str, &str)] =
    &[("cc-laptop", "s1"), ("cc-laptop", "s2"), ("cc-phone", "s1"), ("cursor", "s-4.x"), ("cc", "s1")];

/// A scope, and which of the sessions it reaches.
const REACH: &[(&str, &[usize])] = &[
    ("~alice", &[0, 1, 2, 3, 4]),
    ("~alice/*", &[0, 1, 2, 3, 4]),
    ("~alice/c*", &[0, 1, 2, 3, 4]),
    ("~alice/cc*", &[0, 1, 2, 4]),
    ("~alice/cc-*", &[0, 1, 2]),
    ("~alice/cc-laptop*", &[0, 1]),
    ("~alice/cc-l*", &[0, 1]),
    ("~alice/cc-laptops*", &[]),
    ("~alice/cursor*", &[3]),
    ("~alice/laptop*", &[]),
    ("~alice/x*", &[]),
    ("~alice/cc-laptop@s1", &[0]),
    ("~alice/cc-laptop@s2", &[1]),
    ("~alice/cc-phone@s1", &[2]),
    ("~alice/cursor@s-4.x", &[3]),
    ("~alice/cc@s1", &[4]),
    ("~alice/cc@s", &[]),
    ("~alice/cc-phone@s2", &[]),
    ("~alice/cc-laptop@s", &[]),
    ("~alice/cc-laptop@S1", &[]),
];

async fn sessions(alice: &Agent) -> Vec<Stream> {
    let mut streams = Vec::new();
    for (instrument, session) in SESSIONS {
        streams.push(subscribe_as(alice, instrument, session).await);
    }
    streams
}

/// FO-43 to FO-46, and FO-90: without a scope a frame goes to all sessions of its recipient.
#[tokio::test]
async fn fo_44_what_each_form_reaches() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut streams = sessions(&alice).await;
    for (scope, reached) in REACH {
        let frame = advisory(&alice, "~alice", scope);
        let raw = alice.post(&format!("/frames?scope={scope}"), frame.clone()).await;
        let encoded = submit_to(&alice, scope, &frame).await;
        let wrapped = alice.post("/frames", json!({"scope": scope, "frame": frame})).await;
        for response in [raw, encoded, wrapped] {
            assert_eq!(sent(&response, &frame).count, reached.len() as u64, "{scope}: {response}");
        }
        for (number, stream) in streams.iter_mut().enumerate() {
            let times = if reached.contains(&number) { 3 } else { 0 };
            let heard = before_fence(&alice, &alice, stream).await;
            let heard: Vec<_> = heard.iter().filter(|text| *text != "fence").collect();
            assert_eq!(heard, vec![scope; times], "{scope} at {:?}", SESSIONS[number]);
        }
    }
    let bare = advisory(&alice, "~alice", "no scope");
    assert_eq!(sent(&submit(&alice, &bare).await, &bare).count, 5, "FO-90");
    let wrapped = alice.post("/frames", json!({"frame": bare})).await;
    assert_eq!(sent(&wrapped, &bare).count, 5, "a wrapper without a scope");
}

/// FO-46: two connections of the same session are two subscriptions, and both are that session.
#[tokio::test]
async fn fo_46_a_session_may_be_subscribed_twice() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut one = subscribe_as(&alice, "cc-laptop", "s1").await;
    let mut two = subscribe_as(&alice, "cc-laptop", "s1").await;
    assert_eq!(tell(&alice, "~alice", "~alice/cc-laptop@s1", "hello").await, 2);
    assert_eq!(before_fence(&alice, &alice, &mut one).await, ["hello"]);
    assert_eq!(before_fence(&alice, &alice, &mut two).await[0], "hello");
}

/// FO-46: without a name of its own, a session has one that the server made, and the instrument is the agent's name.
#[tokio::test]
async fn fo_46_names_have_defaults() {
    let (_server, [laptop, phone]) = Server::with(["@nick.cc-laptop", "@nick.phone"]).await;
    let mut on_laptop = subscribe(&laptop).await;
    let mut on_phone = subscribe(&phone).await;
    assert_eq!(tell(&phone, "~nick", "~nick/cc-*", "to the laptop").await, 1);
    let roster = laptop.get("/handles/~nick/roster").await.ok(200);
    let rows = roster["roster"].as_array().expect("a list");
    let phones = rows.iter().find(|row| row["instrument"] == "phone").expect("the phone is listed");
    let scope = format!("~nick/phone@{}", phones["session_id"].as_str().expect("an id"));
    assert_eq!(tell(&laptop, "~nick", &scope, "to the phone").await, 1, "{scope}");
    assert_eq!(before_fence(&laptop, &laptop, &mut on_laptop).await, ["to the laptop"]);
    assert_eq!(before_fence(&laptop, &phone, &mut on_phone).await, ["to the phone", "fence"]);
}

/// FO-43: the set is resolved when the frame is sent. Who comes later has missed it; who has gone is not counted.
#[tokio::test]
async fn fo_43_expansion_is_live() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    assert_eq!(tell(&alice, "~alice", "~alice", "nobody is there").await, 0);
    let mut stream = subscribe(&alice).await;
    assert_eq!(tell(&alice, "~alice", "~alice", "one").await, 1);
    assert_eq!(before_fence(&alice, &alice, &mut stream).await, ["one"]);
    stream.cut().await;
    blackbox::eventually("a closed stream is no subscription", || async {
        (tell(&alice, "~alice", "~alice", "gone").await == 0).then_some(())
    })
    .await;
    let mut again = subscribe(&alice).await;
    assert!(before_fence(&alice, &alice, &mut again).await.is_empty());
}

#[track_caller]
fn no_scope(response: &blackbox::Response, what: &str) {
    assert_eq!(response.status, 400, "{what:?} is no scope: {response}");
    refused(response, 400, "field-invalid", Field::At("scope"));
}

/// D.5: a malformed scope is 400 `field-invalid`, wherever it stands.
#[tokio::test]
async fn fo_4_malformed_scopes() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let mut stream = subscribe(&alice).await;
    let frame = advisory(&alice, "~alice", "lost");
    for scope in ["", "alice", "~Alice", "~alice/", "~alice/cc", "org:acme/members", "accord:acme/grant:"] {
        no_scope(&submit_to(&alice, scope, &frame).await, scope);
        no_scope(&alice.post("/frames", json!({"scope": scope, "frame": frame})).await, scope);
    }
    for scope in [json!(null), json!(1), json!(["~alice"]), json!({}), json!(true)] {
        no_scope(&alice.post("/frames", json!({"scope": scope, "frame": frame})).await, "a wrong type");
    }
    let long = format!("~alice/cc@{}", "s".repeat(129));
    no_scope(&submit_to(&alice, &long, &frame).await, &long);
    let whole = format!("~alice/cc@{}", "s".repeat(128));
    assert_eq!(sent(&submit_to(&alice, &whole, &frame).await, &frame).count, 0);
    no_scope(&alice.post("/frames?scope", frame.clone()).await, "a scope without a value");
    assert!(before_fence(&alice, &alice, &mut stream).await.is_empty(), "FO-63");
}

/// D.5: in one place, not in two, not even twice the same.
#[tokio::test]
async fn fo_4_a_scope_stands_in_one_place() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut stream = subscribe(&alice).await;
    let frame = advisory(&alice, "~alice", "twice");
    for (query, body) in [("~alice", "~alice"), ("~alice/*", "~alice"), ("", "~alice"), ("~alice", "")] {
        let path = format!("/frames?scope={}", encode(query));
        no_scope(&alice.post(&path, json!({"scope": body, "frame": frame})).await, "two scopes");
    }
    let twice = alice.post("/frames?scope=~alice&scope=~alice", frame.clone()).await;
    assert_eq!(twice.status, 400, "{twice}");
    let bare = alice.post("/frames?scope=~alice/*", json!({"frame": frame})).await;
    assert_eq!(sent(&bare, &frame).count, 1, "a wrapper and the query's scope are one scope");
    assert_eq!(before_fence(&alice, &alice, &mut stream).await, ["twice"]);
}

/// FO-47, FO-48: the scope's handle is the recipient.
#[tokio::test]
async fn fo_48_the_scope_names_the_recipient() {
    let server = patient_server().await;
    let alice = server.agent("@alice.bot").await;
    let bob = server.agent("@bob.bot").await;
    let mut to_alice = subscribe(&alice).await;
    let mut to_bob = subscribe(&bob).await;
    for (recipient, handle) in
        [("~alice", "~bob"), ("~bob", "~alice"), ("~bob", "~nobody"), ("~alice", "~al")]
    {
        for rest in ["", "/*", "/cc-*", "/cc-laptop@s1"] {
            let frame = advisory(&alice, recipient, "astray");
            let scope = format!("{handle}{rest}");
            refused(&submit_to(&alice, &scope, &frame).await, 403, "scope-unauthorised", Field::Any);
        }
    }
    assert!(before_fence(&alice, &alice, &mut to_alice).await.is_empty());
    assert!(before_fence(&bob, &bob, &mut to_bob).await.is_empty());
}

/// FO-50 to FO-52: a server without a public URL has no accords, and a frame for one is told so, not dropped; tests of links have
/// those of linked networks.
#[tokio::test]
async fn fo_50_52_without_linked_networks_accords_are_unimplemented() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut stream = subscribe(&alice).await;
    for (recipient, scope) in [
        ("~acme", "accord:acme/grant:read"),
        ("~alice", "accord:alice/grant:all"),
        ("~acme", "accord:acme/grant:a.b"),
    ] {
        let frame = advisory(&alice, recipient, "across");
        refused(&submit_to(&alice, scope, &frame).await, 501, "scope-unimplemented", Field::Any);
        let wrapped: Value = json!({"scope": scope, "frame": frame});
        refused(&alice.post("/frames", wrapped).await, 501, "scope-unimplemented", Field::Any);
    }
    assert!(before_fence(&alice, &alice, &mut stream).await.is_empty());
}
