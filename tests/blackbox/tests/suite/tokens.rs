//! Bearer tokens: what is refused without one, what becomes of connections when one dies, and browsers' tickets
//! (ASP-4, ASP-63, ASP-82).

use blackbox::{Pongs, Response, Server, in_time};
use serde_json::json;

const ENDPOINTS: &[(&str, &str)] = &[
    ("POST", "/sessions"),
    ("GET", "/sessions"),
    ("GET", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW"),
    ("GET", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW/events"),
    ("POST", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW/join"),
    ("POST", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW/invite"),
    ("POST", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW/messages"),
    ("POST", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW/leave"),
    ("POST", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW/end"),
    ("POST", "/sessions/sess_01HW7AB12CDEFGHJKMNPQRSTVW/reopen"),
    ("GET", "/connect"),
];

const SELF_AND_ADMIN: &[(&str, &str)] = &[
    ("GET", "/agents/me"),
    ("PATCH", "/agents/me"),
    ("GET", "/agents/me/allowlist"),
    ("GET", "/agents/me/blocks"),
    ("POST", "/contacts"),
    ("POST", "/auth/ticket"),
    ("GET", "/usage"),
    ("GET", "/_admin/owners"),
    ("POST", "/_admin/owners"),
    ("GET", "/_admin/agents"),
    ("POST", "/_admin/agents"),
    ("GET", "/_admin/agents/@a.b"),
    ("DELETE", "/_admin/agents/@a.b"),
    ("POST", "/_admin/agents/@a.b/rotate-token"),
    ("POST", "/_admin/agents/@a.b/allowlist"),
    ("POST", "/_admin/agents/@a.b/blocks"),
];

#[track_caller]
fn unauthenticated(response: &Response) {
    response.refusal_code(401);
    let challenge = response.header("www-authenticate").unwrap_or_default();
    assert!(challenge.starts_with("Bearer"), "401 carries the challenge: {response}");
}

/// ASP-63: every endpoint wants a token, and says so before it looks at anything else.
#[tokio::test]
async fn asp_82_nothing_works_without_a_known_token() {
    let server = Server::start().await;
    let unknown = server.bearer("pla_0000000000000000000000000000000000000000000000000000000000000000");
    for (method, path) in ENDPOINTS.iter().chain(SELF_AND_ADMIN) {
        unauthenticated(&server.stranger().call(method, path, &[], None).await);
        unauthenticated(&unknown.call(method, path, &[], None).await);
        let basic = [("Authorization", "Basic YWxpY2U6c2VjcmV0")];
        unauthenticated(&server.stranger().call(method, path, &basic, None).await);
        let empty = [("Authorization", "Bearer ")];
        unauthenticated(&server.stranger().call(method, path, &empty, None).await);
    }
}

/// Order of checks: 401 comes before the body is judged.
#[tokio::test]
async fn the_token_is_checked_before_the_body() {
    let server = Server::start().await;
    unauthenticated(&server.stranger().post_raw("/sessions", b"{not json").await);
}

/// D.9: owners and the operator configure, they do not speak: 401 on session paths.
#[tokio::test]
async fn owner_and_operator_tokens_are_no_agents() {
    let server = Server::start().await;
    let owner = server.owner("alice").await;
    for caller in [owner, server.operator()] {
        for (method, path) in ENDPOINTS {
            caller.call(method, path, &[], None).await.refusal_code(401);
        }
    }
}

/// `X-ASP-Agent` may be sent, but only with the token's own handle.
#[tokio::test]
async fn the_agent_header_must_agree_with_the_token() {
    let (_server, alice, bob, id) = Server::with_pair().await;
    let path = format!("/sessions/{id}");
    alice.call("GET", &path, &[("X-ASP-Agent", &alice.handle)], None).await.ok(200);
    unauthenticated(&alice.call("GET", &path, &[("X-ASP-Agent", &bob.handle)], None).await);
    unauthenticated(&alice.call("GET", &path, &[("X-ASP-Agent", "@nobody.here")], None).await);
    let wrong = alice.try_socket("/connect", &[("X-ASP-Agent", &bob.handle)], Pongs::Answer).await;
    unauthenticated(&wrong.expect_err("no upgrade in another's name"));
    let right = alice.try_socket("/connect", &[("X-ASP-Agent", &alice.handle)], Pongs::Answer).await;
    right.expect("an upgrade in one's own name").close().await;
}

/// A bad token is answered before the upgrade.
#[tokio::test]
async fn no_upgrade_without_a_token() {
    let server = Server::start().await;
    let refusal = server.stranger().try_socket("/connect", &[], Pongs::Answer).await.expect_err("no token");
    unauthenticated(&refusal);
    let refusal = server.stranger().try_socket("/connect?token=pla_wrong", &[], Pongs::Answer).await;
    unauthenticated(&refusal.expect_err("a wrong token"));
}

/// A published client sends the token in the query of `/connect`; nowhere else is it accepted.
#[tokio::test]
async fn connect_takes_the_token_in_its_query() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let target = format!("/connect?token={}", alice.token());
    let mut socket = server.stranger().socket(&target, Pongs::Answer).await;
    bob.say(&id, "hello").await;
    socket.until_text("hello").await;
    let elsewhere = format!("/sessions/{id}?token={}", alice.token());
    unauthenticated(&server.stranger().get(&elsewhere).await);
}

/// Tickets for browsers: single use, and only for their agent.
#[tokio::test]
async fn a_ticket_opens_one_socket() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let response = alice.post_empty("/auth/ticket").await;
    assert!([200, 201].contains(&response.status), "{response}");
    let body = response.json();
    assert!(body["expires_in"].as_i64().is_some_and(|seconds| (1..=30).contains(&seconds)), "{body}");
    let target = format!("/connect?ticket={}", body["ticket"].as_str().expect("a ticket"));
    let mut socket = server.stranger().socket(&target, Pongs::Answer).await;
    bob.say(&id, "hello").await;
    let heard = socket.until_text("hello").await;
    assert!(!heard.is_empty());
    let again = server.stranger().try_socket(&target, &[], Pongs::Answer).await;
    unauthenticated(&again.expect_err("a ticket is used up"));
    let made_up = server.stranger().try_socket("/connect?ticket=nonsense", &[], Pongs::Answer).await;
    unauthenticated(&made_up.expect_err("an unknown ticket"));
}

/// A rotated token is dead at once, for requests and for sockets; the new one works.
#[tokio::test]
async fn rotation_revokes_at_once() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let mut first = alice.connect().await;
    let mut second = alice.connect().await;
    bob.say(&id, "before").await;
    first.until_text("before").await;
    second.until_text("before").await;
    let path = format!("/_admin/agents/{}/rotate-token", alice.handle);
    let rotated = server.operator().post_empty(&path).await.ok(200);
    unauthenticated(&alice.get("/sessions").await);
    bob.say(&id, "after").await;
    for socket in [&mut first, &mut second] {
        let (events, _) = in_time("a socket of a dead token closes", socket.ending()).await;
        assert!(
            !blackbox::content_of(&events).contains(&"after"),
            "nothing is sent after the revocation: {events:?}"
        );
    }
    let token = rotated["token"].as_str().expect("the new token");
    assert!(token.starts_with("pla_"), "{token}");
    let alice = blackbox::Agent::new(&alice.handle, server.address().clone(), token);
    alice.connect().await.until_text("after").await;
}

/// Rotation leaves tickets of the old token worthless.
#[tokio::test]
async fn rotation_kills_tickets_too() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let ticket = alice.post_empty("/auth/ticket").await.json();
    let path = format!("/_admin/agents/{}/rotate-token", alice.handle);
    server.operator().post_empty(&path).await.ok(200);
    let target = format!("/connect?ticket={}", ticket["ticket"].as_str().expect("a ticket"));
    let refused = server.stranger().try_socket(&target, &[], Pongs::Answer).await;
    unauthenticated(&refused.expect_err("the ticket died with its token"));
}

/// Deleting an agent ends its tokens and sockets.
#[tokio::test]
async fn deletion_revokes_at_once() {
    let (server, [alice]) = Server::with(["@alice.bot"]).await;
    let mut socket = alice.connect().await;
    let path = format!("/_admin/agents/{}", alice.handle);
    let response = server.operator().delete(&path).await;
    assert_eq!(response.status, 204, "{response}");
    unauthenticated(&alice.get("/sessions").await);
    in_time("a socket of a deleted agent closes", socket.ending()).await;
}

/// Revocation outlives a crash.
#[tokio::test]
async fn a_revoked_token_stays_dead_after_a_crash() {
    let (mut server, [alice]) = Server::with(["@alice.bot"]).await;
    let path = format!("/_admin/agents/{}/rotate-token", alice.handle);
    let rotated = server.operator().post_empty(&path).await.ok(200);
    server.crash().await;
    unauthenticated(&alice.get("/sessions").await);
    server.bearer(rotated["token"].as_str().expect("a token")).get("/sessions").await.ok(200);
}

/// Tokens are told apart by their prefix and have 256 random bits.
#[tokio::test]
async fn tokens_have_their_prefix_and_length() {
    let server = Server::start().await;
    let owner = server.owner("alice").await;
    assert!(owner.token().starts_with("plw_"), "{}", owner.token());
    let mut seen = std::collections::HashSet::new();
    for number in 0..5 {
        let made =
            server.operator().post("/_admin/agents", json!({ "handle": format!("@alice.n{number}") })).await;
        let token = made.ok(201)["token"].as_str().expect("a token").to_owned();
        assert!(token.starts_with("pla_") && token.len() >= 4 + 43, "256 bits need 43 characters: {token}");
        assert!(seen.insert(token), "tokens differ");
    }
}

/// A token from a repeated request is the first one, for whoever made it alone, and no other server can make it.
#[tokio::test]
async fn a_repeated_request_for_a_token_is_answered_to_the_same_bearer_alone() {
    let key = [("Idempotency-Key", "one-and-the-same")];
    let (one, two) = (Server::start().await, Server::start().await);
    let owner = |server: &Server| {
        let operator = server.operator();
        async move { operator.call("POST", "/_admin/owners", &key, Some(&json!({"owner": "zed"}))).await }
    };
    let (first, again, elsewhere) = (owner(&one).await, owner(&one).await, owner(&two).await);
    let token = |response: &Response| response.json()["token"].as_str().expect("a token").to_owned();
    assert_eq!((first.status, again.status, elsewhere.status), (201, 201, 201));
    assert_eq!((first.is_replayed(), again.is_replayed()), (false, true));
    assert_eq!(token(&first), token(&again));
    assert_ne!(token(&first), token(&elsewhere), "another server makes another token");

    let zed = one.bearer(&token(&first));
    let agent = json!({"handle": "@zed.k"});
    let made = zed.call("POST", "/_admin/agents", &key, Some(&agent)).await;
    assert_eq!(zed.call("POST", "/_admin/agents", &key, Some(&agent)).await.json(), made.json());
    let rotated = zed.post_empty("/_admin/owners/zed/rotate-token").await;
    let zed = one.bearer(&token(&rotated));
    zed.call("POST", "/_admin/agents", &key, Some(&agent))
        .await
        .assert_refused(409, "idempotency_key_reused");
    one.bearer(&token(&made)).get("/agents/me").await.ok(200);
}

#[tokio::test]
async fn a_person_gets_no_token_by_rotation() {
    let server = Server::start().await;
    let owner = server.owner("mia").await;
    let person = [("X-ASP-Agent", "@mia.mia")];
    owner.call("GET", "/agents/me", &person, None).await.ok(200);
    owner.post_empty("/_admin/agents/@mia.mia/rotate-token").await.assert_refused(403, "forbidden");
}
