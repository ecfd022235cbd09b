//! A membership needs no consent: what a plain id means, what is shown unasked, and what is found depend on owners that the
//! bearer admits (AP-1, AP-101, D.4).

use blackbox::{Agent, Caller, Server, Stream};
use serde_json::{Value, json};

use super::speak::{deposited, enc, facts_of, list, package_with, packages_of, texts};
use crate::mcp_tools::done;

async fn share(owner: &Caller, project: &str, role: &str) {
    let body = json!({ "project_id": project });
    owner.post("/v1/projects", body).await.ok(201);
    let path = format!("/v1/projects/{project}/members/{}", enc("@victim.*"));
    owner.put(&path, json!({ "role": role })).await.ok(200);
}

async fn titles(caller: &Caller, project: &str) -> Vec<String> {
    texts(&list(&caller.get(&packages_of(project)).await.ok(200), "packages"), "title")
}

fn titled(agent: &Agent, project: &str, title: &str) -> Value {
    package_with(&agent.handle, title, json!({"project_id": project, "title": title}))
}

/// The titles that `/watch` tells of, up to one.
async fn told(watch: &mut Stream, last: &str) -> Vec<String> {
    let mut told = Vec::new();
    while told.last().map(String::as_str) != Some(last) {
        told.extend(watch.event().await.frame["data"]["title"].as_str().map(str::to_owned));
    }
    told
}

/// A stranger that shares a project of some id catches nothing that is meant for the victim's own, and stays out of sight.
#[tokio::test]
async fn ap_101_a_share_of_an_owner_that_is_not_admitted_catches_nothing() {
    let server = Server::start().await;
    let victim = server.closed_agent("@victim.cc", &["@bob.*"]).await;
    let (eve, bob) = (server.agent("@acme.eve").await, server.agent("@bob.b").await);
    let (owner, acme) = (server.owner("victim").await, server.owner("acme").await);
    for project in ["notes", "victim"] {
        share(&acme, project, "writer").await;
    }
    // A tool that names no project means the owner's own one, also before there is one.
    done(&victim, "note_fact", json!({"subject": "db", "predicate": "port", "value": "1"})).await;
    victim.post("/v1/projects", json!({"project_id": "notes"})).await.ok(201);
    deposited(&victim, &titled(&victim, "notes", "plan")).await;
    done(&victim, "deposit", json!({"title": "secret"})).await;
    for project in ["acme:notes", "acme:victim"] {
        assert_eq!(titles(&eve, project).await, [""; 0]);
        let facts = eve.get(&facts_of(project)).await.ok(200);
        assert_eq!(list(&facts, "facts").len(), 0);
    }
    assert_eq!(titles(&victim, "victim:notes").await, ["plan"]);
    assert_eq!(titles(&victim, "victim:victim").await, ["secret"]);
    // What the stranger writes is shown to nobody that has not asked.
    deposited(&eve, &titled(&eve, "victim", "injected")).await;
    deposited(&victim, &titled(&victim, "notes", "end")).await;
    for caller in [&*victim, &owner] {
        let told = told(&mut caller.stream("/watch?rooms=context&after=0").await, "end").await;
        assert!(told.contains(&"plan".to_owned()) && !told.contains(&"injected".to_owned()), "{told:?}");
        let digest = caller.get("/v1/orchestrate").await.ok(200);
        assert_eq!(texts(&list(&digest, "projects"), "project_id"), ["notes", "victim"]);
    }
    assert_eq!(titles(&victim, "acme:victim").await, ["injected"], "it is asked for");
    // An owner that is admitted is meant, whoever else shares the id.
    share(&server.owner("bob").await, "parser", "writer").await;
    share(&acme, "parser", "writer").await;
    deposited(&victim, &titled(&victim, "parser", "for bob")).await;
    assert_eq!(titles(&bob, "parser").await, ["for bob"]);
}

/// An owner that shares many projects displaces neither the bearer's own nor those of another owner.
#[tokio::test]
async fn ap_101_many_shared_projects_displace_no_others() {
    let (server, [victim]) = Server::with(["@victim.cc"]).await;
    let (acme, bob) = (server.owner("acme").await, server.owner("bob").await);
    victim.post("/v1/projects", json!({"project_id": "zoo"})).await.ok(201);
    share(&bob, "zebra", "reader").await;
    for projects in (0..205).collect::<Vec<u32>>().chunks(20) {
        let shares = projects.iter().map(|nth| {
            let acme = acme.clone();
            async move { share(&acme, &format!("a{nth:03}"), "reader").await }
        });
        futures_util::future::join_all(shares).await;
    }
    let digest = victim.get("/v1/orchestrate").await.ok(200);
    let found = texts(&list(&digest, "projects"), "project_id");
    assert_eq!(found.len(), 200, "the limit of a digest");
    for project in ["zoo", "zebra"] {
        assert!(found.contains(&project.to_owned()), "{project}: {found:?}");
    }
}

/// Under the key of a request, who may no longer read gets what everybody gets for a project that does not exist.
#[tokio::test]
async fn ap_101_a_repeated_request_tells_nothing_of_a_project_that_is_out_of_reach() {
    let (server, [victim]) = Server::with(["@victim.cc"]).await;
    let acme = server.owner("acme").await;
    share(&acme, "p", "writer").await;
    let package = package_with(&victim.handle, "one", json!({"project_id": "acme:p", "status": "draft"}));
    let fact = json!({"subject": "s", "predicate": "q", "value": "v"});
    let flag = json!({"review_type": "human"});
    let (deposits, facts) = (packages_of("acme:p"), facts_of("acme:p"));
    let calls = [
        (deposits.as_str(), &package, "project_not_found"),
        (&facts, &fact, "project_not_found"),
        ("/v1/packages/one/flag", &flag, "package_not_found"),
    ];
    let call = async |path: &str, key: &str, body: &Value| {
        victim.call("POST", path, &[("Idempotency-Key", key)], Some(body)).await
    };
    for (path, body, _) in calls {
        let first = call(path, "k", body).await;
        assert!(first.status < 300, "{first}");
        assert_eq!(call(path, "k", body).await.text(), first.text());
    }
    let member = format!("/v1/projects/acme:p/members/{}", enc("@victim.*"));
    acme.delete(&member).await.ok(204);
    for (path, body, code) in calls {
        let repeated = call(path, "k", body).await;
        repeated.assert_refused(404, code);
        assert_eq!(repeated.fingerprint(), call(path, "other", body).await.fingerprint());
        call(path, "k", &json!({"subject": "other"})).await.assert_refused(404, code);
    }
}
