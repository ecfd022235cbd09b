//! A pause between equal lines of the log: a lasting trouble fails many requests a second, and must not fill the disk with
//! words of it.
//! Must not know: the line, or where it goes.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Counts occurrences, of which the log gets a line at most once in a pause.
#[derive(Debug)]
pub struct LinePause {
    pause: Duration,
    count: Mutex<Count>,
}

#[derive(Debug)]
struct Count {
    line_at: Option<Instant>,
    without_line: u64,
}

impl LinePause {
    /// The pause after a line.
    pub const fn new(pause: Duration) -> Self {
        Self { pause, count: Mutex::new(Count { line_at: None, without_line: 0 }) }
    }

    /// Counts an occurrence. If a line is due, returns the number of occurrences since the last one, this one included.
    pub fn count(&self, now: Instant) -> Option<u64> {
        let mut count = self.count.lock();
        count.without_line += 1;
        if count.line_at.is_some_and(|line_at| now < line_at + self.pause) {
            return None;
        }
        count.line_at = Some(now);
        Some(std::mem::take(&mut count.without_line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_in_a_pause_tells_how_often_it_happened() {
        let (pause, start) = (LinePause::new(Duration::from_secs(10)), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert_eq!(pause.count(at(0)), Some(1), "the first is told at once");
        for number in 1..1_000 {
            assert_eq!(pause.count(at(number)), None, "{number}");
        }
        assert_eq!(pause.count(at(10_000)), Some(1_000));
        assert_eq!(pause.count(at(19_999)), None);
        assert_eq!(pause.count(at(60_000)), Some(2));
    }
}
