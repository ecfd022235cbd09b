//! The boundaries of words.
//! Must not know: the use of a word.

use super::{Purpose, script::is_without_spaces};

/// English endings after an apostrophe, which are dropped.
const ENDINGS: [&str; 6] = ["s", "d", "m", "ll", "re", "ve"];

/// Calls `give` with the words of a text, unchanged.
pub(super) fn runs(text: &str, purpose: Purpose, give: &mut dyn FnMut(&str)) {
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
        let ending = remainder.strip_prefix(['\'', '’']).map(|after| {
            let end = after.find(|c: char| !c.is_alphanumeric()).unwrap_or(after.len());
            after.split_at(end)
        });
        match ending {
            // Negations such as `isn't` and `don't` are dropped: they carry no meaning for a search.
            Some((t, after)) if t.eq_ignore_ascii_case("t") && run.ends_with(['n', 'N']) => rest = after,
            Some((ending, after)) if ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)) => {
                rest = after;
                parts(run, give);
            }
            Some(_) | None => parts(run, give),
        }
    }
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

/// A word, and its parts if it is written in camel case.
fn parts(word: &str, give: &mut dyn FnMut(&str)) {
    give(word);
    if !word.contains(char::is_uppercase) {
        return;
    }
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
