//! The only source of time and randomness.

use std::cell::RefCell;

use plenary_kernel::{Clock, Stamp, TimestampMs};

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
        Stamp::new(self.now(), ENTROPY.with_borrow_mut(Entropy::take))
    }
}

/// Random bytes of one thread, fetched from the operating system for many stamps at a time.
struct Entropy {
    block: [[u8; 10]; 64],
    remaining: usize,
}

thread_local! {
    static ENTROPY: RefCell<Entropy> = const { RefCell::new(Entropy { block: [[0; 10]; 64], remaining: 0 }) };
}

impl Entropy {
    /// The next ten bytes, each used once.
    fn take(&mut self) -> [u8; 10] {
        if self.remaining == 0 {
            getrandom::fill(self.block.as_flattened_mut()).expect("the operating system gives random bytes");
            self.remaining = self.block.len();
        }
        self.remaining -= 1;
        std::mem::take(&mut self.block[self.remaining])
    }
}
