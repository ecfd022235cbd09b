//! The server's wall clock: the machine's, or in tests one that differs from it. A test cannot give processes of one machine
//! different wall clocks by other means: a time namespace shifts only the monotonic clocks, and a preloaded library does
//! not reach a static binary.
//! Must not know: what the time is used for.

use std::sync::Arc;

use plenary_engine::SystemClock;
use plenary_kernel::{Clock, Stamp, TimestampMs};

/// A clock that is ahead of the machine's, or behind it.
struct ShiftedClock {
    ahead_ms: i64,
}

impl Clock for ShiftedClock {
    fn now(&self) -> TimestampMs {
        TimestampMs(SystemClock.now().0.saturating_add_signed(self.ahead_ms))
    }

    fn stamp(&self) -> Stamp {
        let mut stamp = SystemClock.stamp();
        stamp.now = self.now();
        stamp
    }
}

/// The machine's clock, or one that is this many seconds ahead of it.
pub(super) fn ahead(seconds: i64) -> Arc<dyn Clock> {
    if seconds == 0 {
        return Arc::new(SystemClock);
    }
    tracing::warn!(seconds, "this server's clock is not the machine's: --test-clock-ahead is for tests");
    Arc::new(ShiftedClock { ahead_ms: seconds.saturating_mul(1_000) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_clock_is_ahead_of_the_machine_or_behind_it() {
        for seconds in [300, -300] {
            let clock = ahead(seconds);
            for now in [clock.now(), clock.stamp().now] {
                let off = now.ms() - SystemClock.now().ms() - seconds * 1_000;
                assert!(off.abs() < 60_000, "{seconds}: {off} ms off");
            }
        }
        assert_ne!(ahead(300).stamp().ulid(0), ahead(300).stamp().ulid(0), "the randomness is the machine's");
    }
}
