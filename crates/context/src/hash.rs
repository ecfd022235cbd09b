//! The content hash of a package: SHA-256 of its canonical JSON (AP-35 to AP-37, AP-93 to AP-98).
//! Must not know: where it is stored.

use std::fmt;

use plenary_kernel::json::{Nulls, Tree, digest};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const PREFIX: &str = "sha256:";
/// Length of the text of a hash.
const TEXT_BYTES: usize = PREFIX.len() + 64;

/// A content hash; its text is `sha256:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of a value, without members that are null (AP-95).
    pub fn of(value: &Tree<'_>) -> Self {
        Self(digest(&value.canonical(Nulls::Drop)))
    }

    /// The hash of a JSON text; `None` if it is not JSON.
    pub fn of_text(text: &str) -> Option<Self> {
        Tree::read(text).ok().map(|value| Self::of(&value))
    }

    /// Writes its text, and returns it.
    fn written(self, buffer: &mut [u8; TEXT_BYTES]) -> &str {
        let (prefix, digits) = buffer.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        hex::encode_to_slice(self.0, digits).expect("two digits for each byte");
        std::str::from_utf8(buffer).expect("a hash is ASCII")
    }

    /// Reads `sha256:<hex>`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.strip_prefix(PREFIX)?, &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.written(&mut [0; TEXT_BYTES]))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.written(&mut [0; TEXT_BYTES]))
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        plenary_kernel::json::parse_text(deserializer, |text| Self::parse(text).ok_or("no content hash"))
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::json::canonical;
    use serde_json::Value;

    use super::*;

    fn hash(text: &str) -> String {
        ContentHash::of_text(text).unwrap().to_string()
    }

    #[test]
    fn ap_36_the_hash_is_sha_256_of_the_canonical_form() {
        // `printf '{}' | sha256sum`, `printf '{"a":1,"b":[null]}' | sha256sum`
        assert_eq!(hash("{}"), "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
        assert_eq!(hash(r#" { "a" : null } "#), hash("{}"), "AP-95");
        assert_eq!(hash(r#"{"b":[null],"c":null,"a":1.0}"#), hash(r#"{"a":1,"b":[null]}"#));
        assert_ne!(hash(r#"{"a":[1,null]}"#), hash(r#"{"a":[1]}"#), "AP-96");
        assert_eq!(hash(r#"{"a":"\u002f\u00e9"}"#), hash("{\"a\":\"/é\"}"), "AP-98");
    }

    #[test]
    fn ap_93_ap_97_the_example_of_rfc_8785_hashes_as_its_canonical_form_there() {
        // Section 3.2.2 of the RFC, and the bytes of 3.2.4, whose names are all ASCII and so sort the same by bytes; its
        // one null stands in an array.
        let input = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
        let printed = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
            \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        let value: Value = serde_json::from_str(input).unwrap();
        assert_eq!(String::from_utf8(canonical(&value, Nulls::Drop)).unwrap(), printed);
        assert_eq!(ContentHash::of(&Tree::from(&value)).0, digest(printed.as_bytes()));
    }

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let hash = ContentHash::of(&Tree::Null);
        assert_eq!(ContentHash::parse(&hash.to_string()), Some(hash));
        assert_eq!(ContentHash::parse(&hash.to_string().replace("sha256:", "SHA256:")), None);
        assert_eq!(ContentHash::parse("sha256:12"), None);
    }
}
