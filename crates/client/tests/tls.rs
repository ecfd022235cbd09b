//! TLS: the CA file alone decides who is trusted, over HTTP and over WebSocket. The certificates in `tls/` are for
//! this test only: an authority whose key was thrown away, and one server of it, valid for a century.
#![allow(clippy::unwrap_used, reason = "a test's own helpers")]

use std::{path::PathBuf, sync::Arc};

use futures_util::SinkExt;
use plenary_client::{Client, Error, FaultKind, Roots, Signal, live::LiveOptions};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::{accept_async, tungstenite::Message};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

fn acceptor() -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(file("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

async fn port_of(serve_ws: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let Ok(mut tls) = acceptor().accept(tcp).await else { continue };
            if serve_ws {
                let mut ws = accept_async(tls).await.unwrap();
                ws.send(Message::text("{}")).await.unwrap();
                continue;
            }
            let mut request = [0; 4096];
            let _read = tls.read(&mut request).await.unwrap();
            tls.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{\"ok\":true}").await.unwrap();
            tls.flush().await.unwrap();
        }
    });
    port
}

fn client(url: &str, roots: Roots) -> Client {
    Client::builder(url.parse().unwrap()).roots(roots).build().unwrap()
}

#[tokio::test]
async fn a_certificate_of_the_given_authority_is_trusted_by_name_and_by_address() {
    let port = port_of(false).await;
    for host in ["localhost", "127.0.0.1"] {
        let client = client(&format!("https://{host}:{port}"), Roots::File(file("ca.pem")));
        assert!(client.health().await.unwrap().ok);
    }
}

#[tokio::test]
async fn an_unknown_authority_is_a_tls_fault_and_not_tried_again() {
    let port = port_of(false).await;
    // The server's own certificate is no authority.
    let client = client(&format!("https://localhost:{port}"), Roots::File(file("server.pem")));
    let error = client.health().await.unwrap_err();
    assert!(!error.is_transient());
    let Error::Network(fault) = error else { panic!("{error}") };
    assert_eq!(fault.kind, FaultKind::Tls);
}

#[tokio::test]
async fn live_events_come_over_tls_too() {
    let port = port_of(true).await;
    let client = client(&format!("https://localhost:{port}"), Roots::File(file("ca.pem")));
    let mut live = client.live(LiveOptions::default());
    assert!(matches!(live.next().await.unwrap(), Signal::Opened));
    assert!(matches!(live.next().await.unwrap(), Signal::Unreadable(_)));
}
