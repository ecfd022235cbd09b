//! The progress of long work: one line on a terminal that is rewritten, and nothing without a terminal.
//! Must not know: the work.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use super::Out;

/// The interval between two updates of the line.
const EVERY: Duration = Duration::from_millis(100);

/// The line; removed when dropped.
pub struct Progress {
    is_visible: bool,
    written: Option<Instant>,
    started_at: Instant,
}

impl Progress {
    /// Visible if standard error is a terminal, and never under `--json`.
    pub fn new(out: &Out) -> Self {
        Self {
            is_visible: !out.is_json() && io::stderr().is_terminal(),
            written: None,
            started_at: Instant::now(),
        }
    }

    /// Updates the line, unless it was updated just now.
    pub fn report(&mut self, step: &str, records: u64, bytes: u64) {
        if !self.is_visible || self.written.is_some_and(|written| written.elapsed() < EVERY) {
            return;
        }
        self.written = Some(Instant::now());
        let line = line(step, records, bytes, self.started_at.elapsed());
        let _closed = write!(io::stderr().lock(), "\r\x1b[K{line}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.written.is_some() {
            let _closed = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

fn line(step: &str, records: u64, bytes: u64, since: Duration) -> String {
    let per_s = bytes.saturating_mul(1000) / u64::try_from(since.as_millis()).unwrap_or(u64::MAX).max(1);
    format!("{step}: {records} done, {}, {}/s", size(bytes), size(per_s))
}

/// A number of bytes as text.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{}.{} MiB", bytes >> 20, (bytes >> 10) % 1024 * 10 / 1024),
        _ => format!("{}.{} GiB", bytes >> 30, (bytes >> 20) % 1024 * 10 / 1024),
    }
}

/// A number and its noun, in the plural unless it is one: `1 session`, `2 sessions`.
pub fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// A number with separated thousands: `10,000,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_amount_and_speed() {
        let text = line("export", 12, 3 << 20, Duration::from_secs(2));
        assert_eq!(text, "export: 12 done, 3.0 MiB, 1.5 MiB/s");
        assert_eq!(line("import", 0, 0, Duration::ZERO), "import: 0 done, 0 B, 0 B/s");
        assert_eq!([size(1023), size(1024), size(3 << 29)], ["1023 B", "1 KiB", "1.5 GiB"]);
        assert_eq!([counted(0, "byte"), counted(1, "byte")], ["0 bytes", "1 byte"]);
        assert_eq!(
            [grouped(0), grouped(999), grouped(1_000), grouped(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn nothing_is_shown_without_a_terminal() {
        let mut progress = Progress::new(&Out::new(true, true));
        progress.report("export", 1, 1);
        assert!(progress.written.is_none());
    }
}
