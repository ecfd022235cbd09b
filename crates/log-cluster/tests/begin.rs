//! A cluster's log that begins with the content of a store, also if the beginning is interrupted.

use std::{fs, path::Path, sync::Arc};

use bytes::Bytes;
use plenary_journal::{Journal as _, memory::Memory};
use plenary_kernel::{TimestampMs, Version};
use plenary_log::{Batch, NewEvent, OpenedLog, StreamName};
use plenary_log_cluster::{BeginError, Journals, OpenError, Options, begin, open};

/// Events of a store; each fills a record of the journal.
const EVENTS: u64 = 5;

fn stream() -> StreamName {
    StreamName::new("test.stream", "a")
}

/// A store with some events that begin with this letter.
async fn store(directory: &Path, letter: u8) {
    let opened = plenary_log_sqlite::open(directory, plenary_log_sqlite::Options::default());
    let (OpenedLog { log, feed }, closing) = opened.expect("a new store");
    drop(feed);
    for _ in 0..EVENTS {
        let payload = Bytes::from(vec![letter; 200 << 10]);
        let event = NewEvent { kind: "Said", form: 1, envelope: Bytes::new(), payload };
        let batch = Batch { events: vec![(stream(), event)], at: TimestampMs(1), ..Batch::default() };
        log.append(batch).await.expect("it is written");
    }
    log.close().await;
    drop(log);
    closing.wait().await;
}

fn copy(from: &Path, to: &Path) {
    for file in fs::read_dir(from).expect("the store is there") {
        let file = file.expect("a file");
        fs::copy(file.path(), to.join(file.file_name())).expect("it is copied");
    }
}

/// The events that a new node has, or why it does not start.
async fn events(journal: &Memory) -> Result<usize, OpenError> {
    let directory = tempfile::tempdir().expect("a directory");
    let journals = Journals {
        log: Arc::new(journal.clone()),
        signals: Arc::new(Memory::new()),
        peers: Arc::new(journal.clone()),
    };
    let (OpenedLog { log, .. }, closing) = open(directory.path(), journals, Options::default()).await?;
    let events = log.read_stream(&stream(), Version::ZERO, 100).await.expect("it reads");
    log.close().await;
    drop(log);
    closing.wait().await;
    Ok(events.len())
}

#[tokio::test]
async fn no_node_starts_on_a_part_of_a_store_and_the_command_goes_on_with_it() {
    let (first, again) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let journal = Memory::new();
    store(first.path(), b'a').await;
    copy(first.path(), again.path());
    let whole = begin(&journal, first.path()).await.expect("it begins").records;
    assert!(whole > 2, "{whole}");
    journal.cut(1);
    assert!(matches!(events(&journal).await, Err(OpenError::Unfinished)));

    let other = tempfile::tempdir().expect("a directory");
    store(other.path(), b'b').await;
    assert!(matches!(begin(&journal, other.path()).await, Err(BeginError::NotEmpty(1))));
    assert_eq!(journal.extent().await.expect("it answers").last, 1, "nothing was added");

    // An attempt that ended before the store was renamed has nothing to add.
    let third = tempfile::tempdir().expect("a directory");
    copy(again.path(), third.path());
    for directory in [again, third] {
        assert_eq!(begin(&journal, directory.path()).await.expect("it goes on").records, whole);
    }
    assert_eq!(events(&journal).await.expect("a node starts"), usize::try_from(EVENTS).expect("a few"));
}
