//! The strict scanner that checks every request body before it is parsed (wire.md D.3, D.9).
//! Must not know: the meaning of the text, or how it is parsed later.

use super::{JsonFault, keys::Keys, number, text};
use crate::limits::JSON_DEPTH_MAX;

/// Checks that `bytes` are one strict JSON text: RFC 8259 in UTF-8, no duplicate member names, arrays and objects nested at
/// most `JSON_DEPTH_MAX` deep, no NUL in text, no lone surrogates, integers within +-(2^53-1), numbers in the range of a double,
/// and nothing after the value.
///
/// The work is linear in the length. Memory is used only for the member names of open objects.
///
/// # Errors
/// The first fault, with its offset.
pub fn check(bytes: &[u8]) -> Result<(), JsonFault> {
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(JsonFault::ByteOrderMark);
    }
    if let Err(fault) = std::str::from_utf8(bytes) {
        return Err(JsonFault::InvalidUtf8 { at: fault.valid_up_to() });
    }
    let mut scan = Scan { bytes, at: 0, keys: Keys::default() };
    scan.space();
    scan.value(1)?;
    scan.space();
    if scan.at == bytes.len() { Ok(()) } else { Err(JsonFault::TrailingBytes { at: scan.at }) }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    keys: Keys<'a>,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// The fault at a position where the grammar expects something else.
    fn unexpected(&self) -> JsonFault {
        if self.at < self.bytes.len() {
            JsonFault::Unexpected { at: self.at }
        } else {
            JsonFault::UnexpectedEnd { at: self.at }
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), JsonFault> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'-' | b'0'..=b'9') => {
                self.at = number::scan(self.bytes, self.at)?;
                Ok(())
            }
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err(self.unexpected()),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonFault> {
        for expected in word {
            if self.peek() != Some(*expected) {
                return Err(self.unexpected());
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Consumes a string with its quotes. Returns its content, still escaped, and whether it has escapes.
    fn string(&mut self) -> Result<(&'a [u8], bool), JsonFault> {
        let open = self.at;
        let (end, escaped) = text::scan(self.bytes, open + 1)?;
        self.at = end + 1;
        Ok((&self.bytes[open + 1..end], escaped))
    }

    fn array(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.enter(depth)?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.space();
                }
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), JsonFault> {
        self.enter(depth)?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut names = self.keys.open();
        loop {
            let at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let (raw, escaped) = self.string()?;
            if !self.keys.add(&mut names, text::unescape(raw, escaped)) {
                return Err(JsonFault::DuplicateKey { at });
            }
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected());
            }
            self.at += 1;
            self.space();
            self.value(depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.space();
                }
                Some(b'}') => {
                    self.at += 1;
                    self.keys.close(&names);
                    return Ok(());
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    /// Consumes the opening bracket and the white space after it.
    fn enter(&mut self, depth: usize) -> Result<(), JsonFault> {
        if depth > JSON_DEPTH_MAX {
            return Err(JsonFault::TooDeep { at: self.at });
        }
        self.at += 1;
        self.space();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}1{}", "[".repeat(depth - 1), "]".repeat(depth - 1))
    }

    #[test]
    fn accepts_what_rfc_8259_calls_json() {
        let accepted = [
            "null",
            "true",
            " false ",
            "0",
            "-0",
            "-1",
            "1.5",
            "1e2",
            "1E+2",
            "1.0e-2",
            "-0.0",
            "\"\"",
            "[]",
            "{}",
            "[ ]",
            "{ }",
            "\t[1 , 2\r\n]",
            "[[],{},[[]]]",
            r#"{"a":1,"b":{"a":1}}"#,
            r#"[{"a":1},{"a":1}]"#,
            r#""\"\\\/\b\f\n\r\t""#,
            r#""\u00e9\uD834\uDD1E""#,
            "\"\u{7f}\u{80}\u{2028}\u{feff}\u{10ffff}\"",
            r#"{"":1," ":2}"#,
            "9007199254740991",
            "-9007199254740991",
            "1e308",
            "1.7976931348623157e308",
            "1e-400",
            "0e99999999999999999999",
            "9007199254740993.0",
            "1e20",
            "123456789012345678901234567890.5",
            r#"{"a\u0062":1,"a\u0063":2}"#,
            r#""\u0001""#,
            r#""\\u0000""#,
        ];
        for text in accepted {
            assert_eq!(check(text.as_bytes()), Ok(()), "{text}");
            serde_json::from_str::<Value>(text).unwrap();
        }
    }

    #[test]
    fn refuses_what_is_not_json() {
        use JsonFault::{BadEscape, Control, TrailingBytes, Unexpected, UnexpectedEnd};
        let refused = [
            ("", UnexpectedEnd { at: 0 }),
            (" ", UnexpectedEnd { at: 1 }),
            ("nul", UnexpectedEnd { at: 3 }),
            ("True", Unexpected { at: 0 }),
            ("nan", Unexpected { at: 1 }),
            ("NaN", Unexpected { at: 0 }),
            ("Infinity", Unexpected { at: 0 }),
            ("+1", Unexpected { at: 0 }),
            ("01", TrailingBytes { at: 1 }),
            ("-01", TrailingBytes { at: 2 }),
            ("-", UnexpectedEnd { at: 1 }),
            ("-a", Unexpected { at: 1 }),
            ("1.", UnexpectedEnd { at: 2 }),
            (".5", Unexpected { at: 0 }),
            ("[1.]", Unexpected { at: 3 }),
            ("1e", UnexpectedEnd { at: 2 }),
            ("1e+", UnexpectedEnd { at: 3 }),
            ("[1ex]", Unexpected { at: 3 }),
            ("0x1", TrailingBytes { at: 1 }),
            ("[1,]", Unexpected { at: 3 }),
            ("[,1]", Unexpected { at: 1 }),
            ("[1 2]", Unexpected { at: 3 }),
            ("[1", UnexpectedEnd { at: 2 }),
            ("[", UnexpectedEnd { at: 1 }),
            ("]", Unexpected { at: 0 }),
            ("[1}", Unexpected { at: 2 }),
            ("{", UnexpectedEnd { at: 1 }),
            (r#"{"a"}"#, Unexpected { at: 4 }),
            (r#"{"a":}"#, Unexpected { at: 5 }),
            (r#"{"a":1,}"#, Unexpected { at: 7 }),
            (r#"{"a":1"#, UnexpectedEnd { at: 6 }),
            ("{a:1}", Unexpected { at: 1 }),
            ("{'a':1}", Unexpected { at: 1 }),
            ("{1:1}", Unexpected { at: 1 }),
            ("// no\n1", Unexpected { at: 0 }),
            ("1 2", TrailingBytes { at: 2 }),
            ("{}{}", TrailingBytes { at: 2 }),
            ("[]\0", TrailingBytes { at: 2 }),
            ("[]\u{feff}", TrailingBytes { at: 2 }),
            ("\u{a0}1", Unexpected { at: 0 }),
            ("\u{c}1", Unexpected { at: 0 }),
            ("\"", UnexpectedEnd { at: 1 }),
            ("\"a", UnexpectedEnd { at: 2 }),
            ("\"\\", UnexpectedEnd { at: 2 }),
            ("\"a\nb\"", Control { at: 2 }),
            ("\"\u{1f}\"", Control { at: 1 }),
            (r#""\x41""#, BadEscape { at: 1 }),
            (r#""\'""#, BadEscape { at: 1 }),
            (r#""\u12G4""#, BadEscape { at: 1 }),
            (r#""\u+123""#, BadEscape { at: 1 }),
            (r#""\u12""#, BadEscape { at: 1 }),
            (r#""\u12"#, UnexpectedEnd { at: 5 }),
        ];
        for (text, fault) in refused {
            assert_eq!(check(text.as_bytes()), Err(fault), "{text}");
        }
    }

    #[test]
    fn refuses_what_readers_of_json_disagree_about() {
        use JsonFault::{
            ByteOrderMark, DuplicateKey, IntegerTooLarge, InvalidUtf8, LoneSurrogate, Nul, NumberOverflow,
        };
        let refused: &[(&[u8], JsonFault)] = &[
            (b"\xEF\xBB\xBF{}", ByteOrderMark),
            (b"\"\xff\"", InvalidUtf8 { at: 1 }),
            (b"\"\xed\xa0\x80\"", InvalidUtf8 { at: 1 }),
            (b"\"\xc0\x80\"", InvalidUtf8 { at: 1 }),
            (br#"{"a":1,"a":1}"#, DuplicateKey { at: 7 }),
            (br#"{"a":1,"\u0061":1}"#, DuplicateKey { at: 7 }),
            (br#"{"\u0061":1,"a":1}"#, DuplicateKey { at: 12 }),
            (br#"{"x":{"y":[{"a":1,"a":2}]}}"#, DuplicateKey { at: 18 }),
            (br#"{"":1,"":2}"#, DuplicateKey { at: 6 }),
            (b"{\"\xf0\x9d\x84\x9e\":1,\"\\ud834\\udd1e\":2}", DuplicateKey { at: 10 }),
            (b"\"a\0b\"", Nul { at: 2 }),
            (br#""a\u0000b""#, Nul { at: 2 }),
            (br#"{"\u0000":1}"#, Nul { at: 2 }),
            (br#""\ud800""#, LoneSurrogate { at: 1 }),
            (br#""\udc00""#, LoneSurrogate { at: 1 }),
            (br#""\ud800\ud800""#, LoneSurrogate { at: 1 }),
            (br#""\ud800x""#, LoneSurrogate { at: 1 }),
            (br#""\ud800\n""#, LoneSurrogate { at: 1 }),
            (b"9007199254740992", IntegerTooLarge { at: 0 }),
            (b"-9007199254740992", IntegerTooLarge { at: 0 }),
            (b"[18446744073709551616]", IntegerTooLarge { at: 1 }),
            (b"1e309", NumberOverflow { at: 0 }),
            (b"-1.8e308", NumberOverflow { at: 0 }),
            (b"[1e99999999999999999999]", NumberOverflow { at: 1 }),
        ];
        for (text, fault) in refused {
            assert_eq!(check(text), Err(*fault), "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn depth_counts_the_outermost_value_as_one() {
        assert_eq!(check(nested(JSON_DEPTH_MAX).as_bytes()), Ok(()));
        // A scalar in the innermost array adds no level: only arrays and objects count.
        assert_eq!(check(format!("{}{}", "[".repeat(64), "]".repeat(64)).as_bytes()), Ok(()));
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        assert_eq!(check(deep.as_bytes()), Err(JsonFault::TooDeep { at: 64 }));
        let bomb = "[".repeat(1 << 20);
        assert_eq!(check(bomb.as_bytes()), Err(JsonFault::TooDeep { at: 64 }));
        let objects = "{\"a\":".repeat(65);
        assert_eq!(check(objects.as_bytes()), Err(JsonFault::TooDeep { at: 64 * 5 }));
    }

    #[test]
    fn many_keys_cost_linear_work_and_duplicates_are_still_found() {
        let mut text = String::from("{");
        for n in 0..50_000 {
            text.push_str(&format!("\"key-{n}\":{{\"a\":1,\"b\":2}},"));
        }
        let unique = format!("{text}\"end\":1}}");
        assert_eq!(check(unique.as_bytes()), Ok(()));
        let doubled = format!("{text}\"key-3\":1}}");
        assert_eq!(check(doubled.as_bytes()), Err(JsonFault::DuplicateKey { at: text.len() }));
        let escaped = format!("{text}\"key-\\u0033\":1}}");
        assert_eq!(check(escaped.as_bytes()), Err(JsonFault::DuplicateKey { at: text.len() }));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let text = "[^\u{0}]{0,20}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
            any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 128, 24, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..24).prop_map(Value::from),
                prop::collection::hash_map(text, inner, 0..24)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn accepts_whatever_serde_writes_within_the_limits(value in any_value()) {
            prop_assert_eq!(check(&serde_json::to_vec(&value).unwrap()), Ok(()));
            prop_assert_eq!(check(&serde_json::to_vec_pretty(&value).unwrap()), Ok(()));
        }

        #[test]
        fn whatever_is_accepted_parses(bytes in "[\\[\\]{}:,\" \\\\ue0-9ab+.-]{0,24}") {
            if check(bytes.as_bytes()).is_ok() {
                prop_assert!(serde_json::from_str::<Value>(&bytes).is_ok(), "{}", bytes);
            }
        }

        #[test]
        fn any_bytes_end_in_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = check(&bytes);
        }
    }
}
