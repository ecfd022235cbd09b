//! Rust source as far as the rules need it: comments and literals blanked, words, the items they begin.
//! Must not know: any rule. It reads text, not the language: macros are not expanded.

/// A word (identifier, keyword, number) or one sign, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// Octets from the beginning.
    pub(crate) at: usize,
    /// The word or sign.
    pub(crate) text: &'a str,
}

/// The source with comments and the insides of literals as blanks: every other octet stays in its place.
pub(crate) fn mask(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = skip(bytes, at);
        if end > at + 1 {
            for byte in &mut out[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
        at = end.max(at + 1);
    }
    // Only whole comments and literals were blanked, so what is left is still UTF-8.
    String::from_utf8_lossy(&out).into_owned()
}

/// The end of the comment or literal that begins at `at`; `at + 1` when none does.
fn skip(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return at + block_comment(rest);
    }
    if rest[0] == b'\'' {
        return at + character(rest);
    }
    if rest[0] == b'"' {
        return at + quoted(rest);
    }
    let begins_word = at == 0 || !is_word(bytes[at - 1]);
    if begins_word && matches!(rest[0], b'r' | b'b' | b'c') {
        return at + prefixed(rest);
    }
    at + 1
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// `'a'` and `'\n'` are literals, `'a` is a lifetime.
fn character(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        let close = rest.iter().skip(3).position(|b| *b == b'\'');
        return close.map_or(1, |n| n + 4);
    }
    let width = match rest.get(1) {
        Some(0xF0..) => 4,
        Some(0xE0..) => 3,
        Some(0xC0..) => 2,
        _ => 1,
    };
    if rest.get(1 + width) == Some(&b'\'') { width + 2 } else { 1 }
}

fn quoted(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br"…"`, `c"…"`, `b'…'`; 1 when it is an ordinary word.
fn prefixed(rest: &[u8]) -> usize {
    let letters = if rest.starts_with(b"br") || rest.starts_with(b"cr") { 2 } else { 1 };
    let raw = rest[letters - 1] == b'r';
    let hashes = rest[letters..].iter().take_while(|b| **b == b'#').count();
    let open = letters + hashes;
    match rest.get(open) {
        Some(b'"') if raw => {
            let close: Vec<u8> = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
            let body = &rest[open + 1..];
            let found = body.windows(close.len()).position(|window| window == close);
            found.map_or(rest.len(), |n| open + 1 + n + close.len())
        }
        Some(b'"') if hashes == 0 => letters + quoted(&rest[letters..]),
        Some(b'\'') if hashes == 0 && rest[0] == b'b' => letters + character(&rest[letters..]),
        _ => 1,
    }
}

/// The words and signs of masked source.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let bytes = code.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let length =
            if is_word(bytes[at]) { bytes[at..].iter().take_while(|b| is_word(**b)).count() } else { 1 };
        tokens.push(Token { at, text: &code[at..at + length] });
        at += length;
    }
    tokens
}

/// The places where the words of `pattern` follow each other.
pub(crate) fn find<'a>(tokens: &[Token<'a>], pattern: &str) -> Vec<Token<'a>> {
    let wanted: Vec<&str> = self::tokens(pattern).iter().map(|token| token.text).collect();
    tokens
        .windows(wanted.len())
        .filter(|window| window.iter().map(|token| token.text).eq(wanted.iter().copied()))
        .map(|window| window[0])
        .collect()
}

/// The index of the sign that closes the bracket at `open`; the last index when nothing does.
pub(crate) fn close(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index;
                }
            }
            _ => {}
        }
    }
    tokens.len() - 1
}

/// Letters, digits, `_`, and everything past ASCII (identifiers may hold it; signs never do).
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        tokens(&mask(source)).iter().map(|token| token.text.to_owned()).collect()
    }

    #[test]
    fn comments_and_literals_are_blanked_and_nothing_moves() {
        let source =
            "let a = \"x \\\" fn\"; // fn\n/* a /* b */ fn */ let b = 'f'; let c: &'static str = r#\"fn \"#;";
        let masked = mask(source);
        assert_eq!(masked.len(), source.len());
        assert!(!masked.contains("fn"), "{masked}");
        assert!(masked.contains("&'static str"), "{masked}");
        assert_eq!(masked.find("let c"), source.find("let c"));
    }

    #[test]
    fn quotes_in_literals_do_not_open_others() {
        for source in
            ["'\"' end", "b'\\'' end", "'\\'' end", "\"\\\\\" end", "br##\"a\"#\"## end", "c\"a\" end"]
        {
            assert_eq!(words(source), ["end"], "{source}");
        }
        assert_eq!(words("'é' 'ß x"), ["'", "ß", "x"]);
    }

    #[test]
    fn raw_identifiers_and_words_with_prefix_letters_stay() {
        assert_eq!(words("r#type br c b"), ["r", "#", "type", "br", "c", "b"]);
    }

    #[test]
    fn a_pattern_matches_whole_words() {
        let code = mask("thread::sleep(d); my_thread::sleep; thread::sleeper()");
        assert_eq!(find(&tokens(&code), "thread::sleep").len(), 1);
    }

    #[test]
    fn brackets_close_where_they_should() {
        let code = mask("{ a(b[\"}\"]) } c");
        let tokens = tokens(&code);
        assert_eq!(tokens[close(&tokens, 0) + 1].text, "c");
    }
}
