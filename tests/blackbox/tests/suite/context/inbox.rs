//! A package that awaits review is told in the inbox of every agent that may review it, and of nobody else.

use blackbox::Agent;
use serde_json::{Value, json};

use super::speak::{PROJECT, desk, package_at, package_with, packages_of};

async fn inbox(agent: &Agent) -> Value {
    agent.get("/inbox?kinds=review.requested").await.ok(200)
}

#[tokio::test]
async fn a_review_is_asked_of_who_may_give_it_until_it_was_given() {
    let (server, nick) = desk().await;
    let members = |handle: &str| format!("/v1/projects/{PROJECT}/members/{handle}");
    let agents = ["@nick.other", "@acme.reviewer", "@acme.reader", "@stranger.bot"];
    let [colleague, reviewer, reader, stranger] = [
        server.agent(agents[0]).await,
        server.agent(agents[1]).await,
        server.agent(agents[2]).await,
        server.agent(agents[3]).await,
    ];
    let body = package_with(
        &nick.handle,
        "one",
        json!({"status": "awaiting_review", "review_type": "agent",
        "description": "please look"}),
    );
    nick.post(&packages_of(PROJECT), body).await.ok(201);
    for (handle, role) in [(agents[1], "reviewer"), (agents[2], "reader")] {
        server.operator().put(&members(handle), json!({"role": role})).await.ok(200);
    }
    for agent in [&colleague, &reviewer] {
        let page = inbox(agent).await;
        assert_eq!(page["unread"], 1, "{page}");
        let item = &page["items"][0];
        assert_eq!((&item["from"], &item["text"]), (&json!(nick.handle), &json!("please look")));
        assert_eq!(item["subject"], "Shipped archive/de-archive");
        assert_eq!(item["ref"], json!({"project_id": PROJECT, "package_id": "one"}));
    }
    for agent in [&nick, &reader, &stranger] {
        assert_eq!(inbox(agent).await["unread"], 0, "{}", agent.handle);
    }
    assert_eq!(server.operator().delete(&members(agents[1])).await.status, 204);
    assert_eq!(inbox(&reviewer).await["items"], json!([]), "a share that was taken back leaks nothing");
    let review = json!({"status": "complete"});
    let reviewed = colleague.post(&format!("{}/review?project={PROJECT}", package_at("one")), review).await;
    assert_eq!(reviewed.status, 200, "{reviewed}");
    assert_eq!(inbox(&colleague).await["items"], json!([]));
}
