//! The first event number of this process: above all earlier numbers, whatever the clock (wire.md D.5).
//! Numbers begin with the time, so the log stores a time ahead of the clock that no number reaches;
//! after a restart numbers begin there at the earliest. It takes one append per half hour in which
//! frames are sent.
//! Must not know: the subscriptions, or the content of a frame.

use std::sync::Arc;

use parking_lot::Mutex;
use plenary_engine::{Command, Conditions, Decided, Decision, Point, Room, Streams};
use plenary_kernel::{Clock, OwnerName, TimestampMs, Version};
use plenary_log::{Fault, Log};
use serde::{Deserialize, Serialize};

/// How far ahead of the clock the stored time is, in milliseconds.
const AHEAD_MS: u64 = 3_600_000;
/// With less than this left, a later time is stored.
const MARGIN_MS: u64 = AHEAD_MS / 2;
/// The pause after a failed append, in milliseconds.
const AGAIN_MS: u64 = 1_000;
/// The id of the only stream.
const ID: &str = "all";

/// A time that no number reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredNumber {
    until: TimestampMs,
}

plenary_engine::stored_forms!(StoredNumber = "NumbersKept");

/// The numbers of the handles' events as a room of the engine.
#[derive(Debug)]
pub(crate) struct NumbersRoom;

impl Room for NumbersRoom {
    type State = StoredNumber;
    type Event = StoredNumber;
    const CATEGORY: &'static str = "frames.numbers";
    const SNAPSHOT_FORM: u16 = 1;

    fn payer(_: &str, _: &StoredNumber, _: &StoredNumber) -> Option<OwnerName> {
        None
    }
    fn evolve(state: &mut StoredNumber, _: Version, _: TimestampMs, event: &StoredNumber) {
        *state = *event;
    }
}

/// Stores a later time.
struct ReserveMore {
    /// The current time of the process.
    time: TimestampMs,
}

/// The stored range of times for this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Range {
    from: TimestampMs,
    until: TimestampMs,
}

impl Command<NumbersRoom> for ReserveMore {
    const NAME: &'static str = "keep_more";
    type Reply = Range;
    type Rejection = std::convert::Infallible;
    type Facts = ();

    async fn facts(&self, _: &StoredNumber, _: &mut Conditions) -> Result<(), Fault> {
        Ok(())
    }

    fn decide(&self, state: &StoredNumber, (): &(), _: &Point) -> Decided<NumbersRoom, Self> {
        let from = state.until.max(self.time);
        let until = TimestampMs(from.0.saturating_add(AHEAD_MS));
        Ok(Decision::new(vec![StoredNumber { until }], Range { from, until }))
    }
}

/// The range of times for this process's numbers.
pub(crate) struct Numbers {
    streams: Streams<NumbersRoom>,
    range: Mutex<Option<Range>>,
    reserving: tokio::sync::Mutex<()>,
}

impl Numbers {
    pub(crate) fn new(log: Log, clock: Arc<dyn Clock>) -> Self {
        let streams = Streams::new(log, clock);
        Self { streams, range: Mutex::default(), reserving: tokio::sync::Mutex::default() }
    }

    /// The time with which the next number begins: now, or later if an earlier process may have given
    /// such numbers already. A store with several processes counts by itself.
    pub(crate) async fn next_time(&self) -> TimestampMs {
        let now = self.streams.clock().now();
        if self.streams.log().shared() {
            return now;
        }
        if let Some(time) = self.within(now) {
            return time;
        }
        let _reserving = self.reserving.lock().await;
        if let Some(time) = self.within(now) {
            return time;
        }
        let first = self.range().map(|range| range.from);
        let time = first.map_or(now, |from| from.max(now));
        let range = match self.streams.execute(ID, &ReserveMore { time }, None).await {
            Ok(executed) => executed.reply,
            Err(error) => {
                tracing::warn!(?error, "the frame counter cannot be advanced; it is tried again");
                let stored = self.streams.state(ID).await.map(|(stored, _)| stored.until).unwrap_or_default();
                let from = stored.max(time);
                Range { from, until: TimestampMs(from.0.saturating_add(MARGIN_MS + AGAIN_MS)) }
            }
        };
        let range = Range { from: first.unwrap_or(range.from), ..range };
        *self.range.lock() = Some(range);
        range.from.max(now)
    }

    fn range(&self) -> Option<Range> {
        *self.range.lock()
    }

    /// The time, if the stored range contains it.
    fn within(&self, now: TimestampMs) -> Option<TimestampMs> {
        let range = self.range()?;
        let time = range.from.max(now);
        (time.0.saturating_add(MARGIN_MS) < range.until.0).then_some(time)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use plenary_engine::golden::assert_frozen;
    use plenary_kernel::Stamp;
    use plenary_log::open_memory;

    use super::*;

    #[derive(Default)]
    struct SetClock(AtomicU64);

    impl Clock for SetClock {
        fn now(&self) -> TimestampMs {
            TimestampMs(self.0.load(Ordering::Relaxed))
        }
        fn stamp(&self) -> Stamp {
            Stamp::new(self.now(), [1; 10])
        }
    }

    #[tokio::test]
    async fn d_5_numbers_rise_over_a_restart_with_the_clock_set_back() {
        let (log, clock) = (open_memory().log, Arc::new(SetClock::default()));
        let set_clock = |ms| clock.0.store(ms, Ordering::Relaxed);
        set_clock(10_000_000);
        let first = Numbers::new(log.clone(), clock.clone());
        let mut newest = first.next_time().await;
        assert_eq!(newest, TimestampMs(10_000_000));
        for ms in [10_500_000, 12_000_000, 9_000_000, 16_000_000] {
            set_clock(ms);
            newest = newest.max(first.next_time().await);
        }
        assert_eq!(newest, TimestampMs(16_000_000));
        set_clock(1_000_000);
        let second = Numbers::new(log.clone(), clock.clone());
        let first = second.next_time().await;
        assert!(first > newest, "{first:?}");
        set_clock(2_000_000);
        assert_eq!(second.next_time().await, first, "never before it");
        set_clock(first.0 + 5);
        assert_eq!(second.next_time().await, TimestampMs(first.0 + 5), "and with the clock again behind it");
        let events = log.read_stream(&NumbersRoom::stream(ID), Version::ZERO, 100).await.unwrap();
        assert!(events.len() <= 6, "few are stored: {}", events.len());
    }

    #[test]
    fn the_stored_form_is_frozen() {
        assert_frozen::<StoredNumber>(&[("NumbersKept", r#"{"until":7}"#)]);
    }
}
