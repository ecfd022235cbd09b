//! What the store keeps of an index by meaning, on a real server: read back page by page, by each model its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../log-postgres/tests/server/mod.rs"]
mod server;

use std::sync::Arc;

use plenary_kernel::Position;
use plenary_retrieval::{Additions, Archive, ArchivedDocument, Mark};
use plenary_retrieval_postgres::open_archive;

async fn fresh() -> server::TestStore {
    let store = server::TestStore::new();
    drop(store.open().await);
    store
}

fn open(store: &server::TestStore, model: &str) -> Arc<dyn Archive> {
    open_archive(&server::url(), &store.options(), model).unwrap()
}

fn archived(id: &str, byte: u8) -> ArchivedDocument {
    ArchivedDocument { id: id.to_owned(), bytes: vec![byte; 3] }
}

/// Everything after a mark, and the number of pages.
async fn read(archive: &dyn Archive, after: Mark) -> (Vec<ArchivedDocument>, Mark, Position, usize) {
    let (mut found, mut mark, mut pages) = (Vec::new(), after, 0);
    loop {
        let Additions { found: some, mark: next, cursor, anew, more } =
            archive.additions(mark).await.unwrap();
        if anew {
            found.clear();
        }
        found.extend(some);
        (mark, pages) = (next, pages + 1);
        if !more {
            return (found, mark, cursor, pages);
        }
    }
}

#[test]
fn what_is_put_is_read_by_every_process_and_the_cursor_is_compared() {
    server::run(async {
        let store = fresh().await;
        let (one, other) = (open(&store, "m"), open(&store, "m"));
        assert_eq!(read(&*one, Mark::default()).await, (vec![], Mark::default(), Position(0), 1));
        let documents = vec![archived("a", 1), archived("b\0", 2)];
        let mark = one.put(documents.clone(), Position(0), Position(7)).await.unwrap().unwrap();
        assert_eq!(one.put(vec![archived("c", 3)], Position(0), Position(9)).await, Ok(None));
        assert_eq!(read(&*other, Mark::default()).await, (documents, mark, Position(7), 1));
        let later = one.put(vec![archived("a", 4)], Position(7), Position(8)).await.unwrap().unwrap();
        assert_eq!(read(&*other, mark).await, (vec![archived("a", 4)], later, Position(8), 1));
        let all = vec![archived("b\0", 2), archived("a", 4)];
        assert_eq!(read(&*other, Mark::default()).await, (all, later, Position(8), 1));
        let cleared = one.clear().await.unwrap();
        assert_ne!(cleared.generation, later.generation);
        assert_eq!(read(&*other, later).await, (vec![], cleared, Position(0), 1));
    });
}

#[test]
fn many_documents_are_read_in_pages_and_each_once() {
    server::run(async {
        let store = fresh().await;
        let archive = open(&store, "m");
        let documents: Vec<_> = (0..300).map(|nth| archived(&format!("d{nth}"), 1)).collect();
        let mark = archive.put(documents.clone(), Position(0), Position(1)).await.unwrap().unwrap();
        assert_eq!(read(&*archive, Mark::default()).await, (documents, mark, Position(1), 3));
        archive.put(vec![], Position(1), Position(2)).await.unwrap().unwrap();
        assert_eq!(read(&*archive, mark).await, (vec![], mark, Position(2), 1));
    });
}

#[test]
fn one_process_leads_and_the_next_takes_over() {
    server::run(async {
        let store = fresh().await;
        let (one, other) = (open(&store, "m"), open(&store, "m"));
        assert_eq!(
            (one.leads().await, one.leads().await, other.leads().await),
            (Ok(true), Ok(true), Ok(false))
        );
        let admin = store.admin().await;
        assert_eq!(store.terminate(&admin, "vectors").await, 2);
        server::soon(async { while !matches!(other.leads().await, Ok(true)) {} }).await;
        let put = other.put(vec![archived("a", 1)], Position(0), Position(1)).await;
        assert!(put.unwrap().is_some());
    });
}

#[test]
fn models_have_their_own_vectors_and_unused_ones_are_deleted() {
    server::run(async {
        let store = fresh().await;
        let (first, second) = (open(&store, "first"), open(&store, "second"));
        assert_eq!((first.leads().await, second.leads().await), (Ok(true), Ok(true)));
        first.put(vec![archived("a", 1)], Position(0), Position(5)).await.unwrap().unwrap();
        second.put(vec![archived("a", 2)], Position(0), Position(6)).await.unwrap().unwrap();
        let (found, mark, cursor, _) = read(&*first, Mark::default()).await;
        assert_eq!((found, cursor), (vec![archived("a", 1)], Position(5)));
        let third = open(&store, "third");
        assert_eq!(third.leads().await, Ok(true));
        assert_eq!(read(&*first, Mark::default()).await.0.len(), 1, "somebody has it");
        drop(first);
        let first = open(&store, "first");
        server::soon(async {
            while !read(&*first, Mark::default()).await.0.is_empty() {
                // The lock of a dropped archive ends with its connection, a little later.
                let _leads = open(&store, "fourth").leads().await.unwrap();
            }
        })
        .await;
        assert_eq!(read(&*first, mark).await, (vec![], Mark::default(), Position(0), 1));
        assert_eq!(read(&*second, Mark::default()).await.0, [archived("a", 2)]);
    });
}
