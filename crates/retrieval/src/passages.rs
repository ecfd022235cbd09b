//! Splits a long text into passages for display.
//! Must not know: the query.

/// Cuts a text into parts of at most `characters_max` characters: at the end of a paragraph, line or word, if
/// there is one
/// in the second half of the part.
pub fn passages(text: &str, characters_max: usize) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let end = rest.char_indices().nth(characters_max).map_or(rest.len(), |(at, _)| at);
        let end = if end == rest.len() { end } else { cut(&rest[..end]) };
        let (part, remainder) = rest.split_at(end);
        parts.push(part.trim_end());
        rest = remainder.trim_start();
    }
    parts
}

fn cut(part: &str) -> usize {
    let half = part.len() / 2;
    let last_of = |mark: &str| part.rfind(mark).filter(|at| *at >= half);
    let position = last_of("\n\n").or_else(|| last_of("\n")).or_else(|| last_of(" "));
    position.filter(|at| *at > 0).unwrap_or(part.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_paragraphs_lines_or_words_do() {
        assert_eq!(passages("one two three", 8), ["one two", "three"]);
        assert_eq!(passages("one\ntwo 3", 8), ["one\ntwo", "3"]);
        assert_eq!(passages("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(passages("ééééé", 2), ["éé", "éé", "é"]);
        assert!(passages(" \n", 4).is_empty());
    }
}
