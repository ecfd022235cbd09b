//! Cases: several handles on one index at once.
//! Must not know: any backend.

use std::time::Duration;

use plenary_kernel::Position;

use super::{Storage, body, found, put};
use crate::{Change, Index, PutOutcome};

/// How long the lead may remain with a closed handle.
const LEAD_MAX: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// All handles see the same index.
pub async fn both_handles_find_what_either_wrote<P: Storage>() {
    let storage = P::fresh().await;
    let (one, other) = (storage.open().await, storage.open().await);
    put(&*one, [body("a", "login")]).await;
    put(&*other, [body("b", "login page")]).await;
    for index in [&one, &other] {
        assert_eq!(found(&**index, "login").await, ["a", "b"]);
        assert_eq!(index.extent().await.expect("it answers").cursor, Position(2));
    }
}

/// Of two concurrent writes from the same cursor exactly one succeeds.
pub async fn of_two_writers_one_wins<P: Storage>() {
    let storage = P::fresh().await;
    let (one, other) = (storage.open().await, storage.open().await);
    for round in 0..20_u64 {
        let write = |index: std::sync::Arc<dyn Index>, id: &'static str| async move {
            let changes = vec![Change::Put(body(id, "login"))];
            index.put(changes, Position(round), Position(round + 1)).await.expect("it answers")
        };
        let outcomes = tokio::join!(write(one.clone(), "a"), write(other.clone(), "b"));
        assert!(
            matches!(
                outcomes,
                (PutOutcome::Done, PutOutcome::Moved(_)) | (PutOutcome::Moved(_), PutOutcome::Done)
            ),
            "in round {round}: {outcomes:?}"
        );
    }
}

/// At most one handle leads at any time.
pub async fn one_leads_and_the_next_takes_over<P: Storage>() {
    let storage = P::fresh().await;
    let (one, other) = (storage.open().await, storage.open().await);
    assert!(one.leads().await.expect("it answers"));
    assert!(!other.leads().await.expect("it answers"));
    assert!(one.leads().await.expect("it answers"));
    one.close().await.expect("it closes");
    drop(one);
    let waiting = async {
        while !other.leads().await.expect("it answers") {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::time::timeout(LEAD_MAX, waiting).await.expect("the other one leads");
}
