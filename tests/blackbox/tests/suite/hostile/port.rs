//! A stranger that listens at the port of a server of this machine: it gets no token before it has proved that it knows it.

use std::{
    net::{Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use blackbox::{Cli, Relay, Server};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::connect::{home, server};

/// Answers everything as a server might, and keeps what it heard.
struct Stranger {
    url: String,
    heard: Arc<Mutex<String>>,
}

impl Stranger {
    async fn listens() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let heard = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    let mut bytes = [0; 4096];
                    while let Ok(1..) = stream.read(&mut bytes).await.inspect(|read| {
                        let text = String::from_utf8_lossy(&bytes[..*read]).into_owned();
                        kept.lock().expect("nobody panics with it").push_str(&text);
                    }) {
                        let body = r#"{"ok":true,"status":"ok","version":"0","uptime_ms":1,"proof":"00"}"#;
                        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                        let _gone = stream.write_all(format!("{head}{body}").as_bytes()).await;
                    }
                });
            }
        });
        Self { url, heard }
    }

    fn heard(&self) -> String {
        self.heard.lock().expect("nobody panics with it").clone()
    }
}

#[tokio::test]
async fn the_operators_token_goes_to_no_stranger() {
    let server = server().await;
    let home = home(&server);
    let token = std::fs::read_to_string(server.data().join("operator-token")).expect("a token");
    let stranger = Stranger::listens().await;
    let ran = home.run(&["--url", &stranger.url, "agent", "list"]).await;
    assert!(ran.code == 4 && ran.err.contains("was sent no token"), "{ran:?}");
    // Nor does the one of the environment; one that is given by hand is a person's word.
    let named = Cli::new(&[("PLENARY_URL", &stranger.url), ("PLENARY_OPERATOR_TOKEN", token.trim())]);
    assert_eq!(named.run(&["agent", "list"]).await.code, 4);
    assert!(stranger.heard().contains("/healthz?challenge="), "{}", stranger.heard());
    assert!(!stranger.heard().contains(token.trim()), "{}", stranger.heard());
    home.run(&["--url", &stranger.url, "--token", token.trim(), "agent", "list"]).await;
    assert!(stranger.heard().contains(token.trim()), "{}", stranger.heard());
    home.run_ok(&["agent", "list"]).await;
}

#[tokio::test]
async fn a_saved_token_goes_to_the_server_that_made_it_and_to_nobody_between() {
    let server = server().await;
    let home = home(&server);
    home.run_ok(&["agent", "add", "@nick.a"]).await;
    let tokens = home.dir().join(".config/plenary/tokens.toml");
    let saved = std::fs::read_to_string(&tokens).expect("saved");
    let secret = saved.split('"').find(|word| word.starts_with("pla_")).expect("a token").to_owned();
    let stranger = Stranger::listens().await;
    std::fs::write(&tokens, saved.replace(&server.url(), &stranger.url)).expect("a file");
    let ran = home.run(&["--url", &stranger.url, "--as", "@nick.a", "me"]).await;
    assert!(ran.code == 4 && ran.err.contains("was sent no token"), "{ran:?}");
    assert!(!stranger.heard().contains(&secret), "{}", stranger.heard());
    // Passing the challenge on to the true server does not help: its answer is for its own port.
    let relay = Relay::to(&server).await;
    std::fs::write(&tokens, saved.replace(&server.url(), &relay.url())).expect("a file");
    let ran = home.run(&["--url", &relay.url(), "--as", "@nick.a", "me"]).await;
    assert_eq!(ran.code, 4, "{ran:?}");
    std::fs::write(&tokens, saved).expect("a file");
    home.run_ok(&["--as", "@nick.a", "me"]).await;
}

/// The first digits of a token's SHA-256, by which a challenge names it.
fn token_key(token: &str) -> String {
    let digest = crate::context::canonical::sha256(token.as_bytes());
    digest.trim_start_matches("sha256:").chars().take(16).collect()
}

#[tokio::test]
async fn only_who_knows_a_token_gets_an_answer_to_a_challenge() {
    let server = Server::start().await;
    let own = server.address().get();
    let nonce = "ab".repeat(32);
    let asked = async |key: &str, address: SocketAddr| {
        let path = format!("/healthz?challenge={nonce}&key={key}&address={address}");
        server.stranger().get(&path).await.ok(200).get("proof").cloned()
    };
    // The first digits of the SHA-256 of the operator's token.
    let key = token_key(server.operator().token());
    let proof = asked(&key, own).await.expect("a proof");
    assert_eq!(proof.as_str().map(str::len), Some(64), "{proof}");
    assert_eq!(asked(&key, own).await, Some(proof), "the same for the same challenge");
    assert_eq!(asked(&key, SocketAddr::new(own.ip(), own.port() ^ 1)).await, None, "another port");
    let mirrored = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), own.port());
    assert_eq!(asked(&key, mirrored).await, None, "the same port at another loopback address");
    assert_eq!(asked("0000000000000000", own).await, None, "a token of nobody");
    assert_eq!(asked("", own).await, None);
    assert_eq!(asked("%00", own).await, None);
    let agent = server.agent("@nick.a").await;
    let key = token_key(agent.token());
    assert!(asked(&key, own).await.is_some());
    server.operator().post_empty("/_admin/agents/@nick.a/rotate-token").await.ok(200);
    assert_eq!(asked(&key, own).await, None, "it holds no more");
}

#[tokio::test]
async fn a_chosen_token_is_long_enough_and_fits_a_header() {
    let server = Server::start().await;
    let make = async |token: &str| {
        server.operator().post("/_admin/agents", json!({"handle": "@nick.a", "token": token})).await
    };
    for wrong in [
        "",
        " ",
        "t\n",
        "x",
        "fifteen-letters",
        "with a space in it",
        "sixteen-letterß",
        "sixteen-letters\u{7f}",
    ] {
        make(wrong).await.assert_refused(400, "invalid_token");
    }
    make("sixteen-letters!").await.ok(201);
    server.bearer("sixteen-letters!").get("/agents/me").await.ok(200);
    let home = Cli::new(&[("PLENARY_OPERATOR_TOKEN", "too-short")]);
    let refused = home.run(&["serve", "--listen", "127.0.0.1:0", "--data", ":memory:"]).await;
    assert!(refused.code == 1 && refused.err.contains("PLENARY_OPERATOR_TOKEN must have 16"), "{refused:?}");
}
