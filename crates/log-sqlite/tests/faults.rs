//! A full store, a failed write, and a write-ahead log under load.

mod directory;

use bytes::Bytes;
use directory::{Directory, Store, message, stream};
use futures_util::future::join_all;
use plenary_kernel::{Position, Version};
use plenary_log::{Batch, Fault, KeyClaim, Outcome, RowOp};
use plenary_log_sqlite::Options;

const MIB: usize = 1 << 20;

fn row(value: Option<Bytes>) -> Batch {
    Batch { rows: vec![RowOp { name: "reserve".to_owned(), expected: None, value }], ..Batch::default() }
}

/// Nothing is written of what does not fit, reads go on, and what frees room heals it without a new start.
#[tokio::test]
async fn a_full_store_refuses_and_heals() {
    let directory = Directory::new();
    let options = Options { pages_max: Some(512), ..Options::default() };
    let Store { log, mut feed, closing } = directory.open(options).expect("the store opens");
    let fed = tokio::spawn(async move {
        let mut count = 0;
        while let Some(events) = feed.next().await {
            count += events.len();
        }
        count
    });
    let a = stream("a");
    log.append(row(Some(vec![0; MIB].into()))).await.expect("it fits");
    let mut accepted = 0_u64;
    let fault = loop {
        let mut batch = message(&a, vec![7; 50_000]);
        let (scope, key) = ("scope".to_owned(), accepted.to_string());
        batch.key = Some(KeyClaim { scope, key, digest: [0; 32], outcome: Bytes::new() });
        match log.append(batch).await {
            Ok(outcome) => assert!(matches!(outcome, Outcome::Appended(_))),
            Err(fault) => break fault,
        }
        accepted += 1;
    };
    assert!(matches!(fault, Fault::Full(_)), "{fault}");
    assert!(accepted > 20, "{accepted}");

    let read = log.read_stream(&a, Version::ZERO, 1_000).await.expect("reads go on");
    assert_eq!(read.len() as u64, accepted);
    assert_eq!(log.head().await.expect("reads go on"), Position(accepted));
    let key = log.read_key("scope", &accepted.to_string()).await.expect("reads go on");
    assert_eq!(key, None, "a batch that did not fit leaves its key free");

    log.append(row(None)).await.expect("what frees room is always written");
    let outcome = log.append(message(&a, vec![8; 50_000])).await.expect("there is room again");
    let Outcome::Appended(appended) = outcome else { panic!("{outcome:?}") };
    assert_eq!(appended.first, Position(accepted + 1), "positions have no gap");
    drop(log);
    closing.wait().await;
    assert_eq!(fed.await.expect("the feed ends") as u64, accepted + 1);
}

/// After a failed write nobody knows what is on disk: the writer ends and says so, reads go on.
#[tokio::test]
async fn a_failed_write_ends_the_writer() {
    let directory = Directory::new();
    let Store { log, mut feed, closing } = directory.open(Options::default()).expect("the store opens");
    let a = stream("a");
    log.append(message(&a, "one")).await.expect("the store works");
    directory.tamper("ALTER TABLE keys RENAME TO elsewhere");
    let mut batch = message(&a, "two");
    let (scope, key) = ("scope".to_owned(), "key".to_owned());
    batch.key = Some(KeyClaim { scope, key, digest: [0; 32], outcome: Bytes::new() });
    let fault = log.append(batch).await.expect_err("the write fails");
    assert!(matches!(fault, Fault::OutcomeUnknown(_)), "{fault:?}");
    assert_eq!(log.failed().await, fault);
    closing.wait().await;
    let fault = log.append(message(&a, "three")).await.expect_err("the writer has ended");
    assert!(matches!(fault, Fault::Unavailable(_) | Fault::OutcomeUnknown(_)), "{fault:?}");
    assert_eq!(log.read_log(Position::ZERO, 10).await.expect("reads go on").len(), 1);
    assert_eq!(feed.next().await.map(|events| events.len()), Some(1));
    assert!(feed.next().await.is_none());
    drop(log);
    directory.tamper("ALTER TABLE elsewhere RENAME TO keys");
    let store = directory.open(Options::default()).expect("the store opens again");
    assert_eq!(store.log.read_log(Position::ZERO, 10).await.expect("the store works").len(), 1);
    store.close().await;
}

/// Large groups are split, and the write-ahead log stays under its cap while readers are at work.
#[tokio::test]
async fn the_write_ahead_log_stays_short() {
    const COUNT: usize = 96;
    const WAL_BYTES_MAX: u64 = 64 << 20;
    let directory = Directory::new();
    let Store { log, mut feed, closing } = directory.open(Options::default()).expect("the store opens");
    let fed = tokio::spawn(async move { while feed.next().await.is_some() {} });
    let reader = {
        let log = log.clone();
        tokio::spawn(async move {
            let mut seen = Position::ZERO;
            while seen < Position(COUNT as u64) {
                let page = log.read_log(seen, 3).await.expect("the store works");
                seen = page.last().map_or(seen, |event| event.position);
                tokio::task::yield_now().await;
            }
        })
    };
    let payload = Bytes::from(vec![9; MIB]);
    let slots = join_all((0..COUNT).map(|_| log.reserve())).await;
    let pending: Vec<_> = slots
        .into_iter()
        .zip(0..)
        .map(|(slot, n)| {
            slot.expect("the store works").submit(message(&stream(&(n % 3).to_string()), payload.clone()))
        })
        .collect();
    for outcome in join_all(pending).await {
        assert!(matches!(outcome, Ok(Outcome::Appended(_))), "{outcome:?}");
    }
    reader.await.expect("the reader sees everything");
    let wal = std::fs::metadata(directory.file("plenary.db-wal")).expect("it is there").len();
    assert!(wal < WAL_BYTES_MAX, "{wal}");
    drop(log);
    fed.await.expect("the feed ends");
    closing.wait().await;
}
