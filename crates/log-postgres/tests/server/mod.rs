//! Stores on the PostgreSQL server of the tests, each in a separate schema.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

pub(crate) mod pooler;
pub(crate) mod relay;

use std::{
    env,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use bytes::Bytes;
use plenary_kernel::TimestampMs;
use plenary_log::{Batch, KeyClaim, NewEvent, OpenedLog, StoredEvent, StreamName};
use plenary_log_postgres::{OpenError, Options};
use tokio_postgres::{Client, NoTls};

/// The URL of a server on which the tests may make schemas and databases.
const SERVER: &str = "PLENARY_TEST_POSTGRES";
/// When set, a missing server is a failure.
const REQUIRE: &str = "PLENARY_TEST_REQUIRE";

/// Whether there is a server.
pub(crate) fn at_hand() -> bool {
    if env::var_os(SERVER).is_some() {
        return true;
    }
    assert!(env::var_os(REQUIRE).is_none(), "{SERVER} is not set: it must name a PostgreSQL server");
    println!("skipped: {SERVER} is not set, so there is no PostgreSQL server to test on");
    false
}

pub(crate) fn url() -> String {
    env::var(SERVER).expect("the server is at hand")
}

/// Runs a case, when there is a server.
pub(crate) fn run(case: impl Future<Output = ()>) {
    if at_hand() {
        plenary_log::conformance::run(case);
    }
}

/// A store in a separate schema, which is dropped with it.
pub(crate) struct TestStore {
    pub(crate) schema: String,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { schema: format!("test_{}_{next}", std::process::id()) }
    }
    pub(crate) fn options(&self) -> Options {
        Options { schema: self.schema.clone(), ..Options::default() }
    }
    pub(crate) async fn open(&self) -> OpenedLog {
        self.try_open(&url()).await.expect("the store opens")
    }
    pub(crate) async fn try_open(&self, url: &str) -> Result<OpenedLog, OpenError> {
        plenary_log_postgres::open(url, self.options()).await
    }
    /// A plain session on the store.
    pub(crate) async fn admin(&self) -> Client {
        let client = admin(&url()).await;
        client
            .batch_execute(&format!("SET search_path TO {}", self.schema))
            .await
            .expect("the session is set up");
        client
    }
    /// Changes one row as a faulty disk would: no trigger sees it.
    pub(crate) async fn damage(&self, sql: &str) {
        let admin = self.admin().await;
        admin.batch_execute("SET session_replication_role = replica").await.expect("the role is taken");
        assert_eq!(admin.execute(sql, &[]).await.expect("the change is made"), 1, "{sql}");
    }
    /// Ends the server's processes of our connections for one purpose; returns their number.
    pub(crate) async fn terminate(&self, admin: &Client, purpose: &str) -> usize {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
        let name = format!("plenary {purpose} {}", self.schema);
        admin.query(sql, &[&name]).await.expect("processes are ended").len()
    }
}

impl Drop for TestStore {
    fn drop(&mut self) {
        let sql = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async {
                let client = admin(&url()).await;
                let _ = client.batch_execute("SET lock_timeout = 5000").await;
                if let Err(error) = client.batch_execute(&sql).await {
                    println!("{sql}: {error:?}");
                }
            });
        });
        let _ = dropping.join();
    }
}

pub(crate) async fn admin(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is there");
    tokio::spawn(connection);
    client
}

pub(crate) fn stream(id: &str) -> StreamName {
    StreamName::new("test.stream", id)
}

/// One event with the text.
pub(crate) fn message(stream: &StreamName, text: &str) -> Batch {
    let envelope = Bytes::copy_from_slice(text.as_bytes());
    let event = NewEvent { kind: "Said", form: 1, envelope, payload: Bytes::new() };
    Batch { events: vec![(stream.clone(), event)], at: TimestampMs(1_700_000_000_000), ..Batch::default() }
}

/// The same, at most once.
pub(crate) fn message_once(stream: &StreamName, text: &str) -> Batch {
    let key = KeyClaim {
        scope: stream.as_str().to_owned(),
        key: text.to_owned(),
        digest: [7; 32],
        outcome: Bytes::copy_from_slice(text.as_bytes()),
    };
    Batch { key: Some(key), ..message(stream, text) }
}

pub(crate) fn text(event: &StoredEvent) -> String {
    String::from_utf8_lossy(&event.envelope).into_owned()
}

/// The next `count` events of a feed.
pub(crate) async fn fed(feed: &mut plenary_log::Feed, count: usize) -> Vec<StoredEvent> {
    let mut events = Vec::with_capacity(count);
    while events.len() < count {
        events.extend(feed.next().await.expect("the feed goes on").iter().cloned());
    }
    events
}

/// Positions rise by one from `first`.
#[track_caller]
pub(crate) fn assert_gapless(events: &[StoredEvent], first: u64) {
    let positions: Vec<_> = events.iter().map(|event| event.position.0).collect();
    let expected: Vec<_> = (first..).take(events.len()).collect();
    assert_eq!(positions, expected);
}

/// Fails a case that waits too long.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.expect("it comes soon")
}
