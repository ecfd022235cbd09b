//! One node at a time has the pen: the others ask it, it is replaced when it goes or falls silent, and nothing is written
//! twice or lost on the way.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use plenary_journal::{
    Journal as _,
    memory::{Memory, Rig},
};
use plenary_kernel::{TimestampMs, Version};
use plenary_log::{Batch, Condition, Fault, KeyClaim, Log, NewEvent, OpenedLog, Outcome, StreamName};
use plenary_log_cluster::{Journals, Keep, Options, StoreClose, open};

struct Node {
    log: Log,
    closing: StoreClose,
    _directory: tempfile::TempDir,
}

async fn node(journal: &Memory, keep: Keep) -> Node {
    let directory = tempfile::tempdir().expect("a directory");
    let shared = Arc::new(journal.clone());
    let journals = Journals { log: shared.clone(), signals: Arc::new(Memory::new()), peers: shared };
    let options = Options {
        keep,
        poll: Duration::from_millis(50),
        fresh_wait: Duration::from_millis(200),
        ..Options::default()
    };
    let opened = open(directory.path(), journals, options).await.expect("the node starts");
    let (OpenedLog { log, mut feed }, closing) = opened;
    tokio::spawn(async move { while feed.next().await.is_some() {} });
    Node { log, closing, _directory: directory }
}

fn stream() -> StreamName {
    StreamName::new("test.stream", "a")
}

fn batch(text: &str) -> Batch {
    let event = NewEvent {
        kind: "Said",
        form: 1,
        envelope: Bytes::copy_from_slice(text.as_bytes()),
        payload: Bytes::new(),
    };
    let digest = [1; 32];
    let key = KeyClaim { scope: "s".into(), key: text.to_owned(), digest, outcome: Bytes::new() };
    Batch { events: vec![(stream(), event)], at: TimestampMs(1), key: Some(key), ..Batch::default() }
}

impl Node {
    async fn append(&self, text: &str) -> Result<Outcome, Fault> {
        self.log.append(batch(text)).await
    }
    #[track_caller]
    fn assert_appended(outcome: Result<Outcome, Fault>) {
        let outcome = outcome.expect("somebody has the pen");
        assert!(matches!(outcome, Outcome::Appended(_)), "{outcome:?}");
    }
    async fn texts(&self) -> Vec<String> {
        let events = self.log.read_stream(&stream(), Version::ZERO, 1_000).await.expect("reads go on");
        events.iter().map(|event| String::from_utf8_lossy(&event.envelope).into_owned()).collect()
    }
    async fn close(self) {
        self.log.close().await;
        drop(self.log);
        self.closing.wait().await;
    }
}

async fn records(journal: &Memory) -> u64 {
    journal.extent().await.expect("the journal is well").last
}

#[tokio::test]
async fn appends_of_two_nodes_take_one_record_each_and_the_pen_once() {
    let journal = Memory::new();
    let (one, two) = (node(&journal, Keep::Two).await, node(&journal, Keep::Two).await);
    let mut expected = Vec::new();
    for n in 0..20 {
        let text = n.to_string();
        Node::assert_appended(if n % 2 == 0 { &one } else { &two }.append(&text).await);
        expected.push(text);
    }
    assert_eq!((one.texts().await, two.texts().await), (expected.clone(), expected));
    assert_eq!(records(&journal).await, 21, "nobody competed");
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_refusal_is_the_same_at_every_node() {
    let journal = Memory::new();
    let (one, two) = (node(&journal, Keep::Two).await, node(&journal, Keep::Two).await);
    Node::assert_appended(one.append("a").await);
    for node in [&one, &two] {
        let again = node.append("a").await.expect("answered");
        assert_eq!(again, Outcome::AlreadyDone { outcome: Bytes::new() });
        let stale = Batch { conditions: vec![Condition::at(stream(), Version(7))], ..batch("b") };
        let refused = node.log.append(stale).await.expect("answered");
        assert_eq!(refused, Outcome::Conflict { stream: stream(), actual: Version(1) });
    }
    assert_eq!(records(&journal).await, 2, "a refusal writes nothing");
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_node_that_shuts_down_passes_on_the_pen_at_once() {
    let journal = Memory::new();
    let (one, two) = (node(&journal, Keep::Two).await, node(&journal, Keep::Two).await);
    Node::assert_appended(one.append("a").await);
    Node::assert_appended(two.append("b").await);
    one.close().await;
    let started_at = tokio::time::Instant::now();
    Node::assert_appended(two.append("c").await);
    assert!(started_at.elapsed() < Duration::from_millis(1_500), "it was not missed first");
    assert_eq!(two.texts().await, ["a", "b", "c"]);
    two.close().await;
}

#[tokio::test]
async fn lost_messages_between_nodes_lose_no_append() {
    let journal = Memory::new();
    let (one, two) = (node(&journal, Keep::Two).await, node(&journal, Keep::Two).await);
    Node::assert_appended(one.append("a").await);
    for n in 0..3 {
        journal.rig(Rig::LoseMessages(2));
        Node::assert_appended(two.append(&n.to_string()).await);
    }
    assert_eq!(two.texts().await, ["a", "0", "1", "2"]);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn nodes_that_do_not_hear_each_other_take_the_pen_in_turn() {
    let journal = Memory::new();
    let (one, two) = (node(&journal, Keep::Two).await, node(&journal, Keep::Two).await);
    Node::assert_appended(one.append("a").await);
    journal.rig(Rig::Deaf(true));
    Node::assert_appended(two.append("b").await);
    Node::assert_appended(one.append("c").await);
    journal.rig(Rig::Deaf(false));
    Node::assert_appended(two.append("d").await);
    assert_eq!(one.texts().await, ["a", "b", "c", "d"]);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_pen_whose_answers_are_lost_writes_once() {
    let journal = Memory::new();
    let (one, two) = (node(&journal, Keep::Two).await, node(&journal, Keep::Two).await);
    Node::assert_appended(one.append("a").await);
    for (n, rig) in [Rig::LoseAnswers(2), Rig::LosePublications(2), Rig::Conflict(2)].into_iter().enumerate()
    {
        journal.rig(rig);
        let (here, there) = (format!("here-{n}"), format!("there-{n}"));
        let (here, there) = tokio::join!(one.append(&here), two.append(&there));
        Node::assert_appended(here);
        Node::assert_appended(there);
    }
    let mut texts = two.texts().await;
    assert_eq!(texts, one.texts().await);
    texts.sort();
    assert_eq!(texts, ["a", "here-0", "here-1", "here-2", "there-0", "there-1", "there-2"]);
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_node_alone_acknowledges_only_where_it_may() {
    let journal = Memory::new();
    let one = node(&journal, Keep::TwoAlways).await;
    let started_at = tokio::time::Instant::now();
    let alone = one.append("a").await;
    assert!(matches!(alone, Err(Fault::OutcomeUnknown(_))), "{alone:?}");
    assert!(started_at.elapsed() >= Duration::from_secs(10));
    let two = node(&journal, Keep::TwoAlways).await;
    Node::assert_appended(one.append("b").await);
    assert_eq!(two.texts().await, ["a", "b"]);
    one.close().await;
    two.close().await;
}
