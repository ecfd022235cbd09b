//! The number of packages to read concurrently: their sizes differ by a factor of a thousand, and a round of large
//! ones must not fill the memory.
//! Must not know: the use of the packages.

use crate::limits::{READ_BYTES, READS_AT_ONCE};

/// The number of reads in the next round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rounds(usize);

impl Default for Rounds {
    fn default() -> Self {
        Self(READS_AT_ONCE / 8)
    }
}

impl Rounds {
    /// How many to read next.
    pub(crate) const fn reads(self) -> usize {
        self.0
    }

    /// Adapts the number to the bytes of the last round.
    pub(crate) fn learn(&mut self, bytes: usize) {
        if bytes > READ_BYTES {
            self.0 = (self.0 / 4).max(1);
        } else if bytes < READ_BYTES / 2 {
            self.0 = (self.0 * 2).min(READS_AT_ONCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_small_packages_grow_and_rounds_of_large_ones_shrink() {
        let mut rounds = Rounds::default();
        for _ in 0..10 {
            rounds.learn(1_000);
        }
        assert_eq!(rounds.reads(), READS_AT_ONCE);
        for _ in 0..10 {
            rounds.learn(16 << 20);
        }
        assert_eq!(rounds.reads(), 1);
        rounds.learn(READ_BYTES);
        assert_eq!(rounds.reads(), 1, "what fits stays");
    }
}
