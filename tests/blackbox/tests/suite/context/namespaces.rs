//! Project ids are a namespace of their owner (D.4): AP-1, AP-4, AP-101. Two owners with one id neither see nor disturb
//! each other, and a name tells nobody whether somebody else has it.

use blackbox::{Agent, Caller, Database, Server, TestDependency, eventually};
use serde_json::{Value, json};

use super::speak::{
    PROJECT, ago, assert_package, deposit, deposited, enc, facts_of, list, package, package_with,
    packages_of, refused, texts,
};

/// Two agents of two owners.
async fn two(server: &Server) -> (Agent, Agent) {
    (server.agent("@ann.a").await, server.agent("@bob.b").await)
}

async fn share(owner: &Caller, project: &str, member: &str, role: &str) {
    let path = format!("/v1/projects/{}/members/{}", enc(project), enc(member));
    owner.put(&path, json!({"role": role})).await.ok(200);
}

async fn ids(caller: &Caller, project: &str) -> Vec<String> {
    let listed = caller.get(&format!("{}?limit=1000", packages_of(project))).await.ok(200);
    texts(&list(&listed, "packages"), "package_id")
}

async fn fact(caller: &Caller, project: &str, value: &str) -> Value {
    let body = json!({"subject": "s", "predicate": "p", "value": value});
    caller.post(&facts_of(project), body).await.ok(201)
}

async fn values(caller: &Caller, project: &str) -> Vec<String> {
    let listed = caller.get(&format!("{}?include_ended=true", facts_of(project))).await.ok(200);
    texts(&list(&listed, "facts"), "value")
}

/// Everything that one owner's project has and another's of the same id has not.
async fn undisturbed(server: &mut Server) {
    let (ann, bob) = two(server).await;
    let (ann_owner, bob_owner) = (server.owner("ann").await, server.owner("bob").await);
    for agent in [&ann, &bob] {
        deposited(agent, &package_with(&agent.handle, "same", json!({"title": agent.handle}))).await;
        deposited(agent, &package(&agent.handle, &agent.handle[1..])).await;
        fact(agent, PROJECT, &agent.handle).await;
        agent.post(&format!("/v1/projects/{PROJECT}/sessions"), json!({})).await.ok(201);
    }
    server.crash().await;
    for (agent, other) in [(&ann, "@bob.b"), (&bob, "@ann.a")] {
        let mut seen = ids(agent, PROJECT).await;
        seen.sort();
        assert_eq!(seen, [&agent.handle[1..], "same"]);
        assert_eq!(values(agent, PROJECT).await, [agent.handle.as_str()]);
        let same = agent.get("/v1/packages/same").await.ok(200);
        assert_eq!(same["title"], json!(agent.handle), "an id in a foreign project is not ambiguous");
        agent.get(&format!("/v1/packages/{}", &other[1..])).await.assert_refused(404, "package_not_found");
        let sessions = agent.get(&format!("/v1/projects/{PROJECT}/sessions")).await.ok(200);
        assert_eq!(list(&sessions, "sessions").len(), 1);
        let listed = agent.get("/v1/projects").await.ok(200);
        let projects = list(&listed, "projects");
        assert_eq!(texts(&projects, "project_id"), [PROJECT]);
        assert_eq!(projects[0].get("ref"), None, "its plain id means it");
        let events = agent.get(&format!("/v1/projects/{PROJECT}/export")).await;
        assert!(!events.text().contains(other), "{events}");
        let digest = agent.get("/v1/orchestrate?focus=Shipped").await;
        assert!(!digest.text().contains(other), "{digest}");
    }
    // What one does to its project is nothing to the other's.
    ann_owner.post_empty(&format!("/v1/projects/{PROJECT}/archive")).await.ok(200);
    deposit(&ann, &package(&ann.handle, "more")).await.assert_refused(403, "project_archived");
    deposited(&bob, &package(&bob.handle, "more")).await;
    bob_owner.patch(&format!("/v1/projects/{PROJECT}"), json!({"name": "Bob's"})).await.ok(200);
    assert_eq!(ann.get(&format!("/v1/projects/{PROJECT}")).await.ok(200)["name"], PROJECT);
}

#[tokio::test]
async fn ap_1_two_owners_have_one_id_and_do_not_disturb_each_other() {
    undisturbed(&mut Server::start().await).await;
}

#[tokio::test]
async fn ap_1_two_owners_have_one_id_on_postgres() {
    let TestDependency::Available(url) = TestDependency::postgres() else { return };
    let database = Database::create(&url).await;
    let mut server = Server::builder().database(database.url()).start().await;
    undisturbed(&mut server).await;
    drop(server);
    database.remove().await;
}

/// A foreign project answers what none does, at every operation, whether it is named plainly or with its owner.
#[tokio::test]
async fn ap_101_a_name_tells_nothing_of_foreign_projects() {
    let server = Server::start().await;
    let (ann, bob) = two(&server).await;
    deposited(&ann, &package(&ann.handle, "one")).await;
    let said =
        |name: &str, response: blackbox::Response| (response.status, response.text().replace(name, "NAME"));
    for (foreign, absent) in [(PROJECT, "proj_never_made"), ("ann:proj_dev_relay", "ann:proj_never_made")] {
        let mut answers = Vec::new();
        for name in [foreign, absent] {
            let of = |rest: &str| format!("/v1/projects/{}{rest}", enc(name));
            let mut all = Vec::new();
            for path in ["", "/packages", "/facts", "/orient", "/sessions", "/members", "/export", "/events"]
            {
                all.push(said(name, bob.get(&of(path)).await));
            }
            all.push(said(name, bob.get(&format!("/v1/orchestrate?project={}", enc(name))).await));
            all.push(said(name, bob.patch(&of(""), json!({"name": "x"})).await));
            all.push(said(name, bob.post(&of("/sessions"), json!({})).await));
            all.push(said(name, bob.delete(&of("/facts?subject=s&predicate=p")).await));
            all.push(said(name, bob.post_empty(&of("/archive")).await));
            answers.push(all);
        }
        assert_eq!(answers[0], answers[1], "{foreign}");
        assert!(answers[0].iter().all(|(status, _)| *status == 404), "{answers:?}");
    }
    // Deposits with an owner that is not one's own make nothing, there or not.
    let one = package(&bob.handle, "one");
    for name in ["ann:proj_dev_relay", "ann:proj_never_made", "nobody:x"] {
        bob.post(&packages_of(name), one.clone()).await.assert_refused(404, "project_not_found");
    }
    // A plain name is one's own, whoever else has it.
    bob.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    bob.post("/v1/projects", json!({"project_id": PROJECT})).await.assert_refused(409, "project_exists");
    assert_package(&deposit(&bob, &one).await, 201, &one);
    assert_eq!(ids(&ann, PROJECT).await, ["one"]);
}

/// A plain id means a project that is shared only where one's own owner has none and no second one is shared.
#[tokio::test]
async fn ap_101_a_shared_project_is_meant_by_its_id_while_that_means_one() {
    let mut server = Server::start().await;
    let (ann, bob) = two(&server).await;
    let (ann_owner, cat_owner) = (server.owner("ann").await, server.owner("cat").await);
    let cat = server.agent("@cat.c").await;
    for agent in [&ann, &cat] {
        deposited(agent, &package(&agent.handle, &agent.handle[1..])).await;
    }
    share(&ann_owner, PROJECT, "@bob.*", "writer").await;
    deposited(&bob, &package(&bob.handle, "into-anns")).await;
    assert_eq!(ids(&ann, PROJECT).await.len(), 2, "the one that is shared is meant");
    assert_eq!(ids(&bob, "ann:proj_dev_relay").await, ids(&bob, PROJECT).await);
    // The colon may stand as it is.
    bob.get(&format!("/v1/projects/ann:{PROJECT}/packages")).await.ok(200);
    share(&cat_owner, PROJECT, "@bob.b", "writer").await;
    server.crash().await;
    for path in [packages_of(PROJECT), format!("/v1/projects/{PROJECT}")] {
        bob.get(&path).await.assert_refused(409, "ambiguous_project_id");
    }
    deposit(&bob, &package(&bob.handle, "which")).await.assert_refused(409, "ambiguous_project_id");
    let listed = bob.get("/v1/projects").await.ok(200);
    assert_eq!(texts(&list(&listed, "projects"), "ref"), ["ann:proj_dev_relay", "cat:proj_dev_relay"]);
    let third = package(&bob.handle, "into-cats");
    let made = bob.post(&packages_of("cat:proj_dev_relay"), third.clone()).await;
    assert_package(&made, 201, &third);
    assert!(ids(&cat, PROJECT).await.contains(&"into-cats".to_owned()));
    // Its own is meant from then on, and the others by their owners.
    bob.post("/v1/projects", json!({"project_id": PROJECT})).await.ok(201);
    assert_eq!(ids(&bob, PROJECT).await, [""; 0]);
    let listed = bob.get("/v1/projects").await.ok(200);
    let refs: Vec<_> = list(&listed, "projects")
        .iter()
        .map(|project| project["ref"].as_str().unwrap_or("-").to_owned())
        .collect();
    assert_eq!(refs, ["ann:proj_dev_relay", "-", "cat:proj_dev_relay"]);
    assert_eq!(ids(&bob, "bob:proj_dev_relay").await, [""; 0]);
}

/// What is put into a project may name it as the path does, and is kept as it was sent.
#[tokio::test]
async fn ap_40_a_package_names_its_project_as_its_client_does() {
    let server = Server::start().await;
    let (ann, bob) = two(&server).await;
    deposited(&ann, &package(&ann.handle, "one")).await;
    share(&server.owner("ann").await, PROJECT, "@bob.b", "writer").await;
    let named = package_with(&bob.handle, "two", json!({"project_id": "ann:proj_dev_relay"}));
    deposited(&bob, &named).await;
    assert_eq!(ids(&ann, PROJECT).await.len(), 2);
    let other = package_with(&bob.handle, "three", json!({"project_id": "bob:proj_dev_relay"}));
    let response = bob.post(&packages_of("ann:proj_dev_relay"), other).await;
    refused(&response, 400, "invalid_schema", "project_id");
    let kept = fact(&bob, "ann:proj_dev_relay", "x").await;
    assert_eq!(kept["project_id"], PROJECT);
}

/// D.4: for the operator a plain id is the one project that has it; where none has, it is the author's owner's.
#[tokio::test]
async fn ap_1_the_operator_names_what_is_one() {
    let server = Server::start().await;
    let (ann, bob) = two(&server).await;
    let operator = server.operator();
    deposited(&ann, &package(&ann.handle, "one")).await;
    assert_eq!(ids(&operator, PROJECT).await, ["one"]);
    operator.get(&format!("/v1/projects/{PROJECT}")).await.ok(200);
    deposited(&bob, &package(&bob.handle, "two")).await;
    operator.get(&format!("/v1/projects/{PROJECT}")).await.assert_refused(409, "ambiguous_project_id");
    deposit(&operator, &package("@ann.a", "three")).await.assert_refused(409, "ambiguous_project_id");
    assert_eq!(ids(&operator, "bob:proj_dev_relay").await, ["two"]);
    for (author, project, owner) in
        [("@ann.a", "q1", "ann"), ("bob", "q2", "bob"), ("bob.b", "q3", "bob"), ("jordan", "q4", "plenary")]
    {
        let package = package_with(author, project, json!({"project_id": project}));
        deposited(&operator, &package).await;
        let made = operator.get(&format!("/v1/projects/{project}")).await.ok(200);
        assert_eq!(made["owner_id"], owner, "{author}");
    }
    let body = json!({"subject": "s", "predicate": "p", "value": "v", "asserted_by": {"id": "@bob.b", "type": "agent"}});
    operator.post(&facts_of("q5"), body).await.ok(201);
    assert_eq!(bob.get("/v1/projects/q5").await.ok(200)["owner_id"], "bob");
    operator.post("/v1/projects", json!({"project_id": "q6"})).await.ok(201);
    assert_eq!(operator.get("/v1/projects/plenary:q6").await.ok(200)["owner_id"], "plenary");
    operator.post("/v1/projects", json!({"project_id": "bob:q7"})).await.ok(201);
    assert_eq!(bob.get("/v1/projects/q7").await.ok(200)["owner_id"], "bob");
    let listed = operator.get("/v1/projects").await.ok(200);
    let of_both: Vec<Value> =
        list(&listed, "projects").into_iter().filter(|project| project["project_id"] == PROJECT).collect();
    assert_eq!(texts(&of_both, "ref"), ["ann:proj_dev_relay", "bob:proj_dev_relay"]);
}

/// Search finds in the project that is meant and in no namesake.
#[tokio::test]
async fn ap_60_search_sees_one_of_two_namesakes() {
    let mut server = Server::start().await;
    let (ann, bob) = two(&server).await;
    for agent in [&ann, &bob] {
        deposited(
            agent,
            &package_with(
                &agent.handle,
                "same",
                json!({"title": format!("zebra {}", agent.handle), "created_at": ago(60_000)}),
            ),
        )
        .await;
    }
    let path = format!("{}?mode=relevant&query=zebra", packages_of(PROJECT));
    for round in 0..2 {
        for agent in [&ann, &bob] {
            let found = eventually("the package is found", || async {
                let found = list(&agent.get(&path).await.ok(200), "packages");
                (!found.is_empty()).then_some(found)
            })
            .await;
            assert_eq!(found.len(), 1, "{round}");
            assert_eq!(found[0]["package"]["title"], format!("zebra {}", agent.handle));
        }
        let digest = server.operator().get("/v1/orchestrate?focus=zebra").await.ok(200);
        assert_eq!(list(&digest, "snippets").len(), 2);
        assert_eq!(texts(&list(&digest, "projects"), "ref"), ["ann:proj_dev_relay", "bob:proj_dev_relay"]);
        server.crash().await;
    }
}

/// AP-76, AP-77: namesakes go out and come in as two projects.
#[tokio::test]
async fn ap_76_namesakes_are_exported_and_imported_as_two() {
    let server = Server::start().await;
    let (ann, bob) = two(&server).await;
    for agent in [&ann, &bob] {
        // In the name of the owner, which may import it.
        deposited(agent, &package(&agent.handle[1..4], "same")).await;
        fact(agent, PROJECT, &agent.handle).await;
    }
    let export = server.operator().get("/v1/export").await;
    let target = Server::start().await;
    for (imported, skipped) in [(6, 0), (0, 6)] {
        let report = target.operator().post_raw("/v1/import", export.text().as_bytes()).await.ok(200);
        let counts = (&report["imported"], &report["skipped"], &report["refused_count"], &report["complete"]);
        assert_eq!(counts, (&json!(imported), &json!(skipped), &json!(0), &json!(true)), "{report}");
    }
    for owner in ["ann", "bob"] {
        let name = format!("{owner}:{PROJECT}");
        assert_eq!(ids(&target.operator(), &name).await, ["same"]);
        assert_eq!(values(&target.operator(), &name).await.len(), 1);
    }
    // An owner takes in its own and nobody else's.
    let third = Server::start().await;
    let report = third.owner("ann").await.post_raw("/v1/import", export.text().as_bytes()).await.ok(200);
    assert_eq!((&report["imported"], &report["refused_count"]), (&json!(2), &json!(4)), "{report}");
}
