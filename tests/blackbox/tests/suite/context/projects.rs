//! Projects: made by hand or at the first deposit, changed, archived and back: AP-1, AP-2, AP-4, AP-56.

use blackbox::{Agent, Caller, Server, TempDir, assert_keys, rounds};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::speak::{
    PROJECT, assert_fact, assert_field, assert_package, deposit, deposited, desk, enc, facts, facts_of,
    instant, list, package, package_with, packages_of, pull, texts,
};

const KEYS: [&str; 8] =
    ["project_id", "id", "name", "description", "created_at", "owner_id", "settings", "archived_at"];

async fn show(caller: &Caller, id: &str) -> Value {
    caller.get(&format!("/v1/projects/{}", enc(id))).await.ok(200)
}

#[tokio::test]
async fn ap_1_a_project_has_its_shape() {
    let (mut server, nick) = desk().await;
    let body = json!({"project_id": "p1", "name": "Relay é", "description": "what it is about"});
    let made = nick.post("/v1/projects", body).await.ok(201);
    assert_keys(&made, &KEYS, &[]);
    assert_eq!((&made["project_id"], &made["id"]), (&json!("p1"), &json!("p1")));
    assert_eq!((&made["name"], &made["description"]), (&json!("Relay é"), &json!("what it is about")));
    assert_eq!((&made["owner_id"], &made["archived_at"]), (&json!("nick"), &json!(null)));
    assert_eq!(made["settings"], json!({}));
    instant(&made["created_at"]);
    let bare = nick.post("/v1/projects", json!({"project_id": "p2"})).await.ok(201);
    assert_keys(&bare, &KEYS, &[]);
    deposited(&nick, &package(&nick.handle, "one")).await;
    server.crash().await;
    assert_eq!(show(&nick, "p1").await, made);
    assert_eq!(show(&nick, "p2").await, bare);
    let implicit = show(&nick, PROJECT).await;
    assert_keys(&implicit, &KEYS, &[]);
    assert_eq!(implicit["owner_id"], "nick", "owned by the token's owner");
    let listed = nick.get("/v1/projects").await.ok(200);
    let mut ids = texts(&list(&listed, "projects"), "project_id");
    ids.sort();
    assert_eq!(ids, ["p1", "p2", PROJECT]);
}

/// D.7: a taken id is refused; wrong shapes name their field.
#[tokio::test]
async fn ap_1_a_project_is_made_once() {
    let (server, nick) = desk().await;
    nick.post("/v1/projects", json!({"project_id": "p1", "name": "one"})).await.ok(201);
    let again = json!({"project_id": "p1", "name": "two"});
    nick.post("/v1/projects", again.clone()).await.assert_refused(409, "project_exists");
    let mallory = server.agent("@mallory.bot").await;
    mallory.post("/v1/projects", again).await.ok(201);
    assert_eq!(show(&nick, "p1").await["name"], "one");
    for (body, field) in [
        (json!({}), "project_id"),
        (json!({"project_id": null}), "project_id"),
        (json!({"project_id": 7}), "project_id"),
        (json!({"project_id": "p3", "name": 7}), "name"),
        (json!({"project_id": "p3", "description": []}), "description"),
    ] {
        let response = nick.post("/v1/projects", body).await;
        response.assert_refused(400, "invalid_schema");
        assert_field(&response, field);
    }
    nick.get("/v1/projects/p3").await.assert_refused(404, "project_not_found");
}

/// A project is renamed; its id, its owner and its packages stay.
#[tokio::test]
async fn ap_1_a_project_is_changed() {
    let (_server, nick) = desk().await;
    deposited(&nick, &package(&nick.handle, "one")).await;
    let before = show(&nick, PROJECT).await;
    let changed = nick
        .patch(&format!("/v1/projects/{PROJECT}"), json!({"name": "n", "description": "d"}))
        .await
        .ok(200);
    assert_eq!((&changed["name"], &changed["description"]), (&json!("n"), &json!("d")));
    for kept in ["project_id", "id", "created_at", "owner_id", "archived_at"] {
        assert_eq!(changed[kept], before[kept], "{kept}");
    }
    assert_eq!(show(&nick, PROJECT).await, changed);
    let response = nick.patch(&format!("/v1/projects/{PROJECT}"), json!({"name": 7})).await;
    response.assert_refused(400, "invalid_schema");
    assert_field(&response, "name");
    nick.patch("/v1/projects/unknown", json!({"name": "n"})).await.assert_refused(404, "project_not_found");
    assert_eq!(pull(&nick, "one").await["project_id"], PROJECT);
}

/// AP-2, AP-56: an archived project takes nothing, keeps everything, and comes back.
#[tokio::test]
async fn ap_2_archiving_is_reversible() {
    let mut server = Server::start().await;
    let owner = server.owner("nick").await;
    let nick = server.agent("@nick.cc-laptop").await;
    let draft = package_with(&nick.handle, "draft", json!({"status": "draft"}));
    deposited(&nick, &draft).await;
    assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
    let archive = format!("/v1/projects/{PROJECT}/archive");
    let unarchive = format!("/v1/projects/{PROJECT}/unarchive");
    let archived = owner.post_empty(&archive).await.ok(200);
    instant(&archived["archived_at"]);
    server.crash().await;
    assert_eq!(show(&nick, PROJECT).await, archived);
    let fact = json!({"subject": "s", "predicate": "p", "value": "2"});
    deposit(&nick, &package(&nick.handle, "more")).await.assert_refused(403, "project_archived");
    nick.post(&facts_of(PROJECT), fact.clone()).await.assert_refused(403, "project_archived");
    let retract = format!("{}?subject=s&predicate=p", facts_of(PROJECT));
    nick.delete(&retract).await.assert_refused(403, "project_archived");
    let flag = json!({"review_type": "human"});
    nick.post("/v1/packages/draft/flag", flag.clone()).await.assert_refused(403, "project_archived");
    let review = json!({"status": "complete"});
    nick.post("/v1/packages/draft/review", review).await.assert_refused(403, "project_archived");
    assert_eq!(pull(&nick, "draft").await, draft);
    nick.get("/v1/packages/more").await.assert_refused(404, "package_not_found");
    assert_eq!(texts(&facts(&nick, "include_ended=true").await, "value"), ["1"]);
    let back = owner.post_empty(&unarchive).await.ok(200);
    assert_eq!(back["archived_at"], json!(null));
    deposited(&nick, &package(&nick.handle, "more")).await;
    nick.post(&facts_of(PROJECT), fact).await.ok(201);
    nick.post("/v1/packages/draft/flag", flag).await.ok(200);
    owner.post_empty("/v1/projects/unknown/archive").await.assert_refused(404, "project_not_found");
}

/// AP-4: the same subject in two projects is two subjects.
#[tokio::test]
async fn ap_4_projects_share_no_facts() {
    let (_server, nick) = desk().await;
    for project in ["one", "two"] {
        let body = json!({"subject": "s", "predicate": "p", "value": project});
        nick.post(&facts_of(project), body).await.ok(201);
    }
    let gone = nick.delete(&format!("{}?subject=s&predicate=p", facts_of("one"))).await.ok(200);
    assert_eq!(gone, json!({"invalidated": 1}));
    let left = nick.get(&format!("{}?subject=s", facts_of("two"))).await.ok(200);
    assert_eq!(texts(&list(&left, "facts"), "value"), ["two"]);
}

/// D.4: projects come into being at the first assertion too, unless the switch is off.
#[tokio::test]
async fn ap_1_the_first_write_makes_a_project() {
    let (server, nick) = desk().await;
    nick.get(&packages_of(PROJECT)).await.assert_refused(404, "project_not_found");
    assert_fact(&nick, json!({"subject": "s", "predicate": "p", "value": "1"})).await;
    assert_eq!(show(&nick, PROJECT).await["owner_id"], "nick");
    let retract = format!("{}?subject=s&predicate=p", facts_of("other"));
    nick.delete(&retract).await.assert_refused(404, "project_not_found");
    nick.get("/v1/projects/other").await.assert_refused(404, "project_not_found");
    let by_operator = package_with("jordan", "one", json!({"project_id": "operators"}));
    deposited(&server.operator(), &by_operator).await;
    assert_eq!(show(&server.operator(), "operators").await["owner_id"], "plenary");
    nick.get("/v1/projects/operators").await.assert_refused(404, "project_not_found");
}

/// `context.auto_create_projects = false`: a project is made by hand first.
#[tokio::test]
async fn ap_1_projects_may_have_to_be_made() {
    let dir = TempDir::new();
    let file = dir.path().join("plenary.toml");
    std::fs::write(&file, "[context]\nauto_create_projects = false\n").expect("the file can be written");
    let server = Server::builder().arg("--config").arg(file.to_str().expect("text")).start().await;
    let nick = server.agent("@nick.cc-laptop").await;
    let package = package(&nick.handle, "one");
    deposit(&nick, &package).await.assert_refused(404, "project_not_found");
    let fact = json!({"subject": "s", "predicate": "p", "value": "1"});
    nick.post(&facts_of(PROJECT), fact.clone()).await.assert_refused(404, "project_not_found");
    nick.get(&packages_of(PROJECT)).await.assert_refused(404, "project_not_found");
    nick.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    assert_package(&deposit(&nick, &package).await, 201, &package);
    nick.post(&facts_of(PROJECT), fact).await.ok(201);
}

/// D.4 at the same time: agents of two owners that write to one id first have a project each, and each its own in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ap_1_racing_first_writes_make_one_project_for_each_owner() {
    let (server, nick) = desk().await;
    let eve = server.agent("@eve.bot").await;
    for round in 0..rounds(20, 5) {
        let project = format!("race{round}");
        let write = |who: &Agent, number: u32| {
            let members = json!({"project_id": project.clone()});
            let package = package_with(&who.handle, &format!("{}{number}", who.handle), members);
            let fact = json!({"subject": "s", "predicate": "p", "value": "1"});
            let (who, path) = (who.clone(), facts_of(&project));
            async move {
                if number.is_multiple_of(2) {
                    deposit(&who, &package).await
                } else {
                    who.post(&path, fact).await
                }
            }
        };
        let (by_nick, by_eve) = tokio::join!(
            join_all((0..4).map(|number| write(&nick, number))),
            join_all((0..4).map(|number| write(&eve, number))),
        );
        for (answers, who) in [(by_nick, &nick), (by_eve, &eve)] {
            assert!(answers.iter().all(|answer| answer.status == 201), "{answers:?}");
            let listed = list(&who.get(&packages_of(&project)).await.ok(200), "packages");
            assert_eq!(listed.len(), 2);
            assert!(listed.iter().all(|package| package["created_by"]["id"] == who.handle.as_str()));
        }
        let made =
            join_all((0..4).map(|_| nick.post("/v1/projects", json!({"project_id": format!("m{round}")}))))
                .await;
        assert_eq!(made.iter().filter(|answer| answer.status == 201).count(), 1);
        assert_eq!(made.iter().filter(|answer| answer.status == 409).count(), 3);
    }
}
