//! The account of an owner under the paths of RobotNet's command line (`robotnet account …`): the members that it parses,
//! and a clear refusal of what there is not.

use blackbox::{Server, assert_keys};
use serde_json::{Value, json};

/// What the command line parses of each agent of an account.
const AGENT: &[&str] = &[
    "id",
    "canonical_handle",
    "local_name",
    "namespace",
    "display_name",
    "description",
    "image_url",
    "visibility",
    "inbound_policy",
    "inactive",
    "is_online",
    "owner_label",
    "owner_display_name",
    "owner_image_url",
    "owner_type",
    "owner_id",
    "scope",
    "can_initiate_sessions",
    "paused",
    "card_body",
    "skills",
    "created_at",
    "updated_at",
];

fn handles(page: &Value) -> Vec<&str> {
    let agents = page["agents"].as_array().expect("agents");
    agents.iter().map(|agent| agent["handle"].as_str().expect("a handle")).collect()
}

/// `account show`.
#[tokio::test]
async fn an_owner_has_an_account() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let account = owner.get("/account").await.ok(200);
    let members =
        ["id", "username", "email", "display_name", "bio", "image_url", "tier", "created_at", "updated_at"];
    assert_keys(&account, &members, &[]);
    assert_eq!((&account["username"], &account["email"]), (&json!("nick"), &json!("")));
    assert!(account["bio"].is_null() && account["created_at"].is_u64(), "{account}");
    let agent = server.agent("@nick.laptop").await;
    for nobody in [&*agent, &server.operator()] {
        nobody.get("/account").await.assert_refused(404, "not_found");
    }
}

/// `account agents new`, `set`, `rm`: the agents of `/_admin/agents`.
#[tokio::test]
async fn an_owner_makes_changes_and_deletes_an_agent() {
    let server = Server::start().await;
    let (owner, other) = (server.owner("nick").await, server.owner("acme").await);
    let new = json!({"local_name": "cli", "display_name": "The CLI", "description": "Says no"});
    let made = owner.post("/agents", new.clone()).await.ok(201);
    assert_keys(&made, &[AGENT, &["token"]].concat(), &[]);
    assert_eq!((&made["canonical_handle"], &made["display_name"]), (&json!("@nick.cli"), &json!("The CLI")));
    assert_eq!((&made["visibility"], &made["inbound_policy"]), (&json!("private"), &json!("allowlist")));
    let bearer = server.bearer(made["token"].as_str().expect("a token"));
    assert_eq!(bearer.get("/agents/me").await.ok(200)["handle"], "@nick.cli");
    owner.post("/agents", new).await.assert_refused(409, "agent_exists");

    let path = "/agents/nick/cli";
    let change =
        json!({"inbound_policy": "open", "visibility": "public", "description": null, "paused": false});
    let set = owner.patch(path, change).await.ok(200);
    assert_keys(&set, AGENT, &[]);
    assert_eq!((&set["inbound_policy"], &set["visibility"]), (&json!("open"), &json!("public")));
    assert!(
        set["description"].is_null() && set["updated_at"].as_u64() >= made["updated_at"].as_u64(),
        "{set}"
    );
    let shown = owner.get("/_admin/agents/@nick.cli").await.ok(200);
    assert_eq!((&shown["policy"], &shown["visibility"]), (&json!("open"), &json!("public")));

    for outsider in [&other, &bearer] {
        let absent = outsider.patch("/agents/nick/nobody", json!({"inbound_policy": "open"})).await;
        absent.assert_refused(404, "not_found");
        let foreign = outsider.patch(path, json!({"inbound_policy": "open"})).await;
        assert_eq!(foreign.fingerprint(), absent.fingerprint());
        outsider.delete(path).await.assert_refused(404, "not_found");
    }
    let gone = owner.delete(path).await;
    assert_eq!((gone.status, gone.text()), (204, String::new()));
    owner.get("/_admin/agents/@nick.cli").await.assert_refused(404, "not_found");
}

/// What this server does not have is 501, which the command line tells as "not supported by this network".
#[tokio::test]
async fn what_there_is_not_is_not_supported() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    server.agent("@nick.laptop").await;
    let silent = json!({"local_name": "mute", "display_name": "Mute", "can_initiate_sessions": false});
    owner.post("/agents", silent).await.assert_refused(501, "not_supported");
    owner.get("/_admin/agents/@nick.mute").await.assert_refused(404, "not_found");
    for change in [
        json!({"paused": true, "inbound_policy": "open"}),
        json!({"can_initiate_sessions": false}),
        json!({"skills": [{"name": "says", "description": "no"}]}),
    ] {
        owner.patch("/agents/nick/laptop", change).await.assert_refused(501, "not_supported");
    }
    assert_eq!(
        owner.get("/_admin/agents/@nick.laptop").await.ok(200)["policy"],
        "open",
        "as the test made it"
    );
    owner.patch("/agents/nick/laptop", json!({})).await.assert_refused(400, "invalid_policy");
    owner.patch("/agents/nick/laptop", json!({"paused": "no"})).await.assert_refused(400, "invalid_body");
    for local_name in [json!(null), json!("Two Words"), json!(7)] {
        let wrong = json!({"local_name": local_name, "display_name": "Wrong"});
        owner.post("/agents", wrong).await.assert_refused(400, "invalid_handle");
    }
}

/// `account agents list`, with and without `--managed`, and the names to choose from at a login.
#[tokio::test]
async fn an_owner_lists_its_agents() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    for (name, policy) in [("a", "allowlist"), ("b", "open"), ("c", "allowlist")] {
        let body =
            json!({"local_name": name, "display_name": format!("Agent {name}"), "inbound_policy": policy});
        owner.post("/agents", body).await.ok(201);
    }
    server.agent("@acme.bot").await;
    for path in ["/agents", "/agents/managed"] {
        let all = owner.get(path).await.ok(200);
        assert_eq!(handles(&all), ["@nick.a", "@nick.b", "@nick.c"], "{path}");
        assert_keys(&all["agents"][0], &[AGENT, &["handle", "trust"]].concat(), &[]);
        assert!(all.as_object().is_some_and(|page| page["next_cursor"].is_null()), "{all}");
        let one = owner.get(&format!("{path}?q=AGENT%20B")).await.ok(200);
        assert_eq!(handles(&one), ["@nick.b"]);
        let first = owner.get(&format!("{path}?limit=2")).await.ok(200);
        assert_eq!(handles(&first), ["@nick.a", "@nick.b"]);
        let cursor = first["next_cursor"].as_str().expect("a cursor");
        let last = owner.get(&format!("{path}?limit=2&cursor={cursor}")).await.ok(200);
        assert_eq!(handles(&last), ["@nick.c"]);
        owner.get(&format!("{path}?limit=101")).await.assert_refused(400, "invalid_limit");
        owner.get(&format!("{path}?cursor=no")).await.assert_refused(400, "invalid_cursor");
    }
    let names = owner.get("/accounts/me/agents").await.ok(200);
    let first = json!({"handle": "@nick.a", "name": "Agent a", "policy": "allowlist"});
    assert_eq!(names["agents"].as_array().map(Vec::len), Some(3));
    assert_eq!(names["agents"][0], first);
    // An agent still gets those that it can contact.
    let agent = server.agent("@nick.laptop").await;
    let reachable = agent.get("/agents?q=nick.b").await.ok(200);
    assert_eq!(reachable["agents"], json!([{"handle": "@nick.b", "trust": "same_owner"}]));
    for path in ["/agents/managed", "/accounts/me/agents", "/accounts/me/sessions"] {
        agent.get(path).await.assert_refused(404, "not_found");
    }
}

/// `account sessions`: of all agents, each session once, of one state or of both.
#[tokio::test]
async fn an_owner_lists_the_sessions_of_its_agents() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let (one, two) = (server.agent("@nick.one").await, server.agent("@nick.two").await);
    let mut ids = Vec::new();
    for topic in ["first", "second"] {
        let body = json!({"invite": [two.handle], "topic": topic});
        let made = one.post("/sessions", body).await.ok(201);
        ids.push(made["session_id"].as_str().expect("an id").to_owned());
    }
    one.post(&format!("/sessions/{}/end", ids[0]), json!({})).await.ok(200);
    let listed = owner.get("/accounts/me/sessions").await.ok(200);
    let members = ["id", "state", "topic", "participants", "created_at", "ended_at", "acting_handle"];
    assert_keys(&listed["sessions"][0], &members, &[]);
    let shown = |page: &Value| -> Vec<String> {
        let sessions = page["sessions"].as_array().expect("sessions");
        sessions.iter().map(|session| session["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(shown(&listed), [ids[1].as_str(), ids[0].as_str()]);
    assert!(listed["next_cursor"].is_null() && listed["sessions"][0]["ended_at"].is_null(), "{listed}");
    assert_eq!(listed["sessions"][0]["acting_handle"], "@nick.one");
    let ended = owner.get("/accounts/me/sessions?state=ended").await.ok(200);
    assert_eq!(shown(&ended), [ids[0].as_str()]);
    assert!(ended["sessions"][0]["ended_at"].is_u64(), "{ended}");
    let first = owner.get("/accounts/me/sessions?limit=1").await.ok(200);
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let last = owner.get(&format!("/accounts/me/sessions?limit=1&cursor={cursor}")).await.ok(200);
    assert_eq!([shown(&first), shown(&last)].concat(), shown(&listed));
    owner.get("/accounts/me/sessions?state=asleep").await.assert_refused(400, "invalid_query");
    owner.get("/accounts/me/sessions?limit=101").await.assert_refused(400, "invalid_limit");
    assert_eq!(shown(&server.owner("acme").await.get("/accounts/me/sessions").await.ok(200)), [""; 0]);
}
