//! Values that JSON holds as a text. The text is parsed where it lies, without a copy.
//! Must not know: the grammar of a value.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserializer,
    de::{Error, Visitor},
};

/// Reads a text and parses it with `parse`.
///
/// # Errors
/// If it is no text, or does not parse.
pub fn parse_text<'de, D, T, E>(
    deserializer: D,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    E: fmt::Display,
{
    deserializer.deserialize_str(TextVisitor { parse, value: PhantomData })
}

struct TextVisitor<P, T, E> {
    parse: P,
    value: PhantomData<Result<T, E>>,
}

impl<P, T, E> Visitor<'_> for TextVisitor<P, T, E>
where
    P: FnOnce(&str) -> Result<T, E>,
    E: fmt::Display,
{
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<F: Error>(self, text: &str) -> Result<T, F> {
        (self.parse)(text).map_err(F::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// The number of a text `n…`.
    #[derive(Debug, PartialEq)]
    struct Number(u8);

    impl<'de> Deserialize<'de> for Number {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let parse = |text: &str| text.strip_prefix('n').and_then(|number| number.parse().ok());
            parse_text(deserializer, |text| parse(text).map(Self).ok_or("no number"))
        }
    }

    #[test]
    fn a_text_is_parsed_whether_it_is_borrowed_or_has_escapes() {
        for text in [r#""n42""#, r#""\u006e42""#] {
            assert_eq!(serde_json::from_str::<Number>(text).unwrap(), Number(42), "{text}");
            assert_eq!(serde_json::from_reader::<_, Number>(text.as_bytes()).unwrap(), Number(42), "{text}");
        }
        assert_eq!(serde_json::from_value::<Number>("n7".into()).unwrap(), Number(7));
    }

    #[test]
    fn the_fault_says_what_is_wrong() {
        let fault = |json: &str| serde_json::from_str::<Number>(json).unwrap_err().to_string();
        assert!(fault("3").starts_with("invalid type: integer `3`, expected a string"), "{}", fault("3"));
        assert!(fault("null").starts_with("invalid type: null, expected a string"), "{}", fault("null"));
        assert!(fault(r#""x""#).starts_with("no number"), "{}", fault(r#""x""#));
    }
}
