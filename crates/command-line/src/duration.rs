//! Durations as people write them.
//! Must not know: their use.

use std::time::Duration;

/// Parses `500ms`, `30s`, `5m`, `2h`, or a bare `0`.
///
/// # Errors
/// What is wrong, for people.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| "write e.g. 30s, 500ms or 5m".to_owned())?;
    let factor_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" if number == 0 => 1,
        _ => return Err("give it a unit: ms, s, m or h".into()),
    };
    number.checked_mul(factor_ms).map(Duration::from_millis).ok_or_else(|| "too long".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        for (text, ms) in [("30s", 30_000), ("500ms", 500), ("5m", 300_000), ("0", 0), ("0s", 0)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["30", "", "s", "-1s", "1.5s", "99999999999999999999s", "99999999999999999h"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
