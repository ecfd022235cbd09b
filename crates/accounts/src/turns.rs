//! Turns of what must not run at the same time in this process: the next one with a name waits until the one before is over.
//! Must not know: what has a turn.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// What has its turns, and whose.
pub(crate) type Name = (String, String);
type Lock = Arc<tokio::sync::Mutex<()>>;

/// By their names; no more than there are requests.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<Name, Lock>>);

/// The turn of a request. The next one with the same name has its turn when this is dropped.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    name: Name,
    lock: Lock,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Waits for the turn of a request.
    pub(crate) async fn turn(&self, name: Name) -> Turn<'_> {
        let lock = self.0.lock().entry(name.clone()).or_default().clone();
        // A request that is given up while it waits leaves nothing behind either.
        let mut turn = Turn { turns: self, name, lock, guard: None };
        turn.guard = Some(turn.lock.clone().lock_owned().await);
        turn
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.guard = None;
        let mut locks = self.turns.0.lock();
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

    fn name(name: &str) -> Name {
        ("s".to_owned(), name.to_owned())
    }

    #[test]
    fn the_next_one_waits_for_its_turn_and_nothing_stays() {
        let turns = Turns::default();
        let first = turns.turn(name("one")).now_or_never().unwrap();
        assert!(turns.turn(name("one")).now_or_never().is_none(), "given up");
        let mut second = Box::pin(turns.turn(name("one")));
        assert!(second.as_mut().now_or_never().is_none());
        drop(turns.turn(name("other")).now_or_never().unwrap());
        drop(first);
        let second = second.now_or_never().unwrap();
        assert_eq!(turns.0.lock().len(), 1);
        drop(second);
        assert!(turns.0.lock().is_empty());
    }
}
