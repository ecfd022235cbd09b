//! The messages of the automation to its user: plain lines on standard error.
//! Must not know: the work that is running.

use std::{
    io::Write,
    time::{Duration, Instant},
};

/// Writes one line. A closed terminal is no reason to stop the work, so the result is dropped.
pub(crate) fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// A duration for people: `820 ms`, `12.3 s`, `4 min 05 s`.
pub(crate) fn human(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

/// Announces a step, and returns its start time.
pub(crate) fn begin(what: &str) -> Instant {
    print_line(&format!("\n==> {what}"));
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_for_people() {
        assert_eq!(human(Duration::from_millis(820)), "820 ms");
        assert_eq!(human(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(human(Duration::from_secs(245)), "4 min 05 s");
    }
}
