//! The timers of the room: deadlines, and the ends of undo windows. After a restart the next process continues them.
//! Must not know: the effect of an answer.

use std::sync::atomic::Ordering;

use plenary_kernel::{AskId, TimestampMs};
use plenary_log::{Fault, Order};

use crate::{
    Requests, UNDO_SECONDS_MAX,
    room::{DUE, time},
};

/// How far back a clock is set at least; less may be the difference of two readings.
const SET_BACK_MS_MIN: u64 = 1_000;
/// Most timers ahead that are looked at, at a start and after the clock was set back.
const AHEAD_MAX: usize = 200;

impl Requests {
    /// Handles due timers. Called regularly; reads the store only if a timer may be due.
    pub(crate) async fn run_timers(&self) -> Result<(), Fault> {
        let now = self.now();
        let before = self.0.looked_at.swap(now.0, Ordering::AcqRel);
        if let Some(end) = end_of_set_back(before, now) {
            self.settle_ahead(end).await?;
        }
        if self.0.next_due.load(Ordering::Acquire) > now.0 {
            return Ok(());
        }
        // Set before the search, so that a time that is noted meanwhile is not lost.
        self.0.next_due.store(u64::MAX, Ordering::Release);
        let outcome = self.handle_due_timers().await;
        if outcome.is_err() {
            self.0.next_due.store(0, Ordering::Release);
        }
        outcome
    }

    async fn handle_due_timers(&self) -> Result<(), Fault> {
        let mut rows = self.log().index_rows(DUE, "", Order::Ascending);
        while let Some(row) = rows.next().await? {
            let end = time(self.now());
            let Some((due, id)) = row.key.split_once('/') else { continue };
            if *due > *end {
                self.note_due(due.parse().ok().map(TimestampMs));
                break;
            }
            if let Ok(id) = id.parse::<AskId>() {
                let result = self.pass_time(&id).await;
                Fault::skip_corrupt(result, "the time of a damaged request does not pass")?;
            }
        }
        Ok(())
    }

    /// Handles timers up to a time ahead: the undo windows of answers from before the clock was set back are over.
    async fn settle_ahead(&self, end: TimestampMs) -> Result<(), Fault> {
        let (mut rows, mut looked_at) = (self.log().index_rows(DUE, "", Order::Ascending), 0);
        while let Some(row) = rows.next().await? {
            let Some((due, id)) = row.key.split_once('/') else { continue };
            looked_at += 1;
            if *due > *time(end) || looked_at > AHEAD_MAX {
                break;
            }
            if let Ok(id) = id.parse::<AskId>() {
                let result = self.pass_time(&id).await;
                Fault::skip_corrupt(result, "the time of a damaged request does not pass")?;
            }
        }
        Ok(())
    }
}

/// The last time at which an undo window may end that began before the clock was set back; `None` if it was not. At the first look
/// nothing is known.
fn end_of_set_back(before: u64, now: TimestampMs) -> Option<TimestampMs> {
    match before {
        0 => Some(TimestampMs(u64::MAX)),
        _ if now.0.saturating_add(SET_BACK_MS_MIN) < before => {
            Some(TimestampMs(before.saturating_add(UNDO_SECONDS_MAX * 1_000)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_start_and_after_the_clock_was_set_back_timers_ahead_are_looked_at() {
        for (before, now, end) in [
            (0, 5_000, Some(u64::MAX)),
            (5_000, 6_000, None),
            (5_000, 4_000, None),
            (3_600_000, 1_000, Some(3_660_000)),
        ] {
            assert_eq!(end_of_set_back(before, TimestampMs(now)), end.map(TimestampMs), "{before} {now}");
        }
    }
}
