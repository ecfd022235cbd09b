//! The shapes of inboxes for agents that others have.

use serde_json::json;

use super::{House, ask, at, house, permission};

#[tokio::test]
async fn requests_are_interrupts_too_and_take_their_responses() {
    let House { server: _server, owner, agent } = house().await;
    let [accepted, edited, responded] =
        [ask(&agent, permission()).await, ask(&agent, permission()).await, ask(&agent, permission()).await];
    let list = owner.get("/requests/interrupts").await.ok(200);
    let first = &list["interrupts"][0];
    assert_eq!(first["id"], accepted.as_str());
    assert_eq!(first["action_request"], json!({"action": "Bash", "args": {"command": "cargo test"}}));
    let config =
        json!({"allow_ignore": true, "allow_respond": true, "allow_edit": true, "allow_accept": true});
    assert_eq!(first["config"], config);
    let respond = async |id: &str, body| owner.post(&format!("/requests/interrupts/{id}"), body).await;
    respond(&accepted, json!({"type": "accept", "args": null})).await.ok(200);
    respond(&accepted, json!({"type": "ignore", "args": null})).await.assert_refused(409, "already_answered");
    let edit = json!({"type": "edit", "args": {"action": "Bash", "args": {"command": "true"}}});
    let done = respond(&edited, edit).await.ok(200);
    assert_eq!(done["answer"]["args"], json!({"command": "true"}));
    respond(&responded, json!({"type": "response", "args": 7})).await.assert_refused(400, "invalid_answer");
    respond(&responded, json!({"type": "response", "args": "Later."})).await.ok(200);
    assert_eq!(agent.get(&at(&responded, "")).await.ok(200)["answer"]["text"], "Later.");
}
