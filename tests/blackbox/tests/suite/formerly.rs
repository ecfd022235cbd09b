//! The view of a session for former members and invitees: its present state, and the participants that they know (ASP-70,
//! ASP-75, D.9).
//! Its events end where it left (ASP-80).

use blackbox::{Agent, Server, enter, pair};
use serde_json::{Value, json};

/// `GET /sessions/{id}` and the entry of `GET /sessions`, which agree.
async fn view(agent: &Agent, id: &str) -> Value {
    let shown = agent.show(id).await;
    let listed = agent.get("/sessions").await.ok(200);
    let listed =
        listed["sessions"].as_array().expect("a list").iter().find(|entry| entry["id"] == id).cloned();
    assert_eq!(listed.as_ref(), Some(&shown), "the list shows the same");
    shown
}

fn handles(view: &Value) -> Vec<&str> {
    let participants = view["participants"].as_array().expect("a list").iter();
    participants.map(|participant| participant["handle"].as_str().expect("a handle")).collect()
}

/// Each participant with its status.
fn standings(view: &Value) -> Vec<(&str, &str)> {
    fn text(value: &Value) -> &str {
        value.as_str().expect("a text")
    }
    let participants = view["participants"].as_array().expect("a list").iter();
    participants.map(|participant| (text(&participant["handle"]), text(&participant["status"]))).collect()
}

fn assert_ended(view: &Value, expected: &[(&str, &str)]) {
    assert_eq!(view["state"], "ended", "{view}");
    assert!(view["ended_at"].is_u64(), "{view}");
    assert_eq!(standings(view), expected);
}

#[tokio::test]
async fn who_has_left_sees_nobody_who_came_later_but_the_end() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let dave = enter(&server, &alice, &id, "@dave.bot").await;
    bob.leave(&id).await;
    let known = view(&bob, &id).await;
    let heard = bob.history(&id).await;
    enter(&server, &alice, &id, "@later.bot").await;
    assert_eq!(view(&bob, &id).await, known, "nothing of who came");
    dave.leave(&id).await;
    alice.end(&id).await;
    let ended = view(&bob, &id).await;
    assert_ended(&ended, &[("@alice.bot", "joined"), ("@bob.bot", "left"), ("@dave.bot", "left")]);
    assert_eq!(ended["ended_at"], view(&alice, &id).await["ended_at"]);
    assert_eq!(dave.status_of(&id, "@later.bot").await, "joined", "who left later knows more");
    alice.reopen(&id, json!({"invite": ["@later.bot"]})).await;
    server.crash().await;
    let reopened = view(&bob, &id).await;
    assert_eq!(reopened, known_again(&known, &reopened), "also after a restart");
    assert_eq!((&reopened["state"], reopened.get("ended_at")), (&json!("active"), None));
    assert_eq!(handles(&reopened), ["@alice.bot", "@bob.bot", "@dave.bot"]);
    assert_eq!(view(&alice, &id).await["state"], "active");
    assert_eq!(bob.history(&id).await, heard, "its events end with its leaving");
}

/// A view, with the present participants of another that are the same.
fn known_again(view: &Value, other: &Value) -> Value {
    assert_eq!(handles(view), handles(other));
    let mut view = view.clone();
    view["participants"] = other["participants"].clone();
    view
}

/// Given X and Y, when X leaves first and Y last, then both see the end (C.1, ASP-23).
#[tokio::test]
async fn given_two_when_the_creator_leaves_first_then_it_sees_the_end_that_the_other_made() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    alice.leave(&id).await;
    let active = view(&alice, &id).await;
    assert_eq!((&active["state"], active.get("ended_at")), (&json!("active"), None));
    assert_eq!(standings(&active), [("@alice.bot", "left"), ("@bob.bot", "joined")]);
    bob.leave(&id).await;
    assert_ended(&view(&alice, &id).await, &[("@alice.bot", "left"), ("@bob.bot", "left")]);
    assert_eq!(view(&alice, &id).await, view(&bob, &id).await);
    assert_eq!(blackbox::kinds(&alice.history(&id).await).last(), Some(&"left"), "its events end before");
}

/// Given a creator that left, when the others join and end, then it sees their present statuses.
#[tokio::test]
async fn given_a_creator_that_left_when_others_join_and_end_then_it_sees_how_they_stand() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    alice.invite(&id, &["@carol.bot"]).await;
    alice.leave(&id).await;
    carol.join(&id).await;
    bob.end(&id).await;
    let expected = [("@alice.bot", "left"), ("@bob.bot", "joined"), ("@carol.bot", "joined")];
    assert_ended(&view(&alice, &id).await, &expected);
    assert_eq!(view(&alice, &id).await, view(&carol, &id).await);
}

/// Given an invitee, when the creator leaves, then nobody is invited or joined in the end that both see (ASP-75, ASP-23).
#[tokio::test]
async fn given_an_invitee_when_the_creator_leaves_then_nobody_is_invited_any_more() {
    let (_server, [alice, bob]) = Server::with(["@alice.bot", "@bob.bot"]).await;
    let id = alice.create(&[&bob]).await;
    alice.leave(&id).await;
    assert_ended(&view(&alice, &id).await, &[("@alice.bot", "left"), ("@bob.bot", "left")]);
    assert_eq!(view(&alice, &id).await, view(&bob, &id).await);
}

/// Given two that lost their connections, when both graces expire, then both see the end, whichever left first (ASP-51).
#[tokio::test]
async fn given_two_that_lost_their_connections_when_both_graces_expire_then_both_see_the_end() {
    let server = Server::builder().grace("200ms").start().await;
    let (alice, bob, id) = pair(&server).await;
    drop((alice.connect().await, bob.connect().await));
    for agent in [&alice, &bob] {
        let ended = async || (agent.show(&id).await["state"] == "ended").then_some(());
        blackbox::eventually("the session has ended", ended).await;
    }
    assert_ended(&view(&alice, &id).await, &[("@alice.bot", "left"), ("@bob.bot", "left")]);
    assert_eq!(view(&alice, &id).await, view(&bob, &id).await);
}

/// Given two invitees, then neither sees the other, also when the session ends, and each sees how those it knows stand.
#[tokio::test]
async fn given_two_invitees_then_neither_sees_the_other_and_both_see_the_end() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let (carol, _dave) = (server.agent("@carol.bot").await, server.agent("@dave.bot").await);
    bob.invite(&id, &["@carol.bot", "@dave.bot"]).await;
    bob.leave(&id).await;
    let invited = view(&carol, &id).await;
    let expected = [("@alice.bot", "joined"), ("@bob.bot", "left"), ("@carol.bot", "invited")];
    assert_eq!((standings(&invited), &invited["state"]), (expected.to_vec(), &json!("active")));
    alice.end(&id).await;
    let expected = [("@alice.bot", "joined"), ("@bob.bot", "left"), ("@carol.bot", "left")];
    assert_ended(&view(&carol, &id).await, &expected);
}

#[tokio::test]
async fn who_was_blocked_sees_what_one_that_left_sees() {
    let (server, alice, bob, id) = Server::with_pair().await;
    enter(&server, &alice, &id, "@carol.bot").await;
    server.block(&alice, "@bob.bot").await;
    let blocked = view(&bob, &id).await;
    let heard = bob.history(&id).await;
    assert_eq!(bob.status_of(&id, "@bob.bot").await, "left");
    enter(&server, &alice, &id, "@later.bot").await;
    assert_eq!(view(&bob, &id).await, blocked);
    assert_eq!((handles(&blocked).len(), &blocked["state"]), (3, &json!("active")));
    alice.end(&id).await;
    let expected = [("@alice.bot", "joined"), ("@bob.bot", "left"), ("@carol.bot", "joined")];
    assert_ended(&view(&bob, &id).await, &expected);
    assert_eq!(bob.history(&id).await, heard);
}

#[tokio::test]
async fn who_is_not_asked_back_sees_that_the_session_goes_on_without_who_came_later() {
    let (server, alice, bob, id) = Server::with_pair().await;
    alice.end(&id).await;
    let heard = bob.history(&id).await;
    alice.reopen(&id, json!({"invite": []})).await;
    enter(&server, &alice, &id, "@later.bot").await;
    let reopened = view(&bob, &id).await;
    assert_eq!((&reopened["state"], reopened.get("ended_at")), (&json!("active"), None));
    assert_eq!(handles(&reopened), ["@alice.bot", "@bob.bot"]);
    assert_eq!(bob.status_of(&id, "@bob.bot").await, "left", "by its own standing it is answered");
    assert_eq!(bob.history(&id).await, heard, "its events end with the end that it saw");
}

/// The lists of an owner agree: of its agents' sessions, and by state (`GET /accounts/me/sessions`).
#[tokio::test]
async fn the_lists_of_an_owner_agree() {
    let server = Server::start().await;
    let owner = server.owner("alice").await;
    let (alice, bob, id) = pair(&server).await;
    alice.leave(&id).await;
    bob.leave(&id).await;
    let ended = view(&alice, &id).await;
    let owned = owner.get("/_admin/sessions").await.ok(200);
    for member in ["state", "ended_at", "participants"] {
        assert_eq!(owned["sessions"][0][member], ended[member], "{member}");
    }
    let of_state = async |state: &str| {
        let list = owner.get(&format!("/accounts/me/sessions?state={state}")).await.ok(200);
        list["sessions"].as_array().expect("a list").len()
    };
    assert_eq!((of_state("active").await, of_state("ended").await), (0, 1));
}

#[tokio::test]
async fn who_is_asked_back_sees_its_invitation_and_the_rest_once_it_joins() {
    let (server, alice, bob, id) = Server::with_pair().await;
    bob.leave(&id).await;
    enter(&server, &alice, &id, "@later.bot").await;
    alice.invite(&id, &["@bob.bot"]).await;
    let asked = view(&bob, &id).await;
    assert_eq!((handles(&asked).len(), bob.status_of(&id, "@bob.bot").await.as_str()), (2, "invited"));
    bob.join(&id).await;
    assert_eq!(handles(&view(&bob, &id).await), ["@alice.bot", "@bob.bot", "@later.bot"]);
}

/// An invitee is told who invites and the topic, nothing more (ASP-57); its view says no more.
#[tokio::test]
async fn an_invitee_sees_who_invited_it() {
    let (server, _, bob, id) = Server::with_pair().await;
    let carol = server.agent("@carol.bot").await;
    enter(&server, &bob, &id, "@dave.bot").await;
    bob.invite(&id, &["@carol.bot"]).await;
    assert_eq!(handles(&view(&carol, &id).await), ["@alice.bot", "@bob.bot", "@carol.bot"]);
    carol.join(&id).await;
    assert_eq!(handles(&view(&carol, &id).await).len(), 4);
}
