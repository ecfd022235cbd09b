//! Cases: an index keeps its content when its handle is closed.
//! Must not know: any backend.

use plenary_kernel::Position;

use super::{Storage, body, found, put};
use crate::Extent;

/// After a reopen, documents and cursor are unchanged.
pub async fn a_reopened_index_continues_at_its_cursor<P: Storage>() {
    let storage = P::fresh().await;
    let index = storage.open().await;
    put(&*index, [body("a", "login"), body("b", "login page")]).await;
    index.close().await.expect("it closes");
    drop(index);
    let index = storage.open().await;
    assert_eq!(index.extent().await.expect("it answers"), Extent { cursor: Position(2), documents: 2 });
    assert_eq!(found(&*index, "login").await, ["a", "b"]);
    put(&*index, [body("c", "login")]).await;
    assert_eq!(found(&*index, "login").await.len(), 3);
}
