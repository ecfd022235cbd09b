//! A replica that is damaged anywhere: the node has every record again, at the latest after its next starts. Only damage
//! of an index has no checksum that a read would look at; the audit finds it.

use std::{fs, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use plenary_journal::memory::Memory;
use plenary_kernel::{TimestampMs, Version};
use plenary_log::{Batch, Fault, KeyClaim, Log, NewEvent, OpenedLog, StreamName};
use plenary_log_cluster::{Journals, OpenError, Options, StoreClose, open};
use plenary_log_sqlite::{DATABASE_FILE, audit};
use tokio::time::sleep;

/// Events that the file holds, each in a stream of its own.
const EVENTS: u64 = 60;
/// The size of a page of the file.
const PAGE_BYTES: usize = 8_192;
/// So often a supervisor starts a node that ends.
const STARTS_MAX: usize = 4;

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
    let options = Options { poll: Duration::from_millis(50), ..Options::default() };
    let (OpenedLog { log, mut feed }, closing) = open(directory, journals, options).await?;
    tokio::spawn(async move { while feed.next().await.is_some() {} });
    Ok(Node { log, closing })
}

fn stream(nth: u64) -> StreamName {
    StreamName::new("test.stream", &nth.to_string())
}

fn text(nth: u64) -> Bytes {
    Bytes::from(format!("{nth} ").repeat(150))
}

impl Node {
    async fn append(&self, nth: u64) -> Result<(), Fault> {
        let event = NewEvent { kind: "Said", form: 1, envelope: text(nth), payload: Bytes::new() };
        let key = KeyClaim {
            scope: "test".into(),
            key: nth.to_string(),
            digest: [7; 32],
            outcome: Bytes::from_static(b"said"),
        };
        let events = vec![(stream(nth), event)];
        self.log.append(Batch { events, key: Some(key), at: TimestampMs(1), ..Batch::default() }).await?;
        Ok(())
    }

    /// Whether each of the first events is there, and its key; an event that is there must be right.
    async fn has_all(&self, count: u64) -> Result<bool, Fault> {
        for nth in 0..count {
            let events = self.log.read_stream(&stream(nth), Version::ZERO, 10).await?;
            let texts: Vec<_> = events.iter().map(|event| event.envelope.clone()).collect();
            assert!(texts.is_empty() || texts == [text(nth)], "event {nth}: {texts:?}");
            if texts.is_empty() || self.log.read_key("test", &nth.to_string()).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn close(self) {
        self.log.close().await;
        drop(self.log);
        self.closing.wait().await;
    }
}

/// A journal with a replica, and the bytes of its closed file.
struct Scene {
    directory: tempfile::TempDir,
    journal: Memory,
    file: Vec<u8>,
    count: u64,
}

impl Scene {
    async fn set() -> Self {
        let (directory, journal) = (tempfile::tempdir().expect("a directory"), Memory::new());
        let node = try_node(directory.path(), &journal).await.expect("the node starts");
        for nth in 0..EVENTS {
            node.append(nth).await.expect("said");
        }
        node.close().await;
        let file = fs::read(directory.path().join(DATABASE_FILE)).expect("the file is there");
        Self { directory, journal, file, count: EVENTS }
    }

    /// The node is started on this file, again and again, until it reads and writes everything.
    async fn comes_back(&mut self, file: &[u8], what: &str) {
        for entry in fs::read_dir(self.directory.path()).expect("a directory").flatten() {
            fs::remove_file(entry.path()).expect("only files");
        }
        fs::write(self.directory.path().join(DATABASE_FILE), file).expect("the file is written");
        let mut trouble = Vec::new();
        for _ in 0..STARTS_MAX {
            let node = match try_node(self.directory.path(), &self.journal).await {
                Ok(node) => node,
                Err(error) => {
                    trouble.push(error.to_string());
                    // A node that ended lets go of the directory when its last task has ended.
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let done = match node.has_all(self.count).await {
                Ok(true) => node.append(self.count).await.map(|()| true),
                other => other,
            };
            node.close().await;
            match done {
                Ok(true) => {
                    self.count += 1;
                    return;
                }
                Ok(false) => {
                    let audit = audit(self.directory.path()).expect("it can be audited");
                    assert!(!audit.is_sound(), "{what}: something is missing, and the audit finds nothing");
                    return;
                }
                Err(fault) => trouble.push(fault.to_string()),
            }
        }
        panic!("{what}: the node does not come back: {trouble:#?}");
    }
}

#[tokio::test]
async fn a_flipped_bit_anywhere_in_a_replica_is_survived() {
    let mut scene = Scene::set().await;
    let file = scene.file.clone();
    // The format and the owner of a file are in its head: a node does not touch a file of another program or release.
    let is_owner = |at: &usize| (60..64).contains(at) || (68..72).contains(at);
    let head = (0..100).step_by(3).filter(|at| !is_owner(at));
    // The names and types of tables and columns are in the first page.
    let schema = (100..PAGE_BYTES).step_by(61);
    for at in head.chain(schema).chain((PAGE_BYTES..file.len()).step_by(file.len() / 100)) {
        let mut damaged = file.clone();
        // The high bit makes text invalid, and a lower one makes it another text.
        damaged[at] ^= if at % 2 == 0 { 0x80 } else { 0x10 };
        scene.comes_back(&damaged, &format!("bit of byte {at}")).await;
    }
}

#[tokio::test]
async fn a_replica_cut_anywhere_is_built_again() {
    let mut scene = Scene::set().await;
    let file = scene.file.clone();
    for part in 0..30 {
        let length = file.len() * part / 30 + part % 7;
        scene.comes_back(&file[..length], &format!("{length} bytes of {}", file.len())).await;
    }
}

#[tokio::test]
async fn a_mark_that_is_damaged_itself_is_a_mark() {
    let scene = Scene::set().await;
    for mark in [&b"damaged"[..], b"", b"\xff\xfe"] {
        fs::write(scene.directory.path().join("replica.damaged"), mark).expect("the mark is written");
        let node = try_node(scene.directory.path(), &scene.journal).await.expect("the node starts");
        assert!(node.has_all(EVENTS).await.expect("read"));
        node.close().await;
        assert!(!scene.directory.path().join("replica.damaged").exists());
    }
    let names = fs::read_dir(scene.directory.path()).expect("a directory").flatten();
    let names: Vec<_> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let is_aside = |nth: &usize| names.contains(&format!("{DATABASE_FILE}.aside-{nth}"));
    assert_eq!((1..=9).filter(is_aside).count(), 3, "each marked replica was set aside: {names:?}");
}
