//! Times as RFC 3339 writes them: read with their zone, written in UTC to the millisecond.
//! Must not know: the present.

use std::fmt;

use crate::TimestampMs;

const DAY_MS: i64 = 86_400_000;

/// The milliseconds since the epoch that an RFC 3339 time with a zone names, fractions cut off; `None` when the text
/// is not one. A leap second is the last millisecond of its minute.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4)?;
    let month = after(&mut rest, b'-')?;
    let day = after(&mut rest, b'-')?;
    let separator = take(&mut rest)?;
    let hour = digits(&mut rest, 2)?;
    let minute = after(&mut rest, b':')?;
    let second = after(&mut rest, b':')?;
    let fraction_ms = fraction(&mut rest)?;
    let offset_minutes = zone(&mut rest)?;
    let fits = matches!(separator, b'T' | b't')
        && rest.is_empty()
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !fits {
        return None;
    }
    let minutes = hour * 60 + minute - offset_minutes;
    if second == 60 && minutes.rem_euclid(1_440) != 1_439 {
        return None;
    }
    let (second, fraction_ms) = if second == 60 { (59, 999) } else { (second, fraction_ms) };
    Some(days_since_epoch(year, month, day) * DAY_MS + minutes * 60_000 + second * 1_000 + fraction_ms)
}

/// A moment in UTC, `2026-05-22T10:00:00.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc(pub TimestampMs);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = i64::try_from(self.0.0).unwrap_or(i64::MAX);
        let (year, month, day) = date(ms.div_euclid(DAY_MS));
        let ms = ms.rem_euclid(DAY_MS);
        let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
        let (second, ms) = (ms / 1_000 % 60, ms % 1_000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
}

fn take(rest: &mut &[u8]) -> Option<u8> {
    let (first, behind) = rest.split_first()?;
    *rest = behind;
    Some(*first)
}

fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let mut number = 0;
    for _ in 0..count {
        let digit = take(rest).filter(u8::is_ascii_digit)?;
        number = number * 10 + i64::from(digit - b'0');
    }
    Some(number)
}

fn after(rest: &mut &[u8], mark: u8) -> Option<i64> {
    if take(rest)? == mark { digits(rest, 2) } else { None }
}

fn fraction(rest: &mut &[u8]) -> Option<i64> {
    if rest.first() != Some(&b'.') {
        return Some(0);
    }
    let length = rest[1..].iter().take_while(|octet| octet.is_ascii_digit()).count();
    let (fraction, behind) = rest[1..].split_at(length);
    *rest = behind;
    let digit = |nth: usize| fraction.get(nth).map_or(0, |digit| i64::from(digit - b'0'));
    (length > 0).then(|| digit(0) * 100 + digit(1) * 10 + digit(2))
}

/// Minutes east of UTC.
fn zone(rest: &mut &[u8]) -> Option<i64> {
    let sign = match take(rest)? {
        b'Z' | b'z' => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = digits(rest, 2)?;
    let minutes = after(rest, b':')?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the civil calendar since 1970-01-01, counted in years that begin in March.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The other way: year, month and day.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fo_12_a_time_is_read_with_its_zone() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01t00:00:00z", 0),
            ("1970-01-01T01:00:00.5+01:00", 500),
            ("1969-12-31T23:59:59.999-00:00", -1),
            ("2026-05-22T10:00:00Z", 1_779_444_000_000),
            ("2026-05-22T10:00:00.123456789Z", 1_779_444_000_123),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000),
            ("2016-12-31T23:59:60Z", 1_483_228_799_999),
            ("2017-01-01T00:59:60+01:00", 1_483_228_799_999),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799_000),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn fo_12_what_is_no_time_or_has_no_zone_is_refused() {
        for text in [
            "",
            "2026-05-22",
            "2026-05-22T10:00:00",
            "2026-05-22T10:00Z",
            "2026-05-22 10:00:00Z",
            "2026-05-22T10:00:00 Z",
            "2026-05-22T10:00:00Z ",
            "2026-05-22T10:00:00.Z",
            "2026-05-22T10:00:00,5Z",
            "2026-05-22T10:00:00+1:00",
            "2026-05-22T10:00:00+0100",
            "2026-05-22T10:00:00+24:00",
            "2026-05-22T10:00:00+01:60",
            "2026-05-22T10:00:00UTC",
            "2026-13-22T10:00:00Z",
            "2026-00-22T10:00:00Z",
            "2026-02-29T10:00:00Z",
            "1900-02-29T10:00:00Z",
            "2026-04-31T10:00:00Z",
            "2026-05-00T10:00:00Z",
            "2026-05-22T24:00:00Z",
            "2026-05-22T10:60:00Z",
            "2026-05-22T10:00:60Z",
            "2026-05-22T10:00:61Z",
            "02026-05-22T10:00:00Z",
            "2026-5-22T10:00:00Z",
            "1779444000000",
            "２026-05-22T10:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(ms in 0_u64..253_402_300_800_000) {
            let text = Utc(TimestampMs(ms)).to_string();
            prop_assert_eq!(text.len(), 24);
            prop_assert_eq!(parse(&text), i64::try_from(ms).ok());
        }

        #[test]
        fn any_text_ends_in_an_answer(text in "[0-9TZ:+.-]{0,30}") {
            let _ = parse(&text);
        }
    }
}
