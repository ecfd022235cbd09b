//! What waits in other rooms becomes a request, and the answer goes back: reviews, contacts of strangers.

use blackbox::eventually;
use serde_json::json;

use super::{House, ask, at, house, listed, permission};

#[tokio::test]
async fn a_review_that_is_asked_of_a_person_is_given_from_the_inbox() {
    let House { server: _server, owner, agent } = house().await;
    for (id, answer, expected) in [
        ("one", json!({"type": "accept"}), "complete"),
        ("two", json!({"type": "respond", "text": "Name the sources."}), "revision_requested"),
    ] {
        let package = json!({
            "package_id": id, "project_id": "p", "relay_version": "0.1", "title": "The grammar",
            "status": "awaiting_review", "package_type": "standard", "review_type": "human",
            "content_md": "# Rules", "decisions_made": ["Drop tabs"], "created_at": "2026-01-01T00:00:00Z",
            "created_by": {"id": agent.handle, "type": "agent"},
        });
        agent.post("/v1/projects/p/packages", package).await.ok(201);
        let page = listed(&owner, "review", 1).await;
        let request = &page["requests"][0];
        assert_eq!(
            (&request["title"], &request["detail"]["document"]),
            (&json!("Review: The grammar"), &json!("## Decisions\n\n- Drop tabs\n\n# Rules"))
        );
        assert_eq!(request["source"]["url"], format!("/v1/packages/{id}?project=p"));
        let mut body = answer;
        body["version"] = request["version"].clone();
        let path = at(request["request_id"].as_str().expect("an id"), "/answer");
        owner.post(&path, body).await.ok(200);
        eventually("the review", || async {
            let package = agent.get(&format!("/v1/packages/{id}?project=p")).await.ok(200);
            (package["status"] == expected).then_some(())
        })
        .await;
    }
    let reviews = agent.get("/v1/packages/two/reviews?project=p").await.ok(200);
    assert!(reviews.to_string().contains("Name the sources."), "{reviews}");
}

#[tokio::test]
async fn a_review_that_was_given_elsewhere_waits_for_no_person() {
    let House { server: _server, owner, agent } = house().await;
    let package = json!({
        "package_id": "one", "project_id": "p", "relay_version": "0.1", "title": "The grammar",
        "status": "awaiting_review", "package_type": "standard", "review_type": "human",
        "created_at": "2026-01-01T00:00:00Z", "created_by": {"id": agent.handle, "type": "agent"},
    });
    agent.post("/v1/projects/p/packages", package).await.ok(201);
    listed(&owner, "review", 1).await;
    let review = json!({"status": "complete"});
    assert!(owner.post("/v1/packages/one/review?project=p", review).await.status < 300);
    listed(&owner, "review", 0).await;
}

#[tokio::test]
async fn a_stranger_who_asks_for_contact_is_answered_by_the_owner_over_a_crash() {
    let House { mut server, owner, agent: _ } = house().await;
    let closed = server.closed_agent("@nick.closed", &[]).await;
    let stranger = server.agent("@acme.bot").await;
    let asked = json!({"to": closed.handle, "message": "May I?"});
    stranger.post("/contacts", asked).await.ok(200);
    let page = listed(&owner, "contact", 1).await;
    let request = &page["requests"][0];
    assert_eq!((&request["from"], &request["on_behalf_of"]), (&json!(closed.handle), &json!("@acme.bot")));
    assert_eq!(request["detail"]["text"], "May I?");
    server.crash().await;
    let id = request["request_id"].as_str().expect("an id");
    owner.post(&at(id, "/answer"), json!({"type": "accept", "version": 1})).await.ok(200);
    eventually("the allowlist", || async {
        let list = closed.get("/agents/me/allowlist").await.ok(200);
        (list["entries"] == json!(["@acme.bot"])).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_block_withdraws_the_contact_request_from_people() {
    let House { server, owner, agent: _ } = house().await;
    let closed = server.closed_agent("@nick.closed", &[]).await;
    let stranger = server.agent("@acme.bot").await;
    stranger.post("/contacts", json!({"to": closed.handle})).await.ok(200);
    listed(&owner, "contact", 1).await;
    let block = json!({"handle": stranger.handle});
    owner.post(&format!("/_admin/agents/{}/blocks", closed.handle), block).await.ok(201);
    listed(&owner, "contact", 0).await;
    let sent = stranger.get("/contacts?direction=outgoing").await.ok(200);
    assert_eq!(sent["contacts"].as_array().map(Vec::len), Some(1), "for the stranger it waits: {sent}");
}

/// Nobody waits for an answer to a deleted agent, but the review of a package is not its own.
#[tokio::test]
async fn what_a_deleted_agent_asked_is_withdrawn() {
    let House { mut server, owner, agent } = house().await;
    let dying = server.closed_agent("@nick.dying", &[]).await;
    let own = ask(&dying, permission()).await;
    let other = ask(&agent, permission()).await;
    let stranger = server.agent("@acme.bot").await;
    stranger.post("/contacts", json!({"to": dying.handle})).await.ok(200);
    listed(&owner, "contact", 1).await;
    let package = json!({
        "package_id": "one", "project_id": "p", "relay_version": "0.1", "title": "The grammar",
        "status": "awaiting_review", "package_type": "standard", "review_type": "human", "content_md": "# Rules",
        "created_at": "2026-01-01T00:00:00Z", "created_by": {"id": dying.handle, "type": "agent"},
    });
    dying.post("/v1/projects/p/packages", package).await.ok(201);
    listed(&owner, "review", 1).await;
    assert_eq!(owner.delete(&format!("/_admin/agents/{}", dying.handle)).await.status, 204);
    server.crash().await;
    let permissions = listed(&owner, "permission", 1).await;
    assert_eq!(permissions["requests"][0]["request_id"], json!(other));
    listed(&owner, "contact", 0).await;
    listed(&owner, "review", 1).await;
    assert_eq!(owner.get(&at(&own, "")).await.ok(200)["state"], "withdrawn");
    let rule = json!({"agent": dying.handle, "tool": "Bash", "expires_in_days": 7});
    let accept = json!({"type": "accept", "version": 1, "rule": rule});
    owner.post(&at(&own, "/answer"), accept).await.assert_refused(409, "request_withdrawn");
}

#[tokio::test]
async fn a_stranger_who_invites_is_answered_by_the_owner_unless_the_agent_is_faster() {
    let House { mut server, owner, agent } = house().await;
    let stranger = server.agent("@acme.bot").await;
    let open = |topic: &'static str| {
        let body = json!({"invite": [agent.handle], "topic": topic});
        let stranger = stranger.clone();
        async move {
            let made = stranger.post("/sessions", body).await.ok(201);
            made["session_id"].as_str().expect("an id").to_owned()
        }
    };
    let accepted = open("The parser").await;
    let page = listed(&owner, "invitation", 1).await;
    let request = &page["requests"][0];
    assert_eq!((&request["from"], &request["on_behalf_of"]), (&json!(agent.handle), &json!("@acme.bot")));
    assert_eq!(request["title"], "@acme.bot invites @nick.cc: The parser");
    assert_eq!(
        (&request["source"]["room"], &request["source"]["id"]),
        (&json!("sessions"), &json!(accepted))
    );
    server.crash().await;
    let id = request["request_id"].as_str().expect("an id");
    owner.post(&at(id, "/answer"), json!({"type": "accept", "version": 1})).await.ok(200);
    let standing = |session: String| {
        let agent = agent.clone();
        async move {
            let seen = agent.get(&format!("/sessions/{session}")).await.ok(200);
            let all = seen["participants"].as_array().expect("participants").clone();
            all.into_iter().find(|one| one["handle"] == agent.handle.as_str()).expect("it takes part")
        }
    };
    eventually("it is joined", || async {
        (standing(accepted.clone()).await["status"] == "joined").then_some(())
    })
    .await;
    // Whoever joins by itself, or is invited to what ends, needs no answer of a person.
    let joined = open("By itself").await;
    listed(&owner, "invitation", 1).await;
    agent.post_empty(&format!("/sessions/{joined}/join")).await.ok(200);
    listed(&owner, "invitation", 0).await;
    let ended = open("Over").await;
    listed(&owner, "invitation", 1).await;
    stranger.post_empty(&format!("/sessions/{ended}/end")).await.ok(200);
    listed(&owner, "invitation", 0).await;
    let withdrawn = owner.get("/requests?state=withdrawn").await.ok(200);
    assert_eq!(withdrawn["requests"].as_array().map(Vec::len), Some(2), "{withdrawn}");
    // An agent of the same owner needs nobody's leave.
    let sibling = server.agent("@nick.codex").await;
    sibling.post("/sessions", json!({"invite": [agent.handle]})).await.ok(201);
    open("A fence").await;
    let page = listed(&owner, "invitation", 1).await;
    assert_eq!(page["requests"][0]["title"], "@acme.bot invites @nick.cc: A fence");
}

/// As many requests wait as may when a package comes to its review: it is asked as soon as there is room.
#[tokio::test]
async fn what_finds_no_room_is_asked_once_there_is_some() {
    let House { mut server, owner, agent } = house().await;
    let mut asked = Vec::new();
    for _ in 0..200 {
        asked.push(ask(&agent, permission()).await);
    }
    agent.post("/requests", permission()).await.assert_refused(429, "too_many_requests");
    let package = json!({
        "package_id": "one", "project_id": "p", "relay_version": "0.1", "title": "The grammar",
        "status": "awaiting_review", "package_type": "standard", "review_type": "human",
        "created_at": "2026-01-01T00:00:00Z", "created_by": {"id": agent.handle, "type": "agent"},
    });
    agent.post("/v1/projects/p/packages", package).await.ok(201);
    server.wait_for_log("waits until there is room").await;
    server.crash().await;
    assert_eq!(agent.delete(&at(&asked[0], "")).await.status, 204);
    let page = listed(&owner, "review", 1).await;
    assert_eq!(page["requests"][0]["title"], "Review: The grammar");
}

/// What strangers cause has a share of its own, each owner of them a small one; it takes no room from the agent's own.
#[tokio::test]
async fn strangers_take_no_room_from_the_requests_of_ones_own_agents() {
    let House { server, owner, agent } = house().await;
    let stranger = server.agent("@acme.bot").await;
    let invite = |topic: String| {
        let body = json!({"invite": [agent.handle], "topic": topic});
        let stranger = stranger.clone();
        async move { stranger.post("/sessions", body).await.ok(201) }
    };
    for nth in 0..21 {
        invite(format!("number {nth}")).await;
    }
    let page = listed(&owner, "invitation", 20).await;
    for _ in 0..200 {
        ask(&agent, permission()).await;
    }
    agent.post("/requests", permission()).await.assert_refused(429, "too_many_requests");
    // Another owner's agents have a share of their own.
    let other = server.agent("@zoe.bot").await;
    other.post("/sessions", json!({"invite": [agent.handle]})).await.ok(201);
    let page = (page, listed(&owner, "invitation", 21).await);
    assert!(!page.1.to_string().contains("number 20"), "{}", page.1);
    let id = page.0["requests"][0]["request_id"].as_str().expect("an id");
    owner.post(&at(id, "/answer"), json!({"type": "ignore", "version": 1})).await.ok(200);
    eventually("the one that waited", || async {
        let page = owner.get("/requests?kind=invitation").await.ok(200);
        page.to_string().contains("number 20").then_some(())
    })
    .await;
}

/// An answer that a person gives while the project is archived is not lost: it takes effect once the project is writable
/// again, also over a crash, and not if the package asks for another review by then.
#[tokio::test]
async fn a_review_that_is_given_in_an_archived_project_takes_effect_afterwards() {
    let House { mut server, owner, agent } = house().await;
    for id in ["one", "two"] {
        let package = json!({
            "package_id": id, "project_id": "p", "relay_version": "0.1", "title": id,
            "status": "awaiting_review", "package_type": "standard", "review_type": "human",
            "created_at": "2026-01-01T00:00:00Z", "created_by": {"id": agent.handle, "type": "agent"},
        });
        agent.post("/v1/projects/p/packages", package).await.ok(201);
    }
    let page = listed(&owner, "review", 2).await;
    owner.post_empty("/v1/projects/p/archive").await.ok(200);
    for (request, answer) in page["requests"]
        .as_array()
        .expect("requests")
        .iter()
        .zip([json!({"type": "accept"}), json!({"type": "respond", "text": "Name the sources."})])
    {
        let mut answer = answer;
        answer["version"] = request["version"].clone();
        let id = request["request_id"].as_str().expect("an id");
        owner.post(&at(id, "/answer"), answer).await.ok(200);
    }
    server.wait_for_log("the answer of a person waits").await;
    for id in ["one", "two"] {
        let package = agent.get(&format!("/v1/packages/{id}?project=p")).await.ok(200);
        assert_eq!(package["status"], "awaiting_review", "an archived project is not written to");
    }
    server.crash().await;
    owner.post_empty("/v1/projects/p/unarchive").await.ok(200);
    let mut titles = Vec::new();
    for request in page["requests"].as_array().expect("requests") {
        titles.push(request["title"].as_str().expect("a title").trim_start_matches("Review: ").to_owned());
    }
    for (id, expected) in titles.iter().zip(["complete", "revision_requested"]) {
        eventually("the review", || async {
            let package = agent.get(&format!("/v1/packages/{id}?project=p")).await.ok(200);
            (package["status"] == expected).then_some(())
        })
        .await;
    }
    let reviews = agent.get(&format!("/v1/packages/{}/reviews?project=p", titles[1])).await.ok(200);
    assert!(reviews.to_string().contains("Name the sources."), "{reviews}");
}

/// A text that is longer than a note of a review: the note has its beginning, and says where the agent reads the rest.
#[tokio::test]
async fn a_long_text_of_a_person_is_not_lost_to_the_review() {
    let House { server: _server, owner, agent } = house().await;
    let package = json!({
        "package_id": "one", "project_id": "p", "relay_version": "0.1", "title": "The grammar",
        "status": "awaiting_review", "package_type": "standard", "review_type": "human",
        "created_at": "2026-01-01T00:00:00Z", "created_by": {"id": agent.handle, "type": "agent"},
    });
    agent.post("/v1/projects/p/packages", package).await.ok(201);
    let page = listed(&owner, "review", 1).await;
    let id = page["requests"][0]["request_id"].as_str().expect("an id");
    let text = "é".repeat(10_000);
    let answer = json!({"type": "respond", "text": text, "version": page["requests"][0]["version"]});
    owner.post(&at(id, "/answer"), answer).await.ok(200);
    let note = eventually("the review", || async {
        let reviews = agent.get("/v1/packages/one/reviews?project=p").await.ok(200);
        reviews["reviews"][1]["note"].as_str().map(str::to_owned)
    })
    .await;
    let (kept, rest) = note.split_once('…').expect("a mark");
    assert!(text.starts_with(kept) && kept.len() > 16_000 && note.len() <= 16 << 10, "{}", kept.len());
    assert!(rest.contains(&format!("GET /requests/{id}")), "{rest}");
    assert_eq!(agent.get(&at(id, "")).await.ok(200)["answer"]["text"], text, "the agent may read it");
}
