//! Chance that can be repeated: the same seed and round choose the same again.
//! Must not know: what is chosen.

/// A generator of numbers (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    /// The chance of one round.
    pub(super) fn new(seed: u64, round: usize) -> Self {
        let mut chance = Self(seed ^ (round as u64).wrapping_mul(0xa076_1d64_78bd_642f));
        chance.next();
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// One of these.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let nth = self.below(of.len() as u64);
        &of[usize::try_from(nth).expect("an index")]
    }
}
