//! What a start refuses, and what it leaves on the disk.

mod directory;

use std::os::unix::fs::PermissionsExt;

use directory::{Directory, message, stream};
use plenary_kernel::{Position, Version};
use plenary_log::{Batch, Charge, Fault, Log, Order, Outcome, StreamName, Usage};
use plenary_log_sqlite::{DATABASE_FILE, LOCK_FILE, OpenError, Options, UNFINISHED_FILE, export, leave};

async fn fill(directory: &Directory) {
    let store = directory.open(Options::default()).expect("the store opens");
    let a = stream("a");
    for text in ["one", "two", "three"] {
        let outcome = store.log.append(message(&a, text)).await.expect("the store works");
        assert!(matches!(outcome, Outcome::Appended(_)));
    }
    store.close().await;
}

fn refusal(directory: &Directory) -> OpenError {
    match directory.open(Options::default()) {
        Ok(_) => panic!("the store opened"),
        Err(refusal) => refusal,
    }
}

#[tokio::test]
async fn a_second_start_is_refused_until_the_first_has_closed() {
    let directory = Directory::new();
    let store = directory.open(Options::default()).expect("the store opens");
    let refusal = refusal(&directory);
    assert!(matches!(refusal, OpenError::Locked { .. }), "{refusal:?}");
    let text = refusal.to_string();
    assert!(text.contains(&std::process::id().to_string()), "{text}");
    assert!(text.contains(&directory.path().display().to_string()), "{text}");
    store.close().await;
    directory.open(Options::default()).expect("the store opens again").close().await;
}

#[tokio::test]
async fn a_newer_format_is_refused_and_left_as_it_is() {
    let directory = Directory::new();
    fill(&directory).await;
    directory.tamper("PRAGMA user_version = 99");
    for _ in 0..2 {
        let refusal = refusal(&directory);
        assert!(matches!(refusal, OpenError::NewerFormat { found: 99, known: 5 }), "{refusal:?}");
    }
    directory.tamper("PRAGMA user_version = 5");
    directory.open(Options::default()).expect("the store opens again").close().await;
}

/// The first format, as it was.
const FIRST: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE streams(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE events(
    position INTEGER PRIMARY KEY, stream INTEGER NOT NULL, version INTEGER NOT NULL, form INTEGER NOT NULL,
    at INTEGER NOT NULL, kind TEXT NOT NULL, envelope BLOB NOT NULL, payload BLOB NOT NULL
) STRICT;
CREATE TABLE stream_index(slot INTEGER PRIMARY KEY, position INTEGER NOT NULL) STRICT;
CREATE TABLE keys(
    claim INTEGER PRIMARY KEY, scope TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, outcome BLOB NOT NULL
) STRICT;
CREATE TABLE key_index(hash INTEGER NOT NULL, claim INTEGER NOT NULL, PRIMARY KEY(hash, claim)) STRICT, WITHOUT ROWID;
CREATE TABLE idx(name TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY(name, key))
    STRICT, WITHOUT ROWID;
CREATE TABLE rows(name TEXT PRIMARY KEY, revision INTEGER NOT NULL, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES
    ('epoch', lower(hex(randomblob(16)))), ('salt', randomblob(16)), ('events_indexed', 1), ('keys_indexed', 0);
INSERT INTO streams VALUES(1, 'test.b/b'), (2, 'test.a/a');
INSERT INTO events VALUES(1, 1, 1, 1, 5, 'Said', x'', x'6f6e65'), (2, 2, 1, 1, 6, 'Said', x'', x'74776f');
INSERT INTO stream_index VALUES((1 << 32) + 1, 1);
INSERT INTO idx VALUES('test.i', 'k', x'76');
PRAGMA application_id = 0x504c4e59;
PRAGMA user_version = 1;
";

#[tokio::test]
async fn a_file_of_the_first_format_is_migrated() {
    let directory = Directory::new();
    std::fs::create_dir_all(directory.path()).expect("a directory");
    directory.tamper(FIRST);
    for _ in 0..2 {
        let store = directory.open(Options::default()).expect("the store opens");
        for (name, payload) in [("test.b/b", "one"), ("test.a/a", "two")] {
            let events = store.log.read_stream(&StreamName::stored(name), Version::ZERO, 9).await;
            let events = events.expect("the store works");
            assert_eq!(
                events.iter().map(|event| &event.payload[..]).collect::<Vec<_>>(),
                [payload.as_bytes()]
            );
        }
        assert_eq!(index(&store.log).await, [("k".to_owned(), "v".to_owned())]);
        store.close().await;
    }
}

async fn index(log: &Log) -> Vec<(String, String)> {
    let rows = log.read_index("test.i", "", None, 99, Order::Ascending).await.expect("the store works");
    rows.into_iter().map(|row| (row.key, String::from_utf8_lossy(&row.value).into_owned())).collect()
}

#[tokio::test]
async fn what_was_gathered_before_a_crash_is_put_in_place_in_order() {
    let directory = Directory::new();
    fill(&directory).await;
    directory.tamper(
        "INSERT INTO idx(name, key, value) VALUES ('test.i', 'a', x'6f6c64'), ('test.i', 'b', x'6f6c64'), ('test.i', 'c', x'6f6c64');
         INSERT INTO index_log(name, key, value) VALUES
             ('test.i', 'b', NULL), ('test.i', 'a', x'31'), ('test.i', 'a', x'32'), ('test.i', 'c', NULL),
             ('test.i', 'c', x'33'), ('test.i', 'd', x'34'), ('test.i', 'd', NULL);
         DELETE FROM stream_names; UPDATE meta SET value = 0 WHERE name = 'streams_indexed';",
    );
    let store = directory.open(Options::default()).expect("the store opens");
    let expected = [("a", "2"), ("c", "3")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(index(&store.log).await, expected);
    let events = store.log.read_stream(&stream("a"), Version::ZERO, 9).await.expect("the store works");
    assert_eq!(events.len(), 3, "the stream is found by its name");
    store.close().await;
    directory.tamper("DELETE FROM index_log");
    let store = directory.open(Options::default()).expect("the store opens");
    assert_eq!(index(&store.log).await, expected);
    store.close().await;
}

/// What the files of an open store say, as a crash leaves them.
async fn used_after_a_crash(directory: &Directory, account: &str) -> Usage {
    let copy = Directory::new();
    std::fs::create_dir_all(copy.path()).expect("a directory is made");
    for file in [DATABASE_FILE.to_owned(), format!("{DATABASE_FILE}-wal")] {
        std::fs::copy(directory.file(&file), copy.file(&file)).expect("the file is copied");
    }
    let store = copy.open(Options::default()).expect("the store opens");
    let used = store.log.read_usage(account).await.expect("the store works");
    store.close().await;
    used
}

/// Whether the file's own counters are behind, as they are until a bulk is due, or not.
#[tokio::test]
async fn what_accounts_use_is_counted_once_over_every_start() {
    let directory = Directory::new();
    let charge = |account: &str| Charge {
        account: account.to_owned(),
        usage: Usage { bytes: 9, events: 1 },
        freed: Usage { bytes: 2, events: 0 },
    };
    for round in 1..=4 {
        let options =
            if round == 3 { Options { index_every: 1, ..Options::default() } } else { Options::default() };
        let store = directory.open(options).expect("the store opens");
        for batch in [message(&stream("a"), "x"), message(&stream("b"), "x"), Batch::default()] {
            let batch = Batch { charges: vec![charge("nick"), charge("a n")], ..batch };
            let outcome = store.log.append(batch).await.expect("the store works");
            assert!(matches!(outcome, Outcome::Appended(_)));
        }
        for account in ["nick", "a n"] {
            let used = store.log.read_usage(account).await.expect("the store works");
            assert_eq!(used, Usage { bytes: 21 * round, events: 3 * round }, "{account} in round {round}");
            assert_eq!(used_after_a_crash(&directory, account).await, used, "{account} in round {round}");
        }
        store.close().await;
    }
}

#[tokio::test]
async fn the_file_of_another_program_is_refused_and_left_as_it_is() {
    let directory = Directory::new();
    fill(&directory).await;
    directory.tamper("PRAGMA application_id = 7");
    assert!(matches!(refusal(&directory), OpenError::Foreign { .. }));

    let directory = Directory::new();
    std::fs::create_dir_all(directory.path()).expect("a directory");
    directory.tamper("CREATE TABLE contacts(name)");
    let before = std::fs::read(directory.file(DATABASE_FILE)).expect("a file");
    assert!(matches!(refusal(&directory), OpenError::Foreign { .. }));
    assert_eq!(std::fs::read(directory.file(DATABASE_FILE)).expect("a file"), before);

    let directory = Directory::new();
    std::fs::create_dir_all(directory.path()).expect("a directory");
    let text = "no database at all, but longer than the head of one: ".repeat(50);
    std::fs::write(directory.file(DATABASE_FILE), &text).expect("a file");
    assert!(matches!(refusal(&directory), OpenError::NoDatabase { .. }));
    assert_eq!(std::fs::read_to_string(directory.file(DATABASE_FILE)).expect("a file"), text);
}

#[tokio::test]
async fn indexes_ahead_of_the_log_are_refused() {
    let directory = Directory::new();
    fill(&directory).await;
    directory.tamper("UPDATE meta SET value = 4 WHERE name = 'events_indexed'");
    assert!(matches!(refusal(&directory), OpenError::Corrupt(_)));
}

#[tokio::test]
async fn a_data_directory_that_is_a_file_is_refused() {
    let directory = Directory::new();
    std::fs::create_dir_all(directory.path()).expect("a directory");
    std::fs::write(directory.file("file"), "").expect("a file");
    let opened = plenary_log_sqlite::open(&directory.file("file"), Options::default());
    assert!(matches!(opened, Err(OpenError::Io(_))));
}

#[test]
fn an_export_names_an_unfinished_copy_and_a_missing_store() {
    let directory = Directory::new();
    std::fs::create_dir_all(directory.path()).expect("a directory");
    assert!(matches!(export(directory.path()), Err(OpenError::NoStore { .. })));
    std::fs::write(directory.file(UNFINISHED_FILE), "").expect("a file");
    assert!(matches!(export(directory.path()), Err(OpenError::Unfinished { .. })));
    assert!(matches!(leave(directory.path()), Err(OpenError::Unfinished { .. })));
}

#[tokio::test]
async fn the_data_directory_is_for_its_owner_only() {
    let directory = Directory::new();
    fill(&directory).await;
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(directory.path()), 0o700);
    for file in [DATABASE_FILE, LOCK_FILE, "plenary.db-wal", "plenary.db-shm"] {
        assert_eq!(mode(&directory.file(file)), 0o600, "{file}");
    }
    let length = std::fs::metadata(directory.file("plenary.db-wal")).expect("it is there").len();
    assert_eq!(length, 0, "a clean end leaves nothing to recover");
}

#[tokio::test]
async fn altered_events_are_reported_as_corrupt() {
    let a = stream("a");
    for change in [
        "UPDATE events SET version = 7 WHERE position = 2",
        "UPDATE events SET stream = 7 WHERE position = 2",
        "UPDATE events SET form = 70000 WHERE position = 2",
        "UPDATE stream_index SET position = 3 WHERE position = 2",
        "DELETE FROM stream_index WHERE position = 2",
        "DELETE FROM events WHERE position = 2",
    ] {
        let directory = Directory::new();
        fill(&directory).await;
        directory.tamper(change);
        let store = directory.open(Options::default()).expect("the store opens");
        let read = store.log.read_stream(&a, Version::ZERO, 10).await;
        assert!(matches!(read, Err(Fault::Corrupt(_))), "{change}: {read:?}");
        if change.contains("DELETE FROM events") {
            let read = store.log.read_log(Position::ZERO, 10).await;
            assert!(matches!(read, Err(Fault::Corrupt(_))), "{change}: {read:?}");
        }
        store.close().await;
    }
}

#[tokio::test]
async fn an_audit_names_what_is_wrong_and_may_run_beside_a_server() {
    let directory = Directory::new();
    fill(&directory).await;
    let store = directory.open(Options::default()).expect("the store opens");
    store.log.append(message(&stream("a"), "four")).await.expect("the store works");
    let audit = plenary_log_sqlite::audit(directory.path()).expect("it is looked at");
    assert!(audit.is_sound() && audit.events == 4 && audit.unchecked == 0, "{audit:?}");
    store.close().await;
    for (change, found) in [
        ("UPDATE events SET payload = 'twp' WHERE position = 2", ("damaged", Some(2))),
        ("DELETE FROM events WHERE position = 3", ("missing", Some(3))),
        ("UPDATE events SET form = 70000 WHERE position = 1", ("damaged", Some(1))),
        ("UPDATE stream_index SET position = 3 WHERE position = 2", ("misplaced", Some(2))),
        ("DELETE FROM streams", ("damaged", Some(1))),
    ] {
        let change = change.replace("'twp'", "x'747770'");
        directory.tamper(&format!("BEGIN; {change}; COMMIT"));
        let audit = plenary_log_sqlite::audit(directory.path()).expect("it is looked at");
        let kinds: Vec<_> =
            audit.findings.iter().map(|found| (found.kind, found.position.map(|at| at.0))).collect();
        assert!(kinds.contains(&found), "{change}: {audit:?}");
    }
}

#[tokio::test]
async fn what_is_older_than_checksums_gets_them() {
    let directory = Directory::new();
    std::fs::create_dir_all(directory.path()).expect("a directory");
    directory.tamper(FIRST);
    assert!(matches!(
        plenary_log_sqlite::audit(directory.path()),
        Err(OpenError::OlderFormat { found: 1, known: 5 })
    ));
    directory.open(Options::default()).expect("the store opens").close().await;
    let look = || plenary_log_sqlite::audit(directory.path()).expect("it is looked at");
    assert_eq!((look().is_sound(), look().unchecked), (true, 3));
    assert_eq!(plenary_log_sqlite::add_digests(directory.path()).expect("they are added"), 3);
    assert_eq!((look().is_sound(), look().unchecked), (true, 0));
    let store = directory.open(Options::default()).expect("the store opens");
    assert!(matches!(plenary_log_sqlite::add_digests(directory.path()), Err(OpenError::Locked { .. })));
    assert_eq!(index(&store.log).await, [("k".to_owned(), "v".to_owned())]);
    store.close().await;
}
