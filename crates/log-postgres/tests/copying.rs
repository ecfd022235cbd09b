//! A store is copied from SQLite to PostgreSQL and back with everything in it; an interrupted copy goes on, and is never a
//! store.

mod server;

use std::{
    future::ready,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use bytes::Bytes;
use futures_util::future::join_all;
use plenary_kernel::{Position, TimestampMs};
use plenary_log::{
    Batch, Charge, IndexOp, KeyClaim, Log, NewEvent, Outcome, RowOp, StoredEvent, Usage,
    copy::{BoxError, CopyDestination, CopyError, CopySource, Part, Records, Step, Until, copy},
};
use plenary_log_postgres::OpenError;
use plenary_log_sqlite as sqlite;
use server::{TestStore, message, message_once, run, soon, stream, url};

/// A directory that is removed when dropped.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("copy-{}-{nth}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
    fn path(&self) -> &Path {
        &self.0
    }
    async fn with(&self, work: impl AsyncFnOnce(&Log)) {
        let (opened, closing) = sqlite::open(&self.0, sqlite::Options::default()).expect("the store opens");
        work(&opened.log).await;
        drop(opened);
        closing.wait().await;
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An end of a copy.
enum End {
    Sqlite(Directory),
    Postgres(TestStore),
}

impl End {
    fn directory() -> Self {
        Self::Sqlite(Directory::new())
    }
    fn schema() -> Self {
        Self::Postgres(TestStore::new())
    }
    async fn source(&self) -> Box<dyn CopySource> {
        match self {
            Self::Sqlite(directory) => Box::new(sqlite::Source::open(directory.path()).expect("it opens")),
            Self::Postgres(store) => {
                let source = plenary_log_postgres::Source::open(&url(), &store.options()).await;
                Box::new(source.expect("it opens"))
            }
        }
    }
    async fn destination(&self) -> Result<Box<dyn CopyDestination>, BoxError> {
        Ok(match self {
            Self::Sqlite(directory) => Box::new(sqlite::Destination::new(directory.path())?),
            Self::Postgres(store) => {
                Box::new(plenary_log_postgres::Destination::new(&url(), &store.options()).await?)
            }
        })
    }
    /// The refusal of a server that starts there; nothing if it would start.
    async fn refusal(&self) -> Option<String> {
        match self {
            Self::Sqlite(directory) => {
                let opened = sqlite::open(directory.path(), sqlite::Options::default());
                opened.err().map(|error| error.to_string())
            }
            Self::Postgres(store) => store.try_open(&url()).await.err().map(|error| error.to_string()),
        }
    }
    async fn is_sound(&self) -> bool {
        match self {
            Self::Sqlite(directory) => sqlite::audit(directory.path()).expect("it is checked").is_sound(),
            Self::Postgres(store) => {
                let audit = plenary_log_postgres::audit(&url(), &store.options(), false).await;
                audit.expect("it is checked").0.is_sound()
            }
        }
    }
    /// Everything in it, with the checksums as stored.
    async fn content(&self) -> Vec<String> {
        let mut source = self.source().await;
        let mut content = Vec::new();
        for part in [Part::Events { after: Position::ZERO }, Part::Keys, Part::Index, Part::Rows, Part::Usage]
        {
            source.read(part).await.expect("it is read");
            while let Some(records) = source.page().await.expect("it is read") {
                match records {
                    Records::Events(records) => content.extend(records.iter().map(|r| format!("{r:?}"))),
                    Records::Keys(records) => content.extend(records.iter().map(|r| format!("{r:?}"))),
                    Records::Index(records) => content.extend(records.iter().map(|r| format!("{r:?}"))),
                    Records::Rows(records) => content.extend(records.iter().map(|r| format!("{r:?}"))),
                    Records::Usage(records) => content.extend(records.iter().map(|r| format!("usage {r:?}"))),
                }
            }
        }
        content.sort_unstable();
        content
    }
}

async fn copied(from: &End, to: &End) -> Result<u64, CopyError> {
    let mut destination = to.destination().await.map_err(CopyError::Destination)?;
    let report = copy(&mut *from.source().await, &mut *destination, Until::Now, &mut |_| {}).await;
    report.map(|report| report.head.0)
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
    fn bytes(&mut self, max: u64) -> Bytes {
        (0..self.below(max)).map(|_| u8::try_from(self.below(256)).expect("a byte")).collect()
    }
    fn batch(&mut self) -> Batch {
        const TEXTS: [&str; 6] = ["a", "a/b", "\0", "\u{1}a", "é\u{10ffff}", "z"];
        let text = |numbers: &mut Self| TEXTS[usize::try_from(numbers.below(6)).expect("few")];
        let mut batch = Batch { at: TimestampMs(self.below(1 << 40)), ..Batch::default() };
        for _ in 0..1 + self.below(3) {
            let (kind, form) = (if self.below(2) == 0 { "Said" } else { "Heard" }, 1);
            let event = NewEvent { kind, form, envelope: self.bytes(40), payload: self.bytes(3_000) };
            batch.events.push((stream(&format!("{}{}", text(self), self.below(9))), event));
        }
        for _ in 0..self.below(4) {
            let (name, key) = (["t.one", "t.two"][usize::from(self.below(2) == 0)], text(self).to_owned());
            batch.index.push(match self.below(3) {
                0 => IndexOp::Delete { name, key },
                _ => IndexOp::Put { name, key, value: self.bytes(20) },
            });
        }
        if self.below(2) == 0 {
            let value = (self.below(3) > 0).then(|| self.bytes(20));
            batch.rows.push(RowOp { name: text(self).to_owned(), expected: None, value });
        }
        if self.below(2) == 0 {
            let (scope, key) = (text(self).to_owned(), format!("{}{}", text(self), self.below(1 << 30)));
            batch.key = Some(KeyClaim { scope, key, digest: [7; 32], outcome: self.bytes(60) });
        }
        let account = format!("owner{}", self.below(3));
        let (added, freed) = (self.below(900), self.below(300));
        let usage = |bytes, events| Usage { bytes, events };
        batch.charges.push(Charge { account, usage: usage(added, 1), freed: usage(freed, 0) });
        batch
    }
}

/// Appends in groups, as one flush takes as long as another.
async fn fill(log: &Log, seed: u64, batches: usize) {
    const GROUP: usize = 250;
    let mut numbers = Numbers(seed);
    for from in (0..batches).step_by(GROUP) {
        let slots = join_all((from..batches.min(from + GROUP)).map(|_| log.reserve())).await;
        let pending: Vec<_> =
            slots.into_iter().map(|slot| slot.expect("a slot").submit(numbers.batch())).collect();
        for outcome in join_all(pending).await {
            assert!(matches!(outcome, Ok(Outcome::Appended(_))), "{outcome:?}");
        }
    }
}

#[test]
fn everything_comes_back_from_postgres_and_through_it() {
    run(async {
        for seed in 1..=4 {
            let [first, third] = [End::directory(), End::directory()];
            let [second, fourth] = [End::schema(), End::schema()];
            let End::Sqlite(directory) = &first else { panic!("it is") };
            let mut live = Vec::new();
            directory
                .with(async |log| {
                    fill(log, seed, 250).await;
                    live = first.content().await;
                })
                .await;
            let before = first.content().await;
            assert_eq!(before, live, "beside a server, whose last index rows wait for their table");
            let head = copied(&first, &second).await.expect("copied");
            assert!(head >= 250 && before.len() > 500, "{head} {}", before.len());
            copied(&second, &third).await.expect("copied");
            copied(&second, &fourth).await.expect("copied");
            for copy in [&second, &third, &fourth] {
                assert_eq!(copy.content().await, before);
                assert!(copy.is_sound().await);
            }
            // Both are stores: they go on counting where the first ended.
            let (End::Postgres(store), End::Sqlite(directory)) = (&second, &third) else {
                panic!("these are")
            };
            for log in [&store.open().await.log] {
                fill(log, seed + 100, 20).await;
                assert!(log.head().await.expect("read").0 >= head + 20);
            }
            directory.with(async |log| fill(log, seed + 100, 20).await).await;
            assert_eq!(second.content().await, third.content().await, "the same appends do the same");
            assert!(second.is_sound().await && third.is_sound().await);
            // The start of a cluster.
            let export = sqlite::export(directory.path()).expect("no server has it open");
            let mut events = 0;
            let mut count = |part: plenary_log::Writes| {
                events += part.events.len() as u64;
                true
            };
            export.each(1 << 16, &mut count).expect("it is read");
            assert_eq!((events, export.link().sequence), (export.head().0, 0));
        }
    });
}

#[test]
fn records_from_before_checksums_get_none() {
    run(async {
        let store = TestStore::new();
        fill(&store.open().await.log, 9, 40).await;
        let without = "ALTER TABLE events DISABLE TRIGGER append_only; UPDATE events SET sum = NULL WHERE position < 9; \
            UPDATE keys SET sum = NULL; UPDATE idx SET sum = NULL; UPDATE rows SET sum = NULL";
        store.admin().await.batch_execute(without).await.expect("updated");
        let (first, second, third) = (End::Postgres(store), End::directory(), End::schema());
        let before = first.content().await;
        assert!(before.iter().any(|line| line.ends_with("sum: None }")));
        copied(&first, &second).await.expect("copied");
        copied(&second, &third).await.expect("copied");
        assert_eq!(second.content().await, before);
        assert_eq!(third.content().await, before);
    });
}

/// A source that fails after a number of pages.
struct Failing(Box<dyn CopyDestination>, u32);

impl CopyDestination for Failing {
    fn begin(&mut self, epoch: &str) -> Step<'_, Option<StoredEvent>> {
        self.0.begin(epoch)
    }
    fn write(&mut self, records: Records) -> Step<'_, ()> {
        if self.1 == 0 {
            return Box::pin(ready(Err("it broke".into())));
        }
        self.1 -= 1;
        self.0.write(records)
    }
    fn clear(&mut self) -> Step<'_, ()> {
        self.0.clear()
    }
    fn finish(&mut self, _: Position) -> Step<'_, ()> {
        Box::pin(ready(Err("it broke".into())))
    }
}

#[test]
fn an_interrupted_copy_is_no_store_and_can_be_continued() {
    run(async {
        let (first, other) = (Directory::new(), Directory::new());
        // Several pages.
        first.with(async |log| fill(log, 3, 2_500).await).await;
        other.with(async |log| fill(log, 4, 5).await).await;
        let (first, other) = (End::Sqlite(first), End::Sqlite(other));
        let before = first.content().await;
        for to in [End::directory(), End::schema()] {
            for pages in [0, 1, 2, 4, 6, 99] {
                let mut failing = Failing(to.destination().await.expect("it is empty"), pages);
                let source = &mut *first.source().await;
                let report = copy(source, &mut failing, Until::Now, &mut |_| {}).await;
                assert!(matches!(report, Err(CopyError::Destination(_))), "{report:?}");
                drop(failing);
                let refusal = to.refusal().await.expect("no server starts on it");
                assert!(refusal.contains("unfinished copy"), "{refusal}");
            }
            if matches!(to, End::Postgres(_)) {
                let refused = copied(&other, &to).await.expect_err("it is of another store");
                assert!(format!("{refused:?}").contains("another store"), "{refused:?}");
            }
            copied(&first, &to).await.expect("copied");
            assert_eq!(to.content().await, before);
            assert!(to.is_sound().await);
            assert_eq!(to.refusal().await, None);
        }
    });
}

#[test]
fn an_unfinished_copy_in_a_directory_makes_room_for_one_of_another_store() {
    run(async {
        let (first, other) = (Directory::new(), Directory::new());
        first.with(async |log| fill(log, 3, 50).await).await;
        other.with(async |log| fill(log, 4, 5).await).await;
        let (first, other, to) = (End::Sqlite(first), End::Sqlite(other), End::directory());
        let mut failing = Failing(to.destination().await.expect("it is empty"), 1);
        copy(&mut *first.source().await, &mut failing, Until::Now, &mut |_| {}).await.expect_err("it broke");
        drop(failing);
        copied(&other, &to).await.expect("copied");
        assert_eq!(to.content().await, other.content().await);
    });
}

#[test]
fn a_destination_with_a_store_or_a_server_is_refused() {
    run(async {
        let (first, occupied) = (Directory::new(), Directory::new());
        first.with(async |log| fill(log, 3, 5).await).await;
        occupied.with(async |log| fill(log, 4, 5).await).await;
        let (first, occupied, store) = (End::Sqlite(first), End::Sqlite(occupied), TestStore::new());
        let opened = store.open().await;
        let to = End::Postgres(store);
        let refused = copied(&first, &to).await.expect_err("a server uses it");
        assert!(format!("{refused:?}").contains("a server uses it"), "{refused:?}");
        opened.log.append(message(&stream("a"), "said")).await.expect("appended");
        for to in [&to, &occupied] {
            let before = to.content().await;
            let refused = copied(&first, to).await.expect_err("there is a store");
            assert!(format!("{refused:?}").contains("Occupied"), "{refused:?}");
            assert_eq!(to.content().await, before);
        }
        let End::Postgres(store) = &to else { panic!("it is") };
        let missing = plenary_log_postgres::Source::open(&url(), &TestStore::new().options()).await.err();
        assert!(matches!(missing, Some(OpenError::Schema(_))), "{missing:?}");
        assert!(store.try_open(&url()).await.is_ok(), "it is as it was");
    });
}

#[test]
fn two_copies_to_one_place_exclude_each_other() {
    run(async {
        for to in [End::directory(), End::schema()] {
            let first = to.destination().await.expect("it is empty");
            assert!(to.destination().await.is_err());
            drop(first);
        }
    });
}

#[test]
fn a_name_that_postgres_cannot_index_is_refused() {
    run(async {
        let first = Directory::new();
        first.with(async |log| drop(log.append(message(&stream(&"x".repeat(3_000)), "long")).await)).await;
        let to = End::schema();
        let refused = copied(&End::Sqlite(first), &to).await.expect_err("it does not fit");
        assert!(format!("{refused:?}").contains("longer than PostgreSQL can index"), "{refused:?}");
        assert!(to.refusal().await.is_some());
    });
}

/// Appends until the log is closed; returns how many were acknowledged.
async fn write_on(log: Log, mut stop: tokio::sync::watch::Receiver<bool>) -> u64 {
    let mut acknowledged = 0;
    while !*stop.borrow_and_update() {
        let batch = message_once(&stream("live"), &acknowledged.to_string());
        log.append(batch).await.expect("appended");
        acknowledged += 1;
    }
    acknowledged
}

#[test]
fn a_copy_that_follows_has_everything_that_was_acknowledged() {
    run(async {
        let first = Directory::new();
        first.with(async |log| fill(log, 5, 300).await).await;
        let first = End::Sqlite(first);
        for to_postgres in [true, false] {
            let (from, to) = match to_postgres {
                true => (End::directory(), End::schema()),
                false => (End::schema(), End::directory()),
            };
            copied(&first, &from).await.expect("copied");
            let (opened, closing) = match &from {
                End::Sqlite(directory) => {
                    let (opened, closing) =
                        sqlite::open(directory.path(), sqlite::Options::default()).expect("it opens");
                    (opened, Some(closing))
                }
                End::Postgres(store) => (store.open().await, None),
            };
            let (stop, stopping) = tokio::sync::watch::channel(false);
            let writing = tokio::spawn(write_on(opened.log.clone(), stopping));
            let (followed, mut follows) = tokio::sync::mpsc::unbounded_channel();
            let mut source = from.source().await;
            let mut destination = to.destination().await.expect("it is empty");
            let copying = tokio::spawn(async move {
                let mut following = |head| followed.send(head).expect("it is waited for");
                let report = copy(&mut *source, &mut *destination, Until::Stopped, &mut following)
                    .await
                    .expect("copied");
                (report, destination)
            });
            soon(follows.recv()).await.expect("it follows");
            let before = opened.log.head().await.expect("read");
            while opened.log.head().await.expect("read").0 < before.0 + 50 {
                tokio::task::yield_now().await;
            }
            assert!(!copying.is_finished(), "a server is there");
            stop.send(true).expect("it runs");
            let acknowledged = writing.await.expect("it ended");
            let head = opened.log.head().await.expect("read");
            opened.log.signals().close();
            drop(opened);
            if let Some(closing) = closing {
                closing.wait().await;
            }
            let (report, destination) = soon(copying).await.expect("it ended");
            drop(destination);
            assert_eq!(report.head, head);
            let content = to.content().await;
            assert_eq!(content, from.content().await);
            let keys = content.iter().filter(|line| line.contains("scope: \"test.stream/live\"")).count();
            assert_eq!(keys as u64, acknowledged, "every key is there");
            assert!(to.is_sound().await);
        }
    });
}
