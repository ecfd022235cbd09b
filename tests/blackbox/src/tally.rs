//! How much was acknowledged of what several clients ask at once, so that a kill strikes where there is load, however
//! slow the machine. Must not know: what is asked.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A count that several clients share.
#[derive(Debug, Default)]
pub struct Tally(AtomicUsize);

impl Tally {
    /// One more.
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until there are so many.
    pub async fn reaches(&self, least: usize) {
        crate::eventually(&format!("{least} are acknowledged"), || async {
            (self.0.load(Ordering::Relaxed) >= least).then_some(())
        })
        .await;
    }
}
