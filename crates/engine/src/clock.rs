//! The one place where time and chance come in.

use plenary_kernel::{Stamp, TimestampMs};

/// Where stamps come from.
pub trait Clock: Send + Sync + 'static {
    /// The present, by the wall clock.
    fn now(&self) -> TimestampMs;
    /// The present with fresh randomness.
    fn stamp(&self) -> Stamp;
}

/// The machine's clock and its random source.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock")]
    fn now(&self) -> TimestampMs {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        TimestampMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn stamp(&self) -> Stamp {
        let mut entropy = [0; 10];
        getrandom::fill(&mut entropy).expect("the operating system gives random bytes");
        Stamp::new(self.now(), entropy)
    }
}
