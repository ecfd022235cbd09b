//! Reads structures only from JSON objects, and the names of variants only from text. The derived readers of `serde` also
//! accept an array, whose elements become the members in their order, and the number of a variant as its tag; no schema
//! describes either. Pure.
//! Must not know: requests.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, Visitor},
    forward_to_deserialize_any,
};

/// Reads `T` from bytes.
///
/// # Errors
/// As `serde_json`; also for an array in place of a structure.
pub(crate) fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = T::deserialize(Objects(&mut reader))?;
    reader.end()?;
    Ok(read)
}

/// Wraps a deserializer, visitor, access or seed so that structures must be objects.
struct Objects<T>(T);

/// The visitor of a structure.
struct Members<V>(V);

/// The visitor of the name of a variant.
struct VariantName<V>(V);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<D> {
    type Error = D::Error;

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map ignored_any
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Objects(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Objects(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, Objects(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, Objects(visitor))
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_identifier(VariantName(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_struct(name, fields, Members(visitor))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Members<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Objects(map))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for VariantName<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.0.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.0.visit_borrowed_str(text)
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.0.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.0.visit_f64(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.0.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.0.visit_borrowed_str(text)
    }

    fn visit_string<E: Error>(self, text: String) -> Result<V::Value, E> {
        self.0.visit_string(text)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Objects(value))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Objects(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Objects(seq))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Objects(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, value: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(value)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(Objects(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        self.0.deserialize(Objects(deserializer))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json, value::RawValue};

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        a: Option<String>,
        b: Option<u8>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Choice {
        One,
        Two(u8),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Tagged {
        One { a: u8 },
        Two { b: u8 },
    }

    #[derive(Debug, Deserialize)]
    struct Outer<'a> {
        inner: Option<Inner>,
        list: Option<Vec<Inner>>,
        map: Option<BTreeMap<String, Inner>>,
        pair: Option<(u8, f64)>,
        choice: Option<Vec<Choice>>,
        #[serde(borrow)]
        raw: Option<&'a RawValue>,
        any: Option<Value>,
    }

    #[test]
    fn an_array_is_no_structure_at_any_depth() {
        for text in [
            r#"[{"a": "x"}]"#,
            r#"{"inner": ["x", 1]}"#,
            r#"{"inner": []}"#,
            r#"{"list": [["x", 1]]}"#,
            r#"{"map": {"k": ["x", 1]}}"#,
        ] {
            let refused = read::<Outer<'_>>(text.as_bytes()).unwrap_err().to_string();
            assert!(refused.starts_with("invalid type: sequence, expected struct "), "{text}: {refused}");
            assert!(refused.contains(" at line 1 column "), "{refused}");
        }
    }

    #[test]
    fn a_variant_has_a_name_and_no_number() {
        for (text, tagged) in [
            (r#"{"kind": "one", "a": 1}"#, Tagged::One { a: 1 }),
            (r#"{"b": 2, "kind": "two"}"#, Tagged::Two { b: 2 }),
        ] {
            assert_eq!(read::<Tagged>(text.as_bytes()).unwrap(), tagged);
        }
        for kind in ["0", "1", "null", "true", "[0]", "\"three\""] {
            let text = format!(r#"{{"a": 1, "b": 2, "kind": {kind}}}"#);
            read::<Tagged>(text.as_bytes()).unwrap_err();
            let nested = format!(r#"[{text}]"#);
            read::<Vec<Tagged>>(nested.as_bytes()).unwrap_err();
        }
    }

    #[test]
    fn everything_else_is_read_as_it_is() {
        let text = r#"{"inner": {"a": "x\n", "b": 7}, "list": [{"a": null}], "map": {"k": {}}, "pair": [1, 2.5],
            "choice": ["one", {"two": 2}], "raw": [1, {"x": [2]}], "any": {"y": [null, -1]}, "unknown": [[]]}"#;
        let outer = read::<Outer<'_>>(text.as_bytes()).unwrap();
        assert_eq!(outer.inner, Some(Inner { a: Some("x\n".into()), b: Some(7) }));
        assert_eq!(outer.list, Some(vec![Inner { a: None, b: None }]));
        assert_eq!(outer.map.unwrap().into_values().collect::<Vec<_>>(), [Inner { a: None, b: None }]);
        assert_eq!(outer.pair, Some((1, 2.5)));
        assert_eq!(outer.choice, Some(vec![Choice::One, Choice::Two(2)]));
        assert_eq!(outer.raw.unwrap().get(), r#"[1, {"x": [2]}]"#);
        assert_eq!(outer.any, Some(json!({"y": [null, -1]})));
        read::<Inner>(b"{} x").unwrap_err();
    }
}
