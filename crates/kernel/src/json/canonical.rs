//! The canonical form for content hashes (AP-93 to AP-98).
//! Must not know: the hashed values.

use serde_json::Value;

use super::{Tree, text::plain_length};

/// Room for the canonical text of most values that are hashed.
const CANONICAL_BYTES_USUAL: usize = 4_096;

/// How to treat members whose value is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// Keep them.
    Keep,
    /// Drop them at every level (AP-95); nulls in arrays stay (AP-96).
    Drop,
}

/// The canonical text of a value: members sorted by the UTF-8 bytes of their names (AP-93), no white space (AP-94), numbers in
/// the form of RFC 8785 (AP-97); escapes only for `"`, `\` and characters below U+0020 (AP-98).
pub fn canonical(value: &Value, nulls: Nulls) -> Vec<u8> {
    Tree::from(value).canonical(nulls)
}

impl Tree<'_> {
    /// The same for a tree.
    pub fn canonical(&self, nulls: Nulls) -> Vec<u8> {
        let mut out = Vec::with_capacity(CANONICAL_BYTES_USUAL);
        self.write(nulls, &mut out);
        out
    }

    fn write(&self, nulls: Nulls, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            // RFC 8785 has only doubles, so an integer prints as the nearest double.
            Self::Number(number) => {
                out.extend_from_slice(ryu_js::Buffer::new().format(*number).as_bytes());
            }
            Self::Text(text) => write_text(text, out),
            Self::Array(items) => {
                out.push(b'[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push(b',');
                    }
                    item.write(nulls, out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                // Stable, so that the last one of a name is the last.
                members.sort_by_key(|(name, _)| name.as_bytes());
                let last_of_each =
                    members.chunk_by(|(name, _), (next, _)| name == next).filter_map(<[_]>::last);
                let kept = last_of_each.filter(|(_, value)| nulls == Nulls::Keep || *value != Tree::Null);
                out.push(b'{');
                for (n, (name, value)) in kept.enumerate() {
                    if n > 0 {
                        out.push(b',');
                    }
                    write_text(name, out);
                    out.push(b':');
                    value.write(nulls, out);
                }
                out.push(b'}');
            }
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        // Most texts are copied whole.
        let (plain, special) = rest.split_at(plain_length(rest));
        out.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else { break };
        write_escape(*byte, out);
        rest = after;
    }
    out.push(b'"');
}

fn write_escape(b: u8, out: &mut Vec<u8>) {
    match b {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x0a => out.extend_from_slice(b"\\n"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x0d => out.extend_from_slice(b"\\r"),
        _ => out.extend_from_slice(format!("\\u{b:04x}").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn text(value: &Value, nulls: Nulls) -> String {
        String::from_utf8(canonical(value, nulls)).unwrap()
    }

    #[test]
    fn ap_93_members_are_sorted_by_the_bytes_of_their_names() {
        // U+FB33 sorts before U+1F600 by UTF-8 bytes, but after it by UTF-16 code units.
        let value: Value =
            serde_json::from_str(r#"{"😀":1,"דּ":2,"b":3,"":4,"B":5,"é":6,"aa":7,"a":8}"#).unwrap();
        assert_eq!(text(&value, Nulls::Keep), r#"{"":4,"B":5,"a":8,"aa":7,"b":3,"é":6,"דּ":2,"😀":1}"#);
    }

    #[test]
    fn ap_95_nulls_are_dropped_from_objects_at_every_level_and_ap_96_kept_in_arrays() {
        let value = json!({"a": null, "b": [null, {"c": null, "d": {}}], "e": {"f": null}});
        assert_eq!(text(&value, Nulls::Drop), r#"{"b":[null,{"d":{}}],"e":{}}"#);
        assert_eq!(text(&value, Nulls::Keep), r#"{"a":null,"b":[null,{"c":null,"d":{}}],"e":{"f":null}}"#);
    }

    #[test]
    fn ap_97_numbers_print_as_in_appendix_b_of_rfc_8785() {
        let vectors = [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, printed) in vectors {
            assert_eq!(text(&Value::from(f64::from_bits(bits)), Nulls::Keep), printed);
        }
        let literals = json!([
            333_333_333.333_333_3,
            1e30,
            4.50,
            2e-3,
            0.000_000_000_000_000_000_000_000_001,
            -0.0,
            10,
            -7
        ]);
        assert_eq!(text(&literals, Nulls::Keep), "[333333333.3333333,1e+30,4.5,0.002,1e-27,0,10,-7]");
    }

    #[test]
    fn ap_98_only_what_must_be_escaped_is() {
        let value = json!("\u{20ac}$\u{f}\nA'B\"\\\"/\u{7f}\u{8}\u{c}\r\t\u{2028}");
        assert_eq!(
            text(&value, Nulls::Keep),
            "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\"/\u{7f}\\b\\f\\r\\t\u{2028}\""
        );
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_a_fixed_point(members in prop::collection::hash_map(".{0,8}", -1e9..1e9_f64, 0..8)) {
            let value = serde_json::to_value(&members).unwrap();
            let once = canonical(&value, Nulls::Drop);
            let again: Value = serde_json::from_slice(&once).unwrap();
            prop_assert_eq!(canonical(&again, Nulls::Drop), once);
        }
    }
}
