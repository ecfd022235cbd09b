//! `POST /sessions` (ASP-22, ASP-29, ASP-55 to ASP-57, ASP-61, ASP-64, ASP-84, ASP-93).

use blackbox::{Server, assert_gapless, assert_keys, content_of, kinds};
use serde_json::json;

/// ASP-22, ASP-64: a session is active, its creator joined, others invited; the answer says no more than the id.
#[tokio::test]
async fn asp_84_a_session_starts_active() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    server.agent("@bob.bot").await;
    let made = alice.open(json!({"invite": ["@bob.bot"], "topic": "a topic"})).await;
    assert_keys(&made, &["session_id"], &[]);
    let id = made["session_id"].as_str().expect("an id");
    let session = alice.show(id).await;
    assert_keys(&session, &["id", "state", "topic", "participants", "created_at"], &["ended_at"]);
    assert_eq!(session["id"], id);
    assert_eq!(session["state"], "active");
    assert_eq!(session["topic"], "a topic");
    assert!(session["ended_at"].is_null());
    assert_eq!(alice.status_of(id, "@alice.bot").await, "joined");
    assert_eq!(alice.status_of(id, "@bob.bot").await, "invited");
}

/// ASP-22: nobody need be invited; the creator's own entry is no event, so the first thing written is 1.
#[tokio::test]
async fn a_session_may_start_alone() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    for body in [json!({}), json!({"invite": []})] {
        let made = alice.open(body).await;
        let id = made["session_id"].as_str().expect("an id");
        assert_eq!(alice.history(id).await, Vec::<serde_json::Value>::new());
        assert_eq!(alice.say(id, "to myself").await, 1);
    }
}

/// ASP-55, ASP-56, ASP-57: the initial message is 1, before the invitations; the creator gets it back, the invitee
/// only the invitation with inviter and topic.
#[tokio::test]
async fn the_initial_message_is_number_one() {
    let (server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    server.agent("@carol.bot").await;
    let mut to_alice = alice.connect().await;
    let mut to_bob = bob.connect().await;
    let made = alice
        .open(json!({
            "invite": ["@bob.bot", "@carol.bot"], "topic": "Question about widget v3 export",
            "initial_message": {"content": "Hi", "metadata": {"lang": "en"}},
        }))
        .await;
    assert_keys(&made, &["session_id", "sequence"], &[]);
    assert_eq!(made["sequence"], 1);
    let echo = to_alice.event().await;
    assert_eq!((&echo["type"], &echo["sequence"]), (&json!("session.message"), &json!(1)));
    assert_eq!(echo["payload"]["content"], "Hi");
    assert_eq!(echo["payload"]["metadata"], json!({"lang": "en"}));
    assert_eq!(echo["payload"]["sender"], "@alice.bot");
    let invited = to_bob.event().await;
    assert_eq!(invited["type"], "session.invited");
    assert_eq!(invited["invited_by"], "@alice.bot");
    assert_eq!(invited["topic"], "Question about widget v3 export");
    assert_keys(&invited["payload"], &["invitee", "by", "topic"], &[]);
    assert!(!invited.to_string().contains("\"Hi\""), "an invitation carries no content (ASP-30): {invited}");
    let id = made["session_id"].as_str().expect("an id");
    let log = alice.history(id).await;
    assert_gapless(&log, 1);
    assert_eq!(kinds(&log), ["message", "invited", "invited"]);
}

/// ASP-29, ASP-61, ASP-93: send-and-end: the message rides in the invitation, then the end; three events in all.
#[tokio::test]
async fn send_and_end_is_one_message_and_the_end() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let mut to_alice = alice.connect().await;
    let mut to_bob = bob.connect().await;
    let made = alice
        .open(json!({
            "invite": ["@bob.bot"], "end_after_send": true,
            "initial_message": {"content": "FYI", "metadata": {"k": 1}},
        }))
        .await;
    let id = made["session_id"].as_str().expect("an id");
    assert_eq!(made["sequence"], 1);
    let invited = to_bob.event().await;
    assert_eq!(invited["type"], "session.invited");
    let inline = &invited["payload"]["initial_message"];
    assert_keys(inline, &["id", "session_id", "sender", "sequence", "content", "created_at"], &["metadata"]);
    assert_eq!(inline["content"], "FYI");
    assert_eq!(inline["sender"], "@alice.bot");
    assert_eq!(inline["sequence"], 1);
    assert_eq!(inline["metadata"], json!({"k": 1}));
    assert_eq!(&invited["initial_message"], inline, "the seed's flat member says the same");
    let ended = to_bob.event().await;
    assert_eq!((&ended["type"], &ended["sequence"]), (&json!("session.ended"), &json!(3)));
    let echo = to_alice.until_kind("session.ended").await;
    assert_eq!(kinds(&echo), ["message", "invited", "ended"]);
    assert_eq!(echo[0]["payload"]["id"], inline["id"], "one message, one id");
    let session = bob.show(id).await;
    assert_eq!(session["state"], "ended");
    assert!(session["ended_at"].is_i64());
    assert_eq!(bob.status_of(id, "@bob.bot").await, "left");
    assert_eq!(kinds(&bob.history(id).await), ["invited", "ended"]);
}

/// ASP-29: for an invitee that is away, the same two events wait.
#[tokio::test]
async fn send_and_end_waits_for_the_absent() {
    let (mut server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let body = json!({"invite": ["@bob.bot"], "end_after_send": true, "initial_message": {"content": "FYI"}});
    alice.open(body).await;
    server.crash().await;
    let mut to_bob = bob.connect().await;
    let heard = to_bob.until_kind("session.ended").await;
    assert_eq!(kinds(&heard), ["invited", "ended"]);
    assert_eq!(heard[0]["payload"]["initial_message"]["content"], "FYI");
}

/// `end_after_send` needs a message to send.
#[tokio::test]
async fn send_and_end_needs_a_message() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    server.agent("@bob.bot").await;
    let body = json!({"invite": ["@bob.bot"], "end_after_send": true});
    alice.post("/sessions", body).await.assert_refused(400, "end_after_send_requires_initial_message");
    let body = json!({"invite": ["@bob.bot"], "end_after_send": "yes", "initial_message": {"content": "x"}});
    alice.post("/sessions", body).await.assert_refused(400, "invalid_end_after_send");
    let body = json!({"invite": ["@bob.bot"], "end_after_send": false, "initial_message": {"content": "x"}});
    let made = alice.open(body).await;
    assert_eq!(alice.show(made["session_id"].as_str().expect("an id")).await["state"], "active");
}

/// 2.5 #18: oneself is ignored, doubles collapse.
#[tokio::test]
async fn invitees_are_a_set_without_oneself() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    server.agent("@bob.bot").await;
    let made = alice.open(json!({"invite": ["@bob.bot", "@alice.bot", "@bob.bot"]})).await;
    let id = made["session_id"].as_str().expect("an id");
    assert_eq!(kinds(&alice.history(id).await), ["invited"]);
    let participants = alice.show(id).await["participants"].as_array().map(Vec::len);
    assert_eq!(participants, Some(2));
    let alone = alice.open(json!({"invite": ["@alice.bot"]})).await;
    assert_eq!(alice.status_of(alone["session_id"].as_str().expect("an id"), "@alice.bot").await, "joined");
}

/// Wrong members are refused with their code, and nothing is made.
#[tokio::test]
async fn wrong_members_are_refused() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    for (body, code) in [
        (json!({"invite": "@bob.bot"}), "invalid_invite"),
        (json!({"invite": [null]}), "invalid_invite"),
        (json!({"topic": 7}), "invalid_topic"),
        (json!({"initial_message": "hello"}), "invalid_initial_message"),
        (json!({"idempotency_key": "k".repeat(256)}), "invalid_idempotency_key"),
    ] {
        alice.post("/sessions", body).await.assert_refused(400, code);
    }
    for body in [
        json!({"initial_message": {}}),
        json!({"initial_message": {"content": ""}}),
        json!({"initial_message": {"content": "x", "metadata": "y"}}),
    ] {
        let response = alice.post("/sessions", body).await;
        response.assert_refused_any(400, &["invalid_initial_message", "invalid_content", "invalid_metadata"]);
    }
    for body in ["[]", "null"] {
        alice.post_raw("/sessions", body.as_bytes()).await.refusal_code(400);
    }
    assert_eq!(alice.get("/sessions").await.ok(200)["sessions"], json!([]));
}

/// D.9: unknown members at the top level are ignored.
#[tokio::test]
async fn unknown_members_are_ignored() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let body = json!({"topic": "t", "state": "ended", "participants": [], "x": {"y": [1]}, "sequence": 9});
    let made = alice.open(body).await;
    let session = alice.show(made["session_id"].as_str().expect("an id")).await;
    assert_eq!(session["state"], "active");
    assert_eq!(session["participants"].as_array().map(Vec::len), Some(1));
}

/// Ids have their prefix and do not repeat; ULIDs sort by time.
#[tokio::test]
async fn ids_are_ulids_with_their_prefix() {
    let (_server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        let made = alice.open(json!({"initial_message": {"content": "x"}})).await;
        let id = made["session_id"].as_str().expect("an id").to_owned();
        let log = alice.history(&id).await;
        assert_eq!(content_of(&log), ["x"]);
        for (id, prefix) in [
            (id.as_str(), "sess_"),
            (log[0]["event_id"].as_str().expect("an id"), "evt_"),
            (log[0]["payload"]["id"].as_str().expect("an id"), "msg_"),
        ] {
            let tail = id.strip_prefix(prefix).unwrap_or_else(|| panic!("{id} starts with {prefix}"));
            assert!(
                tail.len() == 26 && tail.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()),
                "{id}"
            );
            assert!(seen.insert(id.to_owned()), "{id} is new");
        }
    }
}
