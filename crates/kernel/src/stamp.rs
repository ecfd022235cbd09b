//! What a decider may know of time and chance: both are handed to it.
//! Must not know: the system clock or a random source.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimestampMs(pub u64);

/// The moment and the randomness of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When the command was taken up.
    pub now: TimestampMs,
    entropy: u128,
}

impl Stamp {
    /// A stamp from a time and 80 random bits.
    #[must_use]
    pub fn new(now: TimestampMs, entropy: [u8; 10]) -> Self {
        let mut wide = [0; 16];
        wide[6..].copy_from_slice(&entropy);
        Self { now, entropy: u128::from_be_bytes(wide) }
    }

    /// The `nth` ULID of this stamp, 26 characters. Ids of one stamp rise with `nth`, but for a wrap-around
    /// of the 80 random bits.
    #[must_use]
    pub fn ulid(&self, nth: u64) -> ulid::Ulid {
        ulid::Ulid::from_parts(self.now.0, self.entropy.wrapping_add(u128::from(nth)))
    }
}
