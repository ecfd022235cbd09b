//! A reader's position in the log: it only rises, and others can wait for it.
//! Must not know: the reader, or its use of the events.

use std::time::Duration;

use plenary_kernel::Position;
use tokio::{sync::watch, time::timeout};

/// The highest position that was reached.
#[derive(Debug)]
pub struct HighWater(watch::Sender<Position>);

impl Default for HighWater {
    fn default() -> Self {
        Self::at(Position::ZERO)
    }
}

impl HighWater {
    /// A mark at this position.
    pub fn at(position: Position) -> Self {
        Self(watch::Sender::new(position))
    }

    /// The highest position so far.
    pub fn position(&self) -> Position {
        *self.0.borrow()
    }

    /// Raises the mark and wakes its waiters. A position below the mark changes nothing.
    pub fn raise(&self, position: Position) {
        self.0.send_if_modified(|mark| {
            let is_higher = position > *mark;
            *mark = position.max(*mark);
            is_higher
        });
    }

    /// Waits until the mark reaches the position, for `wait` at most. False if it is still below.
    pub async fn reached(&self, position: Position, wait: Duration) -> bool {
        let mut mark = self.0.subscribe();
        // The sender lives as long as `self`, so the wait ends with the mark or with the time.
        timeout(wait, mark.wait_for(|mark| *mark >= position)).await.is_ok_and(|waited| waited.is_ok())
    }

    /// A receiver that is notified of each rise.
    pub fn subscribe(&self) -> watch::Receiver<Position> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    #[tokio::test(start_paused = true)]
    async fn it_only_rises() {
        let mark = HighWater::at(Position(7));
        let mut rises = mark.subscribe();
        mark.raise(Position(6));
        mark.raise(Position(7));
        assert_eq!((mark.position(), rises.has_changed().unwrap()), (Position(7), false));
        mark.raise(Position(9));
        assert_eq!((mark.position(), *rises.borrow_and_update()), (Position(9), Position(9)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_is_woken_at_its_position_and_not_before() {
        let mark = HighWater::default();
        let (reached, ()) = tokio::join!(mark.reached(Position(2), LONG), async {
            mark.raise(Position(1));
            tokio::task::yield_now().await;
            mark.raise(Position(3));
        });
        assert!(reached);
        assert!(mark.reached(Position(3), Duration::ZERO).await, "what was reached needs no wait");
        assert!(!mark.reached(Position(4), LONG).await, "the wait has its end");
    }
}
