//! The limits of a run and their use so far, and the text of its output.
//! Must not know: the receivers of events.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    limits::{RESULT_BYTES_MAX, WHY_BYTES_MAX},
    registry::RunLimits,
    runner::{Event, EventKind, FinishReason, RunEnd},
};

/// The use of one run.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: RunLimits,
    events: u64,
    bytes: u64,
    /// The running time that was left when the clock last started; the time in which the run waits for input does not
    /// count.
    remaining: Duration,
    clock_start: Instant,
    is_waiting: bool,
    /// The joined TextOutputs, cut to the limit of a result.
    text: String,
}

impl Budget {
    pub(crate) fn new(limits: RunLimits, now: Instant) -> Self {
        let remaining = limits.time_max;
        Self {
            limits,
            events: 0,
            bytes: 0,
            remaining,
            clock_start: now,
            is_waiting: false,
            text: String::new(),
        }
    }

    /// The deadline of the run.
    pub(crate) fn deadline(&self) -> Instant {
        let maximum = if self.is_waiting { self.limits.waiting_max } else { self.remaining };
        // A time beyond the clock's range never comes.
        self.clock_start
            .checked_add(maximum)
            .unwrap_or_else(|| self.clock_start + Duration::from_secs(1 << 31))
    }

    /// The end of a run that is past its deadline.
    pub(crate) fn timeout_end(&self) -> RunEnd {
        let (activity, maximum) = match self.is_waiting {
            true => ("The run waited for input", self.limits.waiting_max),
            false => ("The run took", self.limits.time_max),
        };
        RunEnd::error(format!("{activity} longer than the maximum, {} s.", maximum.as_secs_f64()))
    }

    /// Counts an event; `Err` with the exceeded limit.
    pub(crate) fn count(&mut self, event: &Event, now: Instant) -> Result<(), String> {
        self.events += 1;
        self.bytes += event.bytes() as u64;
        if self.events > self.limits.events_max {
            return Err(format!("The run exceeds the maximum number of events, {}.", self.limits.events_max));
        }
        if self.bytes > self.limits.bytes_max {
            return Err(format!("The run exceeds the maximum size, {} bytes.", self.limits.bytes_max));
        }
        if event.kind == EventKind::WaitForInput && !self.is_waiting {
            self.remaining = self.remaining.saturating_sub(now - self.clock_start);
            (self.clock_start, self.is_waiting) = (now, true);
        }
        if self.text.len() < RESULT_BYTES_MAX
            && let Some(content) = event.content()
        {
            self.text.push_str(&content);
            self.text.truncate(self.text.floor_char_boundary(RESULT_BYTES_MAX));
        }
        Ok(())
    }

    /// Starts the clock again: the caller has answered.
    pub(crate) fn resume(&mut self, now: Instant) {
        (self.clock_start, self.is_waiting) = (now, false);
    }

    /// The end as it is written: a success has a result (SC-14), and no result is too long.
    pub(crate) fn finish(&mut self, end: RunEnd) -> RunEnd {
        let RunEnd { finish_reason, mut result, mut error, rejected } = end;
        if finish_reason == FinishReason::Success && result.is_none() {
            result = Some(std::mem::take(&mut self.text));
        }
        if result.as_ref().is_some_and(|result| result.len() > RESULT_BYTES_MAX) {
            return RunEnd::error(format!("The result exceeds the maximum size, {RESULT_BYTES_MAX} bytes."));
        }
        if let Some(error) = &mut error {
            error.truncate(error.floor_char_boundary(WHY_BYTES_MAX));
        }
        RunEnd { finish_reason, result, error, rejected }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn limits() -> RunLimits {
        RunLimits {
            time_max: Duration::from_secs(10),
            waiting_max: Duration::from_secs(100),
            events_max: 3,
            bytes_max: 60,
        }
    }

    #[test]
    fn the_time_in_which_it_waits_does_not_count() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut budget = Budget::new(limits(), start);
        assert_eq!(budget.deadline(), at(10));
        budget.count(&Event::wait_for_input(&Map::new()), at(4)).unwrap();
        assert_eq!(budget.deadline(), at(104));
        assert!(budget.timeout_end().error.unwrap().contains("100 s"));
        budget.resume(at(50));
        assert_eq!(budget.deadline(), at(56));
        assert!(budget.timeout_end().error.unwrap().contains("10 s"));
    }

    #[test]
    fn past_its_events_or_bytes_it_is_told_which() {
        let now = Instant::now();
        let mut budget = Budget::new(limits(), now);
        for _ in 0..3 {
            budget.count(&Event::text(""), now).unwrap();
        }
        assert!(budget.count(&Event::text(""), now).unwrap_err().contains("events"));
        let mut budget = Budget::new(limits(), now);
        assert!(budget.count(&Event::text(&"x".repeat(60)), now).unwrap_err().contains("bytes"));
        let mut budget = Budget::new(limits(), now);
        let artifact = Event::artifact("a", "b", vec![0; 61].into());
        assert!(budget.count(&artifact, now).unwrap_err().contains("bytes"));
    }

    #[test]
    fn sc_14_a_success_without_a_result_has_what_was_put_out() {
        let now = Instant::now();
        let mut budget = Budget::new(RunLimits::default(), now);
        for text in ["a", "b"] {
            budget.count(&Event::text(text), now).unwrap();
            budget.count(&Event::tool_text("tool"), now).unwrap();
        }
        assert_eq!(budget.finish(RunEnd::success()).result.as_deref(), Some("ab"));
        assert_eq!(budget.finish(RunEnd::with("own")).result.as_deref(), Some("own"));
        assert_eq!(budget.finish(RunEnd::canceled()).result, None);
        let long = budget.finish(RunEnd::with("x".repeat(RESULT_BYTES_MAX + 1)));
        assert_eq!((long.finish_reason, long.result), (FinishReason::Error, None));
        let error = budget.finish(RunEnd::error("é".repeat(WHY_BYTES_MAX))).error.unwrap();
        assert_eq!(error.len(), WHY_BYTES_MAX);
    }
}
