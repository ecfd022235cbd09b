//! When this process was away: it slept with its machine, or had not started yet, or its clock was set. Coding sessions
//! could not report meanwhile. Pure.
//! Must not know: how sessions report.

use std::{ops::RangeInclusive, time::Duration};

use plenary_kernel::TimestampMs;

use crate::handovers::LEASE_MS;

/// How far the wall clock may get from the clock that stands still while the machine sleeps, between two looks at both.
const DRIFT_MS_MAX: u64 = 10_000;
/// How far from a start the last report of a session may be that was live before: when this process ended is not known.
const RESTART_MS_MAX: u64 = 3_600_000;

/// An absence that has just ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Absence {
    /// The last reports of the sessions that were live when it began.
    last_signs: RangeInclusive<u64>,
    /// When it ended.
    pub(crate) end: TimestampMs,
}

impl Absence {
    /// Whether a session with this last report was live before, and has not reported since.
    pub(crate) fn excuses(&self, last_sign: TimestampMs, now: TimestampMs) -> bool {
        let has_reported = (self.end..=now).contains(&last_sign);
        self.last_signs.contains(&last_sign.0) && !has_reported
    }

    /// It together with an earlier one.
    fn with(self, earlier: &Self) -> Self {
        let first = *self.last_signs.start().min(earlier.last_signs.start());
        let last = *self.last_signs.end().max(earlier.last_signs.end());
        Self { last_signs: first..=last, end: self.end }
    }
}

/// Both clocks when they were last looked at, and the last absence.
#[derive(Debug)]
pub(crate) struct Absences {
    wall: TimestampMs,
    awake: Duration,
    last: Absence,
    ended_awake: Duration,
}

impl Absences {
    /// Those of a process that starts now.
    pub(crate) fn since_start(now: TimestampMs) -> Self {
        let last = Absence { last_signs: around(now, RESTART_MS_MAX), end: now };
        Self { wall: now, awake: Duration::ZERO, last, ended_awake: Duration::ZERO }
    }

    /// Looks at the clocks: the absence that sessions have had less than a lease to report since. `awake` is how long the
    /// process has run, without sleep.
    pub(crate) fn recent(&mut self, now: TimestampMs, awake: Duration) -> Option<Absence> {
        let lease = Duration::from_millis(LEASE_MS);
        let since_look = awake.saturating_sub(self.awake);
        let expected = self.wall.0.saturating_add(u64::try_from(since_look.as_millis()).unwrap_or(u64::MAX));
        // After more time awake without a look, no session was live.
        if now.0.abs_diff(expected) > DRIFT_MS_MAX && since_look <= lease {
            let absence = Absence { last_signs: around(self.wall, LEASE_MS), end: now };
            let is_second = awake.saturating_sub(self.ended_awake) <= lease;
            self.last = if is_second { absence.with(&self.last) } else { absence };
            self.ended_awake = awake;
        }
        (self.wall, self.awake) = (now, awake);
        (awake.saturating_sub(self.ended_awake) <= lease).then(|| self.last.clone())
    }
}

fn around(at: TimestampMs, ms: u64) -> RangeInclusive<u64> {
    at.0.saturating_sub(ms)..=at.0.saturating_add(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: u64 = 3_600_000;
    const T: u64 = 100 * HOUR_MS;

    fn look(absences: &mut Absences, now: u64, awake_s: u64) -> Option<Absence> {
        absences.recent(TimestampMs(now), Duration::from_secs(awake_s))
    }

    fn excused(absence: &Absence, now: u64, signs: &[u64]) -> Vec<bool> {
        signs.iter().map(|sign| absence.excuses(TimestampMs(*sign), TimestampMs(now))).collect()
    }

    #[test]
    fn after_a_start_sessions_of_the_last_hour_are_excused_for_a_lease() {
        let mut absences = Absences::since_start(TimestampMs(T));
        let absence = look(&mut absences, T + 30_000, 30).unwrap();
        let signs = [T - HOUR_MS - 1, T - HOUR_MS, T - 1, T, T + 30_000, T + 30_001];
        assert_eq!(excused(&absence, T + 30_000, &signs), [false, true, true, false, false, true]);
        assert!(look(&mut absences, T + 60_000, 60).is_some());
        assert_eq!(look(&mut absences, T + 61_000, 61), None);
    }

    #[test]
    fn a_sleep_and_a_set_clock_excuse_those_that_were_live_before() {
        for back in [T + 8 * HOUR_MS, T - 8 * HOUR_MS] {
            let mut absences = Absences::since_start(TimestampMs(T - 600_000));
            assert_eq!(look(&mut absences, T, 600), None);
            let absence = look(&mut absences, back, 615).unwrap();
            assert_eq!(absence.end, TimestampMs(back));
            let signs = [T - LEASE_MS - 1, T - LEASE_MS, T, back];
            assert_eq!(excused(&absence, back, &signs), [false, true, true, false]);
            assert_eq!(look(&mut absences, back + 60_000, 675), Some(absence));
            assert_eq!(look(&mut absences, back + 61_000, 676), None);
        }
    }

    #[test]
    fn a_clock_that_is_corrected_after_a_sleep_still_excuses_those_from_before_it() {
        let mut absences = Absences::since_start(TimestampMs(T - 600_000));
        look(&mut absences, T, 600);
        look(&mut absences, T + HOUR_MS, 605);
        let absence = look(&mut absences, T + 2 * HOUR_MS, 610).unwrap();
        assert_eq!(excused(&absence, T + 2 * HOUR_MS, &[T, T + HOUR_MS]), [true, true]);
    }

    #[test]
    fn small_steps_and_long_silence_are_no_absence() {
        let mut absences = Absences::since_start(TimestampMs(T - 600_000));
        look(&mut absences, T, 600);
        assert_eq!(look(&mut absences, T + 30_000, 620), None, "10 s more than the other clock");
        assert_eq!(
            look(&mut absences, T + 9 * HOUR_MS, 681),
            None,
            "awake for more than a lease since the last look"
        );
    }
}
