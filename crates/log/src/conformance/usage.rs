//! The storage use of accounts: counted with the batches that add to it.

use super::{
    Store,
    build::{Say, accepted, answered, batch, fresh, is_appended, pipelined, sound, stream},
};
use crate::{Log, Outcome, Usage};

async fn used(log: &Log, account: &str) -> (u64, u64) {
    let Usage { bytes, events } = sound(log.read_usage(account).await);
    (bytes, events)
}

/// Each account has its own use; one that was never charged uses nothing. A batch may consist of charges
/// only.
pub async fn a_charge_is_counted_with_its_batch<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    assert_eq!(used(&log, "nick").await, (0, 0));
    accepted(&log, batch().add(&a, "x").charge("nick", 10, 1)).await;
    accepted(&log, batch().add(&a, "x").add(&a, "y").charge("nick", 5, 2).charge("ann", 1 << 40, 3)).await;
    accepted(&log, batch().charge("\0ü", 0, 1)).await;
    assert_eq!(used(&log, "nick").await, (15, 3));
    assert_eq!(used(&log, "ann").await, (1 << 40, 3));
    assert_eq!(used(&log, "\0ü").await, (0, 1));
    assert_eq!(used(&log, "nic").await, (0, 0));
}

/// Freed bytes are subtracted, in one group with added ones, and no use is negative.
pub async fn what_is_freed_is_taken_off<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    accepted(&log, batch().add(&a, "x").charge("nick", 10, 1)).await;
    accepted(&log, batch().add(&a, "x").free("nick", 4)).await;
    assert_eq!(used(&log, "nick").await, (6, 1));
    let batches = vec![batch().add(&a, "x").charge("nick", 5, 1), batch().add(&a, "x").free("nick", 3)];
    assert!(pipelined(&log, batches).await.iter().all(is_appended));
    assert_eq!(used(&log, "nick").await, (8, 2));
    accepted(&log, batch().add(&a, "x").free("nick", 9).free("ann", 1)).await;
    assert_eq!((used(&log, "nick").await, used(&log, "ann").await), ((0, 2), (0, 0)));
}

/// Charges of several batches of one commit, some twice for one account in one batch.
pub async fn charges_add_up_within_one_group<S: Store>() {
    const COUNT: u64 = 100;
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    let batches = (0..COUNT).map(|n| {
        let batch = batch().add(&a, "x").charge("nick", n, 1).charge("nick", 1, 0);
        batch.charge(if n % 2 == 0 { "even" } else { "odd" }, 1, 1)
    });
    let outcomes = pipelined(&log, batches.collect()).await;
    assert!(outcomes.iter().all(is_appended));
    assert_eq!(used(&log, "nick").await, (COUNT * (COUNT - 1) / 2 + COUNT, COUNT));
    assert_eq!(used(&log, "even").await, (COUNT / 2, COUNT / 2));
    assert_eq!(used(&log, "odd").await, (COUNT / 2, COUNT / 2));
}

/// Whatever the reason of the refusal, next to batches that are accepted.
pub async fn a_refused_batch_charges_nothing<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    accepted(&log, batch().add(&a, "x").key("k", 1, "done").row("r", None, Some("x"))).await;
    let charged = || batch().add(&a, "x").charge("nick", 9, 1);
    let refused = [
        charged().when(&a, 9),
        charged().key("k", 1, "other"),
        charged().key("k", 2, "other"),
        charged().row("r", Some(9), Some("x")),
    ];
    for refused in refused.clone() {
        assert!(!is_appended(&answered(&log, refused).await));
    }
    assert_eq!(used(&log, "nick").await, (0, 0));
    let mixed: Vec<_> = refused.into_iter().chain([charged(), charged()]).collect();
    let outcomes = pipelined(&log, mixed).await;
    assert_eq!(outcomes.iter().filter(|outcome| is_appended(outcome)).count(), 2, "{outcomes:?}");
    assert!(matches!(outcomes[2], Outcome::KeyReused));
    assert_eq!(used(&log, "nick").await, (18, 2));
}
