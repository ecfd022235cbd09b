//! An index follows the log: what was committed is found when somebody waits for it, a restart goes on where the index
//! stands, and one that is ahead of the log is built again.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use async_trait::async_trait;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use plenary_indexing::{CHANGES_MAX, FRESH_WITHIN, Follower, Source};
use plenary_kernel::{Position, TimestampMs};
use plenary_log::{Batch, Fault, Log, NewEvent, StoredEvent, StreamName};
use plenary_retrieval::{
    Answer, Change, Document, Extent, Hit, Index, Kind, PutOutcome, Query, Scope, Section,
};
use tokio::time::{Instant, advance, timeout};

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

/// An index that only notes when it was written, and how many changes.
#[derive(Default)]
struct Notebook {
    writes: Mutex<Vec<(Instant, usize)>>,
    cursor: Mutex<Position>,
}

impl Index for Notebook {
    fn leads(&self) -> Answer<'_, bool> {
        Box::pin(async { Ok(true) })
    }
    fn extent(&self) -> Answer<'_, Extent> {
        Box::pin(async { Ok(Extent { cursor: *self.cursor.lock().unwrap(), documents: 0 }) })
    }
    fn put(&self, changes: Vec<Change>, _: Position, to: Position) -> Answer<'_, PutOutcome> {
        self.writes.lock().unwrap().push((Instant::now(), changes.len()));
        *self.cursor.lock().unwrap() = to;
        Box::pin(async { Ok(PutOutcome::Done) })
    }
    fn clear(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }
    fn search<'a>(&'a self, _: &'a Query, _: &'a Scope, _: usize) -> Answer<'a, Vec<Hit>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

fn holds(stream: &StreamName) -> bool {
    stream.category() == "toy.songs"
}

fn follower(index: &Arc<dyn Index>) -> Arc<Follower> {
    Arc::new(Follower::new(index.clone(), holds, CHANGES_MAX))
}

/// A follower that follows a log with this spacing, and its log.
fn spaced(index: Arc<Notebook>, changes_max: usize, spacing: Duration) -> (Arc<Follower>, Log) {
    let mut opened = plenary_log::open_memory();
    let log = opened.log.clone();
    let follower = Arc::new(Follower::new(index, holds, changes_max).spaced(spacing));
    follow(&follower, &log);
    let feeder = follower.clone();
    tokio::spawn(async move {
        while let Some(events) = opened.feed.next().await {
            feeder.committed(&events);
        }
    });
    (follower, log)
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
    timeout(Duration::from_secs(20), built).await.unwrap();
    assert_eq!(index.extent().await.unwrap().cursor, opened.log.head().await.unwrap());
    follower.close().await.unwrap();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_spaced_index_is_written_seldom_and_at_once_when_somebody_waits_for_it() {
    const SPACING: Duration = Duration::from_secs(1);
    let index = Arc::new(Notebook::default());
    let (follower, log) = spaced(index.clone(), CHANGES_MAX, SPACING);
    for _ in 0..50 {
        append(&log, "toy.songs", "a lark").await;
        advance(Duration::from_millis(100)).await;
    }
    let writes = index.writes.lock().unwrap().clone();
    assert!((4..=6).contains(&writes.len()), "{writes:?}");
    assert!(writes.windows(2).all(|pair| pair[1].0 - pair[0].0 >= SPACING * 3 / 4), "{writes:?}");

    for _ in 0..3 {
        append(&log, "toy.songs", "a lark").await;
        let head = log.head().await.unwrap();
        let asked = Instant::now();
        assert!(follower.until(head, FRESH_WITHIN).await);
        assert!(asked.elapsed() < SPACING / 4, "{:?}", asked.elapsed());
        assert_eq!((*index.cursor.lock().unwrap(), follower.lag().get()), (head, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn many_events_are_written_without_a_wait() {
    const MANY: usize = 10;
    let index = Arc::new(Notebook::default());
    let (_follower, log) = spaced(index.clone(), MANY, Duration::from_secs(86_400));
    for _ in 0..5 * MANY {
        append(&log, "toy.songs", "a lark").await;
    }
    let written = || index.writes.lock().unwrap().iter().map(|(_, changes)| changes).sum::<usize>();
    let are_few_left = async {
        while written() <= 4 * MANY {
            advance(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(60), are_few_left).await.unwrap();
}
