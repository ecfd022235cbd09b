//! Who may reach whom: policies, allowlists, globs, symmetry, and that a change touches only the future
//! (ASP-6 to ASP-11, ASP-16 to ASP-19, ASP-59, ASP-89, ASP-104, ASP-106).

use blackbox::{Agent, Server, kinds, room};
use serde_json::json;

/// How one side of a pair stands to the other: policy, and what its list holds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Gate {
    Open,
    OpenListingOthers,
    Empty,
    ListingOthers,
    Exact,
    Glob,
}

const GATES: [Gate; 6] =
    [Gate::Open, Gate::OpenListingOthers, Gate::Empty, Gate::ListingOthers, Gate::Exact, Gate::Glob];

impl Gate {
    /// Whether this side lets the pair talk, whoever starts.
    fn lets(self) -> bool {
        matches!(self, Self::Open | Self::OpenListingOthers | Self::Exact | Self::Glob)
    }

    async fn make(self, server: &Server, handle: &str, other: &str) -> Agent {
        let (policy, entry) = match self {
            Self::Open => ("open", None),
            Self::OpenListingOthers => ("open", Some("@somebody.else".to_owned())),
            Self::Empty => ("allowlist", None),
            Self::ListingOthers => ("allowlist", Some("@somebody.*".to_owned())),
            Self::Exact => ("allowlist", Some(other.to_owned())),
            Self::Glob => ("allowlist", Some(format!("{}.*", other.split('.').next().unwrap_or(other)))),
        };
        let allowlist: Vec<_> = entry.into_iter().collect();
        server.agent_as(json!({"handle": handle, "policy": policy, "allowlist": allowlist})).await
    }
}

/// ASP-6, ASP-7, ASP-8, ASP-9, ASP-10, ASP-11: a pair may talk exactly when both sides let it, in either direction.
#[tokio::test]
async fn asp_8_9_11_a_pair_talks_when_both_gates_let_it() {
    let server = Server::start().await;
    for (row, mine) in GATES.iter().enumerate() {
        for (column, theirs) in GATES.iter().enumerate() {
            let (one, two) = (format!("@one{row}{column}.bot"), format!("@two{row}{column}.bot"));
            let caller = mine.make(&server, &one, &two).await;
            theirs.make(&server, &two, &one).await;
            let response = caller.post("/sessions", json!({ "invite": [two] })).await;
            let allowed = mine.lets() && theirs.lets();
            assert_eq!(
                response.status,
                if allowed { 201 } else { 404 },
                "{mine:?} to {theirs:?}: {response}"
            );
        }
    }
}

/// ASP-17: the same table for an invitation into a session that exists, and at a reopening (ASP-62).
#[tokio::test]
async fn every_contact_attempt_is_checked() {
    let server = Server::start().await;
    for (row, mine) in GATES.iter().enumerate() {
        for (column, theirs) in GATES.iter().enumerate() {
            let (one, two) = (format!("@one{row}{column}.bot"), format!("@two{row}{column}.bot"));
            let caller = mine.make(&server, &one, &two).await;
            let called = theirs.make(&server, &two, &one).await;
            let allowed = mine.lets() && theirs.lets();
            let id = caller.create(&[]).await;
            let invited = caller.post(&format!("/sessions/{id}/invite"), json!({ "invite": [two] })).await;
            if allowed {
                assert_eq!(invited.ok(200)["invited"], json!([two]), "{mine:?} to {theirs:?}");
            } else {
                invited.assert_refused(404, "not_found");
            }
            let id = caller.create(&[]).await;
            caller.end(&id).await;
            caller.reopen(&id, json!({ "invite": [two] })).await;
            let seen = called.get(&format!("/sessions/{id}")).await;
            assert_eq!(
                seen.status,
                if allowed { 200 } else { 404 },
                "{mine:?} to {theirs:?} at reopening: {seen}"
            );
        }
    }
}

/// ASP-7: a glob covers its owner's agents, whole names only, and the owner's own are no exception to a gate.
#[tokio::test]
async fn globs_cover_one_owner() {
    let server = Server::start().await;
    let target = server.closed_agent("@shop.desk", &["@acme.*"]).await;
    for (handle, allowed) in [
        ("@acme.support", true),
        ("@acme.any-thing_1", true),
        ("@acme2.support", false),
        ("@acm.support", false),
        ("@acme-two.support", false),
        ("@support.acme", false),
        ("@shop.other", false),
    ] {
        let caller = server.agent(handle).await;
        let response = caller.post("/sessions", json!({"invite": [target.handle]})).await;
        assert_eq!(response.status, if allowed { 201 } else { 404 }, "{handle}: {response}");
    }
}

/// ASP-59: the walkthrough: it is the inviter who must be listed, not the session's creator.
#[tokio::test]
async fn asp_59_the_inviter_is_checked() {
    let (server, [nick, support]) = Server::with(["@nick.assistant", "@acme.support"]).await;
    let engineer = server.closed_agent("@acme.engineer", &["@acme.*"]).await;
    let id = room(&[&nick, &support]).await;
    nick.post(&format!("/sessions/{id}/invite"), json!({"invite": [engineer.handle]}))
        .await
        .assert_refused(404, "not_found");
    assert_eq!(support.invite(&id, &["@acme.engineer"]).await, ["@acme.engineer"]);
    engineer.join(&id).await;
    nick.say(&id, "welcome").await;
    assert!(blackbox::content_of(&engineer.history(&id).await).contains(&"welcome"));
}

/// ASP-106: a stranger reaches whoever is open.
#[tokio::test]
async fn open_is_reachable_by_strangers() {
    let (_server, [open, stranger]) = Server::with(["@acme.support", "@stranger.bot"]).await;
    room(&[&stranger, &open]).await;
}

/// ASP-18, ASP-19: one unreachable invitee refuses the whole creation, with no trace at the others.
#[tokio::test]
async fn a_denied_creation_leaves_no_trace() {
    let (server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    server.closed_agent("@hidden.bot", &[]).await;
    let mut to_bob = bob.connect().await;
    for missing in ["@hidden.bot", "@nobody.bot"] {
        let body = json!({"invite": ["@bob.bot", missing], "initial_message": {"content": "hello"}});
        alice.post("/sessions", body).await.assert_refused(404, "not_found");
    }
    assert_eq!(alice.get("/sessions").await.ok(200)["sessions"], json!([]));
    let id = alice.create(&[&bob]).await;
    assert_eq!(
        to_bob.event().await["session_id"],
        id.as_str(),
        "the first that bob hears of is the real one"
    );
}

/// 2.5 #5: invitations into a session are judged one by one; only when all who could be invited are denied is it 404.
#[tokio::test]
async fn invitations_are_judged_one_by_one() {
    let (server, alice, bob, id) = Server::with_pair().await;
    server.agent("@carol.bot").await;
    server.closed_agent("@hidden.bot", &[]).await;
    let path = format!("/sessions/{id}/invite");
    let mixed = json!({"invite": ["@hidden.bot", "@carol.bot", "@nobody.bot"]});
    assert_eq!(alice.post(&path, mixed).await.ok(200)["invited"], json!(["@carol.bot"]));
    alice.post(&path, json!({"invite": ["@hidden.bot"]})).await.assert_refused(404, "not_found");
    alice
        .post(&path, json!({"invite": ["@nobody.bot", "@hidden.bot"]}))
        .await
        .assert_refused(404, "not_found");
    let present = json!({"invite": ["@bob.bot", "@carol.bot", "@alice.bot"]});
    assert_eq!(alice.post(&path, present).await.ok(200)["invited"], json!([]));
    let both = json!({"invite": ["@bob.bot", "@hidden.bot"]});
    alice.post(&path, both).await.assert_refused(404, "not_found");
    assert_eq!(
        kinds(&bob.history(&id).await),
        ["invited", "joined", "invited"],
        "one invitation was written"
    );
}

/// ASP-16, ASP-104: taking a peer off the list leaves running sessions alone and refuses new contact.
#[tokio::test]
async fn asp_16_104_removal_from_a_list_touches_only_the_future() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let bob = server.closed_agent("@bob.bot", &["@alice.bot"]).await;
    let id = room(&[&alice, &bob]).await;
    let pending = alice.create(&[&bob]).await;
    let mut to_bob = bob.connect().await;
    server.operator().delete("/_admin/agents/@bob.bot/allowlist/@alice.bot").await.ok(200);
    alice.say(&id, "still here").await;
    to_bob.until_text("still here").await;
    bob.say(&id, "so am I").await;
    bob.join(&pending).await;
    alice.post("/sessions", json!({"invite": ["@bob.bot"]})).await.assert_refused(404, "not_found");
    bob.post("/sessions", json!({"invite": ["@alice.bot"]})).await.assert_refused(404, "not_found");
    bob.leave(&id).await;
    alice
        .post(&format!("/sessions/{id}/invite"), json!({"invite": ["@bob.bot"]}))
        .await
        .assert_refused(404, "not_found");
}

/// ASP-17: a change of policy is in force for the very next call.
#[tokio::test]
async fn changes_are_in_force_at_once() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    server.agent("@bob.bot").await;
    let invite = json!({"invite": ["@bob.bot"]});
    for _ in 0..10 {
        alice.post("/sessions", invite.clone()).await.ok(201);
        server.operator().patch("/_admin/agents/@bob.bot", json!({"policy": "allowlist"})).await.ok(200);
        alice.post("/sessions", invite.clone()).await.assert_refused(404, "not_found");
        server.operator().patch("/_admin/agents/@bob.bot", json!({"policy": "open"})).await.ok(200);
    }
}

/// ASP-10: a closed creator cannot invite an open agent that it has not listed.
#[tokio::test]
async fn a_gate_holds_outbound_too() {
    let server = Server::start().await;
    let closed = server.closed_agent("@closed.bot", &["@friend.bot"]).await;
    let friend = server.agent("@friend.bot").await;
    server.agent("@stranger.bot").await;
    closed.post("/sessions", json!({"invite": ["@stranger.bot"]})).await.assert_refused(404, "not_found");
    let id = room(&[&closed, &friend]).await;
    let path = format!("/sessions/{id}/invite");
    closed.post(&path, json!({"invite": ["@stranger.bot"]})).await.assert_refused(404, "not_found");
    assert_eq!(
        friend.invite(&id, &["@stranger.bot"]).await,
        ["@stranger.bot"],
        "another inviter has its own gate"
    );
}
