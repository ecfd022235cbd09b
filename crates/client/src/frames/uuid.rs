//! Version-4 UUIDs: `frame_id`, `lease_id`, `query_id`, `diagnostic_id` (FO-7).
//! Must not know: the named object.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize};

/// A version-4 UUID, in its original spelling (wire.md 1.5, 8); compared without regard to case.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Uuid(String);

impl Uuid {
    /// A new UUID with 122 random bits.
    pub fn random() -> Self {
        let mut bits = [0_u8; 16];
        getrandom::fill(&mut bits).expect("the operating system gives random bytes");
        bits[6] = bits[6] & 0x0f | 0x40;
        bits[8] = bits[8] & 0x3f | 0x80;
        let hex = hex::encode(bits);
        Self([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl PartialEq for Uuid {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Uuid {}

impl std::hash::Hash for Uuid {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.folded().hash(state);
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is not a version-4 UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version-4 UUID, e.g. 0b9f0d3c-7c5e-4b0e-9a52-3d6a7f2f7a11")]
pub struct NoUuid(String);

impl FromStr for Uuid {
    type Err = NoUuid;

    fn from_str(text: &str) -> Result<Self, NoUuid> {
        let bytes = text.as_bytes();
        let fits = bytes.len() == 36
            && bytes.iter().enumerate().all(|(index, byte)| match index {
                8 | 13 | 18 | 23 => *byte == b'-',
                14 => *byte == b'4',
                19 => matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
                _ => byte.is_ascii_hexdigit(),
            });
        if fits { Ok(Self(text.to_owned())) } else { Err(NoUuid(text.to_owned())) }
    }
}

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fo_7_a_fresh_one_is_of_version_4_and_differs() {
        let ids: Vec<Uuid> = (0..100).map(|_| Uuid::random()).collect();
        assert!(ids.iter().all(|id| id.as_str().parse::<Uuid>().is_ok()), "{ids:?}");
        assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 100);
    }

    #[test]
    fn fo_7_other_versions_and_variants_are_none() {
        let good = "0b9f0d3c-7c5e-4b0e-9a52-3d6a7f2f7a11";
        assert_eq!(good.parse::<Uuid>().unwrap(), good.to_uppercase().parse().unwrap());
        for bad in [
            "0b9f0d3c-7c5e-1b0e-9a52-3d6a7f2f7a11",
            "0b9f0d3c-7c5e-4b0e-7a52-3d6a7f2f7a11",
            "0b9f0d3c7c5e4b0e9a523d6a7f2f7a11",
            "{0b9f0d3c-7c5e-4b0e-9a52-3d6a7f2f7a1}",
            "",
        ] {
            assert!(bad.parse::<Uuid>().is_err(), "{bad}");
        }
    }
}
