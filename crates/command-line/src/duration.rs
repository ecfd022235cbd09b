//! Durations as people write them.
//! Must not know: their use.

use std::time::Duration;

const FORM: &str = "write e.g. 500ms, 30s, 5m, 2h or 7d; a plain number is seconds";

/// Parses `500ms`, `30s`, `5m`, `2h`, `7d`, or a plain number of seconds.
///
/// # Errors
/// What is wrong, for people.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor_ms = match unit {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(FORM.to_owned()),
    };
    let number = match number.parse::<u64>() {
        Ok(number) => number,
        Err(_) if number.is_empty() => return Err(FORM.to_owned()),
        Err(_) => return Err("too long".to_owned()),
    };
    number.checked_mul(factor_ms).map(Duration::from_millis).ok_or_else(|| "too long".into())
}

/// Parses a duration of at least one second, for a caller that counts whole seconds.
///
/// # Errors
/// What is wrong, for people.
pub fn parse_seconds(text: &str) -> Result<u64, String> {
    match parse_duration(text)?.as_secs() {
        0 => Err("must be at least 1s".to_owned()),
        seconds => Ok(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_or_is_seconds() {
        for (text, ms) in [
            ("30s", 30_000),
            ("500ms", 500),
            ("5m", 300_000),
            ("2d", 172_800_000),
            ("30", 30_000),
            ("0", 0),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "s", "-1s", "1.5s", "5 m", "3w", "99999999999999999999s", "99999999999999999h"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_seconds("30d"), Ok(2_592_000));
        assert!(parse_seconds("999ms").is_err() && parse_seconds("0").is_err());
    }
}
