//! An index follows the log: what was committed is found when somebody waits for it, a restart goes on where the index
//! stands, and one that is ahead of the log is built again.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use async_trait::async_trait;
use std::{sync::Arc, time::Duration};

use plenary_indexing::{CHANGES_MAX, FRESH_WITHIN, Follower, Source};
use plenary_kernel::{Position, TimestampMs};
use plenary_log::{Batch, Fault, Log, NewEvent, StoredEvent, StreamName};
use plenary_retrieval::{Change, Document, Index, Kind, PutOutcome, Query, Scope, Section};

/// Every event's payload is a document on the shelf of its stream.
struct Songs;

#[async_trait]
impl Source for Songs {
    async fn change(&self, event: &StoredEvent) -> Result<Option<Change>, Fault> {
        let text = String::from_utf8(event.payload.to_vec()).unwrap();
        Ok(Some(Change::Put(Document {
            id: event.position.0.to_string(),
            project: event.stream.id().to_owned(),
            created_at_ms: 0,
            is_draft: false,
            sections: vec![Section { kind: Kind::Body, text }],
        })))
    }
}

fn follower(index: &Arc<dyn Index>) -> Arc<Follower> {
    let holds = |stream: &StreamName| stream.category() == "toy.songs";
    Arc::new(Follower::new(index.clone(), holds, CHANGES_MAX))
}

fn follow(follower: &Arc<Follower>, log: &Log) -> tokio::task::JoinHandle<()> {
    let (follower, log) = (follower.clone(), log.clone());
    tokio::spawn(async move { follower.keep_up(&log, &Songs).await })
}

async fn append(log: &Log, category: &str, text: &str) {
    let event =
        NewEvent { kind: "Sung", form: 1, envelope: "".into(), payload: text.as_bytes().to_vec().into() };
    let events = vec![(StreamName::new(category, "s"), event)];
    log.append(Batch { events, at: TimestampMs(1), ..Batch::default() }).await.unwrap();
}

async fn found(index: &Arc<dyn Index>, query: &str) -> usize {
    index.search(&Query::read(query).unwrap(), &Scope::project("s"), 99).await.unwrap().len()
}

#[tokio::test]
async fn committed_events_are_found_after_a_wait() {
    let mut opened = plenary_log::open_memory();
    let index: Arc<dyn Index> = plenary_retrieval_sqlite::open_memory().unwrap();
    let log = opened.log.clone();
    append(&log, "toy.songs", "the first lark").await;
    let first = follower(&index);
    let running = follow(&first, &log);
    let feeder = first.clone();
    let feeding = tokio::spawn(async move {
        while let Some(events) = opened.feed.next().await {
            feeder.committed(&events);
        }
    });
    for nth in 0..20_usize {
        append(&log, "toy.songs", &format!("a lark {nth}")).await;
        append(&log, "toy.dances", "no lark").await;
        assert!(first.until(log.head().await.unwrap(), FRESH_WITHIN).await, "{nth}");
        assert_eq!(found(&index, "lark").await, nth + 2);
        assert_eq!(first.lag().get(), 0);
    }
    let head = log.head().await.unwrap();
    assert!(!first.until(Position(head.0 + 1), Duration::from_millis(300)).await, "nobody can say so");
    feeding.abort();
    running.abort();
    let _ended = (feeding.await, running.await);

    // Another one continues from the cursor of the index.
    append(&log, "toy.songs", "the last lark").await;
    let second = follower(&index);
    let running = follow(&second, &log);
    assert!(second.until(log.head().await.unwrap(), FRESH_WITHIN).await);
    assert_eq!(found(&index, "lark").await, 22);
    second.close().await.unwrap();
    running.await.unwrap();
}

#[tokio::test]
async fn an_index_that_is_ahead_of_the_log_is_built_again() {
    let opened = plenary_log::open_memory();
    let index: Arc<dyn Index> = plenary_retrieval_sqlite::open_memory().unwrap();
    append(&opened.log, "toy.songs", "a lark").await;
    let written = index.put(Vec::new(), Position(0), Position(99)).await.unwrap();
    assert_eq!(written, PutOutcome::Done);
    let follower = follower(&index);
    let running = follow(&follower, &opened.log);
    // How far the index is after that is known once it is built.
    let built = async {
        while found(&index, "lark").await == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), built).await.unwrap();
    assert_eq!(index.extent().await.unwrap().cursor, opened.log.head().await.unwrap());
    follower.close().await.unwrap();
    running.await.unwrap();
}
