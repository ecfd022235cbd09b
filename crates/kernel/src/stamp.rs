//! The time and the randomness of one decision, as values.
//! Must not know: the system clock or a random source.

use serde::{Deserialize, Serialize};

use crate::rfc3339::Utc;

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimestampMs(pub u64);

impl TimestampMs {
    /// The milliseconds as a signed number, for arithmetic with times before 1970; capped at `i64::MAX`.
    pub fn ms(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// RFC 3339 in UTC with milliseconds: `2026-11-21T04:07:33.125Z`.
    pub fn rfc3339(self) -> String {
        Utc(self).to_string()
    }
}

/// The time and the randomness of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The time of the command.
    pub now: TimestampMs,
    entropy: u128,
}

impl Stamp {
    /// A stamp from a time and 80 random bits.
    pub fn new(now: TimestampMs, entropy: [u8; 10]) -> Self {
        let mut wide = [0; 16];
        wide[6..].copy_from_slice(&entropy);
        Self { now, entropy: u128::from_be_bytes(wide) }
    }

    /// The same randomness at another time.
    pub const fn at(self, now: TimestampMs) -> Self {
        Self { now, ..self }
    }

    /// The `nth` ULID of this stamp, 26 characters. The ULIDs of one stamp rise with `nth`, unless the 80 random bits wrap
    /// around.
    pub fn ulid(&self, nth: u64) -> ulid::Ulid {
        ulid::Ulid::from_parts(self.now.0, self.entropy.wrapping_add(u128::from(nth)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_over_leap_years_and_centuries() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_007, "2000-02-29T00:00:00.007Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_767_225_599_000, "2025-12-31T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(TimestampMs(ms).rfc3339(), text);
        }
    }
}
