//! Foreign text made harmless for a terminal: no control character, no text direction, no forged line.
//! Must not know: where the text comes from.

use std::borrow::Cow;

/// Control characters (an escape can rewrite the screen) and direction marks (which can reorder a line).
fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line: every harmful character shown as its escape, line breaks too.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_harmful(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe.into()
}

/// Several lines: each but the first begins with `indent`, so that none can pass for another message.
pub(crate) fn clean_block(text: &str, indent: &str) -> String {
    let mut lines = text.lines().map(|line| clean(line.trim_end_matches('\r')));
    let mut block = lines.next().unwrap_or_default().into_owned();
    for line in lines {
        block.push('\n');
        block.push_str(indent);
        block.push_str(&line);
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_never_reaches_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(clean("a\nb\tc\u{202e}d\u{9b}"), "a\\nb\\tc\\u{202e}d\\u{9b}");
        assert!(matches!(clean("héllo ✓"), Cow::Borrowed("héllo ✓")));
    }

    #[test]
    fn a_line_break_never_forges_a_line() {
        assert_eq!(clean_block("a\r\n@evil.b: hi\n\nc", "  "), "a\n  @evil.b: hi\n  \n  c");
        assert_eq!(clean_block("", "  "), "");
    }
}
