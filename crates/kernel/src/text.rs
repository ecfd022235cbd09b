//! Characters that a name or another one-line text must not contain, because they are invisible or misleading: control
//! characters, line breaks, direction marks, invisible characters and tags. Pure.
//! Must not know: the member or the request that contains the text.

/// Zero-width non-joiner: part of the spelling in several scripts.
const ZWNJ: char = '\u{200c}';
/// Zero-width joiner: joins emoji into one, and letters in several scripts.
const ZWJ: char = '\u{200d}';

/// Whether a character is invisible, breaks a line, controls a terminal, or changes the direction of the text. The selector that
/// makes an emoji of the character before it (U+FE0F) is none of these.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The hidden characters of a text with their byte offsets. A joiner between two visible non-ASCII characters is part of an
/// emoji or a word, and is permitted.
pub fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        while let Some((at, c)) = chars.next() {
            let joins = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_hidden(c));
            let is_joiner = matches!(c, ZWJ | ZWNJ);
            let is_joined = is_joiner && joins(before) && joins(chars.peek().map(|(_, next)| *next));
            before = Some(c);
            if is_hidden(c) && !is_joined {
                return Some((at, c));
            }
        }
        None
    })
}

/// Checks a one-line text of a person: a title, a topic, a purpose.
///
/// # Errors
/// What is wrong, as a predicate to the member's name.
pub fn check_line(text: &str) -> Result<(), String> {
    hidden(text).next().map_or(Ok(()), |(_, c)| Err(refused(c)))
}

/// Checks a name that identifies an account or another object. It must not contain joiners either.
///
/// # Errors
/// What is wrong, as a predicate to the member's name.
pub fn check_name(text: &str) -> Result<(), String> {
    text.chars().find(|c| is_hidden(*c)).map_or(Ok(()), |c| Err(refused(c)))
}

fn refused(c: char) -> String {
    format!(
        "must be one line without control, direction or invisible characters; it contains U+{:04X}",
        u32::from(c)
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invisible_characters_are_refused_in_every_line() {
        for c in [
            '\0',
            '\t',
            '\n',
            '\r',
            '\u{1b}',
            '\u{7f}',
            '\u{80}',
            '\u{9b}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{17b4}',
            '\u{180b}',
            '\u{180e}',
            '\u{200b}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{3164}',
            '\u{fe01}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{1d173}',
            '\u{e0000}',
            '\u{e0041}',
            '\u{e007f}',
            '\u{e0101}',
        ] {
            let text = format!("a{c}b");
            assert!(check_line(&text).is_err() && check_name(&text).is_err(), "{c:?}");
        }
        assert!(check_line("a\u{202e}b").unwrap_err().ends_with("U+202E"));
    }

    #[test]
    fn visible_text_of_every_script_is_fine() {
        for text in
            ["", "plain", "Größe – naïve", "日本語", "العربية", "עברית", "हिन्दी", "🙂🇫🇷❤️", "a\u{a0}b"]
        {
            assert_eq!((check_line(text), check_name(text)), (Ok(()), Ok(())), "{text}");
        }
    }

    #[test]
    fn a_joiner_joins_in_a_line_and_is_refused_in_a_name() {
        for joined in ["👩\u{200d}💻", "می\u{200c}خواهم"] {
            assert_eq!(check_line(joined), Ok(()), "{joined}");
            assert!(check_name(joined).is_err(), "{joined}");
        }
        for loose in ["ad\u{200d}min", "\u{200d}", "👩\u{200d}", "\u{200c}می", "👩\u{200d}\u{200d}💻"]
        {
            assert!(check_line(loose).is_err(), "{loose:?}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_a_line_and_a_line_holds_nothing_hidden_but_joiners(text: String) {
            prop_assert!(check_name(&text).is_err() || check_line(&text).is_ok());
            let seen = text.chars().filter(|c| is_hidden(*c) && !matches!(*c, ZWJ | ZWNJ)).count();
            prop_assert!(seen == 0 || check_line(&text).is_err());
        }
    }
}
