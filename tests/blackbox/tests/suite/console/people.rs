//! People: accounts in whose names nobody but a person acts.

use blackbox::{Server, StreamItem};
use serde_json::json;

use super::{link, sign_in, use_link};

/// Every owner has one person, and may have more; an agent of the owner reaches it, others do not.
#[tokio::test]
async fn an_owner_has_people() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let bot = server.closed_agent("@nick.bot", &["@nick.*"]).await;
    let stranger = server.agent("@bob.bot").await;
    let mara =
        owner.post("/_admin/people", json!({"handle": "@nick.mara", "display_name": "Mara"})).await.ok(201);
    assert_eq!((&mara["kind"], &mara["display_name"]), (&json!("person"), &json!("Mara")));
    assert!(mara["token"].is_null(), "nobody holds a token of a person: {mara}");
    assert_eq!(owner.get("/_admin/agents/@nick.bot").await.ok(200)["kind"], "agent");
    owner.post("/_admin/people", json!({"handle": "@nick.mara"})).await.assert_refused(409, "agent_exists");
    owner.post("/_admin/people", json!({"handle": "@bob.mara"})).await.assert_refused(404, "not_found");
    owner
        .post("/_admin/people", json!({"handle": "@nick.x", "display_name": ""}))
        .await
        .assert_refused(400, "invalid_display_name");

    // The default person is made when its own agent first writes to it, and for nobody else.
    stranger.post("/sessions", json!({"invite": ["@nick.nick"]})).await.assert_refused(404, "not_found");
    owner.get("/_admin/agents/@nick.nick").await.assert_refused(404, "not_found");
    let made = bot.post("/sessions", json!({"invite": ["@nick.nick"], "topic": "a question"})).await.ok(201);
    assert_eq!(owner.get("/_admin/agents/@nick.nick").await.ok(200)["kind"], "person");
    stranger.post("/sessions", json!({"invite": ["@nick.nick"]})).await.assert_refused(404, "not_found");

    let id = made["session_id"].as_str().expect("an id");
    let browser = sign_in(&server, &owner, json!({})).await;
    browser.post_as("@nick.nick", &format!("/sessions/{id}/join"), json!({})).await.ok(200);
    browser
        .post_as("@nick.nick", &format!("/sessions/{id}/messages"), json!({"content": "yes"}))
        .await
        .ok(201);
    assert!(owner.get("/_admin/audit").await.ok(200)["entries"].as_array().expect("entries").is_empty());
    let as_mara = sign_in(&server, &owner, json!({"person": "@nick.mara"})).await;
    assert_eq!(as_mara.session["person"], "@nick.mara");
}

/// An owner speaks through its own person, which could not be made again. Other people may go.
#[tokio::test]
async fn the_owners_own_person_stays_and_other_people_may_be_deleted() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let browser = sign_in(&server, &owner, json!({})).await;
    assert_eq!(browser.session["person"], "@nick.nick");
    owner.post("/_admin/people", json!({"handle": "@nick.mara"})).await.ok(201);
    owner.delete("/_admin/agents/@nick.nick").await.assert_refused(409, "owners_person");
    server.operator().delete("/_admin/agents/@nick.nick").await.assert_refused(409, "owners_person");
    owner.delete("/_admin/agents/@nick.mara").await.ok(204);
    let again = sign_in(&server, &owner, json!({})).await;
    assert_eq!(again.session["person"], "@nick.nick");
}

/// What signs a person in ends with the person.
#[tokio::test]
async fn a_session_and_a_link_end_with_their_person() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    owner.post("/_admin/people", json!({"handle": "@nick.mara"})).await.ok(201);
    let as_mara = || json!({"person": "@nick.mara"});
    let (browser, other) =
        (sign_in(&server, &owner, as_mara()).await, sign_in(&server, &owner, json!({})).await);
    let unused = link(&owner, as_mara()).await;
    let mut watch = browser.watch("").await;
    watch.event().await;
    browser.get("/_admin/agents").await.ok(200);
    owner.delete("/_admin/agents/@nick.mara").await.ok(204);
    assert_eq!(watch.ending().await.1, StreamItem::End);
    browser.get("/console/session").await.assert_refused(401, "invalid_authorization");
    browser
        .post("/_admin/agents", json!({"handle": "@nick.x"}))
        .await
        .assert_refused(401, "invalid_authorization");
    use_link(&server, &unused).await.assert_refused(401, "link_invalid");
    let listed = other.get("/console/sessions").await.ok(200);
    assert_eq!(listed["sessions"].as_array().expect("sessions").len(), 1, "{listed}");
}
