//! The number and times of retries, and the keys that make them safe (ASP-35).
//! Must not know: the retried request.

use std::{fmt, time::Duration};

use serde::Serialize;

use crate::Error;

/// A key under which the server carries out a call at most once, 1 to 255 characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// A new key of 128 random bits.
    pub fn random() -> Self {
        let mut bits = [0; 16];
        fill(&mut bits);
        Self(hex::encode(bits))
    }

    /// A key chosen by the caller. The server checks whether it is valid.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn fill(bits: &mut [u8]) {
    getrandom::fill(bits).expect("the operating system gives random bytes");
}

/// Increasing pauses with jitter: the `n`th is random between half and all of `first * 2^n`, at most `longest`.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    tried: u32,
}

impl Backoff {
    /// Pauses that start near `first` and never exceed `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, tried: 0 }
    }

    /// The next pause.
    pub fn next_wait(&mut self) -> Duration {
        let whole = self.first.saturating_mul(1 << self.tried.min(20)).min(self.longest);
        self.tried = self.tried.saturating_add(1);
        let mut bits = [0; 4];
        fill(&mut bits);
        let share = f64::from(u32::from_le_bytes(bits)) / f64::from(u32::MAX);
        whole.mul_f64(0.5 + share / 2.0)
    }

    /// Starts again with the first pause, after a success.
    pub fn reset(&mut self) {
        self.tried = 0;
    }
}

/// The pause before a stream is opened again for the first time; short, because the grace window of a participant is running
/// (ASP-50).
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest pause: well below the default grace window of 30 s, the default retention of frames, and the time for which a
/// run waits for an instance of its agent.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// When a stream that failed or broke is opened again.
#[derive(Debug)]
pub(crate) struct Reconnecting {
    /// Whether a server that was never reached is waited for; otherwise the first failure is final.
    waits_for_server: bool,
    /// Whether a first refusal that may pass is final too.
    first_refusal_is_final: bool,
    reached: bool,
    backoff: Backoff,
}

impl Reconnecting {
    pub(crate) const fn new(waits_for_server: bool) -> Self {
        let backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        Self { waits_for_server, first_refusal_is_final: true, reached: false, backoff }
    }

    /// The same, where also a first refusal that may pass is waited for.
    pub(crate) const fn patient(waits_for_server: bool) -> Self {
        Self { first_refusal_is_final: false, ..Self::new(waits_for_server) }
    }

    /// The stream is open.
    pub(crate) fn note_open(&mut self) {
        self.reached = true;
    }

    /// The stream works.
    pub(crate) fn reset(&mut self) {
        self.backoff.reset();
    }

    /// The pause after the stream broke.
    pub(crate) fn pause(&mut self) -> Duration {
        self.backoff.next_wait()
    }

    /// The pause after the stream could not be opened, at least as long as the server asks for; `None` if that is final.
    pub(crate) fn pause_after(&mut self, error: &Error) -> Option<Duration> {
        let is_refused = matches!(error, Error::Refused(_));
        let waits = self.reached || self.waits_for_server || is_refused && !self.first_refusal_is_final;
        let asked = error.retry_after().unwrap_or_default().min(LONGEST_WAIT);
        (waits && error.may_pass()).then(|| self.pause().max(asked))
    }
}

/// How often a call with an idempotency key is retried on a transient failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Total number of attempts; 1 means no retry.
    pub attempts: u32,
    /// The approximate pause after the first failure; later pauses double.
    pub first_wait: Duration,
    /// The longest pause, even if `Retry-After` asks for more.
    pub longest_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 5, first_wait: Duration::from_millis(100), longest_wait: Duration::from_secs(5) }
    }
}

impl Retry {
    /// One attempt only.
    pub const NONE: Self = Self { attempts: 1, first_wait: Duration::ZERO, longest_wait: Duration::ZERO };

    /// Repeats `call` until it succeeds, fails permanently, or the attempts are used up.
    pub(crate) async fn run<T, F>(self, mut call: impl FnMut() -> F) -> crate::Result<T>
    where
        F: Future<Output = crate::Result<T>>,
    {
        let mut backoff = Backoff::new(self.first_wait, self.longest_wait);
        let mut attempts_left = self.attempts.max(1);
        loop {
            attempts_left -= 1;
            match call().await {
                Err(error) if attempts_left > 0 && error.is_transient() => {
                    let requested_wait = error.retry_after().unwrap_or_default().min(self.longest_wait);
                    tokio::time::sleep(backoff.next_wait().max(requested_wait)).await;
                }
                outcome => return outcome,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerRefusal;

    #[test]
    fn waits_rise_with_jitter_and_stay_under_the_limit() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        for n in 0..40 {
            let whole = Duration::from_millis(100 << n.min(5)).min(Duration::from_secs(1));
            let wait = backoff.next_wait();
            assert!(wait >= whole / 2 && wait <= whole, "{n}: {wait:?}");
        }
        backoff.reset();
        assert!(backoff.next_wait() <= Duration::from_millis(100));
    }

    #[test]
    fn a_stream_is_opened_again_unless_a_failure_is_final() {
        let refused = |status: u16| {
            let retry_after = Some(Duration::from_secs(3_600));
            let (code, message) = (String::new(), String::new());
            Error::Refused(ServerRefusal { status, code, field: None, message, retry_after })
        };
        for (status, passes) in
            [(429, true), (500, true), (503, true), (501, false), (401, false), (404, false)]
        {
            let pause = passes.then_some(LONGEST_WAIT);
            let mut fresh = Reconnecting::new(false);
            assert_eq!(fresh.pause_after(&refused(status)), None, "{status}");
            fresh.note_open();
            assert_eq!(fresh.pause_after(&refused(status)), pause, "{status}");
            assert_eq!(Reconnecting::new(true).pause_after(&refused(status)), pause, "{status}");
            assert_eq!(Reconnecting::patient(false).pause_after(&refused(status)), pause, "{status}");
        }
    }

    #[test]
    fn asp_35_keys_differ() {
        assert_ne!(IdempotencyKey::random(), IdempotencyKey::random());
        assert_eq!(IdempotencyKey::random().as_str().len(), 32);
    }
}
