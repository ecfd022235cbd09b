//! Channel ids: characters that remain distinct when they are dictated (CH-7, CH-29).
//! Must not know: which ids are taken.

use std::{fmt, str::FromStr, sync::Arc};

use plenary_kernel::{MalformedText, Stamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The alphabet of characters that sound distinct: without I, L, N, O and 0 to 3.
const ALPHABET: &[u8; 28] = b"ABCDEFGHJKMPQRSTUVWXYZ456789";
/// The length of an id unless ids collide.
pub const LENGTH_MIN: usize = 4;
/// The maximum length of an id.
pub const LENGTH_MAX: usize = 8;

/// The id of a channel, in upper case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(Arc<str>);

impl ChannelId {
    /// A random id of this length.
    pub fn mint(stamp: &Stamp, length: usize) -> Self {
        let mut rest = u128::from(stamp.ulid(0));
        let mut next = || {
            let index = usize::try_from(rest % 28).unwrap_or(0);
            rest /= 28;
            char::from(ALPHABET[index])
        };
        Self((0..length.clamp(LENGTH_MIN, LENGTH_MAX)).map(|_| next()).collect::<String>().into())
    }

    /// The text on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Ignores case and surrounding white space, as people write ids in many ways.
impl FromStr for ChannelId {
    type Err = MalformedText;

    fn from_str(text: &str) -> Result<Self, MalformedText> {
        let text = text.trim().to_ascii_uppercase();
        let fits = (LENGTH_MIN..=LENGTH_MAX).contains(&text.len())
            && text.bytes().all(|byte| ALPHABET.contains(&byte));
        match fits {
            true => Ok(Self(text.into())),
            false => {
                Err(MalformedText { what: "channel id", expected: "4 to 8 of A-Z without I L N O, 4-9" })
            }
        }
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ChannelId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ChannelId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        plenary_kernel::json::parse_text(deserializer, str::parse)
    }
}

impl JsonSchema for ChannelId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChannelId".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[A-HJKMP-Z4-9]{4,8}$"})
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plenary_kernel::TimestampMs;

    use super::*;

    #[test]
    fn ch_7_an_id_is_four_characters_of_the_dictatable_alphabet() {
        let mut seen = BTreeSet::new();
        for n in 0..=255 {
            let stamp = Stamp::new(TimestampMs(1), [n, 3, n, 9, n, 8, n, 1, n, n]);
            let id = ChannelId::mint(&stamp, LENGTH_MIN);
            assert_eq!(id.as_str().len(), 4);
            assert_eq!(id.as_str().parse::<ChannelId>().unwrap(), id);
            seen.extend(id.as_str().chars());
            assert_eq!(ChannelId::mint(&stamp, 5).as_str().len(), 5);
        }
        assert!(seen.iter().all(|c| !"ILNO0123".contains(*c)));
        assert!(seen.len() > 20, "the whole alphabet is in use: {seen:?}");
    }

    #[test]
    fn ch_29_case_and_space_around_it_do_not_matter() {
        for text in ["VHGC", "vhgc", " vHgC\t", "AB45", "vhgcvhgc"] {
            assert_eq!(text.parse::<ChannelId>().unwrap().as_str(), text.trim().to_ascii_uppercase());
        }
        for bad in ["", "VHG", "VHGCVHGCV", "VHG0", "VHGI", "VH GC", "VHG\u{e9}", "V/GC"] {
            assert!(bad.parse::<ChannelId>().is_err(), "{bad}");
        }
    }
}
