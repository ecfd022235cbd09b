//! The index passes the suite, in memory and in a directory, and is built again where it can't be used.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::PathBuf, sync::Arc};

use plenary_kernel::Position;
use plenary_retrieval::{
    Change, Document, Extent, Index, Kind, PutOutcome, Query, Scope, Section, conformance::Storage,
};

struct Memory;

impl Storage for Memory {
    async fn fresh() -> Self {
        Self
    }
    async fn open(&self) -> Arc<dyn Index> {
        plenary_retrieval_sqlite::open_memory().unwrap()
    }
}

struct Directory(tempfile::TempDir);

impl Storage for Directory {
    async fn fresh() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
    async fn open(&self) -> Arc<dyn Index> {
        plenary_retrieval_sqlite::open(&self.0.path().join("search")).unwrap()
    }
}

mod memory {
    use super::*;
    plenary_retrieval::conformance!(Memory);
}

mod directory {
    use super::*;
    plenary_retrieval::conformance!(Directory, durable);
}

/// An index with one document, closed again; where it is.
async fn written(directory: &Directory) -> PathBuf {
    let index = directory.open().await;
    let document = Document {
        id: "a".to_owned(),
        project: "p".to_owned(),
        created_at_ms: 0,
        is_draft: false,
        sections: vec![Section { kind: Kind::Body, text: "login".to_owned() }],
    };
    assert_eq!(
        index.put(vec![Change::Put(document)], Position(0), Position(7)).await.unwrap(),
        PutOutcome::Done
    );
    index.close().await.unwrap();
    directory.0.path().join("search")
}

/// Opened again, it is as new, or as it was.
async fn extent(directory: &Directory) -> Extent {
    let index = directory.open().await;
    let extent = index.extent().await.unwrap();
    index.close().await.unwrap();
    extent
}

const FILE: &str = "words.sqlite";

#[test]
fn an_index_that_cannot_be_used_is_thrown_away() {
    plenary_retrieval::conformance::run(async {
        let directory = Directory::fresh().await;
        let file = written(&directory).await.join(FILE);
        assert_eq!(extent(&directory).await, Extent { cursor: Position(7), documents: 1 });

        let change = |sql: &str| rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        change("PRAGMA user_version = 1");
        assert_eq!(extent(&directory).await, Extent::default(), "an older form");

        written(&directory).await;
        change("PRAGMA application_id = 7");
        assert_eq!(extent(&directory).await, Extent::default(), "of another program");

        written(&directory).await;
        let bytes = fs::read(&file).unwrap();
        let damaged = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at..at + 90].fill(0xff);
            fs::write(&file, bytes).unwrap();
        };
        damaged(0);
        assert_eq!(extent(&directory).await, Extent::default(), "no database");
        damaged(8_192);
        assert_eq!(extent(&directory).await, Extent::default(), "a damaged page");

        written(&directory).await;
        fs::remove_file(&file).unwrap();
        assert_eq!(extent(&directory).await, Extent::default(), "a missing file");

        written(&directory).await;
        fs::remove_dir_all(file.parent().unwrap()).unwrap();
        assert_eq!(extent(&directory).await, Extent::default(), "no directory");
    });
}

#[test]
fn damage_that_a_search_meets_makes_the_index_begin_anew() {
    plenary_retrieval::conformance::run(async {
        let directory = Directory::fresh().await;
        let file = written(&directory).await.join(FILE);
        let index = directory.open().await;
        let open = fs::OpenOptions::new().write(true).open(&file).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&open, &[0xff; 90], 8_192).unwrap();
        let query = Query::read("login").unwrap();
        assert!(index.search(&query, &Scope::project("p"), 9).await.is_err());
        // The follower of the log learns once that it must look again.
        while index.leads().await.unwrap() {
            tokio::task::yield_now().await;
        }
        assert!(index.leads().await.unwrap());
        assert_eq!(index.extent().await.unwrap(), Extent::default());
        let put = |from| index.put(vec![body("b", "login")], Position(from), Position(8));
        assert_eq!(put(7).await.unwrap(), PutOutcome::Moved(Position(0)));
        assert_eq!(put(0).await.unwrap(), PutOutcome::Done);
        assert_eq!(found(&*index, "login").await, ["b"]);
        index.close().await.unwrap();
        assert_eq!(extent(&directory).await, Extent { cursor: Position(8), documents: 1 });
    });
}

/// A word in so many documents that its list is cached in memory, and one that few of them have.
#[test]
fn a_word_that_very_many_documents_have_is_found_in_them_all_the_same() {
    plenary_retrieval::conformance::run(async {
        let directory = Directory::fresh().await;
        let index = directory.open().await;
        let text = |nr: u32| if nr % 5_000 == 7 { "login fails rarely" } else { "login works" };
        let all: Vec<_> = (0..17_000).map(|nr| body(&format!("{nr:05}"), text(nr))).collect();
        assert_eq!(index.put(all, Position(0), Position(1)).await.unwrap(), PutOutcome::Done);
        let (both, scope) = (Query::read("login rarely").unwrap(), Scope::project("p"));
        for _again in 0..2 {
            let hits = index.search(&both, &scope, 5).await.unwrap();
            let ids: Vec<_> = hits.iter().map(|hit| hit.id.as_str()).collect();
            assert_eq!(ids[..4], ["00007", "05007", "10007", "15007"]);
            assert!(hits[3].score > hits[4].score && hits[4].score > 0.0);
            assert_eq!(index.common(&both, &scope).await.unwrap(), ["login"]);
        }
        let deletion = vec![Change::Delete("00007".to_owned())];
        assert_eq!(index.put(deletion, Position(1), Position(2)).await.unwrap(), PutOutcome::Done);
        assert_eq!(found(&*index, "rarely").await, ["05007", "10007", "15007"]);
        assert_eq!(index.search(&both, &scope, 1).await.unwrap()[0].id, "05007");
        index.close().await.unwrap();
    });
}

#[test]
fn the_files_of_the_first_form_are_removed() {
    plenary_retrieval::conformance::run(async {
        let directory = Directory::fresh().await;
        let search = directory.0.path().join("search");
        fs::create_dir(&search).unwrap();
        for name in ["meta.json", ".managed.json", "0f.idx", "0f.term", ".tantivy-writer.lock"] {
            fs::write(search.join(name), "{}").unwrap();
        }
        assert_eq!(extent(&directory).await, Extent::default());
        let names: Vec<_> = fs::read_dir(&search).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [FILE]);
        written(&directory).await;
        assert_eq!(extent(&directory).await, Extent { cursor: Position(7), documents: 1 });
    });
}

fn body(id: &str, text: &str) -> Change {
    Change::Put(Document {
        id: id.to_owned(),
        project: "p".to_owned(),
        created_at_ms: 0,
        is_draft: false,
        sections: vec![Section { kind: Kind::Body, text: text.to_owned() }],
    })
}

async fn found(index: &dyn Index, word: &str) -> Vec<String> {
    let hits = index.search(&Query::read(word).unwrap(), &Scope::project("p"), 1_000).await.unwrap();
    let mut ids: Vec<String> = hits.into_iter().map(|hit| hit.id).collect();
    ids.sort();
    ids
}

/// Some documents are written again and some deleted, one write after the other, and the index is opened again midway.
#[test]
fn many_small_writes_become_few_runs_and_find_the_same() {
    plenary_retrieval::conformance::run(async {
        let directory = Directory::fresh().await;
        let (mut expected, mut at) = (std::collections::BTreeSet::new(), 0);
        for half in 0..2 {
            let index = directory.open().await;
            for nth in 0..150 {
                let id = format!("{:03}", nth * 7 % 20 + half * 10);
                let change = if nth % 5 == 4 {
                    expected.remove(&id);
                    Change::Delete(id)
                } else {
                    expected.insert(id.clone());
                    body(&id, &format!("login w{id} half{half}"))
                };
                assert_eq!(
                    index.put(vec![change], Position(at), Position(at + 1)).await.unwrap(),
                    PutOutcome::Done
                );
                at += 1;
            }
            let expected: Vec<String> = expected.iter().cloned().collect();
            assert_eq!(found(&*index, "login").await, expected);
            for id in &expected {
                assert_eq!(found(&*index, &format!("w{id}")).await, std::slice::from_ref(id));
            }
            assert_eq!(index.extent().await.unwrap().documents, expected.len() as u64);
            index.close().await.unwrap();
        }
        let file = directory.0.path().join("search").join(FILE);
        let connection = rusqlite::Connection::open(file).unwrap();
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let runs = count("SELECT count(*) FROM run");
        assert!(runs < 3 * 8, "{runs} runs");
        assert_eq!(count("SELECT count(DISTINCT run) FROM page"), runs);
        assert_eq!(count("SELECT count(*) FROM document"), expected.len() as i64);
    });
}

#[test]
fn a_merge_drops_the_words_of_deleted_documents() {
    plenary_retrieval::conformance::run(async {
        let directory = Directory::fresh().await;
        let index = directory.open().await;
        let Change::Put(mut gone) = body("gone", "login") else { unreachable!() };
        gone.project = "q".to_owned();
        let mut changes = vec![Change::Put(gone), Change::Delete("gone".to_owned())];
        changes.extend((0..6).map(|nth| body(&format!("{nth}"), &"word ".repeat(nth + 1))));
        changes.extend((0..2).map(|nth| Change::Delete(format!("{nth}"))));
        changes.extend((6..9).map(|nth| body(&format!("{nth}"), &"word ".repeat(nth + 1))));
        for (at, change) in (0..).zip(changes) {
            let put = index.put(vec![change], Position(at), Position(at + 1)).await;
            assert_eq!(put.unwrap(), PutOutcome::Done);
        }
        assert_eq!(found(&*index, "word").await, ["2", "3", "4", "5", "6", "7", "8"]);
        index.close().await.unwrap();
        let file = directory.0.path().join("search").join(FILE);
        let connection = rusqlite::Connection::open(file).unwrap();
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        for table in ["page", "held"] {
            let of = format!("FROM {table} JOIN project ON project = key WHERE name");
            assert_eq!(count(&format!("SELECT count(*) {of} = 'q'")), 0, "{table}");
            assert!(count(&format!("SELECT count(*) {of} = 'p'")) > 0, "{table}");
        }
        // One run of the second level, from eight of the first, and two more of the first.
        assert_eq!(count("SELECT count(*) FROM run"), 3);
    });
}
