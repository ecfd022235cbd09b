//! The health of the model, so that no caller waits for a broken one.
//! Must not know: the texts.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

/// Pause after a failure, before the model is called again.
pub(crate) const REST: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct Health {
    works: AtomicBool,
    failed_at: Mutex<Option<Instant>>,
}

impl Health {
    pub(crate) fn works(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    /// Whether to call the model: it works, was never called, or its pause is over.
    pub(crate) fn may_try(&self) -> bool {
        let failed_at = *self.failed_at.lock();
        failed_at.is_none_or(|at| at.elapsed() >= REST)
    }

    /// Records the result of a call. Returns whether the state changed.
    pub(crate) fn note(&self, worked: bool) -> bool {
        let mut failed_at = self.failed_at.lock();
        let is_first = failed_at.is_none();
        *failed_at = if worked { None } else { Some(Instant::now()) };
        self.works.swap(worked, Ordering::Relaxed) != worked || (!worked && is_first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_model_that_failed_has_its_rest() {
        let health = Health::default();
        assert!(!health.works() && health.may_try());
        assert!(health.note(false) && !health.may_try());
        assert!(!health.note(false));
        tokio::time::advance(REST).await;
        assert!(health.may_try() && !health.works());
        assert!(health.note(true) && health.works() && !health.note(true));
    }
}
