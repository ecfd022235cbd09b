//! Ids of runs and threads: UUIDs, version 7 (SC-22). A later id is higher.
//! Must not know: the source of time and randomness; both arrive in a `Stamp`.

use std::{borrow::Cow, fmt, str::FromStr};

use plenary_kernel::{MalformedText, Stamp, TimestampMs};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const EXPECTED: MalformedText =
    MalformedText { what: "id", expected: "a UUID, 00000000-0000-0000-0000-000000000000" };

/// The `nth` version 7 UUID of a stamp (RFC 9562, 5.7): 48 bits of time, 74 of the stamp's randomness.
fn minted(stamp: &Stamp, nth: u64) -> u128 {
    const VERSION: u128 = 0x7 << 76;
    const VARIANT: u128 = 0b10 << 62;
    let ulid = u128::from(stamp.ulid(nth));
    let (time, high, low) = (ulid >> 80, (ulid >> 62) & 0xfff, ulid & ((1 << 62) - 1));
    (time << 80) | VERSION | (high << 64) | VARIANT | low
}

fn read(text: &str) -> Result<u128, MalformedText> {
    let bytes = text.as_bytes();
    let dashes = bytes.len() == 36 && [8, 13, 18, 23].iter().all(|at| bytes[*at] == b'-');
    let digits = || bytes.iter().enumerate().filter(|(at, _)| ![8, 13, 18, 23].contains(at)).map(|(_, b)| *b);
    if !dashes || !digits().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(EXPECTED);
    }
    let digit = |byte: u8| u128::from((byte as char).to_digit(16).unwrap_or_default());
    Ok(digits().fold(0, |number, byte| number << 4 | digit(byte)))
}

fn write(number: u128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (a, b, c) = (number >> 96, (number >> 80) & 0xffff, (number >> 64) & 0xffff);
    let (d, e) = ((number >> 48) & 0xffff, number & 0xffff_ffff_ffff);
    write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// Mints the `nth` id of a stamp; the same stamp and number give the same id.
            pub fn mint(stamp: &Stamp, nth: u64) -> Self {
                Self(minted(stamp, nth))
            }
            /// The id as a number.
            pub const fn number(self) -> u128 {
                self.0
            }
            /// The time at which it was minted.
            pub fn minted_at(self) -> TimestampMs {
                TimestampMs(u64::try_from(self.0 >> 80).unwrap_or(u64::MAX))
            }
        }
        impl FromStr for $name {
            type Err = MalformedText;
            fn from_str(text: &str) -> Result<Self, MalformedText> {
                read(text).map(Self)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(self.0, f)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(self.0, f)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                plenary_kernel::json::parse_text(deserializer, str::parse)
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "format": "uuid"})
            }
        }
    };
}

id!(
    /// One run.
    RunId
);
id!(
    /// One thread.
    ThreadId
);

/// The version bits of a version 8 UUID, whose other bits are free for the application (RFC 9562, 5.8).
const BOUND: u128 = 0x8 << 76;

impl ThreadId {
    /// The thread that is bound to an object of another room: equal text gives the same thread, and no thread that a
    /// caller opens has its id.
    pub fn bound_to(text: &str) -> Self {
        const VARIANT: u128 = 0b10 << 62;
        let digest = plenary_kernel::json::digest(text.as_bytes());
        let number = digest.iter().take(16).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
        Self(number & !(0xf << 76) & !(0b11 << 62) | BOUND | VARIANT)
    }

    /// Whether the thread is bound to an object of another room.
    pub fn is_bound(self) -> bool {
        self.0 & (0xf << 76) == BOUND
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::TimestampMs;

    use super::*;

    #[test]
    fn sc_22_ids_are_version_7_uuids_that_sort_by_time_and_differ_by_number() {
        let stamp = |ms| Stamp::new(TimestampMs(ms), [0xff; 10]);
        let (a, b, later) = (RunId::mint(&stamp(7), 0), RunId::mint(&stamp(7), 1), RunId::mint(&stamp(8), 0));
        assert!(a != b && a < later);
        assert_eq!(a.to_string(), "00000000-0007-7fff-bfff-ffffffffffff");
        assert_eq!(a.to_string().parse::<RunId>().unwrap(), a);
        assert_eq!(a.to_string().to_uppercase().parse::<RunId>().unwrap(), a);
    }

    #[test]
    fn a_bound_thread_is_that_of_its_text_and_none_that_was_opened() {
        let bound = ThreadId::bound_to("@acme.echo/sess_1");
        assert_eq!(bound.to_string(), "c7970566-3866-89f2-b0fc-91fbb49f31fd");
        assert!(bound.is_bound() && bound != ThreadId::bound_to("@acme.echo/sess_2"));
        assert!(!ThreadId::mint(&Stamp::new(TimestampMs(7), [0xff; 10]), 1).is_bound());
    }

    #[test]
    fn what_is_no_uuid_is_no_id() {
        for bad in [
            "",
            "00000000-0007-7fff-bfff-fffffffffff",
            "00000000x0007-7fff-bfff-ffffffffffff",
            "00000000-0007-7fff-bfff-fffffffffffg",
            "+0000000-0007-7fff-bfff-ffffffffffff",
            "000000000007-7fff-bfff-ffffffffffff0000",
        ] {
            assert!(bad.parse::<RunId>().is_err(), "{bad}");
        }
    }
}
