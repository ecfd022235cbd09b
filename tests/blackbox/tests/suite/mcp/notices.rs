//! Notices of change in both eras: whatever changes after the subscription was acknowledged is told.

use blackbox::{Agent, Server};
use serde_json::{Value, json};

use super::said::{Coming, Session, ask, code, result};

const SESSIONS: &str = "plenary://sessions";

/// A request that stands alone hears of the resources that it named, and names itself in each notice.
#[tokio::test]
async fn a_request_hears_of_what_it_named() {
    let (server, [agent]) = Server::with(["@nick.bot"]).await;
    let mut coming = Coming::listen(&agent, &server, &[SESSIONS, "plenary://nothing"]).await;
    let acknowledged = coming.next().await.expect("an acknowledgement");
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    assert_eq!(acknowledged["params"]["notifications"], json!({"resourceSubscriptions": [SESSIONS]}));
    agent.open(json!({"topic": "one"})).await;
    let notice = coming.next().await.expect("a notice");
    assert_eq!(notice["method"], "notifications/resources/updated", "{notice}");
    assert_eq!(notice["params"]["uri"], SESSIONS);
    assert_eq!(notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{notice}");
}

/// A session hears of what it subscribed to on its own stream, until it unsubscribes.
#[tokio::test]
async fn a_session_hears_until_it_unsubscribes() {
    let (server, [agent]) = Server::with(["@nick.bot"]).await;
    let mut session = Session::open(&agent).await;
    let mut coming = Coming::hear(&session, &server).await;
    session.result("resources/subscribe", json!({"uri": SESSIONS})).await;
    session.result("resources/subscribe", json!({"uri": "plenary://me"})).await;
    agent.open(json!({"topic": "one"})).await;
    let notice = coming.next().await.expect("a notice");
    assert_eq!(notice["method"], "notifications/resources/updated", "{notice}");
    assert_eq!(notice["params"], json!({"uri": SESSIONS}));
    session.result("resources/unsubscribe", json!({"uri": SESSIONS})).await;
    agent.open(json!({"topic": "two"})).await;
    // The fence: another resource changes later, and nothing stands before it.
    let path = format!("/_admin/agents/{}", agent.handle);
    server.operator().patch(&path, json!({"policy": "allowlist"})).await.ok(200);
    let notice = coming.next().await.expect("a notice");
    assert_eq!(notice["params"], json!({"uri": "plenary://me"}));
    let unknown = session.ask("resources/subscribe", json!({"uri": "plenary://nothing"})).await.pop();
    assert_eq!(unknown.expect("an answer")["error"]["code"], -32_002);
}

/// The inbox wakes both eras, and nobody is told yet that anything was delivered.
#[tokio::test]
async fn the_inbox_wakes_who_follows_it() {
    const INBOX: &str = "plenary://inbox";
    let (server, alice, bob, id) = Server::with_pair().await;
    let mut session = Session::open(&bob).await;
    let mut in_session = Coming::hear(&session, &server).await;
    session.result("resources/subscribe", json!({"uri": INBOX})).await;
    let mut alone = Coming::listen(&bob, &server, &[INBOX]).await;
    assert!(alone.next().await.is_some(), "an acknowledgement");
    let sequence = alice.say(&id, "are you there?").await;
    assert_eq!(alone.next().await.expect("a notice")["params"]["uri"], INBOX);
    assert_eq!(in_session.next().await.expect("a notice")["params"], json!({"uri": INBOX}));
    let status = alice.get(&format!("/sessions/{id}/messages/{sequence}/status")).await.ok(200);
    assert_eq!(status["recipients"][0]["state"], "accepted", "a notice delivers nothing: {status}");
    let read = result(&bob, "resources/read", json!({"uri": INBOX})).await;
    assert!(
        read["contents"][0]["text"].as_str().is_some_and(|text| text.contains("are you there?")),
        "{read}"
    );
    let status = alice.get(&format!("/sessions/{id}/messages/{sequence}/status")).await.ok(200);
    assert_eq!(status["recipients"][0]["state"], "accepted", "nor does a look: {status}");
}

#[tokio::test]
async fn a_receipt_is_told_to_whoever_follows_its_message() {
    let (server, alice, bob, id) = Server::with_pair().await;
    let sequence = alice.say(&id, "are you there?").await;
    let message = format!("plenary://sessions/{id}/messages/{sequence}");
    let mut alone = Coming::listen(&alice, &server, &[&message]).await;
    assert!(alone.next().await.is_some(), "an acknowledgement");
    bob.post("/inbox/ack", json!({"session_id": id, "sequence": sequence})).await.ok(200);
    assert_eq!(alone.next().await.expect("a notice")["params"]["uri"], message);
    let read = result(&alice, "resources/read", json!({"uri": message})).await;
    let told = read["contents"][0]["text"].as_str().expect("text");
    assert!(told.contains("\"state\":\"in_context\""), "{read}");
}

/// A session follows 32 resources, and not one more.
#[tokio::test]
async fn a_session_follows_so_many_and_no_more() {
    let (_server, [agent]) = Server::with(["@nick.bot"]).await;
    let mut session = Session::open(&agent).await;
    for number in 0..33 {
        let uri = format!("plenary://packages/absent{number}");
        // An absent resource cannot be followed, and does not count.
        let refused = session.ask("resources/subscribe", json!({"uri": uri})).await.pop().expect("an answer");
        assert_eq!(refused["error"]["code"], -32_002, "{refused}");
    }
    let mut made = Vec::new();
    for number in 0..33 {
        let session = agent.open(json!({"topic": number.to_string()})).await;
        made.push(session["session_id"].as_str().expect("an id").to_owned());
    }
    for id in &made[..32] {
        session.result("resources/subscribe", json!({"uri": format!("plenary://sessions/{id}")})).await;
    }
    let uri = format!("plenary://sessions/{}", made[32]);
    let answer = session.ask("resources/subscribe", json!({"uri": uri})).await.pop().expect("an answer");
    assert_eq!(answer["error"]["code"], -32_602, "{answer}");
    session.result("resources/unsubscribe", json!({"uri": format!("plenary://sessions/{}", made[0])})).await;
    session.result("resources/subscribe", json!({"uri": uri})).await;
}

/// When a token ends, its streams end, and a request that listens gets its result.
#[tokio::test]
async fn a_dead_token_ends_its_streams() {
    let (server, [agent]) = Server::with(["@nick.bot"]).await;
    let session = Session::open(&agent).await;
    let mut alone = Coming::listen(&agent, &server, &[SESSIONS]).await;
    let mut in_session = Coming::hear(&session, &server).await;
    assert!(alone.next().await.is_some(), "an acknowledgement");
    server.operator().delete(&format!("/_admin/agents/{}", agent.handle)).await;
    alone.ends_with_its_result().await;
    assert_eq!(in_session.next().await, None);
    assert_eq!(ask(&agent, "tools/list", json!({})).await.status, 401);
}

/// What a session follows goes on when its client has renewed the token and the old one has ended.
#[tokio::test]
async fn what_a_session_follows_outlasts_a_token_of_its_client() {
    const ME: &str = "plenary://me";
    let server = Server::start().await;
    server.agent("@nick.bot").await;
    let owner = server.owner("nick").await;
    let (client, tokens) = crate::oauth::granted_by(&server, &owner).await;
    let bearer = |tokens: &Value| {
        let token = tokens["access_token"].as_str().expect("a token");
        Agent::new("@nick.bot", server.address().clone(), token)
    };
    let old = bearer(&tokens);
    let mut session = Session::open(&old).await;
    session.result("resources/subscribe", json!({"uri": ME})).await;
    let refresh = tokens["refresh_token"].as_str().expect("a token");
    let new = bearer(&crate::oauth::renewed(&server, &client, refresh).await.ok(200));
    crate::oauth::given_back(&server, old.token()).await;
    old.get("/agents/me").await.refusal_code(401);
    owner.patch("/_admin/agents/@nick.bot", json!({"policy": "allowlist"})).await.ok(200);
    let session = session.of(&new);
    let notice = Coming::hear(&session, &server).await.next().await.expect("a notice");
    assert_eq!(notice["params"], json!({"uri": ME}), "{notice}");
}

/// Past its requests at once a token is refused; others are not, and a stream that is closed makes room.
#[tokio::test]
async fn a_token_has_so_many_requests_at_once() {
    let (server, [agent, other]) = Server::with(["@nick.bot", "@bob.bot"]).await;
    let mut open = Vec::new();
    for _ in 0..128 {
        open.push(Coming::listen(&agent, &server, &["plenary://me"]).await);
    }
    let answer = ask(&agent, "tools/list", json!({})).await;
    assert_eq!((answer.status, code(&answer)), (429, -32_000), "{answer}");
    assert!(answer.header("retry-after").is_some(), "{answer}");
    ask(&other, "tools/list", json!({})).await.ok(200);
    drop(open.pop());
    blackbox::eventually("there is room again", || async {
        (ask(&agent, "tools/list", json!({})).await.status == 200).then_some(())
    })
    .await;
}

/// A server that stops ends its streams, and a request that listened is told that it is over.
#[tokio::test]
async fn a_server_that_stops_ends_its_streams() {
    let (mut server, [agent]) = Server::with(["@nick.bot"]).await;
    let session = Session::open(&agent).await;
    let mut alone = Coming::listen(&agent, &server, &[SESSIONS]).await;
    let mut in_session = Coming::hear(&session, &server).await;
    assert!(alone.next().await.is_some(), "an acknowledgement");
    server.stop().await;
    alone.ends_with_its_result().await;
    while in_session.next().await.is_some() {}
}
