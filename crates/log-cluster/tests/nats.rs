//! The backend passes the log's suite over the journals of a real NATS server, one server a case; and what a journal must
//! do is asked of it beside.
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

use std::{
    env,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use plenary_journal::{
    Hint, Journal, PublishError, Record,
    jetstream::{Nats, OpenError, Options as NatsOptions, Retention, UnsuitableServers},
};
use plenary_log::{OpenedLog, conformance};
use plenary_log_cluster::{Journals, Options, StoreClose, open};

/// The path of a `nats-server`; it must be there, but in a quick run.
const BINARY: &str = "PLENARY_TEST_NATS";
const QUICK: &str = "PLENARY_TEST_QUICK";

/// A server with nothing in it, ended when dropped.
struct Server {
    url: String,
    child: Child,
    directory: tempfile::TempDir,
}

fn is_requested() -> bool {
    if env::var_os(BINARY).is_none() && env::var_os(QUICK).is_some() {
        println!("skipped: {QUICK} is set, and {BINARY} is not");
        return false;
    }
    true
}

impl Server {
    fn start() -> Self {
        let binary = env::var_os(BINARY).expect("PLENARY_TEST_NATS names a nats-server");
        let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = port.expect("a port is free").port();
        let directory = tempfile::tempdir().expect("a directory");
        let store = directory.path().join("nats");
        let conf = directory.path().join("nats.conf");
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\nmax_payload: 8388608\njetstream {{ store_dir: {store:?}, sync_interval: always }}\n"
        );
        std::fs::write(&conf, text).expect("the configuration is written");
        let mut command = Command::new(binary);
        command.arg("-c").arg(conf).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("nats-server starts");
        Self { url: format!("nats://127.0.0.1:{port}"), child, directory }
    }

    async fn connect(&self, dev: bool) -> Result<Nats, OpenError> {
        let options = NatsOptions { network: "t".into(), dev, start_wait: Duration::from_secs(30) };
        Nats::connect(&self.url, options).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct OnNats {
    server: Server,
    nodes: AtomicUsize,
    closing: Mutex<Vec<StoreClose>>,
}

impl OnNats {
    fn replica(&self) -> PathBuf {
        let nth = self.nodes.fetch_add(1, Ordering::Relaxed);
        self.server.directory.path().join(nth.to_string())
    }
}

impl conformance::Store for OnNats {
    fn at_hand() -> bool {
        is_requested()
    }
    async fn fresh() -> Self {
        Self { server: Server::start(), nodes: AtomicUsize::new(0), closing: Mutex::default() }
    }
    async fn open(&self) -> OpenedLog {
        let nats = self.server.connect(true).await.expect("the server answers");
        let log = nats.journal("log", Retention::Forever).await.expect("the journal opens");
        let signals = nats.journal("signals", Retention::Shortly).await.expect("the journal opens");
        let peers = Arc::new(nats.peers("log"));
        let journals = Journals { log: Arc::new(log), signals: Arc::new(signals), peers };
        let opened = open(&self.replica(), journals, Options::default()).await;
        let (opened, closing) = opened.expect("the node starts");
        self.closing.lock().expect("no panic held it").push(closing);
        opened
    }
    async fn closed(&self) {
        let closing = std::mem::take(&mut *self.closing.lock().expect("no panic held it"));
        for closing in closing {
            closing.wait().await;
        }
        self.nodes.store(0, Ordering::Relaxed);
    }
}

plenary_log::conformance!(OnNats, durable, shared);

/// Records are fenced, read back and hinted as the trait says.
#[test]
fn a_journal_is_fenced_and_read_by_numbers() {
    if !is_requested() {
        return;
    }
    conformance::run(async {
        let server = Server::start();
        let nats = server.connect(true).await.expect("the server answers");
        let journal = nats.journal("log", Retention::Forever).await.expect("the journal opens");
        // A connection does not hear its own hints.
        let other = server.connect(true).await.expect("the server answers");
        let other = other.journal("log", Retention::Forever).await.expect("the journal opens");
        let mut hints = other.hints().await.expect("it hints");
        for (after, body) in [(0, "a"), (1, "b")] {
            journal.publish(after, body.into()).await.expect("it is the next");
        }
        for after in [0, 1, 3] {
            assert_eq!(journal.publish(after, "x".into()).await, Err(PublishError::Conflict));
        }
        let too_large = Bytes::from(vec![0; plenary_journal::RECORD_BYTES_MAX + 1]);
        let size = too_large.len();
        assert_eq!(journal.publish(2, too_large).await, Err(PublishError::TooLarge(size)));
        let largest = Bytes::from(vec![7; plenary_journal::RECORD_BYTES_MAX]);
        journal.publish(2, largest.clone()).await.expect("it is taken");
        let record =
            |sequence, body: &str| Record { sequence, body: Bytes::copy_from_slice(body.as_bytes()) };
        assert_eq!(journal.read(0, 2).await.expect("it reads"), [record(1, "a"), record(2, "b")]);
        assert_eq!(journal.read(2, 9).await.expect("it reads"), [Record { sequence: 3, body: largest }]);
        assert!(journal.read(3, 9).await.expect("it reads").is_empty());
        assert_eq!(hints.next().await, Some(Hint { sequence: 1, body: Some("a".into()) }));
        assert_eq!(hints.next().await, Some(Hint { sequence: 2, body: Some("b".into()) }));
        assert_eq!(
            hints.next().await,
            Some(Hint { sequence: 3, body: None }),
            "a large one goes without its bytes"
        );
    });
}

/// What one server alone keeps is refused, unless it is a trial.
#[test]
fn few_replicas_are_refused() {
    if !is_requested() {
        return;
    }
    conformance::run(async {
        let server = Server::start();
        let trial = server.connect(true).await.expect("the server answers");
        trial.journal("log", Retention::Forever).await.expect("a trial may");
        let nats = server.connect(false).await.expect("the server answers");
        let refused = nats.journal("log", Retention::Forever).await.err();
        assert!(
            matches!(refused, Some(OpenError::UnsuitableServers(UnsuitableServers::Replicas(_, 1)))),
            "{refused:?}"
        );
    });
}
