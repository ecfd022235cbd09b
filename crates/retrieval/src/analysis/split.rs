//! The boundaries of words.
//! Must not know: the use of a word.

use super::{Purpose, script::is_without_spaces};

/// English endings after an apostrophe, which are dropped.
const ENDINGS: [&str; 6] = ["s", "d", "m", "ll", "re", "ve"];

/// A byte that belongs to a word.
const IN_WORD: u8 = 1;
/// A byte that is a capital letter.
const CAPITAL: u8 = 2;

/// The classes of ASCII characters.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        if byte.is_ascii_alphanumeric() {
            classes[byte as usize] |= IN_WORD;
        }
        if byte.is_ascii_uppercase() {
            classes[byte as usize] |= CAPITAL;
        }
        byte += 1;
    }
    classes
};

/// Calls `give` with the words of a text, unchanged.
pub(super) fn runs(text: &str, purpose: Purpose, give: &mut dyn FnMut(&str)) {
    if text.is_ascii() { ascii_runs(text, give) } else { all_runs(text, purpose, give) }
}

/// The same for a text of ASCII characters, as most are.
fn ascii_runs(text: &str, give: &mut dyn FnMut(&str)) {
    let class = |byte: u8| CLASSES[usize::from(byte)];
    let mut rest = text;
    while let Some(begin) = rest.bytes().position(|byte| class(byte) != 0) {
        rest = &rest[begin..];
        let mut classes = 0;
        let end = rest.bytes().position(|byte| {
            classes |= class(byte);
            class(byte) == 0
        });
        let (word, remainder) = rest.split_at(end.unwrap_or(rest.len()));
        rest = remainder;
        let is_dropped = rest.starts_with('\'') && drop_ending(word, &mut rest);
        if !is_dropped {
            give(word);
            if classes & CAPITAL != 0 {
                parts(word, give);
            }
        }
    }
}

fn all_runs(text: &str, purpose: Purpose, give: &mut dyn FnMut(&str)) {
    let mut rest = text;
    while let Some(begin) = rest.find(char::is_alphanumeric) {
        rest = &rest[begin..];
        let spaceless = rest.starts_with(is_without_spaces);
        let (run, remainder) = rest.split_at(end_of_run(rest, spaceless));
        rest = remainder;
        if spaceless {
            pairs(run, purpose, give);
            continue;
        }
        if !drop_ending(run, &mut rest) {
            give(run);
            if run.contains(char::is_uppercase) {
                parts(run, give);
            }
        }
    }
}

/// Drops an English ending of `word` from the beginning of `rest`. Returns whether the word is dropped, too.
fn drop_ending(word: &str, rest: &mut &str) -> bool {
    let Some(after) = rest.strip_prefix(['\'', '’']) else { return false };
    let end = after.find(|c: char| !c.is_alphanumeric()).unwrap_or(after.len());
    let (ending, after) = after.split_at(end);
    // Negations such as `isn't` and `don't` are dropped: they carry no meaning for a search.
    let is_negation = ending.eq_ignore_ascii_case("t") && word.ends_with(['n', 'N']);
    if is_negation || ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)) {
        *rest = after;
    }
    is_negation
}

/// Where the letters and digits end that a text begins with, of scripts without spaces or of others.
fn end_of_run(text: &str, spaceless: bool) -> usize {
    // Most words are of ASCII characters only, and stand before one.
    let ascii = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if !spaceless && text.as_bytes().get(ascii).is_none_or(u8::is_ascii) {
        return ascii;
    }
    let goes_on = |c: char| c.is_alphanumeric() && is_without_spaces(c) == spaceless;
    text.find(|c| !goes_on(c)).unwrap_or(text.len())
}

/// The parts of a word that is written in camel case.
fn parts(word: &str, give: &mut dyn FnMut(&str)) {
    let (mut begin, mut before) = (0, None::<char>);
    let mut letters = word.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let next_is_lower = letters.peek().is_some_and(|(_, next)| next.is_lowercase());
        let begins = match before {
            Some(before) if c.is_uppercase() => {
                before.is_lowercase() || before.is_numeric() || (before.is_uppercase() && next_is_lower)
            }
            _ => false,
        };
        if begins {
            give(&word[begin..at]);
            begin = at;
        }
        before = Some(c);
    }
    if begin > 0 {
        give(&word[begin..]);
    }
}

/// A run of a script without spaces, as pairs of neighbouring characters.
fn pairs(run: &str, purpose: Purpose, give: &mut dyn FnMut(&str)) {
    let ends: Vec<usize> = run.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
    let mut begin = 0;
    for (nth, end) in ends.iter().enumerate() {
        if purpose == Purpose::Document || ends.len() == 1 {
            give(&run[begin..*end]);
        }
        if let Some(next) = ends.get(nth + 1) {
            give(&run[begin..*next]);
        }
        begin = *end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_of_ascii_characters_has_the_words_that_any_text_has(text in "[a-eA-C0-2nt's _.\\x00-\\x7f]{0,80}") {
            let (mut fast, mut all) = (Vec::new(), Vec::new());
            ascii_runs(&text, &mut |word| fast.push(word.to_owned()));
            all_runs(&text, Purpose::Document, &mut |word| all.push(word.to_owned()));
            prop_assert_eq!(fast, all);
        }
    }
}
