//! What an agent says of itself, and who reads it: display name, description, card, visibility, in the members that the
//! published command line parses (wire.md 2.2; ASP-3, ASP-12, ASP-18).

use blackbox::{Agent, Caller, Server, assert_keys, eventually};
use serde_json::{Value, json};

/// What the published command line reads of every agent.
const LISTED: &[&str] = &[
    "canonical_handle",
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
];
/// What it reads besides where it is shown the whole agent.
const WHOLE: &[&str] = &[
    "id",
    "local_name",
    "namespace",
    "owner_type",
    "owner_id",
    "scope",
    "can_initiate_sessions",
    "updated_at",
];
const CARD: &str = "# Helper\n\n\tSays no. 👩\u{200d}🔧\n";

fn described(handle: &str) -> Value {
    json!({
        "handle": handle, "policy": "open", "display_name": "The helper", "description": "Says no",
        "card_body": CARD, "visibility": "private",
    })
}

fn profile_of(agent: &Agent, below: &str) -> String {
    format!("/agents/{}{below}", agent.handle.trim_start_matches('@').replacen('.', "/", 1))
}

#[track_caller]
fn assert_described(value: &Value) {
    assert_eq!(value["display_name"], "The helper", "{value}");
    assert_eq!(value["description"], "Says no");
    assert_eq!(value["card_body"], CARD);
}

/// What an agent is made with is shown by its making, to its owner, to the operator, and to itself.
#[tokio::test]
async fn a_profile_is_made_with_its_agent() {
    let mut server = Server::start().await;
    let owner = server.owner("nick").await;
    let made = owner.post("/_admin/agents", described("@nick.helper")).await.ok(201);
    let members =
        ["handle", "token", "policy", "allowlist", "display_name", "description", "card_body", "visibility"];
    assert_keys(&made, &members, &[]);
    assert_described(&made);
    assert_eq!(made["visibility"], "private");
    server.crash().await;
    for caller in [server.operator(), owner] {
        let shown = caller.get("/_admin/agents/@nick.helper").await.ok(200);
        assert_described(&shown);
        let listed = caller.get("/_admin/agents").await.ok(200);
        assert_described(&listed["agents"][0]);
    }
    let plain = server.operator().post("/_admin/agents", json!({"handle": "@nick.plain"})).await.ok(201);
    assert_eq!(plain["display_name"], "@nick.plain", "without a name it goes by its handle");
    assert_eq!(plain["visibility"], "private");
    for name in ["description", "card_body"] {
        assert!(
            plain[name].is_null() && plain.as_object().is_some_and(|made| made.contains_key(name)),
            "{plain}"
        );
    }
}

/// The seed file takes the same members.
#[tokio::test]
async fn a_seed_file_describes_agents() {
    let token = "pla_seeded-helper-000000000000000000";
    let mut agent = described("@nick.helper");
    agent["token"] = token.into();
    agent.as_object_mut().expect("an object").remove("handle");
    let server = Server::builder().seed(json!({"@nick.helper": agent})).start().await;
    assert_described(&server.bearer(token).get("/agents/me").await.ok(200));
}

/// `GET /agents/me`: the settings as before, and every member that the published command line parses.
#[tokio::test]
async fn an_agent_sees_itself_as_others_do() {
    let server = Server::start().await;
    let helper = server.agent_as(described("@nick.helper")).await;
    let me = helper.get("/agents/me").await.ok(200);
    let settings = [
        "handle",
        "kind",
        "policy",
        "allowlist",
        "self_service",
        "tokens_issued",
        "created_at",
        "card_body",
        "paused",
        "skills",
    ];
    assert_keys(&me, &[LISTED, WHOLE, &settings].concat(), &[]);
    assert_described(&me);
    assert_eq!(me["canonical_handle"], "@nick.helper");
    assert_eq!(me["inbound_policy"], "open");
    assert_eq!((&me["owner_label"], &me["owner_display_name"]), (&json!("@nick"), &json!("nick")));
    assert_eq!(
        (&me["inactive"], &me["is_online"], &me["paused"]),
        (&json!(false), &json!(false), &json!(false))
    );
    for name in ["image_url", "owner_image_url", "skills"] {
        assert!(me[name].is_null(), "{name} of {me}");
    }
    let socket = helper.connect().await;
    eventually("the connected agent is online", async || {
        let me = helper.get("/agents/me").await.ok(200);
        (me["is_online"] == true).then_some(())
    })
    .await;
    socket.cut().await;
}

/// `PATCH /agents/me` with the owner's leave: what is given is set, null removes a text, and the answer is the whole agent.
#[tokio::test]
async fn an_agent_describes_itself() {
    let server = Server::start().await;
    let mut body = described("@nick.helper");
    body["self_service"] = true.into();
    let helper = server.agent_as(body).await;
    let set = helper.patch("/agents/me", json!({"display_name": "Nora"})).await.ok(200);
    assert_eq!((&set["display_name"], &set["description"]), (&json!("Nora"), &json!("Says no")));
    assert_eq!(set, helper.get("/agents/me").await.ok(200));
    let removed = helper.patch("/agents/me", json!({"description": null, "card_body": null})).await.ok(200);
    assert!(removed["description"].is_null() && removed["card_body"].is_null(), "{removed}");
    let unnamed = json!({"display_name": null, "policy": "allowlist", "visibility": "public"});
    let set = helper.patch("/agents/me", unnamed).await.ok(200);
    assert_eq!((&set["display_name"], &set["policy"]), (&json!("@nick.helper"), &json!("allowlist")));
    assert_eq!(set["visibility"], "public");
    let shown = server.operator().get("/_admin/agents/@nick.helper").await.ok(200);
    assert_eq!(shown["visibility"], "public");
    helper.patch("/agents/me", json!({})).await.assert_refused(400, "invalid_policy");
}

/// ASP-3: without the owner's leave an agent does not describe itself; its owner does.
#[tokio::test]
async fn asp_3_the_owner_decides_who_describes_an_agent() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let helper = server.agent("@nick.helper").await;
    let other = server.agent("@acme.bot").await;
    for body in [json!({"display_name": "N"}), json!({"card_body": "c"}), json!({"visibility": "public"})] {
        helper.patch("/agents/me", body.clone()).await.assert_refused(403, "forbidden");
        other.patch("/_admin/agents/@nick.helper", body.clone()).await.assert_refused(404, "not_found");
        owner.patch("/_admin/agents/@nick.helper", body).await.ok(200);
    }
    let me = helper.get("/agents/me").await.ok(200);
    assert_eq!((&me["display_name"], &me["card_body"]), (&json!("N"), &json!("c")));
}

/// Each member has its limit and its code, everywhere it is taken, and nothing is written.
#[tokio::test]
async fn wrong_profiles_are_refused() {
    let server = Server::start().await;
    let helper = server.agent_as(json!({"handle": "@nick.helper", "self_service": true})).await;
    let before = helper.get("/agents/me").await.ok(200);
    for (member, value, code) in [
        ("display_name", json!(""), "invalid_display_name"),
        ("display_name", json!(7), "invalid_display_name"),
        ("display_name", json!("x".repeat(101)), "invalid_display_name"),
        ("display_name", json!("two\nlines"), "invalid_display_name"),
        ("display_name", json!("\u{202e}gpj.exe"), "invalid_display_name"),
        ("description", json!("x".repeat(501)), "invalid_description"),
        ("description", json!("zero\u{200b}width"), "invalid_description"),
        ("card_body", json!("x".repeat((16 << 10) + 1)), "invalid_card_body"),
        ("card_body", json!("\u{1b}[2J"), "invalid_card_body"),
        ("card_body", json!(["#"]), "invalid_card_body"),
        ("visibility", json!("friends"), "invalid_visibility"),
    ] {
        let body = json!({ member: value });
        helper.patch("/agents/me", body.clone()).await.assert_refused(400, code);
        server.operator().patch("/_admin/agents/@nick.helper", body).await.assert_refused(400, code);
        let body = json!({"handle": "@nick.new", member: value});
        server.operator().post("/_admin/agents", body).await.assert_refused(400, code);
    }
    assert_eq!(helper.get("/agents/me").await.ok(200), before);
    server.operator().get("/_admin/agents/@nick.new").await.assert_refused(404, "not_found");
    let longest = json!({
        "display_name": "ä".repeat(100), "description": "ä".repeat(500), "card_body": "x".repeat(16 << 10),
    });
    helper.patch("/agents/me", longest).await.ok(200);
}

/// A rotated token comes with the agent, as the published command line reads it.
#[tokio::test]
async fn a_rotated_token_comes_with_its_agent() {
    let server = Server::start().await;
    let mut body = described("@nick.helper");
    body["allowlist"] = json!(["@acme.*"]);
    let helper = server.agent_as(body).await;
    let rotated = server.operator().post_empty("/_admin/agents/@nick.helper/rotate-token").await.ok(200);
    assert_eq!((&rotated["handle"], &rotated["policy"]), (&json!("@nick.helper"), &json!("open")));
    assert_eq!(rotated["allowlist"], json!(["@acme.*"]));
    assert_described(&rotated);
    helper.get("/agents/me").await.refusal_code(401);
    server.bearer(rotated["token"].as_str().expect("a token")).get("/agents/me").await.ok(200);
}

/// Whoever may contact an agent, its owner and the operator read its profile and its card.
#[tokio::test]
async fn contacts_read_a_profile() {
    let server = Server::start().await;
    let owner = server.owner("nick").await;
    let helper = server.agent_as(described("@nick.helper")).await;
    let friend = server.closed_agent("@acme.friend", &["@nick.helper"]).await;
    let shown = |caller: Caller| {
        let path = profile_of(&helper, "");
        async move { caller.get(&path).await.ok(200) }
    };
    let seen = shown((*friend).clone()).await;
    assert_keys(&seen, &["agent", "shared_sessions", "viewer"], &[]);
    let members = ["card_body", "paused", "skills", "created_at"];
    assert_keys(&seen["agent"], &[LISTED, WHOLE, &members].concat(), &[]);
    assert_eq!(
        (&seen["agent"]["local_name"], &seen["agent"]["namespace"]),
        (&json!("helper"), &json!("nick"))
    );
    assert_eq!(seen["agent"]["can_initiate_sessions"], true, "the command line shows it as outbound");
    assert_described(&seen["agent"]);
    assert_eq!(seen["agent"]["canonical_handle"], "@nick.helper");
    assert_eq!(seen["shared_sessions"], json!([]));
    assert_eq!(seen["viewer"], json!({"relationship": "none", "can_edit": false}));
    for (caller, can_edit) in [((*helper).clone(), false), (owner, true), (server.operator(), true)] {
        let viewer = json!({"relationship": "owner", "can_edit": can_edit});
        assert_eq!(shown(caller).await["viewer"], viewer);
    }
    let card = friend.get(&profile_of(&helper, "/card")).await;
    assert_eq!((card.status, card.header("content-type")), (200, Some("text/markdown; charset=utf-8")));
    assert_eq!(card.text(), CARD);
    assert_eq!(
        helper.get(&profile_of(&friend, "/card")).await.text(),
        "",
        "a card that there is not is empty"
    );
}

/// ASP-18: a private agent that trust keeps away, a blocked one, a deleted one and one that never was are one answer.
#[tokio::test]
async fn asp_18_a_profile_out_of_reach_is_like_none() {
    let server = Server::start().await;
    let foreign = server.owner("acme").await;
    let stranger = server.agent("@acme.bot").await;
    let closed = server.closed_agent("@nick.closed", &["@friend.*"]).await;
    let blocker = server.agent("@nick.blocker").await;
    let open = server.agent("@nick.public").await;
    let gone = server.agent("@nick.gone").await;
    server.operator().patch("/_admin/agents/@nick.public", json!({"visibility": "public"})).await.ok(200);
    server.block(&blocker, "@acme.bot").await;
    server.block(&open, "@acme.bot").await;
    server.operator().delete("/_admin/agents/@nick.gone").await;
    for below in ["", "/card"] {
        let absent = stranger.get(&format!("/agents/nick/nobody{below}")).await;
        absent.assert_refused(404, "not_found");
        for agent in [&closed, &blocker, &open, &gone] {
            let hidden = stranger.get(&profile_of(agent, below)).await;
            assert_eq!(hidden.fingerprint(), absent.fingerprint(), "{}", agent.handle);
        }
        let absent = foreign.get(&format!("/agents/nick/nobody{below}")).await;
        for agent in [&closed, &blocker, &gone] {
            assert_eq!(foreign.get(&profile_of(agent, below)).await.fingerprint(), absent.fingerprint());
        }
        for odd in ["/agents/Nick/x", "/agents/nick/%2e", "/agents/nick/a.b"] {
            stranger.get(&format!("{odd}{below}")).await.assert_refused(404, "not_found");
        }
        server.stranger().get(&profile_of(&open, below)).await.refusal_code(401);
    }
}

/// A public agent is there for every token, and stays as closed to contact as it was.
#[tokio::test]
async fn a_public_profile_opens_no_gate() {
    let server = Server::start().await;
    let foreign = server.owner("acme").await;
    let stranger = server.agent("@acme.bot").await;
    let body = json!({"handle": "@nick.desk", "visibility": "public", "card_body": CARD});
    let desk = server.agent_as(body).await;
    for caller in [&foreign, &*stranger] {
        let seen = caller.get(&profile_of(&desk, "")).await.ok(200);
        assert_eq!(
            (&seen["agent"]["visibility"], &seen["agent"]["inbound_policy"]),
            (&json!("public"), &json!("allowlist"))
        );
        assert_eq!(caller.get(&profile_of(&desk, "/card")).await.text(), CARD);
    }
    stranger.post("/sessions", json!({"invite": ["@nick.desk"]})).await.assert_refused(404, "not_found");
    server.operator().patch("/_admin/agents/@nick.desk", json!({"visibility": "private"})).await.ok(200);
    stranger.get(&profile_of(&desk, "")).await.assert_refused(404, "not_found");
}
