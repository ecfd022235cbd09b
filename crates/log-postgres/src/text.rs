//! Text in a form that PostgreSQL can store: its `text` cannot contain NUL, ours can. The stored form keeps byte
//! order and prefixes, so ranges over it are ranges over the text.

use std::borrow::Cow;

/// Most bytes of one stored name or key (an index entry is at most about 2,700); beyond it the batch is refused.
pub(crate) const TEXT_BYTES_MAX: usize = 2_400;

/// The stored form: U+0000 becomes U+0001 U+0001, and U+0001 becomes U+0001 U+0002.
pub fn stored(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte <= 1) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => stored.push_str("\u{1}\u{1}"),
            '\u{1}' => stored.push_str("\u{1}\u{2}"),
            c => stored.push(c),
        }
    }
    Cow::Owned(stored)
}

/// The text of a stored form.
pub fn plain(stored: &str) -> Cow<'_, str> {
    if !stored.bytes().any(|byte| byte == 1) {
        return Cow::Borrowed(stored);
    }
    let mut plain = String::with_capacity(stored.len());
    let mut chars = stored.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1}' if chars.next() == Some('\u{1}') => plain.push('\0'),
            c => plain.push(c),
        }
    }
    Cow::Owned(plain)
}

/// A range of stored forms: it includes `from` but not `until`; without `until` it has no end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) from: String,
    pub(crate) until: Option<String>,
}

impl Range {
    /// Every text that starts with `prefix`.
    pub(crate) fn of_prefix(prefix: &str) -> Self {
        Self { from: stored(prefix).into_owned(), until: after_prefix(&stored(prefix)) }
    }
    /// Restricts the range to texts greater than `after`.
    pub(crate) fn above(mut self, after: &str) -> Self {
        // No stored form lies between that of a text and that of the text with one more NUL.
        let successor = format!("{}\u{1}\u{1}", stored(after));
        if successor > self.from {
            self.from = successor;
        }
        self
    }
    /// Restricts the range to texts less than `before`.
    pub(crate) fn below(mut self, before: &str) -> Self {
        let before = stored(before);
        if self.until.as_deref().is_none_or(|until| *before < *until) {
            self.until = Some(before.into_owned());
        }
        self
    }
}

/// The least text that is greater than every text with this prefix. UTF-8 sorts in the order of code
/// points.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut bound = prefix.to_owned();
    while let Some(last) = bound.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            bound.push(next);
            return Some(bound);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: [&str; 16] = [
        "",
        "\0",
        "\0\0",
        "\0a",
        "\u{1}",
        "\u{1}\0",
        "\u{1}\u{1}",
        "\u{2}",
        "a",
        "a\0",
        "a\0b",
        "a\u{1}",
        "ab",
        "é",
        "\u{d7ff}\u{e000}",
        "\u{10ffff}",
    ];

    #[test]
    fn stored_forms_come_back() {
        for text in SAMPLES {
            assert_eq!(plain(&stored(text)), text);
            assert!(!stored(text).contains('\0'));
        }
    }

    #[test]
    fn stored_forms_keep_order_and_prefixes() {
        for a in SAMPLES {
            for b in SAMPLES {
                assert_eq!(a.cmp(b), stored(a).cmp(&stored(b)), "{a:?} {b:?}");
                assert_eq!(a.starts_with(b), stored(a).starts_with(&*stored(b)), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn ranges_hold_exactly_what_they_say() {
        let holds = |range: &Range, text: &str| {
            let text = stored(text);
            *text >= *range.from && range.until.as_deref().is_none_or(|until| *text < *until)
        };
        for prefix in SAMPLES {
            for bound in SAMPLES {
                let above = Range::of_prefix(prefix).above(bound);
                let below = Range::of_prefix(prefix).below(bound);
                for text in SAMPLES {
                    let within = text.starts_with(prefix);
                    assert_eq!(holds(&Range::of_prefix(prefix), text), within, "{prefix:?} {text:?}");
                    assert_eq!(holds(&above, text), within && text > bound, "{prefix:?} {bound:?} {text:?}");
                    assert_eq!(holds(&below, text), within && text < bound, "{prefix:?} {bound:?} {text:?}");
                }
            }
        }
    }
}
