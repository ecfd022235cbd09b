//! A server that is not ready when the store is opened: opening waits for it, for a limited time.

mod server;

use std::time::Duration;

use plenary_log_postgres::{OpenError, Options, open};
use server::{TestStore, message, pooler, run, soon, stream, url};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_postgres::{Config, config::Host};

/// The error of a server that recovers from a crash.
const STARTING: &[u8] = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";

/// The error of a server whose connections are all in use.
const NO_CONNECTION: &[u8] = b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0";

/// A proxy to the server that answers so many connections with this error.
async fn front(mut refusals: usize, error: &'static [u8]) -> u16 {
    let config: Config = url().parse().expect("the URL is well-formed");
    let [Host::Tcp(host)] = config.get_hosts() else { panic!("the test server must be reached by TCP") };
    let to = (host.clone(), config.get_ports().first().copied().unwrap_or(5432));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            let to = to.clone();
            if refusals > 0 {
                refusals -= 1;
                tokio::spawn(async move { refuse(&mut peer, error).await });
                continue;
            }
            tokio::spawn(async move {
                let mut server = TcpStream::connect(to).await?;
                copy_bidirectional(&mut peer, &mut server).await
            });
        }
    });
    port
}

async fn refuse(peer: &mut TcpStream, error: &[u8]) -> std::io::Result<()> {
    let mut request = [0; 512];
    let _startup = peer.read(&mut request).await?;
    let length = u32::try_from(error.len() + 4).expect("it is short");
    peer.write_all(&[b"E", &length.to_be_bytes()[..], error].concat()).await
}

fn through(port: u16) -> String {
    let config: Config = url().parse().expect("the URL is well-formed");
    let user = config.get_user().unwrap_or("postgres");
    let password = config.get_password().map(String::from_utf8_lossy);
    let password = password.map(|password| format!(":{password}")).unwrap_or_default();
    let name = config.get_dbname().unwrap_or("postgres");
    format!("postgres://{user}{password}@127.0.0.1:{port}/{name}?sslmode=disable")
}

#[test]
fn a_server_that_starts_is_waited_for() {
    run(async {
        for error in [STARTING, NO_CONNECTION] {
            let store = TestStore::new();
            let opened = store.try_open(&through(front(3, error).await)).await.expect("the store opens");
            soon(opened.log.append(message(&stream("a"), "said"))).await.expect("appended");
        }
    });
}

#[test]
fn a_server_that_never_gets_ready_is_given_up() {
    run(async {
        let port = front(usize::MAX, STARTING).await;
        let options = Options { start_wait: Duration::from_millis(400), ..Options::default() };
        let refused = open(&through(port), options).await.err();
        let text = match &refused {
            Some(OpenError::Starting(text)) => text,
            _ => panic!("{refused:?}"),
        };
        assert!(text.contains("starting up"), "{text}");
    });
}

/// The settings, locks and notifications of a session would go to others.
#[test]
fn a_pooler_of_transactions_is_refused() {
    run(async {
        let store = TestStore::new();
        let refused = soon(store.try_open(&pooler::start().await)).await.err();
        let text = match &refused {
            Some(OpenError::Unfit(text)) => text,
            _ => panic!("{refused:?}"),
        };
        assert!(text.contains("pooler"), "{text}");
    });
}
