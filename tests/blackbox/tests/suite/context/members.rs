//! Who may do what in a shared project: AP-57, AP-101, D.4, D.7.

use blackbox::{Agent, Caller, Response, Server};
use serde_json::{Value, json};

use super::speak::{
    PROJECT, assert_fact, assert_field, deposit, deposited, facts, facts_of, list, package, package_with,
    packages_of, pull, texts,
};

struct House {
    server: Server,
    owner: Caller,
    host: Agent,
    guest: Agent,
    count: u32,
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
        Self { server, owner, host, guest, count: 0 }
    }

    async fn share(&self, with: &str, role: &str) {
        self.owner.put(&member(with), json!({ "role": role })).await.ok(200);
    }

    /// The status of every operation when `who` asks.
    async fn may(&mut self, who: &Caller, actor: &str) -> Vec<(&'static str, Response)> {
        self.count += 1;
        let id = format!("d{}", self.count);
        deposited(&self.host, &package_with(&self.host.handle, &id, json!({"status": "draft"}))).await;
        let fact = json!({"subject": id, "predicate": "p", "value": "1"});
        assert_fact(&self.host, fact.clone()).await;
        let retract = format!("{}?subject={id}&predicate=p", facts_of(PROJECT));
        let mine = package(actor, &format!("by-guest-{id}"));
        let flag = json!({"review_type": "human"});
        vec![
            ("read", who.get("/v1/packages/draft").await),
            ("read", who.get(&packages_of(PROJECT)).await),
            ("read", who.get(&facts_of(PROJECT)).await),
            ("read", who.get(&format!("/v1/projects/{PROJECT}")).await),
            ("read", who.get(&format!("/v1/projects/{PROJECT}/orient")).await),
            ("read", who.get(&format!("/v1/packages/{id}/reviews")).await),
            ("deposit", deposit(who, &mine).await),
            ("assert", who.post(&facts_of(PROJECT), fact).await),
            ("assert", who.delete(&retract).await),
            ("deposit", who.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await),
            ("flag", who.post(&format!("/v1/packages/{id}/flag"), flag).await),
            ("review", who.post(&format!("/v1/packages/{id}/review"), json!({"status": "complete"})).await),
            ("own", who.put(&member("@third.bot"), json!({"role": "reader"})).await),
            ("own", who.post_empty(&format!("/v1/projects/{PROJECT}/archive")).await),
            ("own", who.post_empty(&format!("/v1/projects/{PROJECT}/unarchive")).await),
        ]
    }
}

fn member(who: &str) -> String {
    format!("/v1/projects/{PROJECT}/members/{who}")
}

#[track_caller]
fn assert_allowed(answers: &[(&'static str, Response)], allowed: &[&str], who: &str) {
    for (operation, response) in answers {
        if allowed.contains(operation) {
            assert!((200..300).contains(&response.status), "{who} may {operation}: {response}");
        } else {
            assert_eq!(response.refused_as(403), "unauthorized", "{who} may not {operation}: {response}");
        }
    }
}

/// D.7: the roles, each with what it may and no more.
#[tokio::test]
async fn ap_101_roles_bind() {
    let mut house = House::new().await;
    let (guest, actor) = (house.guest.clone(), house.guest.handle.clone());
    for (role, allowed) in [
        ("reader", &["read"][..]),
        ("writer", &["read", "deposit", "assert", "flag"]),
        ("reviewer", &["read", "flag", "review"]),
        ("reader", &["read"]),
    ] {
        house.share("@guest.bot", role).await;
        let answers = house.may(&guest, &actor).await;
        assert_allowed(&answers, allowed, role);
        house.server.crash().await;
    }
}

/// D.7: the owner's agents do all but share and archive; the owner and the operator do that.
#[tokio::test]
async fn ap_101_the_owner_owns() {
    let mut house = House::new().await;
    let host = house.host.clone();
    let answers = house.may(&host, "@host.bot").await;
    assert_allowed(&answers, &["read", "deposit", "assert", "flag", "review"], "an agent of the owner");
    let all = ["read", "deposit", "assert", "flag", "review", "own"];
    let owner = house.owner.clone();
    let answers = house.may(&owner, "host").await;
    assert_allowed(&answers, &all, "the owner");
    let operator = house.server.operator();
    let answers = house.may(&operator, "jordan").await;
    assert_allowed(&answers, &all, "the operator");
}

/// D.4: sharing with a whole owner covers its agents, of now and later; the others stay strangers.
#[tokio::test]
async fn ap_101_an_owner_is_shared_with_as_a_whole() {
    let house = House::new().await;
    house.share("@guest.*", "writer").await;
    let other = house.server.agent("@guest.other").await;
    let stranger = house.server.agent("@guests.bot").await;
    for (number, agent) in [&house.guest, &other].iter().enumerate() {
        deposited(agent, &package(&agent.handle, &format!("g{number}"))).await;
        let path = format!("/v1/packages/g{number}/review");
        agent.post(&path, json!({"status": "complete"})).await.refused(403, "unauthorized");
    }
    stranger.get(&packages_of(PROJECT)).await.refused(404, "project_not_found");
    let into = json!({"project_id": format!("host:{PROJECT}")});
    deposit(&stranger, &package_with(&stranger.handle, "x", into)).await.refused(404, "project_not_found");
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
        response.refused(400, "invalid_schema");
        assert_field(&response, "role");
    }
    for who in ["guest.bot", "@guest", "@Guest.bot", "@guest.b*", "@*.bot", "*", "~guest"] {
        let body: Value = json!({"role": "reader"});
        house.owner.put(&member(who), body).await.refused_as(400);
    }
    house.guest.get(&packages_of(PROJECT)).await.refused(404, "project_not_found");
    let path = "/v1/projects/unknown/members/@guest.bot";
    house.owner.put(path, json!({"role": "reader"})).await.refused(404, "project_not_found");
    house.guest.put(&member("@guest.bot"), json!({"role": "writer"})).await.refused(404, "project_not_found");
}
