//! A node whose disk is full says so to operators, with each of its heartbeats.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use plenary_journal::{
    memory::Memory,
    peers::{NodeId, Peers as _},
};
use plenary_kernel::TimestampMs;
use plenary_log::{Batch, Log, NewEvent, OpenedLog, Outcome, StreamName};
use plenary_log_cluster::{Beat, Journals, Keep, Options, open};

const RECORDS: usize = 250;
const RECORD_BYTES: usize = 8 << 10;
/// Enough for a new store, and for half of the records.
const PAGES_MAX: u32 = 150;

async fn node(name: &str, journal: &Memory, pages_max: Option<u32>) -> (Log, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let shared = Arc::new(journal.clone());
    let journals = Journals { log: shared.clone(), signals: Arc::new(Memory::new()), peers: shared };
    let sqlite = plenary_log_sqlite::Options { pages_max, ..plenary_log_sqlite::Options::default() };
    let poll = Duration::from_millis(50);
    let options = Options { name: name.into(), keep: Keep::One, sqlite, poll, ..Options::default() };
    let (OpenedLog { log, mut feed }, _closing) =
        open(directory.path(), journals, options).await.expect("the node starts");
    tokio::spawn(async move { while feed.next().await.is_some() {} });
    (log, directory)
}

#[tokio::test]
async fn a_heartbeat_says_that_the_disk_is_full() {
    let journal = Memory::new();
    let (roomy, _first) = node("roomy", &journal, None).await;
    let payload = Bytes::from(vec![7; RECORD_BYTES]);
    let batch = || {
        let event =
            NewEvent { kind: "Said", form: 1, envelope: Bytes::from_static(b"{}"), payload: payload.clone() };
        Batch {
            events: vec![(StreamName::new("test.stream", "a"), event)],
            at: TimestampMs(1),
            ..Batch::default()
        }
    };
    // The first node has the pen before the other one comes.
    assert!(matches!(roomy.append(batch()).await, Ok(Outcome::Appended(_))));
    let (_full, _second) = node("full", &journal, Some(PAGES_MAX)).await;
    for _ in 1..RECORDS {
        assert!(matches!(roomy.append(batch()).await, Ok(Outcome::Appended(_))));
    }
    let mut beats = journal.listen(NodeId(0)).await.expect("the journal is well");
    let mut is_roomy_heard = false;
    let heard = tokio::time::timeout(Duration::from_secs(30), async {
        while let Some(body) = beats.next().await {
            let Some(beat) = Beat::read(body) else { continue };
            is_roomy_heard |= beat.name == "roomy";
            assert!(beat.name != "roomy" || !beat.is_full, "{beat:?}");
            if beat.name == "full" && beat.is_full && is_roomy_heard {
                return;
            }
        }
    });
    heard.await.expect("it says so");
}
