//! The server's clock, as far as its responses tell: a client's clock may be wrong, and the server compares times with its own.
//! Must not know: the use of the time.

use std::sync::atomic::{AtomicI64, Ordering};

use http::{HeaderMap, header};
use plenary_kernel::TimestampMs;

use crate::frames::now;

/// No response has told the time.
const UNKNOWN: i64 = i64::MIN;
/// A smaller difference is none: the header has whole seconds, and the response was under way.
const DIFFERENCE_MS_MIN: i64 = 2_000;
/// The header has lost half a second on average.
const LOST_MS: i64 = 500;

/// The difference between the server's clock and this machine's.
#[derive(Debug)]
pub(crate) struct ServerClock {
    ahead_ms: AtomicI64,
}

impl Default for ServerClock {
    fn default() -> Self {
        Self { ahead_ms: AtomicI64::new(UNKNOWN) }
    }
}

impl ServerClock {
    /// Notes the time of a response that has just arrived.
    pub(crate) fn note(&self, headers: &HeaderMap) {
        let date = headers.get(header::DATE).and_then(|value| value.to_str().ok());
        let Some(at) = date.and_then(|text| httpdate::parse_http_date(text).ok()) else { return };
        let since = at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let at_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        self.ahead_ms.store(difference(at_ms, now()), Ordering::Relaxed);
    }

    /// Whether a response has told the time.
    pub(crate) fn is_known(&self) -> bool {
        self.ahead_ms.load(Ordering::Relaxed) != UNKNOWN
    }

    /// The server's time at this time of ours; the same if no response has told it.
    pub(crate) fn at(&self, now: TimestampMs) -> TimestampMs {
        let ahead = self.ahead_ms.load(Ordering::Relaxed);
        if ahead == UNKNOWN { now } else { TimestampMs(now.0.saturating_add_signed(ahead)) }
    }
}

fn difference(server_ms: i64, now: TimestampMs) -> i64 {
    let now = i64::try_from(now.0).unwrap_or(i64::MAX);
    let ahead = server_ms.saturating_add(LOST_MS).saturating_sub(now);
    if ahead.abs() < DIFFERENCE_MS_MIN { 0 } else { ahead }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_counts_if_it_is_more_than_the_header_can_be_off() {
        for (server_ms, ahead) in
            [(100_000, 0), (99_000, 0), (101_000, 0), (190_000, 90_500), (10_000, -89_500)]
        {
            assert_eq!(difference(server_ms, TimestampMs(100_000)), ahead, "{server_ms}");
        }
    }

    #[test]
    fn the_time_of_the_last_response_is_that_of_the_server() {
        let clock = ServerClock::default();
        let headers =
            |date: &str| -> HeaderMap { HeaderMap::from_iter([(header::DATE, date.parse().unwrap())]) };
        clock.note(&headers("yesterday"));
        assert!(!clock.is_known());
        assert_eq!(clock.at(TimestampMs(5)), TimestampMs(5));
        clock.note(&headers("Sun, 06 Nov 1994 08:49:37 GMT"));
        assert!(clock.is_known());
        assert_eq!(clock.at(now()).0 / 60_000, 784_111_777 / 60);
    }
}
