//! What belongs to somebody else looks like what does not exist: AP-101, D.4, D.7.

use blackbox::{Agent, Caller, Response, Server};
use serde_json::json;

use super::speak::{PROJECT, assert_fact, deposit, deposited, desk, package_with};

/// Everything that may be asked of a project and its package, without making the project.
async fn ask(who: &Caller) -> Vec<Response> {
    let project = format!("/v1/projects/{PROJECT}");
    let mut answers = Vec::new();
    for path in [
        "".to_owned(),
        "/packages".to_owned(),
        "/packages?mode=latest&limit=5".to_owned(),
        "/packages?mode=latest&status=awaiting_review".to_owned(),
        "/reviews".to_owned(),
        "/facts".to_owned(),
        "/facts?subject=s&predicate=p&include_ended=true".to_owned(),
        "/orient".to_owned(),
        "/orient?window_days=14".to_owned(),
        "/sessions".to_owned(),
        "/sessions?callsign=coral-heron".to_owned(),
        "/sessions/sess_00000000000000000000000000000000".to_owned(),
    ] {
        answers.push(who.get(&format!("{project}{path}")).await);
    }
    for path in [
        format!("/v1/orchestrate?project={PROJECT}"),
        "/v1/packages/draft".to_owned(),
        format!("/v1/packages/draft?project={PROJECT}"),
        "/v1/packages/draft/reviews".to_owned(),
    ] {
        answers.push(who.get(&path).await);
    }
    answers.push(who.post("/v1/packages/draft/flag", json!({"review_type": "human"})).await);
    answers.push(who.post("/v1/packages/draft/review", json!({"status": "complete"})).await);
    answers.push(who.patch(&project, json!({"name": "mine"})).await);
    answers.push(who.post_empty(&format!("{project}/archive")).await);
    answers.push(who.post_empty(&format!("{project}/unarchive")).await);
    let share = format!("{project}/members/@mallory.bot");
    answers.push(who.put(&share, json!({"role": "writer"})).await);
    answers.push(who.delete(&format!("{project}/facts?subject=s&predicate=p")).await);
    answers
}

#[track_caller]
fn assert_same(before: &[Response], after: &[Response]) {
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(after) {
        assert_eq!(before.status, 404, "{before}");
        assert!(
            ["project_not_found", "package_not_found"].contains(&before.refused_as(404).as_str()),
            "{before}"
        );
        assert_eq!(
            before.fingerprint(),
            after.fingerprint(),
            "unknown and foreign differ: {before}\n{after}"
        );
    }
}

async fn furnish(nick: &Agent) {
    deposited(nick, &package_with(&nick.handle, "draft", json!({"status": "draft"}))).await;
    deposited(nick, &package_with(&nick.handle, "waiting", json!({"status": "awaiting_review"}))).await;
    assert_fact(nick, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
}

/// The same questions, before anybody has the project and after somebody else has.
#[tokio::test]
async fn ap_101_foreign_is_like_unknown() {
    let (mut server, nick) = desk().await;
    let mallory = server.agent("@mallory.bot").await;
    let owner = server.owner("eve").await;
    let (by_agent, by_owner) = (ask(&mallory).await, ask(&owner).await);
    furnish(&nick).await;
    assert_same(&by_agent, &ask(&mallory).await);
    assert_same(&by_owner, &ask(&owner).await);
    server.crash().await;
    assert_same(&by_agent, &ask(&mallory).await);
    // Nothing happened to it.
    assert_eq!(nick.get("/v1/packages/draft").await.ok(200)["status"], "draft");
    assert!(nick.get(&format!("/v1/projects/{PROJECT}")).await.ok(200)["archived_at"].is_null());
}

/// A foreigner does not write either, and learns nothing of ids in the project.
#[tokio::test]
async fn ap_101_foreigners_do_not_write() {
    let (server, nick) = desk().await;
    let mallory = server.agent("@mallory.bot").await;
    furnish(&nick).await;
    let theirs = format!("nick:{PROJECT}");
    let into = json!({"project_id": theirs});
    let fresh = deposit(&mallory, &package_with(&mallory.handle, "fresh", into.clone())).await;
    fresh.refused(404, "project_not_found");
    let taken = deposit(&mallory, &package_with(&mallory.handle, "draft", into)).await;
    taken.refused(404, "project_not_found");
    assert_eq!(fresh.fingerprint(), taken.fingerprint());
    let fact = json!({"subject": "s", "predicate": "p", "value": "2"});
    mallory.post(&format!("/v1/projects/{theirs}/facts"), fact).await.refused(404, "project_not_found");
    let session = mallory.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await;
    session.refused(404, "project_not_found");
    let facts = nick.get(&format!("/v1/projects/{PROJECT}/facts?include_ended=true")).await.ok(200);
    assert_eq!(facts["facts"].as_array().map(Vec::len), Some(1));
    nick.get("/v1/packages/fresh").await.refused(404, "package_not_found");
}

/// The global digest and the list of projects show what is one's own.
#[tokio::test]
async fn ap_62_a_global_digest_is_ones_own() {
    let (server, nick) = desk().await;
    let mallory = server.agent("@mallory.bot").await;
    furnish(&nick).await;
    let theirs = package_with(&mallory.handle, "theirs", json!({"project_id": "theirs"}));
    deposited(&mallory, &theirs).await;
    for path in ["/v1/orchestrate", "/v1/projects"] {
        let text = mallory.get(path).await.ok(200).to_string();
        assert!(text.contains("theirs") && !text.contains(PROJECT), "{path}: {text}");
        let text = nick.get(path).await.ok(200).to_string();
        assert!(!text.contains("theirs") && text.contains(PROJECT), "{path}: {text}");
        let text = server.operator().get(path).await.ok(200).to_string();
        assert!(text.contains("theirs") && text.contains(PROJECT), "{path}: {text}");
    }
}

/// AP-71: no token, or an unknown one, is 401 everywhere, before anything else is looked at.
#[tokio::test]
async fn ap_71_a_token_is_required() {
    let server = Server::start().await;
    let project = format!("/v1/projects/{PROJECT}");
    for caller in [server.stranger(), server.bearer("pla_unknown")] {
        for (method, path) in [
            ("POST", format!("{project}/packages")),
            ("GET", format!("{project}/packages")),
            ("GET", "/v1/packages/x".to_owned()),
            ("POST", "/v1/packages/x/flag".to_owned()),
            ("POST", "/v1/packages/x/review".to_owned()),
            ("GET", "/v1/packages/x/reviews".to_owned()),
            ("POST", format!("{project}/facts")),
            ("GET", format!("{project}/facts")),
            ("DELETE", format!("{project}/facts?subject=s&predicate=p")),
            ("GET", format!("{project}/orient")),
            ("GET", "/v1/orchestrate".to_owned()),
            ("GET", "/v1/projects".to_owned()),
            ("POST", "/v1/projects".to_owned()),
            ("GET", project.clone()),
            ("PATCH", project.clone()),
            ("POST", format!("{project}/archive")),
            ("PUT", format!("{project}/members/@a.b")),
            ("POST", format!("{project}/sessions")),
            ("GET", format!("{project}/sessions")),
        ] {
            let body = (method != "GET" && method != "DELETE").then(|| json!({"not": "a package"}));
            let response = caller.call(method, &path, &[], body.as_ref()).await;
            response.refused_as(401);
            let challenge = response.header("www-authenticate").unwrap_or_default();
            assert!(challenge.starts_with("Bearer"), "{response}");
        }
    }
}
