//! Who may do what in a shared project: AP-57, AP-101, D.4, D.7.

use blackbox::{Agent, Caller, Server, eventually};
use serde_json::{Value, json};

use super::speak::{
    PROJECT, assert_fact, assert_field, deposit, deposited, facts, list, package, package_with, packages_of,
    pull, texts,
};

struct House {
    server: Server,
    owner: Caller,
    host: Agent,
    guest: Agent,
}

impl House {
    /// A project of the owner `host` with a draft, and a guest of another owner.
    async fn new() -> Self {
        let server = Server::start().await;
        let owner = server.owner("host").await;
        let host = server.agent("@host.bot").await;
        let guest = server.agent("@guest.bot").await;
        deposited(&host, &package_with(&host.handle, "draft", json!({"status": "draft"}))).await;
        assert_fact(&host, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
        Self { server, owner, host, guest }
    }

    async fn share(&self, with: &str, role: &str) {
        self.owner.put(&member(with), json!({ "role": role })).await.ok(200);
    }
}

fn member(who: &str) -> String {
    format!("/v1/projects/{PROJECT}/members/{who}")
}

/// D.4: sharing with a whole owner covers its agents, of now and later; the others stay strangers.
#[tokio::test]
async fn ap_101_an_owner_is_shared_with_as_a_whole() {
    let mut house = House::new().await;
    house.share("@guest.*", "writer").await;
    house.server.crash().await;
    let other = house.server.agent("@guest.other").await;
    let stranger = house.server.agent("@guests.bot").await;
    for (number, agent) in [&house.guest, &other].iter().enumerate() {
        deposited(agent, &package(&agent.handle, &format!("g{number}"))).await;
        let path = format!("/v1/packages/g{number}/review");
        agent.post(&path, json!({"status": "complete"})).await.assert_refused(403, "unauthorized");
    }
    stranger.get(&packages_of(PROJECT)).await.assert_refused(404, "project_not_found");
    let into = json!({"project_id": format!("host:{PROJECT}")});
    deposit(&stranger, &package_with(&stranger.handle, "x", into))
        .await
        .assert_refused(404, "project_not_found");
    assert_eq!(pull(&other, "g0").await["created_by"]["id"], "@guest.bot");
    assert_eq!(texts(&facts(&other, "").await, "value"), ["1"]);
}

/// A shared project is on the list of whom it is shared with.
#[tokio::test]
async fn ap_101_shared_projects_are_listed() {
    let house = House::new().await;
    let listed = |caller: Caller| async move {
        let body = caller.get("/v1/projects").await.ok(200);
        texts(&list(&body, "projects"), "project_id")
    };
    assert_eq!(listed((*house.guest).clone()).await, Vec::<String>::new());
    house.share("@guest.bot", "reader").await;
    assert_eq!(listed((*house.guest).clone()).await, [PROJECT]);
    assert_eq!(listed((*house.host).clone()).await, [PROJECT]);
    assert_eq!(listed(house.owner.clone()).await, [PROJECT]);
    assert_eq!(listed(house.server.operator()).await, [PROJECT]);
}

/// A membership needs no consent, so a member can give up its own, and nobody else's.
#[tokio::test]
async fn a_member_leaves_a_shared_project() {
    let house = House::new().await;
    let other = house.server.agent("@guest.other").await;
    house.share("@guest.bot", "reader").await;
    house.share("@guest.other", "writer").await;
    let in_full = |who: &str| format!("/v1/projects/host:{PROJECT}/members/{who}");
    house.guest.delete(&in_full("@guest.other")).await.assert_refused(403, "unauthorized");
    house
        .guest
        .put(&in_full("@guest.bot"), json!({"role": "writer"}))
        .await
        .assert_refused(403, "unauthorized");
    house.guest.delete(&in_full("@guest.bot")).await.ok(204);
    house.guest.get(&packages_of(&format!("host:{PROJECT}"))).await.assert_refused(404, "project_not_found");
    other.get(&packages_of(&format!("host:{PROJECT}"))).await.ok(200);
}

/// Wrong shapes name their field, and share nothing.
#[tokio::test]
async fn ap_101_a_share_is_checked() {
    let house = House::new().await;
    for body in [
        json!({}),
        json!({"role": null}),
        json!({"role": "owner"}),
        json!({"role": "Reader"}),
        json!({"role": ["reader"]}),
    ] {
        let response = house.owner.put(&member("@guest.bot"), body).await;
        response.assert_refused(400, "invalid_schema");
        assert_field(&response, "role");
    }
    for who in ["guest.bot", "@guest", "@Guest.bot", "@guest.b*", "@*.bot", "*", "~guest"] {
        let body: Value = json!({"role": "reader"});
        house.owner.put(&member(who), body).await.refusal_code(400);
    }
    house.guest.get(&packages_of(PROJECT)).await.assert_refused(404, "project_not_found");
    let path = "/v1/projects/unknown/members/@guest.bot";
    house.owner.put(path, json!({"role": "reader"})).await.assert_refused(404, "project_not_found");
    house
        .guest
        .put(&member("@guest.bot"), json!({"role": "writer"}))
        .await
        .assert_refused(404, "project_not_found");
}

/// Any owner can make any agent a member: its texts reach only agents that admit the owner, or that name the project.
#[tokio::test]
async fn a_project_of_an_owner_that_is_not_admitted_is_not_shown_unasked() {
    let house = House::new().await;
    let closed = house.server.closed_agent("@guest.closed", &[]).await;
    let listing = house.server.closed_agent("@guest.listing", &["@host.bot"]).await;
    house.share("@guest.*", "reviewer").await;
    let members = json!({"title": "Zebra crossing", "status": "awaiting_review"});
    deposited(&house.host, &package_with(&house.host.handle, "zebra", members)).await;
    let finds = async |agent: &Agent| {
        let found = agent.get("/search?q=zebra").await.ok(200).to_string();
        found.contains("Zebra")
    };
    for agent in [&house.guest, &listing] {
        eventually("it is indexed", async || finds(agent).await.then_some(())).await;
        let inbox = agent.get("/inbox").await.ok(200).to_string();
        assert!(inbox.contains("Zebra"), "{inbox}");
        let digest = agent.get("/v1/orchestrate").await.ok(200);
        assert_eq!(digest["projects"].as_array().map(Vec::len), Some(1), "{digest}");
        let admitted = agent.get("/v1/projects?admitted=true").await.ok(200);
        assert_eq!(texts(&list(&admitted, "projects"), "project_id"), [PROJECT]);
    }
    assert!(!finds(&closed).await);
    let inbox = closed.get("/inbox").await.ok(200).to_string();
    assert!(!inbox.contains("Zebra"), "{inbox}");
    let digest = closed.get("/v1/orchestrate").await.ok(200).to_string();
    assert!(!digest.contains(PROJECT), "{digest}");
    let admitted = closed.get("/v1/projects?admitted=true").await.ok(200);
    assert!(list(&admitted, "projects").is_empty());
    // What it asks for it gets.
    let all = closed.get("/v1/projects").await.ok(200);
    assert_eq!(texts(&list(&all, "projects"), "project_id"), [PROJECT]);
    assert_eq!(pull(&closed, "zebra").await["title"], "Zebra crossing");
}
