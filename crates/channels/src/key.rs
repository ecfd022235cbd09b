//! The secret key in a channel's link, which gives access to the channel (wire.md D.6).
//! Must not know: the channel of a key.

use std::{fmt, str::FromStr, sync::Arc};

use plenary_kernel::MalformedText;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Random bytes in a key.
const BYTES: usize = 16;

/// A key of 128 bits, as 32 lower-case hex digits.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkKey(Arc<str>);

impl LinkKey {
    /// A new key.
    pub(crate) fn random() -> Self {
        let mut bits = [0; BYTES];
        getrandom::fill(&mut bits).expect("the operating system gives random bytes");
        Self(hex::encode(bits).into())
    }

    /// The text of the key in the link.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        let pairs = self.0.bytes().zip(other.0.bytes());
        self.0.len() == other.0.len() && pairs.fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
    }
}

impl FromStr for LinkKey {
    type Err = MalformedText;

    fn from_str(text: &str) -> Result<Self, MalformedText> {
        let is_key =
            text.len() == 2 * BYTES && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_key
            .then(|| Self(text.into()))
            .ok_or(MalformedText { what: "channel key", expected: "32 lower-case hex digits" })
    }
}

impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkKey(…)")
    }
}

impl Serialize for LinkKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for LinkKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        plenary_kernel::json::parse_text(deserializer, str::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d_6_a_key_has_128_random_bits_and_is_not_printed() {
        let (a, b) = (LinkKey::random(), LinkKey::random());
        assert_eq!(a.expose().parse::<LinkKey>().unwrap(), a);
        assert!(a.matches(&a) && !a.matches(&b));
        assert!(!format!("{a:?}").contains(a.expose()));
        for bad in
            ["", "0123456789abcdef", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcdeg"]
        {
            assert!(bad.parse::<LinkKey>().is_err(), "{bad}");
        }
    }
}
