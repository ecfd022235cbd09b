//! Cases: written documents are found, once, and the cursor moves with them.
//! Must not know: any backend.

use plenary_kernel::Position;

use super::{Storage, body, found, put};
use crate::{Change, Extent, PutOutcome};

/// The next search finds a document that was put.
pub async fn what_is_put_is_found_and_counted<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    assert_eq!(index.extent().await.expect("it answers"), Extent::default());
    assert!(found(&*index, "login").await.is_empty());
    assert!(index.leads().await.expect("it answers"));
    put(&*index, [body("a", "the login page"), body("b", "a rate limit")]).await;
    assert_eq!(found(&*index, "login").await, ["a"]);
    assert_eq!(index.extent().await.expect("it answers"), Extent { cursor: Position(2), documents: 2 });
    assert_eq!(index.put(Vec::new(), Position(2), Position(90)).await, Ok(PutOutcome::Done));
    assert_eq!(index.extent().await.expect("it answers").cursor, Position(90));
    index.close().await.expect("it closes");
}

/// Documents that were added are found, beside those of the same project that change.
pub async fn added_documents_are_found<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    let added = |nr: usize| Change::Add(body(&format!("x{nr}"), &format!("login w{nr}")));
    for half in 0..2 {
        let mut changes: Vec<Change> = (0..100).map(|nth| added(half * 100 + nth)).collect();
        changes.insert(30, Change::Put(body("a", "login page")));
        changes.insert(60, Change::Put(body("b", "login page")));
        changes.push(Change::Delete("b".to_owned()));
        let (from, to) = (Position(half as u64), Position(half as u64 + 1));
        assert_eq!(index.put(changes, from, to).await, Ok(PutOutcome::Done));
    }
    assert_eq!(found(&*index, "page").await, ["a"]);
    for nr in [0, 29, 30, 31, 63, 64, 65, 99, 100, 163, 164, 199] {
        assert_eq!(found(&*index, &format!("w{nr}")).await, [format!("x{nr}")]);
    }
    assert_eq!(index.extent().await.expect("it answers").documents, 201);
}

/// A document replaces an earlier one with the same id.
pub async fn a_document_is_replaced_by_its_id<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [body("a", "the login page")]).await;
    put(&*index, [body("a", "a rate limit")]).await;
    assert!(found(&*index, "login").await.is_empty());
    assert_eq!(found(&*index, "rate").await, ["a"]);
    assert_eq!(index.extent().await.expect("it answers").documents, 1);
}

/// Within one write, the last change of a document wins.
pub async fn the_last_change_of_a_document_counts<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [body("a", "first"), body("b", "other"), body("a", "second")]).await;
    assert_eq!(found(&*index, "first second").await, ["a"]);
    assert!(found(&*index, "first").await.is_empty());
    let changes = vec![Change::Put(body("c", "third")), Change::Delete("c".to_owned())];
    assert_eq!(index.put(changes, Position(3), Position(4)).await, Ok(PutOutcome::Done));
    assert!(found(&*index, "third").await.is_empty());
    assert_eq!(index.extent().await.expect("it answers").documents, 2);
}

/// A deleted document is not found, and deleting an unknown id is not an error.
pub async fn a_deleted_document_is_not_found<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [body("a", "login"), body("b", "login")]).await;
    let changes = vec![Change::Delete("a".to_owned()), Change::Delete("x".to_owned())];
    assert_eq!(index.put(changes, Position(2), Position(3)).await, Ok(PutOutcome::Done));
    assert_eq!(found(&*index, "login").await, ["b"]);
    assert_eq!(index.extent().await.expect("it answers").documents, 1);
}

/// A write whose `from` is not the cursor changes nothing.
pub async fn the_cursor_is_compared_and_set<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [body("a", "login")]).await;
    let late = vec![Change::Put(body("b", "login"))];
    assert_eq!(index.put(late, Position(0), Position(1)).await, Ok(PutOutcome::Moved(Position(1))));
    assert_eq!(found(&*index, "login").await, ["a"]);
}

/// A cleared index is empty and accepts the same documents again.
pub async fn a_cleared_index_begins_anew<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [body("a", "login")]).await;
    index.clear().await.expect("it is cleared");
    assert_eq!(index.extent().await.expect("it answers"), Extent::default());
    assert!(found(&*index, "login").await.is_empty());
    put(&*index, [body("a", "login")]).await;
    assert_eq!(found(&*index, "login").await, ["a"]);
}

/// One write may have thousands of documents.
pub async fn many_documents_in_one_write<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, (0..3_000).map(|nth| body(&format!("d{nth}"), &format!("word w{nth}")))).await;
    assert_eq!(found(&*index, "w2999").await, ["d2999"]);
    assert_eq!(found(&*index, "word").await.len(), 100);
    assert_eq!(index.extent().await.expect("it answers").documents, 3_000);
}
