//! JSON of programs that cut texts in the middle of a character, as JavaScript does: half a surrogate pair is no JSON for others.
//! Pure. Must not know: the meaning of the JSON.

/// The text with U+FFFD in place of each escape of half a surrogate pair.
pub(crate) fn with_whole_pairs(text: &str) -> String {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut whole, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(index) = rest.find('\\') {
        let (before, escape) = rest.split_at(index);
        let (replacement, length) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (&escape[..12], 12),
            (Some(0xD800..=0xDFFF), _) => ("\u{fffd}", 6),
            (Some(_), _) => (&escape[..6], 6),
            (None, _) => {
                let length = escape.char_indices().nth(2).map_or(escape.len(), |(index, _)| index);
                (&escape[..length], length)
            }
        };
        whole.push_str(before);
        whole.push_str(replacement);
        rest = &escape[length..];
    }
    whole.push_str(rest);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_is_replaced_and_everything_else_stays() {
        for (text, whole) in [
            (r#"{"a":"x\ud83d"}"#, "{\"a\":\"x\u{fffd}\"}"),
            (r"\udc00\ud83d\ud83d\ude00", "\u{fffd}\u{fffd}\\ud83d\\ude00"),
            (r"\\ud83d \n ä", r"\\ud83d \n ä"),
            (r"\", r"\"),
        ] {
            assert_eq!(with_whole_pairs(text), whole);
        }
    }
}
