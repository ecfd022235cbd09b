//! The passage of a text with most of the query's words. Pure.
//! Must not know: the source of the text.

use plenary_retrieval::{Kind, Query, Section, passages};

use crate::{SNIPPET_CHARS_MAX, wire::Snippet};

/// The passage that has most of the query's words: the earlier one of equals, and the title only if no other
/// passage has as
/// many. If no passage has any, the beginning of the text: it was found by its meaning.
pub(crate) fn snippet(query: &Query, sections: &[Section]) -> Snippet {
    let mut best: Option<(f64, bool, &str)> = None;
    for section in sections {
        let is_text = section.kind != Kind::Title;
        for passage in passages(&section.text, SNIPPET_CHARS_MAX) {
            let coverage = query.coverage(passage);
            if best.is_none_or(|(best_coverage, was_text, _)| (coverage, is_text) > (best_coverage, was_text))
            {
                best = Some((coverage, is_text, passage));
            }
        }
    }
    let text = best.map_or("", |(_, _, passage)| passage);
    Snippet { text: text.to_owned(), matches: marks(query, text) }
}

/// The ranges of a text that match words of the query, in characters.
fn marks(query: &Query, text: &str) -> Vec<[usize; 2]> {
    let (mut marks, mut chars, mut at) = (Vec::new(), 0, 0);
    for range in query.matches(text) {
        chars += text[at..range.start].chars().count();
        let length = text[range.clone()].chars().count();
        marks.push([chars, chars + length]);
        (chars, at) = (chars + length, range.end);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet_of(query: &str, sections: &[(Kind, &str)]) -> Snippet {
        let section = |(kind, text): &(Kind, &str)| Section { kind: *kind, text: (*text).to_owned() };
        let sections: Vec<Section> = sections.iter().map(section).collect();
        snippet(&Query::read(query).unwrap(), &sections)
    }

    #[test]
    fn the_passage_that_has_most_of_the_words_is_shown_with_what_matched() {
        let far = "nothing of it ".repeat(100);
        let body = format!("{far}\n\nÄ: the red doors are locked.\n\n{far}");
        let snippet = snippet_of("red door", &[(Kind::Title, "Red"), (Kind::Body, &body)]);
        let chars: Vec<char> = snippet.text.chars().collect();
        let marked_words: Vec<String> =
            snippet.matches.iter().map(|[from, to]| chars[*from..*to].iter().collect()).collect();
        assert_eq!(marked_words, ["red", "doors"], "{snippet:?}");
        assert!(chars.len() <= SNIPPET_CHARS_MAX);
    }

    #[test]
    fn a_body_comes_before_an_equal_title_and_without_a_match_the_beginning_is_returned() {
        let sections = [(Kind::Title, "A door"), (Kind::Body, "The door is red")];
        assert_eq!(snippet_of("door", &sections).text, "The door is red");
        assert_eq!(snippet_of("door", &sections[..1]).text, "A door");
        let snippet = snippet_of("gate", &[(Kind::Body, "The door is red")]);
        assert_eq!((snippet.text.as_str(), snippet.matches.len()), ("The door is red", 0));
        assert_eq!(snippet_of("gate", &[]).text, "");
    }
}
