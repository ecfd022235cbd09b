//! A lexer for Rust source, as far as the rules need it: words and signs without comments.
//! Must not know: any rule. It reads tokens, not the language: macros are not expanded.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

/// A word (identifier, keyword, literal) or one sign, with its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// The offset in bytes.
    pub(crate) at: usize,
    /// The word or sign.
    pub(crate) text: &'a str,
}

/// The positions of the words and signs of a source; empty if it is not valid Rust, which the compiler
/// reports better.
pub(crate) fn ranges(source: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    if let Ok(stream) = source.parse() {
        flatten(source, stream, &mut ranges);
    }
    proc_macro2::extra::invalidate_current_thread_spans();
    ranges
}

fn flatten(source: &str, stream: TokenStream, ranges: &mut Vec<Range<usize>>) {
    for tree in stream {
        let range = tree.span().byte_range();
        match tree {
            // A documentation comment is an attribute in the stream.
            _ if source[range.clone()].starts_with("//") || source[range.clone()].starts_with("/*") => {}
            TokenTree::Group(group) => {
                ranges.push(range.start..range.start + 1);
                flatten(source, group.stream(), ranges);
                ranges.push(range.end - 1..range.end);
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => ranges.push(range),
        }
    }
}

/// The positions where the words and signs of `pattern` (ASCII) follow each other.
pub(crate) fn find<'a>(tokens: &[Token<'a>], pattern: &str) -> Vec<Token<'a>> {
    // A pattern may have an unclosed bracket, so it is not a token stream.
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut expected = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(1));
        expected.extend((word != " ").then_some(word));
        rest = after;
    }
    tokens
        .windows(expected.len())
        .filter(|window| window.iter().map(|token| token.text).eq(expected.iter().copied()))
        .map(|window| window[0])
        .collect()
}

/// The index of the sign that closes the bracket at `open`; the last index if none does.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(source: &str) -> Vec<Token<'_>> {
        ranges(source).into_iter().map(|range| Token { at: range.start, text: &source[range] }).collect()
    }

    #[test]
    fn comments_are_left_out_and_nothing_moves() {
        let source = "//! no\na /* é /* no */ */ \"// b\" // no\n/// no\n'é' c";
        let texts: Vec<_> = tokens(source).iter().map(|token| token.text).collect();
        assert_eq!(texts, ["a", "\"// b\"", "'é'", "c"]);
        assert!(tokens(source).iter().all(|token| source[token.at..].starts_with(token.text)));
    }

    #[test]
    fn a_pattern_matches_whole_words_outside_of_literals() {
        let code = "thread::sleep(d); my_thread::sleep; thread::sleeper(\"thread::sleep\")";
        assert_eq!(find(&tokens(code), "thread::sleep").len(), 1);
    }

    #[test]
    fn brackets_close_where_they_should() {
        let tokens = tokens("{ a(b[\"}\"]) } c");
        assert_eq!(tokens[close(&tokens, 0) + 1].text, "c");
    }
}
