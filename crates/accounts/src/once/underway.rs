//! The requests with a key that are under way in this process: a repetition waits until the first one is answered.
//! Must not know: what a request does.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use plenary_engine::KeyUse;
use tokio::sync::OwnedMutexGuard;

/// The scope of a key, and the key.
type Name = (String, String);
type Lock = Arc<tokio::sync::Mutex<()>>;

/// By their keys; no more than there are requests.
#[derive(Default)]
pub(super) struct Underway(Mutex<HashMap<Name, Lock>>);

/// The turn of a request. The next one with the same key has its turn when this is dropped.
pub(super) struct Turn<'a> {
    underway: &'a Underway,
    name: Name,
    lock: Lock,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Underway {
    /// Waits for the turn of a request.
    pub(super) async fn turn(&self, key: &KeyUse) -> Turn<'_> {
        let name = (key.scope.clone(), key.key.clone());
        let lock = self.0.lock().entry(name.clone()).or_default().clone();
        // A request that is given up while it waits leaves nothing behind either.
        let mut turn = Turn { underway: self, name, lock, guard: None };
        turn.guard = Some(turn.lock.clone().lock_owned().await);
        turn
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.guard = None;
        let mut locks = self.underway.0.lock();
        // The table's and this one; others are taken from the table only.
        if Arc::strong_count(&self.lock) == 2 {
            locks.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn key(key: &str) -> KeyUse {
        KeyUse { scope: "s".into(), key: key.into(), digest: [7; 32] }
    }

    #[test]
    fn a_repetition_waits_for_its_turn_and_nothing_stays() {
        let underway = Underway::default();
        let (one, other) = (key("one"), key("other"));
        let first = underway.turn(&one).now_or_never().unwrap();
        assert!(underway.turn(&one).now_or_never().is_none(), "given up");
        let mut second = Box::pin(underway.turn(&one));
        assert!(second.as_mut().now_or_never().is_none());
        drop(underway.turn(&other).now_or_never().unwrap());
        drop(first);
        let second = second.now_or_never().unwrap();
        assert_eq!(underway.0.lock().len(), 1);
        drop(second);
        assert!(underway.0.lock().is_empty());
    }
}
