//! The retry intervals for a lost server.

use std::{future::Future, time::Duration};

use tokio::time::Instant;

use crate::{target::OpenError, trouble::Trouble};

/// The first pause after a failed attempt; each further one is twice as long.
const PAUSE_MS_MIN: u64 = 100;
/// The longest pause.
const PAUSE_MS_MAX: u64 = 2_000;

/// When the next attempt may be made, and why the last one failed.
#[derive(Default)]
pub(crate) struct Backoff {
    failed: Option<(Instant, Trouble)>,
    pause_ms: u64,
}

impl Backoff {
    /// Makes the attempt, or returns the last failure if it is too early for one.
    pub(crate) async fn attempt<T>(
        &mut self,
        attempt: impl Future<Output = Result<T, OpenError>>,
    ) -> Result<T, Trouble> {
        if let Some((until, trouble)) = &self.failed
            && Instant::now() < *until
        {
            return Err(trouble.clone());
        }
        match attempt.await {
            Ok(done) => {
                *self = Self::default();
                Ok(done)
            }
            Err(error) => {
                let trouble = error.trouble();
                let pause = self.pause();
                tracing::warn!(%trouble, pause_ms = pause.as_millis(), "PostgreSQL cannot be reached");
                self.failed = Some((Instant::now() + pause, trouble.clone()));
                Err(trouble)
            }
        }
    }

    /// The next pause.
    pub(crate) fn pause(&mut self) -> Duration {
        self.pause_ms = (self.pause_ms * 2).clamp(PAUSE_MS_MIN, PAUSE_MS_MAX);
        Duration::from_millis(self.pause_ms)
    }
}
