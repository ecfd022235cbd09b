//! `serve --tls-cert --tls-key`: HTTP and WebSocket inside TLS, the commands with `--cacert`, and who does not get in.

use std::{fs::Permissions, os::unix::fs::PermissionsExt as _, sync::Arc};

use blackbox::{Agent, Certificate, Cli, Connection, Place, Server, TempDir, pair};
use rustls::{ClientConfig, version};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Kinds of records (RFC 8446 section 5.1).
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
/// Alert 70 of RFC 8446 section 6, fatal: what a peer of an older version is told.
const PROTOCOL_VERSION: [u8; 2] = [2, 70];

async fn over_tls() -> Server {
    Server::builder().tls().start().await
}

/// A place of this server, spoken to in this way.
fn place(server: &Server, tls: Option<Arc<ClientConfig>>) -> Place {
    server.address().place().with_tls(tls)
}

/// Sessions and live events, as without TLS.
#[tokio::test]
async fn a_conversation_passes_over_tls() {
    let server = over_tls().await;
    let (alice, bob, id) = pair(&server).await;
    let mut to_bob = bob.connect().await;
    let large = "x".repeat(300_000);
    alice.say(&id, large.as_str()).await;
    alice.say(&id, "hello").await;
    let heard = to_bob.until_text("hello").await;
    assert_eq!(heard, alice.history(&id).await);
    to_bob.wait_until_confirmed().await;
    to_bob.close().await;
    server.stranger().get("/healthz").await.ok(200);
}

/// A crash leaves nothing behind that TLS would mind.
#[tokio::test]
async fn a_server_comes_back_with_its_certificate() {
    let mut server = over_tls().await;
    let alice = server.agent("@alice.bot").await;
    server.crash().await;
    alice.get("/sessions").await.ok(200);
    server.stop().await;
}

/// A renewed certificate is served after SIGHUP, without an interruption; one that does not fit its key is not.
#[tokio::test]
async fn a_renewed_certificate_is_read_again() {
    let server = over_tls().await;
    let alice = server.agent("@alice.bot").await;
    let mut socket = alice.connect().await;
    socket.wait_until_served().await;
    let elsewhere = TempDir::new();
    let renewed = Certificate::make(elsewhere.path());
    let trusted = renewed.trusted(rustls::ALL_VERSIONS);
    let current = server.certificate();
    std::fs::copy(&renewed.file, &current.file).expect("the certificate is replaced");
    server.hang_up();
    server.wait_for_log("the certificate was changed and cannot be used").await;
    alice.get("/sessions").await.ok(200);
    std::fs::copy(&renewed.key, &current.key).expect("the key is replaced");
    std::fs::set_permissions(&current.key, Permissions::from_mode(0o644)).expect("the key is opened");
    server.hang_up();
    server.wait_for_log("the certificate was read again").await;
    server.wait_for_log("the next start refuses it").await;
    let mut connection = Connection::open(place(&server, Some(trusted))).await.expect("a handshake");
    let request = server.stranger().request("GET", "/healthz", &[], None);
    connection.round_trip(&request).await.expect("an answer").ok(200);
    socket.close().await;
}

/// Without a certificate there is nothing to read again, and the server goes on.
#[tokio::test]
async fn sighup_does_not_end_a_server() {
    let mut server = Server::start().await;
    server.hang_up();
    server.wait_for_log("there is no certificate to read again").await;
    server.stranger().get("/healthz").await.ok(200);
    server.stop().await;
}

/// TLS 1.2 and 1.3 are spoken; whoever knows neither is told so.
#[tokio::test]
async fn tls_12_and_13_are_spoken_and_nothing_older() {
    let server = over_tls().await;
    for version in [&version::TLS12, &version::TLS13] {
        let tls = server.certificate().trusted(&[version]);
        let mut connection = Connection::open(place(&server, Some(tls))).await.expect("a handshake");
        let request = server.stranger().request("GET", "/healthz", &[], None);
        connection.round_trip(&request).await.expect("an answer").ok(200);
    }
    for minor in [0, 1, 2] {
        let answer = answer_to_hello(&server, minor).await;
        assert_eq!(answer.first(), Some(&ALERT), "an alert and nothing else: {answer:?}");
        assert_eq!(answer.get(5..), Some(&PROTOCOL_VERSION[..]), "3.{minor} is refused: {answer:?}");
    }
    let answer = answer_to_hello(&server, 3).await;
    assert_eq!(answer.first(), Some(&HANDSHAKE), "the same hello of TLS 1.2 is answered: {answer:?}");
}

/// What comes back to a client hello whose sender then says no more.
async fn answer_to_hello(server: &Server, minor: u8) -> Vec<u8> {
    let mut client = TcpStream::connect(server.address().get()).await.expect("a connection");
    client.write_all(&client_hello(minor)).await.expect("sent");
    client.shutdown().await.expect("said");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.expect("an end");
    answer
}

/// A client hello of SSL 3.0 (0), TLS 1.0 (1), 1.1 (2) or 1.2 (3), by RFC 5246 section 7.4.1.2.
fn client_hello(minor: u8) -> Vec<u8> {
    let mut hello = vec![3, minor];
    hello.extend([7; 32]);
    // No session, two cipher suites, no compression.
    hello.extend([0, 0, 4, 0xc0, 0x2b, 0xc0, 0x2f, 1, 0]);
    // Signature algorithms, groups, point formats.
    let extensions: [&[u8]; 3] =
        [&[0, 13, 0, 8, 0, 6, 4, 3, 8, 4, 4, 1], &[0, 10, 0, 4, 0, 2, 0, 29], &[0, 11, 0, 2, 1, 0]];
    hello.extend([0, u8::try_from(extensions.concat().len()).expect("short extensions")]);
    hello.extend(extensions.concat());
    let length = u8::try_from(hello.len()).expect("a short hello");
    let mut record = vec![HANDSHAKE, 3, minor.min(1), 0, length + 4, 1, 0, 0, length];
    record.extend(hello);
    record
}

/// Plain HTTP at the TLS port gets no HTTP back, and harms nobody.
#[tokio::test]
async fn plain_http_does_not_get_in() {
    let server = over_tls().await;
    let alice = server.agent("@alice.bot").await;
    let mut plain = Connection::open(place(&server, None)).await.expect("a connection");
    plain.send(&alice.request("GET", "/sessions", &[], None)).await.expect("sent");
    let answer = plain.read_to_end().await.expect("an end");
    assert!(!answer.starts_with(b"HTTP") && answer.len() < 16, "an alert at most: {answer:?}");
    alice.get("/sessions").await.ok(200);
}

/// A client that was told of another certificate does not talk to this one.
#[tokio::test]
async fn another_certificate_is_not_trusted() {
    let server = over_tls().await;
    let elsewhere = TempDir::new();
    let other = Certificate::make(elsewhere.path()).trusted(rustls::ALL_VERSIONS);
    let refused = Connection::open(place(&server, Some(other))).await;
    assert!(refused.is_err(), "{refused:?}");
}

/// The commands: `--cacert` names whom to trust, and its absence is explained.
#[tokio::test]
async fn the_commands_speak_tls() {
    let server = over_tls().await;
    let operator = server.operator();
    let cli = Cli::new(&[("PLENARY_URL", &server.url()), ("PLENARY_OPERATOR_TOKEN", operator.token())]);
    let authority = server.certificate().file.to_str().expect("a path of text").to_owned();
    let trusting = ["--cacert", authority.as_str()];
    let with = |args: &[&'static str]| [&trusting[..], args].concat();

    let refused = cli.run(&["agent", "add", "@nick.a"]).await;
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.err.contains("--cacert"), "the next step is named: {refused:?}");
    let elsewhere = TempDir::new();
    let other = Certificate::make(elsewhere.path()).file;
    let other = ["--cacert", other.to_str().expect("a path of text"), "status"];
    assert_eq!(cli.run(&other).await.code, 3, "another authority");

    cli.run_ok(&with(&["agent", "add", "@nick.a", "--policy", "open"])).await;
    let bob = server.agent("@bob.bot").await;
    let mut listening = cli.start(&with(&["--as", "@nick.a", "listen", "--json"]));
    let id = cli.run_ok(&with(&["--as", "@nick.a", "session", "create", "--invite", "@bob.bot"])).await;
    bob.join(&id).await;
    bob.say(&id, "over TLS").await;
    let mut heard = Vec::new();
    while heard.last() != Some(&json!("over TLS")) {
        let event: Value = serde_json::from_str(&listening.line().await).expect("a line is an event");
        assert_eq!(event["sequence"], heard.len() + 1, "{event}");
        heard.push(event["payload"]["content"].clone());
    }
}

/// A key that does not belong to the certificate, or half a pair, is a start that fails and says why.
#[tokio::test]
async fn a_pair_that_does_not_fit_is_no_start() {
    let (one, other) = (TempDir::new(), TempDir::new());
    let (ours, theirs) = (Certificate::make(one.path()), Certificate::make(other.path()));
    let text = |path: &std::path::Path| path.to_str().expect("a path of text").to_owned();
    let (certificate, key, foreign) = (text(&ours.file), text(&ours.key), text(&theirs.key));
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data", ":memory:"];
    let cli = Cli::new(&[]);
    for (pair, words) in [
        (vec!["--tls-cert", &certificate, "--tls-key", &foreign], "key"),
        (vec!["--tls-cert", &key, "--tls-key", &key], "no certificate"),
        (vec!["--tls-cert", &certificate], "--tls-key"),
    ] {
        let refused = cli.run(&[&serve[..], &pair].concat()).await;
        assert_ne!(refused.code, 0, "{pair:?}: {refused:?}");
        assert!(refused.err.contains(words), "{pair:?}: {refused:?}");
        assert!(!refused.out.contains("listening"), "{refused:?}");
    }
}

/// An agent's token works the same on both kinds of server; nothing of it depends on TLS.
#[tokio::test]
async fn the_seed_is_applied_under_tls() {
    let server = Server::builder().tls().seed(json!({"@alice.bot": "alice-token"})).start().await;
    let alice = Agent::new("@alice.bot", server.address().clone(), "alice-token");
    assert_eq!(alice.get("/agents/me").await.ok(200)["handle"], "@alice.bot");
}
