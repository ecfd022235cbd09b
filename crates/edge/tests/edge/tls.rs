//! TLS: a round trip, and who does not get in.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use plenary_edge::{Config, TlsFault, TlsFiles, tls_config};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{Client, request, start};

/// A certificate for `localhost` and its key, in two files.
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) der: CertificateDer<'static>,
}

pub(crate) fn pair(name: &str) -> Pair {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let name = format!("{name}-{}", std::process::id());
    let (certificate, key) = (directory.join(format!("{name}.crt")), directory.join(format!("{name}.key")));
    std::fs::write(&certificate, certified.cert.pem()).unwrap();
    std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    Pair { certificate, key, der: certified.cert.der().clone() }
}

pub(crate) fn connector(trusted: CertificateDer<'static>, alpn: &[&[u8]]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn requests_pass_over_tls_and_the_guard_checks_them() {
    let pair = pair("round-trip");
    let tls = Some(tls_config(&pair.certificate, &pair.key).unwrap());
    let server = start(Config { tls, ..Config::default() });
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = Client::new(connector(pair.der, &[]).connect(name, stream).await.unwrap());
    let large = format!("\"{}\"", "x".repeat(300_000));
    for body in ["[1]", large.as_str()] {
        client.send(&request("POST", "/echo", "", body)).await;
        assert_eq!(client.reply().await.body, body);
    }
    client.send(b"GET /ok HTTP/1.1\nHost: a\n\n").await;
    assert_eq!(client.reply().await.status, 400);
    client.closed().await;
}

#[tokio::test]
async fn websockets_pass_over_tls() {
    let pair = pair("websocket");
    let tls = Some(tls_config(&pair.certificate, &pair.key).unwrap());
    let server = start(Config { tls, ..Config::default() });
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = connector(pair.der, &[]).connect(name, stream).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async("ws://localhost/ws", stream).await.unwrap();
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
}

#[tokio::test]
async fn plain_http_and_silence_do_not_get_in() {
    let pair = pair("refused");
    let tls = Some(tls_config(&pair.certificate, &pair.key).unwrap());
    let server = start(Config { tls, handshake_deadline: Duration::from_millis(60), ..Config::default() });
    server.connect().await.closed().await;
    let mut plain = server.connect().await;
    plain.send(&request("GET", "/ok", "", "")).await;
    let mut answer = Vec::new();
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut plain.io, &mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[tokio::test]
async fn tls_on_a_plain_port_gets_an_explanation() {
    let server = start(Config::default());
    let reply = server.once(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).await;
    assert_eq!(reply.status, 400);
    assert!(reply.body.contains("not TLS"), "{}", reply.body);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let (own, other) = (pair("ours"), pair("other"));
    let missing = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("none");
    assert!(matches!(tls_config(&missing, &own.key), Err(TlsFault::Certificate(_))));
    assert!(matches!(tls_config(&own.key, &own.key), Err(TlsFault::NoCertificate)));
    assert!(matches!(tls_config(&own.certificate, &own.certificate), Err(TlsFault::Key(_))));
    assert!(matches!(tls_config(&own.certificate, &other.key), Err(TlsFault::Pair(_))));
}

/// Whether a client that trusts only this certificate gets through.
async fn is_served(address: std::net::SocketAddr, pair: &Pair) -> bool {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    connector(pair.der.clone(), &[]).connect(name, stream).await.is_ok()
}

#[tokio::test]
async fn a_renewed_certificate_is_served_and_one_that_does_not_fit_is_not() {
    let (old, new) = (pair("old"), pair("renewed"));
    let files = TlsFiles::open(&old.certificate, &old.key).unwrap();
    let server = start(Config { tls: Some(files.config().unwrap()), ..Config::default() });
    assert!(is_served(server.address, &old).await);
    assert!(!files.read_again().unwrap(), "nothing has changed");
    std::fs::copy(&new.certificate, &old.certificate).unwrap();
    assert!(matches!(files.read_again(), Err(TlsFault::Pair(_))), "the key is still the old one");
    assert!(!files.read_again().unwrap(), "it is said once");
    assert!(is_served(server.address, &old).await && !is_served(server.address, &new).await);
    std::fs::copy(&new.key, &old.key).unwrap();
    assert!(files.read_again().unwrap());
    assert!(is_served(server.address, &new).await && !is_served(server.address, &old).await);
    std::fs::remove_file(&old.certificate).unwrap();
    assert!(matches!(files.read_again(), Err(TlsFault::Certificate(_))));
    assert!(is_served(server.address, &new).await);
}
