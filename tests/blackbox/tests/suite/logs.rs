//! No body and no token reaches what the server prints (A23).

use blackbox::{Cli, Pongs, Server, encode, wsframe::TEXT};
use serde_json::{Value, json};

const CANARY: &str = "canary-4f1d-please-never-print-me";

/// Contents, topics, metadata, keys, tokens and tickets, in good requests and bad, stay out of the log.
#[tokio::test]
async fn nothing_private_is_printed() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let owner = server.owner("acme").await;
    let path = format!("/sessions/{id}/messages");
    let mut socket = bob.connect().await;
    let body = json!({
        "content": CANARY, "metadata": {"secret": CANARY}, "idempotency_key": CANARY, "other": CANARY,
    });
    alice.post(&path, body.clone()).await.ok(201);
    alice.post(&path, body).await.ok(201);
    alice.post(&path, json!({"content": {"secret": CANARY}})).await.refusal_code(400);
    alice
        .post_raw(&path, format!("{{\"content\":\"{CANARY}\",\"content\":1}}").as_bytes())
        .await
        .refusal_code(400);
    alice.post_raw(&path, format!("{CANARY}{{").as_bytes()).await.refusal_code(400);
    alice.post(&path, json!({"content": "x", "idempotency_key": CANARY})).await.refusal_code(409);
    alice.open(json!({"topic": CANARY, "initial_message": {"content": CANARY}})).await;
    alice.post(&format!("/sessions/{id}/invite"), json!({"invite": [CANARY]})).await.refusal_code(400);
    let huge = format!("{{\"content\":\"{CANARY}{}\"}}", "x".repeat(1_100_000));
    assert_eq!(alice.post_raw(&path, huge.as_bytes()).await.status, 413);
    socket.until(|event| event["payload"]["content"] == CANARY).await;
    socket.text(CANARY).await;
    socket.raw(&encode(true, TEXT, &[CANARY.as_bytes(), b"\xff"].concat(), true)).await.expect("sent");
    socket.ending().await;
    let ticket =
        alice.post_empty("/auth/ticket").await.json()["ticket"].as_str().expect("a ticket").to_owned();
    server.stranger().socket(&format!("/connect?ticket={ticket}"), Pongs::Answer).await.close().await;
    let target = format!("/connect?token={}", alice.token());
    server.stranger().socket(&target, Pongs::Answer).await.close().await;
    let wrong = format!("/connect?token=pla_{CANARY}");
    server.stranger().try_socket(&wrong, &[], Pongs::Answer).await.expect_err("no upgrade");
    server.bearer(&format!("pla_{CANARY}")).get("/sessions").await.refusal_code(401);
    server
        .operator()
        .post("/_admin/agents", json!({"handle": CANARY, "token": CANARY}))
        .await
        .refusal_code(400);
    server.stop().await;
    let printed = server.output_text();
    assert!(!printed.is_empty(), "there is a log to look at");
    for secret in
        [CANARY, alice.token(), bob.token(), owner.token(), server.operator().token(), ticket.as_str()]
    {
        assert!(!printed.contains(secret), "{secret} was printed");
    }
}

#[tokio::test]
async fn a_log_of_json_has_no_other_line() {
    let home = Cli::new(&[("PATH", "/usr/bin:/bin")]);
    std::fs::write(home.dir().join("plenary.toml"), "").expect("a file");
    let mut serve = home.start(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    for words in ["is not read", "the operator's token is in", "signs in to the console"] {
        let line = serve.note_with(words).await;
        assert!(serde_json::from_str::<Value>(&line).is_ok_and(|line| line.is_object()), "{line}");
    }
}

/// Whoever listens for other machines without TLS is warned.
#[tokio::test]
async fn tokens_in_clear_text_are_warned_of() {
    let home = Cli::new(&[("PATH", "/usr/bin:/bin")]);
    let mut serve = home.start(&["serve", "--listen", "0.0.0.0:0", "--data", ":memory:"]);
    let line = serve.note_with("in clear text").await;
    assert!(line.contains("--tls-cert") && line.contains("WARN"), "{line}");
}

/// Metrics name no handle, session or token.
#[tokio::test]
async fn metrics_name_nobody() {
    let (server, alice, _, id) = Server::with_pair().await;
    alice.say(&id, CANARY).await;
    let metrics = server.stranger().get("/metrics").await;
    assert_eq!(metrics.status, 200, "{metrics}");
    for secret in [CANARY, "alice", "bob", "sess_", "pla_", "plo_"] {
        assert!(!metrics.text().contains(secret), "{secret} is in the metrics: {metrics}");
    }
}

/// What is printed on stderr is JSON, one object a line.
#[tokio::test]
async fn the_log_is_json_lines() {
    let (mut server, alice, _, id) = Server::with_pair().await;
    alice.say(&id, "hello").await;
    alice.post_raw("/sessions", b"{").await.refusal_code(400);
    server.stop().await;
    let logged = server.log_text();
    let lines: Vec<_> = logged.lines().filter(|line| !line.trim().is_empty()).collect();
    assert!(!lines.is_empty());
    for line in lines {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(value.is_object(), "{line}");
    }
}
