//! What an owner's token may do, and what it may not even see (ASP-2, ASP-3, ASP-102).

use blackbox::{Cli, Server, pair};
use serde_json::json;

/// ASP-3: the owner configures its own agents with the operator's calls.
#[tokio::test]
async fn an_owner_configures_its_agents() {
    let server = Server::start().await;
    let owner = server.owner("acme").await;
    let made = owner.post("/_admin/agents", json!({"handle": "@acme.support"})).await.ok(201);
    assert_eq!(made["policy"], "allowlist");
    let agent = server.bearer(made["token"].as_str().expect("a token"));
    agent.get("/sessions").await.ok(200);
    let path = "/_admin/agents/@acme.support";
    assert_eq!(owner.patch(path, json!({"policy": "open"})).await.ok(200)["policy"], "open");
    let entries = json!({"entries": ["@nick.*"]});
    let added = owner.post(&format!("{path}/allowlist"), entries).await.ok(200);
    assert_eq!(added["entries"], json!(["@nick.*"]));
    let nick = server.agent("@nick.bot").await;
    owner.post(&format!("{path}/blocks"), json!({"handle": nick.handle})).await.ok(201);
    owner.delete(&format!("{path}/blocks/{}", nick.handle)).await.ok(200);
    owner.post_empty(&format!("{path}/rotate-token")).await.ok(200);
    agent.get("/sessions").await.refusal_code(401);
    assert_eq!(owner.delete(path).await.status, 204);
}

/// The owner's own person needs no first use before its settings.
#[tokio::test]
async fn an_owner_configures_its_person_at_once() {
    let server = Server::start().await;
    let (acme, zed) = (server.owner("acme").await, server.owner("zed").await);
    let lists = "/_admin/agents/@acme.acme/allowlist";
    let entries = json!({"entries": ["@nick.*"]});
    zed.post(lists, entries.clone()).await.assert_refused(404, "not_found");
    let added = acme.post(lists, entries).await.ok(200);
    assert_eq!(added["entries"], json!(["@acme.*", "@nick.*"]));
    assert_eq!(
        zed.patch("/_admin/agents/@zed.zed", json!({"policy": "open"})).await.ok(200)["policy"],
        "open"
    );
    server.operator().get("/_admin/agents/@nobody.nobody").await.assert_refused(404, "not_found");
    acme.get("/_admin/agents/@acme.zed").await.assert_refused(404, "not_found");
    // The command line takes the name of the owner for its person.
    let cli = Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_TOKEN", acme.token())]);
    cli.run_ok(&["agent", "allow", "@acme", "@zed.*"]).await;
    assert_eq!(acme.get(lists).await.ok(200)["entries"], json!(["@acme.*", "@nick.*", "@zed.*"]));
}

/// ASP-102: a foreign agent is as absent for an owner as one that does not exist.
#[tokio::test]
async fn an_owner_sees_nothing_of_others() {
    let server = Server::start().await;
    let owner = server.owner("acme").await;
    owner.post("/_admin/agents", json!({"handle": "@acme.support"})).await.ok(201);
    let (nick, _, _) = pair(&server).await;
    let listed = owner.get("/_admin/agents").await.ok(200);
    let handles: Vec<_> = listed["agents"].as_array().expect("agents").iter().map(|a| &a["handle"]).collect();
    assert_eq!(handles, ["@acme.support"], "an owner's list is of its own agents");
    for (method, tail, body) in [
        ("GET", "", None),
        ("PATCH", "", Some(json!({"policy": "open"}))),
        ("POST", "/rotate-token", None),
        ("POST", "/allowlist", Some(json!({"entries": ["@acme.*"]}))),
        ("DELETE", "/allowlist/@acme.*", None),
        ("POST", "/blocks", Some(json!({"handle": "@acme.support"}))),
        ("DELETE", "/blocks/@acme.support", None),
        ("DELETE", "", None),
    ] {
        let foreign = format!("/_admin/agents/{}{tail}", nick.handle);
        let foreign = owner.call(method, &foreign, &[], body.as_ref()).await;
        foreign.assert_refused(404, "not_found");
        let absent = format!("/_admin/agents/@alice.nobody{tail}");
        let absent = owner.call(method, &absent, &[], body.as_ref()).await;
        assert_eq!(foreign.fingerprint(), absent.fingerprint(), "{method} {tail}");
    }
    nick.get("/sessions").await.ok(200);
}

/// An owner makes agents only under its own name; other names are not there for it, taken or free.
#[tokio::test]
async fn an_owner_makes_only_its_own_agents() {
    let server = Server::start().await;
    let owner = server.owner("acme").await;
    server.agent("@nick.bot").await;
    let taken = owner.post("/_admin/agents", json!({"handle": "@nick.bot"})).await;
    taken.assert_refused(404, "not_found");
    let free = owner.post("/_admin/agents", json!({"handle": "@nick.new"})).await;
    assert_eq!(taken.fingerprint(), free.fingerprint());
    server.operator().get("/_admin/agents/@nick.new").await.assert_refused(404, "not_found");
}

/// Making and listing owners is the operator's.
#[tokio::test]
async fn an_owner_is_not_the_operator() {
    let server = Server::start().await;
    let owner = server.owner("acme").await;
    owner.post("/_admin/owners", json!({"owner": "other"})).await.assert_refused(404, "not_found");
}

/// ASP-3: an agent's token configures nothing, not even its own agent.
#[tokio::test]
async fn an_agent_configures_nothing() {
    let (server, alice, bob, _) = Server::with_pair().await;
    for handle in [&alice.handle, &bob.handle] {
        let path = format!("/_admin/agents/{handle}");
        alice.get(&path).await.assert_refused(404, "not_found");
        alice.patch(&path, json!({"policy": "allowlist"})).await.assert_refused(404, "not_found");
        alice
            .post(&format!("{path}/allowlist"), json!({"entries": ["@x.*"]}))
            .await
            .assert_refused(404, "not_found");
        alice
            .post(&format!("{path}/blocks"), json!({"handle": "@bob.bot"}))
            .await
            .assert_refused(404, "not_found");
        alice.post_empty(&format!("{path}/rotate-token")).await.assert_refused(404, "not_found");
        alice.delete(&path).await.assert_refused(404, "not_found");
    }
    alice.post("/_admin/agents", json!({"handle": "@alice.two"})).await.assert_refused(404, "not_found");
    alice.post("/_admin/owners", json!({"owner": "zed"})).await.assert_refused(404, "not_found");
    let shown = server.operator().get(&format!("/_admin/agents/{}", alice.handle)).await.ok(200);
    assert_eq!(shown["policy"], "open");
    assert_eq!(shown["allowlist"], json!([]));
}

/// Organisations: made by the operator or that owner, idempotently, with members and roles.
#[tokio::test]
async fn organisations_have_members() {
    let server = Server::start().await;
    let operator = server.operator();
    assert_eq!(operator.put("/_admin/orgs/guild", json!({})).await.status, 201);
    assert_eq!(operator.put("/_admin/orgs/guild", json!({})).await.status, 200);
    let nick = server.owner("nick").await;
    let member = "/_admin/orgs/guild/members/~nick";
    for _ in 0..2 {
        let put = operator.put(member, json!({"roles": ["reviewer"]})).await;
        assert!((200..300).contains(&put.status), "{put}");
    }
    nick.put(member, json!({"roles": ["admin"]})).await.assert_refused(404, "not_found");
    nick.put("/_admin/orgs/guild", json!({})).await.assert_refused(404, "not_found");
    assert_eq!(nick.put("/_admin/orgs/nick", json!({})).await.status / 100, 2, "its own name is its own");
    operator.put("/_admin/orgs/guild/members/nick", json!({"roles": []})).await.refusal_code(400);
    operator.put(member, json!({"roles": ["No Role"]})).await.refusal_code(400);
    let gone = operator.delete(member).await;
    assert!((200..300).contains(&gone.status), "{gone}");
}
