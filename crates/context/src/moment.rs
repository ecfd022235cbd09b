//! Times with nanoseconds, in a form whose text order is time order (AP-25, AP-70).
//! Must not know: the present.

use std::fmt;

use plenary_kernel::{
    TimestampMs,
    rfc3339::{self, Utc},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::AHEAD_MS_MAX;

/// Length of `2026-04-18T20:00:00.000000000`, in bytes.
const BYTES: usize = 29;
/// Length of the part before the digits of the fraction.
const WHOLE: usize = 20;
const MICRO_NS: u32 = 1_000;
const SECOND_NS: u32 = 1_000_000_000;

/// A time in UTC; ordered by time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment([u8; BYTES]);

impl Moment {
    /// Reads an RFC 3339 time that ends in `Z` or `+00:00` (wire.md D.7). Digits beyond nanoseconds are cut
    /// off.
    pub fn parse(text: &str) -> Option<Self> {
        rfc3339::parse(text)?;
        let local = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
        let (whole, fraction) = local.split_once('.').unwrap_or((local, ""));
        let mut bytes = *b"0000-00-00T00:00:00.000000000";
        bytes[..WHOLE - 1].copy_from_slice(whole.as_bytes().get(..WHOLE - 1)?);
        bytes[10] = b'T';
        for (to, digit) in bytes[WHOLE..].iter_mut().zip(fraction.bytes()) {
            *to = digit;
        }
        Some(Self(bytes))
    }

    /// Reads a time as [`Self::parse`] does; `None` if it has digits beyond nanoseconds, which could not be compared.
    pub fn exact(text: &str) -> Option<Self> {
        let digits = text.split_once('.').map_or("", |(_, fraction)| fraction);
        let digits = digits.bytes().take_while(u8::is_ascii_digit).count();
        Self::parse(text).filter(|_| digits <= BYTES - WHOLE)
    }

    /// The moment of a stamp.
    pub fn of(at: TimestampMs) -> Self {
        Self::parse(&Utc(at).to_string()).expect("a time as it is written here can be read")
    }

    /// The latest moment that a document of another clock may state at `now`.
    pub fn latest(now: TimestampMs) -> Self {
        Self::of(TimestampMs(now.0.saturating_add(AHEAD_MS_MAX)))
    }

    /// The moment a microsecond later (wire.md 0.4 row 11).
    pub fn plus_micro(self) -> Self {
        let nanos: u32 = self.as_str()[WHOLE..].parse().expect("nine digits");
        let (carry, nanos) = match nanos + MICRO_NS {
            over if over >= SECOND_NS => (1_000, over - SECOND_NS),
            nanos => (0, nanos),
        };
        let mut later = self;
        if carry > 0 {
            let whole = format!("{}Z", &self.as_str()[..WHOLE - 1]);
            let ms = u64::try_from(rfc3339::parse(&whole).unwrap_or_default()).unwrap_or_default();
            later = Self::of(TimestampMs(ms - ms % 1_000 + carry));
        }
        later.0[WHOLE..].copy_from_slice(format!("{nanos:09}").as_bytes());
        later
    }

    /// The form of the server's own times that clients compare: always with microseconds.
    pub fn micros(&self) -> String {
        format!("{}Z", &self.as_str()[..WHOLE + 6])
    }

    /// Milliseconds since 1970.
    pub fn ms(&self) -> i64 {
        rfc3339::parse(&format!("{}Z", self.as_str())).expect("a time as it is written here can be read")
    }

    /// The time cut to milliseconds, as a text that sorts by time.
    pub fn in_ms(&self) -> &str {
        &self.as_str()[..WHOLE + 3]
    }

    /// The text that sorts by time, `2026-04-18T20:00:00.000000000`.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits and marks")
    }
}

/// The usual form of clients: without a fraction, or with three, six or nine digits.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.as_str();
        let end = match &text[WHOLE..] {
            "000000000" => WHOLE - 1,
            fraction if fraction.ends_with("000000") => WHOLE + 3,
            fraction if fraction.ends_with("000") => WHOLE + 6,
            _ => BYTES,
        };
        write!(f, "{}Z", &text[..end])
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        plenary_kernel::json::parse_text(deserializer, |text| Self::parse(text).ok_or("no moment in UTC"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        Moment::parse(text).unwrap()
    }

    #[test]
    fn ap_25_ap_70_times_are_rfc_3339_in_utc() {
        for text in [
            "2026-04-18T20:00:00Z",
            "2026-04-18T20:00:00+00:00",
            "2026-04-18t20:00:00.5Z",
            "2016-12-31T23:59:60Z",
            "2026-04-18T20:00:00.1234567891234Z",
        ] {
            assert!(Moment::parse(text).is_some(), "{text}");
        }
        for text in [
            "",
            "2026-04-18",
            "2026-04-18T20:00:00",
            "2026-04-18T20:00:00+02:00",
            "2026-04-18T20:00:00-00:00",
            "2026-02-30T20:00:00Z",
            "2026-04-18T24:00:00Z",
            "yesterday",
            "é2026-04-18T20:00:00Z",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_exact_time_has_no_digits_beyond_nanoseconds() {
        for text in ["2026-04-18T20:00:00Z", "2026-04-18T20:00:00.123456789+00:00"] {
            assert_eq!(Moment::exact(text), Moment::parse(text), "{text}");
            assert!(Moment::exact(text).is_some());
        }
        for text in ["2026-04-18T20:00:00.0000000005Z", "2026-04-18T20:00:00.1234567890+00:00", "2026-04-18"]
        {
            assert_eq!(Moment::exact(text), None, "{text}");
        }
    }

    #[test]
    fn text_order_is_time_order() {
        let ordered = [
            "1969-12-31T23:59:59.999Z",
            "2026-04-18T20:00:00Z",
            "2026-04-18T20:00:00.000000001Z",
            "2026-04-18T20:00:00.00001+00:00",
            "2026-04-18T20:00:00.1Z",
            "2026-04-18T20:00:01Z",
        ];
        for pair in ordered.windows(2) {
            assert!(moment(pair[0]) < moment(pair[1]), "{pair:?}");
        }
        assert_eq!(moment("2026-04-18T20:00:00.50Z"), moment("2026-04-18T20:00:00.5+00:00"));
    }

    #[test]
    fn a_microsecond_carries() {
        let later = |text| moment(text).plus_micro().to_string();
        assert_eq!(later("2026-04-18T20:00:00.123Z"), "2026-04-18T20:00:00.123001Z");
        assert_eq!(later("2026-12-31T23:59:59.999999Z"), "2027-01-01T00:00:00Z");
        assert_eq!(later("2026-12-31T23:59:59.9999995Z"), "2027-01-01T00:00:00.000000500Z");
        assert_eq!(Moment::of(TimestampMs(1_717_000_000_123)).to_string(), "2024-05-29T16:26:40.123Z");
    }
}
