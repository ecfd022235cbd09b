//! Escapes foreign text for a terminal: no control character, no text direction, no invisible character, no forged
//! line.
//! Must not know: the source of the text.

use std::borrow::Cow;

use plenary_kernel::text::hidden;

/// Cleans one line: shows every hidden character, line breaks included, as its escape.
pub fn clean(text: &str) -> Cow<'_, str> {
    let mut found = hidden(text).peekable();
    if found.peek().is_none() {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut from = 0;
    for (index, c) in found {
        safe.push_str(&text[from..index]);
        safe.extend(c.escape_default());
        from = index + c.len_utf8();
    }
    safe.push_str(&text[from..]);
    safe.into()
}

/// Cleans several lines: each but the first begins with `indent`, so that none can pass for another message.
pub fn clean_block(text: &str, indent: &str) -> String {
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
        assert!(matches!(clean("héllo ✓ 👩\u{200d}💻"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_nobody_sees_is_shown() {
        assert_eq!(
            clean("ad\u{200b}min \u{e0041}x\u{2028}y\u{feff}"),
            "ad\\u{200b}min \\u{e0041}x\\u{2028}y\\u{feff}"
        );
    }

    #[test]
    fn a_line_break_never_forges_a_line() {
        assert_eq!(clean_block("a\r\n@evil.b: hi\n\nc", "  "), "a\n  @evil.b: hi\n  \n  c");
        assert_eq!(clean_block("", "  "), "");
    }
}
