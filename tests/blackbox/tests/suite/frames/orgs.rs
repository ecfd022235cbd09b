//! FO-49, FO-51, FO-69: organisations: members and roles, who may address them, and the filter by organisation.
//! Must not know: how a principal's own sessions are named.

use blackbox::{Agent, Caller, Server, Stream};
use serde_json::json;

use super::speak::{
    Field, advisory, before_fence, patient_server, refused, submit_to, subscribe, subscribe_to, tell, uuid,
};

async fn organise(operator: &Caller, members: &[(&str, &[&str])]) {
    operator.call("PUT", "/_admin/orgs/acme", &[], None).await.ok(201);
    for (member, roles) in members {
        enlist(operator, member, roles).await;
    }
}

async fn enlist(caller: &Caller, member: &str, roles: &[&str]) {
    let path = format!("/_admin/orgs/acme/members/{member}");
    let answer = caller.put(&path, json!({ "roles": roles })).await;
    assert!([200, 201].contains(&answer.status), "{answer}");
}

async fn dismiss(caller: &Caller, member: &str) {
    let answer = caller.delete(&format!("/_admin/orgs/acme/members/{member}")).await;
    assert!([200, 204].contains(&answer.status), "{answer}");
}

/// Agents with their open streams.
type Listeners<'a> = Vec<(&'a Agent, Stream)>;

async fn listen<'a>(agents: &[&'a Agent]) -> Listeners<'a> {
    let mut listeners = Vec::new();
    for agent in agents {
        listeners.push((*agent, subscribe(agent).await));
    }
    listeners
}

/// Who hears a frame of `from` to this scope of the organisation.
async fn hears(from: &Agent, scope: &str, listeners: &mut Listeners<'_>) -> Vec<String> {
    let text = uuid();
    let count = tell(from, "~acme", scope, &text).await;
    let mut heard = Vec::new();
    for (agent, stream) in listeners {
        if before_fence(agent, agent, stream).await.contains(&text) {
            heard.push(agent.handle.clone());
        }
    }
    assert_eq!(count, heard.len() as u64, "the count is of those who heard {scope}");
    heard
}

/// Members, members with a role, and the organisation's own agents are three different sets.
#[tokio::test]
async fn fo_49_members_and_roles() {
    let server = patient_server().await;
    let operator = server.operator();
    let ann = server.agent("@ann.bot").await;
    let bob = server.agent("@bob.bot").await;
    let cem = server.agent("@cem.bot").await;
    let out = server.agent("@out.bot").await;
    organise(&operator, &[("~ann", &["dev"]), ("~bob", &["dev", "ops"]), ("~cem", &[])]).await;
    let desk = server.agent("@acme.desk").await;
    let mut all = listen(&[&ann, &bob, &cem, &out, &desk]).await;
    assert_eq!(hears(&ann, "org:acme/members/*", &mut all).await, ["@ann.bot", "@bob.bot", "@cem.bot"]);
    assert_eq!(hears(&cem, "org:acme/members/dev/*", &mut all).await, ["@ann.bot", "@bob.bot"]);
    assert_eq!(hears(&ann, "org:acme/members/ops/*", &mut all).await, ["@bob.bot"]);
    assert!(hears(&ann, "org:acme/members/legal/*", &mut all).await.is_empty(), "FO-55");
    assert_eq!(hears(&ann, "~acme/*", &mut all).await, ["@acme.desk"], "its own agents, not its members");
    enlist(&operator, "~cem", &["ops"]).await;
    assert_eq!(hears(&ann, "org:acme/members/ops/*", &mut all).await, ["@bob.bot", "@cem.bot"]);
    enlist(&operator, "~bob", &[]).await;
    assert_eq!(hears(&ann, "org:acme/members/ops/*", &mut all).await, ["@cem.bot"]);
    dismiss(&operator, "~cem").await;
    assert_eq!(hears(&ann, "org:acme/members/*", &mut all).await, ["@ann.bot", "@bob.bot"]);
}

/// FO-49: who is no member may not address one; and an organisation that does not exist answers the same.
#[tokio::test]
async fn fo_49_only_members_address_an_organisation() {
    let server = Server::start().await;
    let operator = server.operator();
    let ann = server.agent("@ann.bot").await;
    let out = server.agent("@out.bot").await;
    organise(&operator, &[("~ann", &["dev"])]).await;
    let mut to_ann = subscribe(&ann).await;
    for rest in ["*", "dev/*", "ops/*"] {
        let foreign = advisory(&out, "~acme", "from outside");
        let foreign = submit_to(&out, &format!("org:acme/members/{rest}"), &foreign).await;
        refused(&foreign, 403, "scope-unauthorised", Field::Any);
        let unknown = advisory(&out, "~none", "from outside");
        let unknown = submit_to(&out, &format!("org:none/members/{rest}"), &unknown).await;
        assert_eq!(foreign.fingerprint(), unknown.fingerprint());
    }
    enlist(&operator, "~out", &[]).await;
    assert_eq!(tell(&out, "~acme", "org:acme/members/*", "from inside").await, 1);
    dismiss(&operator, "~out").await;
    let again = advisory(&out, "~acme", "from outside");
    let again = submit_to(&out, "org:acme/members/*", &again).await;
    refused(&again, 403, "scope-unauthorised", Field::Any);
    assert_eq!(before_fence(&ann, &ann, &mut to_ann).await, ["from inside"]);
}

/// FO-48: the recipient of an organisation's scope is the organisation.
#[tokio::test]
async fn fo_48_the_organisation_is_the_recipient() {
    let (server, [ann]) = Server::with(["@ann.bot"]).await;
    organise(&server.operator(), &[("~ann", &["dev"])]).await;
    let mut stream = subscribe(&ann).await;
    for recipient in ["~ann", "~dev", "~none", "~acme2"] {
        let frame = advisory(&ann, recipient, "astray");
        for scope in ["org:acme/members/*", "org:acme/members/dev/*"] {
            refused(&submit_to(&ann, scope, &frame).await, 403, "scope-unauthorised", Field::Any);
        }
    }
    assert!(before_fence(&ann, &ann, &mut stream).await.is_empty());
}

/// Membership opens the scope, not the gates: a member that does not accept the sender does not hear it.
#[tokio::test]
async fn fo_51_members_keep_their_gates() {
    let (server, [ann, bob]) = Server::with(["@ann.bot", "@bob.bot"]).await;
    let shy = server.closed_agent("@shy.bot", &[]).await;
    let foe = server.agent("@foe.bot").await;
    server.block(&foe, "@ann.bot").await;
    organise(&server.operator(), &[("~ann", &[]), ("~bob", &[]), ("~shy", &[]), ("~foe", &[])]).await;
    let mut all = listen(&[&ann, &bob, &shy, &foe]).await;
    assert_eq!(hears(&ann, "org:acme/members/*", &mut all).await, ["@ann.bot", "@bob.bot"]);
    assert_eq!(hears(&bob, "org:acme/members/*", &mut all).await, ["@ann.bot", "@bob.bot", "@foe.bot"]);
    assert_eq!(hears(&shy, "org:acme/members/*", &mut all).await, ["@shy.bot"]);
}

/// FO-69: `org:` as a filter lets through what was scoped to that organisation, and nothing else.
#[tokio::test]
async fn fo_69_the_filter_by_organisation() {
    let server = Server::start().await;
    let operator = server.operator();
    let ann = server.agent("@ann.bot").await;
    let bob = server.agent("@bob.bot").await;
    organise(&operator, &[("~ann", &["dev"]), ("~bob", &["dev"])]).await;
    operator.call("PUT", "/_admin/orgs/club", &[], None).await.ok(201);
    for member in ["~ann", "~bob"] {
        operator.put(&format!("/_admin/orgs/club/members/{member}"), json!({"roles": []})).await;
    }
    let mut acme = subscribe_to(&bob, "org:acme").await;
    let mut none = subscribe_to(&bob, "org:none").await;
    let mut both = subscribe_to(&bob, "org:acme,org:club").await;
    let mut wide = subscribe_to(&bob, "").await;
    assert_eq!(tell(&ann, "~bob", "~bob", "to bob").await, 1);
    assert_eq!(tell(&ann, "~acme", "org:acme/members/*", "to acme").await, 2);
    assert_eq!(tell(&ann, "~club", "org:club/members/*", "to the club").await, 1);
    assert_eq!(tell(&ann, "~acme", "org:acme/members/dev/*", "to the developers").await, 2);
    let heard: Vec<_> = acme_until(&mut acme).await;
    assert_eq!(heard, ["to acme", "to the developers"]);
    assert_eq!(
        before_fence(&ann, &bob, &mut wide).await,
        ["to bob", "to acme", "to the club", "to the developers"]
    );
    for stream in [&mut none, &mut both] {
        server.operator().post_empty("/_admin/agents/@bob.bot/rotate-token").await;
        let (events, _) = stream.ending().await;
        assert!(events.is_empty(), "a clause that matches nothing never widens (FO-70): {events:?}");
    }
}

async fn acme_until(stream: &mut Stream) -> Vec<String> {
    let mut heard = Vec::new();
    while heard.last().is_none_or(|text| text != "to the developers") {
        let event = stream.event().await;
        heard.push(event.frame["payload"]["advisory_text"].as_str().expect("a text").to_owned());
    }
    heard
}
