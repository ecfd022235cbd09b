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

/// Cleans JSON: writes every hidden character in a string as its escape, so that the JSON stays equal.
pub(super) fn clean_json(json: &str) -> Cow<'_, str> {
    // Between its strings JSON has these three.
    let mut found = hidden(json).filter(|(_, c)| !matches!(c, '\t' | '\n' | '\r')).peekable();
    if found.peek().is_none() {
        return json.into();
    }
    let mut safe = String::with_capacity(json.len() + 8);
    let mut from = 0;
    for (index, c) in found {
        safe.push_str(&json[from..index]);
        for unit in c.encode_utf16(&mut [0; 2]) {
            safe.push_str(&format!("\\u{unit:04x}"));
        }
        from = index + c.len_utf8();
    }
    safe.push_str(&json[from..]);
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
    fn json_stays_equal_and_shows_what_nobody_sees() {
        let json = "{\"a\":\"\\u001bx\u{9b}2J\u{202e}\u{85}\u{7f} 👩\u{200d}💻\u{e0041}\",\n\t\"b\":1}";
        let safe = clean_json(json);
        assert_eq!(
            safe,
            "{\"a\":\"\\u001bx\\u009b2J\\u202e\\u0085\\u007f 👩\u{200d}💻\\udb40\\udc41\",\n\t\"b\":1}"
        );
        let value = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(value(&safe), value(json));
        assert!(matches!(clean_json("{\"a\": [\"é\"]}"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_line_break_never_forges_a_line() {
        assert_eq!(clean_block("a\r\n@evil.b: hi\n\nc", "  "), "a\n  @evil.b: hi\n  \n  c");
        assert_eq!(clean_block("", "  "), "");
    }
}
