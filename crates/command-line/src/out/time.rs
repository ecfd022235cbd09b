//! Times and durations as text, always in UTC.
//! Must not know: the current time.

use plenary_kernel::TimestampMs;

use super::clean;

/// `2026-11-21 04:07:33Z`.
pub fn utc(at: TimestampMs) -> String {
    let text = at.rfc3339();
    format!("{} {}Z", &text[..10], &text[11..19])
}

/// A time of the API in UTC to the second. Any other text, such as a day, stays as it is.
pub fn second(at: &str) -> String {
    let short = at.get(..19).filter(|_| at.ends_with('Z'));
    short.map_or_else(|| clean(at).into_owned(), |short| format!("{}Z", clean(short)).replace('T', " "))
}

/// `400 ms`, `12 s`, `3 min`, `5 h`, `2 d`.
pub fn span(ms: u64) -> String {
    if ms < 1000 {
        return format!("{ms} ms");
    }
    match ms / 1000 {
        s @ 0..120 => format!("{s} s"),
        s @ 120..7200 => format!("{} min", s / 60),
        s @ 7200..172_800 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_over_leap_years_and_centuries() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_399, "2000-02-28 23:59:59Z"),
            (951_782_400, "2000-02-29 00:00:00Z"),
            (1_709_164_800, "2024-02-29 00:00:00Z"),
            (1_767_225_599, "2025-12-31 23:59:59Z"),
            (4_107_542_400, "2100-03-01 00:00:00Z"),
        ] {
            assert_eq!(utc(TimestampMs(seconds * 1000 + 999)), text);
        }
        assert_eq!(
            [span(400), span(12_000), span(180_000), span(7_200_000), span(200_000_000)],
            ["400 ms", "12 s", "3 min", "2 h", "2 d"]
        );
        assert!(!utc(TimestampMs(u64::MAX)).is_empty());
    }

    #[test]
    fn a_shortened_time_keeps_its_zone() {
        let at = "2026-11-21T04:07:33.125Z";
        assert_eq!(second(at), "2026-11-21 04:07:33Z");
        for other in ["2026-11-21", "2026-11-21T04:07:33+02:00"] {
            assert_eq!(second(other), other);
        }
    }
}
