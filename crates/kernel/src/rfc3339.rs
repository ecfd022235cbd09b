//! Times in RFC 3339: parsed with a time zone, written in UTC with milliseconds.
//! Must not know: the current time.

use std::fmt;

use time::{OffsetDateTime, PrimitiveDateTime, format_description::well_known::Rfc3339};

use crate::TimestampMs;

/// Parses an RFC 3339 time with a time zone into milliseconds since the epoch, rounded down; `None` if the text is not one. A
/// leap second counts as the last millisecond of its minute.
pub fn parse(text: &str) -> Option<i64> {
    // The `time` crate accepts any separator, and a leap second only at the end of a month.
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't')) {
        return None;
    }
    if text.get(17..19) != Some("60") {
        return read(text);
    }
    let minute = read(&format!("{}00{}", &text[..17], &text[19..]))?.div_euclid(60_000);
    (minute.rem_euclid(1_440) == 1_439).then_some(minute * 60_000 + 59_999)
}

fn read(text: &str) -> Option<i64> {
    let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000_000)).ok()
}

/// A time in UTC, `2026-05-22T10:00:00.000Z`. A time after the year 9999, the last one of RFC 3339, is written as its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc(pub TimestampMs);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0.0) * 1_000_000)
            .unwrap_or(PrimitiveDateTime::MAX.assume_utc());
        let (year, month, day) = at.to_calendar_date();
        let (hour, minute, second, ms) = at.to_hms_milli();
        let month = u8::from(month);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
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
        fn any_time_is_written(ms: u64) {
            prop_assert!(parse(&Utc(TimestampMs(ms)).to_string()).is_some());
        }

        #[test]
        fn any_text_ends_in_an_answer(text in "[0-9TZ:+.-]{0,30}") {
            let _ = parse(&text);
        }
    }
}
