//! What the read side shows to each status: `GET /sessions`, `/sessions/{id}`, `/sessions/{id}/events`
//! (ASP-70, ASP-71, ASP-77 to ASP-81, ASP-88, ASP-94).

use blackbox::{Agent, Server, content_of, enter, kinds, pair};
use serde_json::{Value, json};

async fn listed(agent: &Agent) -> Vec<String> {
    let body = agent.get("/sessions").await.ok(200);
    let sessions = body["sessions"].as_array().expect("sessions is a list");
    sessions.iter().map(|session| session["id"].as_str().expect("an id").to_owned()).collect()
}

/// ASP-70: current and former participants see the session, others nothing.
#[tokio::test]
async fn asp_94_a_session_is_shown_to_its_participants() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let invited = server.agent("@invited.bot").await;
    alice.invite(&id, &["@invited.bot"]).await;
    let left = enter(&server, &alice, &id, "@left.bot").await;
    left.leave(&id).await;
    let stranger = server.agent("@stranger.bot").await;
    for agent in [&alice, &bob, &invited, &left] {
        assert_eq!(agent.show(&id).await["state"], "active");
        assert_eq!(listed(agent).await, [id.as_str()]);
    }
    stranger.get(&format!("/sessions/{id}")).await.assert_refused(404, "not_found");
    stranger.get(&format!("/sessions/{id}/events")).await.assert_refused(404, "not_found");
    assert!(listed(&stranger).await.is_empty());
}

/// The list is newest first, each as `GET /sessions/{id}` shows it.
#[tokio::test]
async fn sessions_are_listed_newest_first() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let mut ids = Vec::new();
    for number in 0..5 {
        let made = alice.open(json!({"invite": ["@bob.bot"], "topic": format!("t{number}")})).await;
        ids.push(made["session_id"].as_str().expect("an id").to_owned());
    }
    alice.end(&ids[2]).await;
    ids.reverse();
    assert_eq!(listed(&alice).await, ids);
    assert_eq!(listed(&bob).await, ids);
    let body = alice.get("/sessions").await.ok(200);
    for session in body["sessions"].as_array().expect("a list") {
        let id = session["id"].as_str().expect("an id");
        assert_eq!(session, &alice.show(id).await);
    }
}

/// ASP-71: the history of each status, in a session where everything happened.
#[tokio::test]
async fn asp_71_each_status_has_its_history() {
    let server = Server::start().await;
    let (alice, bob, id) = pair(&server).await; // 1 invited, 2 joined
    alice.say(&id, "three").await;
    let invited = server.agent("@invited.bot").await;
    alice.invite(&id, &["@invited.bot"]).await; // 4
    let late = enter(&server, &bob, &id, "@late.bot").await; // 5, 6
    alice.say(&id, "seven").await;
    bob.leave(&id).await; // 8
    alice.say(&id, "nine").await;
    let numbers = |events: &[Value]| blackbox::sequences(events);
    assert_eq!(numbers(&alice.history(&id).await), (1..=9).collect::<Vec<_>>());
    assert_eq!(late.history(&id).await, alice.history(&id).await, "joined late, reads all (2.5 #6)");
    assert_eq!(numbers(&bob.history(&id).await), (1..=8).collect::<Vec<_>>());
    assert_eq!(numbers(&invited.history(&id).await), [4]);
    late.end(&id).await; // 10
    assert_eq!(numbers(&alice.history(&id).await), (1..=10).collect::<Vec<_>>());
    assert_eq!(numbers(&late.history(&id).await), (1..=10).collect::<Vec<_>>());
    assert_eq!(numbers(&bob.history(&id).await), (1..=8).collect::<Vec<_>>());
    assert_eq!(numbers(&invited.history(&id).await), [4, 10]);
}

/// D.9: a former member asked back reads what it could read, its invitation and the reopening, until it joins.
#[tokio::test]
async fn a_member_asked_back_reads_what_it_had() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "old").await;
    alice.end(&id).await;
    alice.reopen(&id, json!({"initial_message": {"content": "new"}})).await;
    let seen = bob.history(&id).await;
    assert_eq!(kinds(&seen), ["invited", "joined", "message", "ended", "reopened", "invited"]);
    assert_eq!(content_of(&seen), ["old"]);
    alice.say(&id, "newer").await;
    assert_eq!(content_of(&bob.history(&id).await), ["old"]);
    bob.join(&id).await;
    assert_eq!(content_of(&bob.history(&id).await), ["old", "new", "newer"]);
}

/// ASP-81: an invitee of a reopened session that was only invited before sees both its invitations and the end.
#[tokio::test]
async fn an_invitee_of_two_lives_sees_both_invitations() {
    let (server, alice, _, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    alice.end(&id).await;
    alice.reopen(&id, json!({"invite": ["@carol.bot"]})).await;
    let seen = carol.history(&id).await;
    let known: Vec<_> = kinds(&seen).into_iter().filter(|kind| *kind != "reopened").collect();
    assert_eq!(known, ["invited", "ended", "invited"]);
    assert!(
        seen.iter()
            .filter(|e| e["type"] == "session.invited")
            .all(|e| e["payload"]["invitee"] == "@carol.bot")
    );
}

/// ASP-88: history and the stream agree, event for event, for every status.
#[tokio::test]
async fn asp_88_history_and_stream_agree() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let invited = server.agent("@invited.bot").await;
    alice.invite(&id, &["@invited.bot"]).await;
    let left = enter(&server, &bob, &id, "@left.bot").await;
    alice.say(&id, "hello").await;
    left.leave(&id).await;
    bob.say(&id, "bye").await;
    alice.end(&id).await;
    for agent in [&alice, &bob, &invited, &left] {
        let history = agent.history(&id).await;
        let last = history.last().cloned().expect("events");
        let heard = agent.connect().await.until(|event| *event == last).await;
        assert_eq!(heard, history, "{}", agent.handle);
    }
}
