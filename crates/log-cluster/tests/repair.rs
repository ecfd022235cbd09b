//! Faults of the journal, and replicas that are not what the journal has.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use plenary_journal::{
    Answer, Extent, Hints, Journal, PublishError, ReadError, Record,
    memory::{Memory, Rig},
};
use plenary_kernel::{TimestampMs, Version};
use plenary_log::{Batch, Fault, Log, NewEvent, OpenedLog, Outcome, StreamName};
use plenary_log_cluster::{Journals, OpenError, Options, SETTLE_MAX, StoreClose, open, verify};

struct Node {
    log: Log,
    closing: StoreClose,
}

async fn try_node(directory: &Path, journal: &Memory) -> Result<Node, OpenError> {
    let journals = Journals {
        log: Arc::new(journal.clone()),
        signals: Arc::new(Memory::new()),
        peers: Arc::new(journal.clone()),
    };
    let options = Options {
        poll: Duration::from_millis(50),
        fresh_wait: Duration::from_millis(100),
        ..Options::default()
    };
    let (OpenedLog { log, mut feed }, closing) = open(directory, journals, options).await?;
    tokio::spawn(async move { while feed.next().await.is_some() {} });
    Ok(Node { log, closing })
}

async fn node(directory: &Path, journal: &Memory) -> Node {
    try_node(directory, journal).await.expect("the node starts")
}

impl Node {
    async fn close(self) {
        self.log.close().await;
        drop(self.log);
        self.closing.wait().await;
    }
    async fn append(&self, text: &str) -> Result<Outcome, Fault> {
        let event = NewEvent {
            kind: "Said",
            form: 1,
            envelope: Bytes::copy_from_slice(text.as_bytes()),
            payload: Bytes::new(),
        };
        self.log
            .append(Batch { events: vec![(stream(), event)], at: TimestampMs(1), ..Batch::default() })
            .await
    }
    async fn texts(&self) -> Vec<String> {
        let events = self.log.read_stream(&stream(), Version::ZERO, 100).await.expect("reads go on");
        events.iter().map(|event| String::from_utf8_lossy(&event.envelope).into_owned()).collect()
    }
}

fn stream() -> StreamName {
    StreamName::new("test.stream", "a")
}

#[track_caller]
fn assert_appended(outcome: Result<Outcome, Fault>) {
    let outcome = outcome.expect("the journal takes it");
    assert!(matches!(outcome, Outcome::Appended(_)), "{outcome:?}");
}

async fn bodies(journal: &Memory) -> usize {
    journal.read(0, 200).await.expect("the journal is well").len()
}

#[tokio::test]
async fn a_lost_acknowledgement_is_written_once() {
    let (directory, journal) = (tempfile::tempdir().expect("a directory"), Memory::new());
    let node = node(directory.path(), &journal).await;
    for (rig, text) in [(Rig::LoseAnswers(1), "a"), (Rig::LosePublications(2), "b"), (Rig::Conflict(2), "c")]
    {
        journal.rig(rig);
        assert_appended(node.append(text).await);
    }
    assert_eq!(node.texts().await, ["a", "b", "c"]);
    assert_eq!(bodies(&journal).await, 4, "one took the pen");
    node.close().await;
}

#[tokio::test]
async fn a_node_that_is_cut_off_reads_on_and_comes_back() {
    let (directory, journal) = (tempfile::tempdir().expect("a directory"), Memory::new());
    let node = node(directory.path(), &journal).await;
    assert_appended(node.append("a").await);
    journal.rig(Rig::Stall(true));
    let unknown = node.append("b").await;
    assert!(matches!(unknown, Err(Fault::OutcomeUnknown(_))), "{unknown:?}");
    let refused = node.append("c").await;
    assert!(
        matches!(refused, Err(Fault::Unavailable(_))),
        "what is not sent is known not to be there: {refused:?}"
    );
    assert_eq!(node.texts().await, ["a"], "reads go on");
    journal.rig(Rig::Stall(false));
    assert_appended(node.append("d").await);
    let texts = node.texts().await;
    assert!(texts == ["a", "d"] || texts == ["a", "b", "d"], "{texts:?}");
    node.close().await;
}

/// The journal answers, but takes no record.
#[tokio::test]
async fn an_append_behind_another_is_refused_after_its_own_time() {
    let (directory, journal) = (tempfile::tempdir().expect("a directory"), Memory::new());
    let node = node(directory.path(), &journal).await;
    assert_appended(node.append("a").await);
    journal.rig(Rig::LosePublications(usize::MAX));
    let mut first = Box::pin(node.append("b"));
    let early = tokio::time::timeout(Duration::from_millis(500), &mut first).await;
    assert!(early.is_err(), "its record is on the way: {early:?}");
    tokio::time::pause();
    let waiting_since = tokio::time::Instant::now();
    let (first, second) = tokio::join!(first, node.append("c"));
    assert!(matches!(first, Err(Fault::OutcomeUnknown(_))), "{first:?}");
    assert!(matches!(second, Err(Fault::Unavailable(_))), "{second:?}");
    let waited = waiting_since.elapsed();
    assert!(waited < SETTLE_MAX + Duration::from_secs(1), "{waited:?}");
    tokio::time::resume();
    journal.rig(Rig::LosePublications(0));
    node.close().await;
}

#[tokio::test]
async fn a_short_or_missing_replica_follows_the_journal() {
    let (directory, journal) = (tempfile::tempdir().expect("a directory"), Memory::new());
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    let first = node(&one, &journal).await;
    assert_appended(first.append("a").await);
    first.close().await;
    let second = node(&two, &journal).await;
    assert_appended(second.append("b").await);
    let first = node(&one, &journal).await;
    assert_eq!(first.texts().await, ["a", "b"]);
    first.close().await;
    let verified = verify(&journal, &one).await.expect("both can be read");
    assert_eq!((verified.records, verified.replicated, verified.findings.len()), (4, 4, 0));
    second.close().await;
}

#[tokio::test]
async fn a_journal_that_lost_its_end_is_refused() {
    let (directory, journal) = (tempfile::tempdir().expect("a directory"), Memory::new());
    let started = node(directory.path(), &journal).await;
    for text in ["a", "b", "c"] {
        assert_appended(started.append(text).await);
    }
    started.close().await;
    journal.cut(3);
    tokio::time::pause();
    let refused = try_node(directory.path(), &journal).await.err();
    assert!(matches!(refused, Some(OpenError::JournalShort { journal: 3, replica: 4 })), "{refused:?}");
    let verified = verify(&journal, directory.path()).await.expect("both can be read");
    assert_eq!((verified.records, verified.replicated), (3, 3));
    assert_eq!(verified.findings, ["the replica has record 4, and the journal ends at 3"]);
}

#[tokio::test]
async fn another_record_in_the_journal_is_found() {
    let (directory, journal) = (tempfile::tempdir().expect("a directory"), Memory::new());
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    let first = node(&one, &journal).await;
    for text in ["a", "b", "c"] {
        assert_appended(first.append(text).await);
    }
    first.close().await;
    journal.tamper(2, Bytes::from_static(b"x"));
    let verified = verify(&journal, &one).await.expect("both can be read");
    assert_eq!(verified.findings.len(), 1, "{verified:?}");
    let refused = try_node(&two, &journal).await.err();
    assert!(matches!(refused, Some(OpenError::Damage(_))), "{refused:?}");
}

/// A journal that takes ten seconds for each record, and fails at every third read.
struct Slow {
    journal: Memory,
    reads: AtomicUsize,
}

impl Journal for Slow {
    fn publish(&self, after: u64, body: Bytes) -> Answer<'_, Result<(), PublishError>> {
        self.journal.publish(after, body)
    }
    fn read(&self, after: u64, _max: usize) -> Answer<'_, Result<Vec<Record>, ReadError>> {
        Box::pin(async move {
            tokio::time::advance(Duration::from_secs(10)).await;
            if self.reads.fetch_add(1, Ordering::Relaxed) % 3 == 2 {
                return Err(ReadError::Unavailable("it elects a leader".into()));
            }
            self.journal.read(after, 1).await
        })
    }
    fn extent(&self) -> Answer<'_, Result<Extent, ReadError>> {
        self.journal.extent()
    }
    fn hints(&self) -> Answer<'_, Result<Hints, ReadError>> {
        self.journal.hints()
    }
}

#[tokio::test]
async fn a_new_node_that_reads_for_long_outlives_each_time_the_journal_is_away() {
    let (old, new) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let journal = Memory::new();
    let writer = node(old.path(), &journal).await;
    for text in ["a", "b", "c", "d", "e"] {
        writer.append(text).await.expect("said");
    }
    writer.close().await;
    tokio::time::pause();
    let slow = Slow { journal: journal.clone(), reads: AtomicUsize::new(0) };
    let journals =
        Journals { log: Arc::new(slow), signals: Arc::new(Memory::new()), peers: Arc::new(journal.clone()) };
    let (opened, _closing) = open(new.path(), journals, Options::default()).await.expect("the node starts");
    tokio::time::resume();
    let events = opened.log.read_stream(&stream(), Version::ZERO, 100).await.expect("read");
    assert_eq!(events.len(), 5);
}
