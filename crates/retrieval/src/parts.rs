//! Splits a document into parts that are small enough for one vector each.
//! Must not know: models, vectors.

use crate::{Kind, Section, passages, turns::turns};

/// Most parts of a document; text beyond them is found by its words only.
pub const PARTS_MAX: usize = 64;
/// Most characters of a part: about 130 tokens of English; small models accept 256 or more.
pub const PART_CHARACTERS_MAX: usize = 500;
/// The version of the algorithm that cuts documents and makes vectors of their parts. Vectors of another
/// version must not be
/// used.
pub const PARTS_FORM: u32 = 4;
/// The limit for a document that would otherwise have too many parts.
const LARGE_PART_CHARACTERS_MAX: usize = 2 * PART_CHARACTERS_MAX;
/// A shorter paragraph, such as a heading, is joined with the next one.
const PARAGRAPH_CHARACTERS_MIN: usize = 80;

/// A part of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// The role of the section.
    pub kind: Kind,
    /// A passage of the section.
    pub text: &'a str,
}

/// A function that cuts a text.
type Splitter = fn(&str) -> Vec<&str>;

/// The parts of a document, short sections first, so that a long body cannot displace them. A body is cut at
/// turns of a
/// conversation or at paragraphs; if that gives too many parts, by length alone.
pub fn parts(sections: &[Section]) -> Vec<Part<'_>> {
    let mut found = pieces(sections, false, |text| passages(text, PART_CHARACTERS_MAX));
    found.truncate(PARTS_MAX);
    let room = PARTS_MAX - found.len();
    let cuts: [Splitter; 3] = [
        utterances,
        |text| passages(text, PART_CHARACTERS_MAX),
        |text| passages(text, LARGE_PART_CHARACTERS_MAX),
    ];
    let mut bodies = Vec::new();
    for cut in cuts {
        bodies = pieces(sections, true, cut);
        if bodies.len() <= room {
            break;
        }
    }
    found.extend(bodies.into_iter().take(room));
    found
}

/// All parts of a document, without a limit.
pub(crate) fn all_parts(sections: &[Section]) -> impl Iterator<Item = &str> {
    sections.iter().flat_map(|section| {
        if section.kind == Kind::Body { utterances(&section.text) } else { vec![section.text.as_str()] }
    })
}

fn pieces(sections: &[Section], is_body: bool, cut: Splitter) -> Vec<Part<'_>> {
    let sections = sections.iter().filter(|section| (section.kind == Kind::Body) == is_body);
    let pieces = sections.flat_map(|section| {
        cut(&section.text).into_iter().map(move |text| Part { kind: section.kind, text })
    });
    pieces.collect()
}

/// The turns of a conversation, or the paragraphs of another text, cut into passages.
fn utterances(text: &str) -> Vec<&str> {
    let turns = turns(text);
    let texts = if turns.len() > 1 { turns } else { paragraphs(text) };
    texts.into_iter().flat_map(|text| passages(text, PART_CHARACTERS_MAX)).collect()
}

/// The paragraphs of a text; short ones are joined with the next.
fn paragraphs(text: &str) -> Vec<&str> {
    let (mut found, mut begin, mut at) = (Vec::new(), 0, 0);
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        at += line.len();
        let ends = line.trim().is_empty() && lines.peek().is_some_and(|next| !next.trim().is_empty());
        if ends && text[begin..at].trim().chars().count() >= PARAGRAPH_CHARACTERS_MIN {
            found.push(&text[begin..at]);
            begin = at;
        }
    }
    found.push(&text[begin..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(kind: Kind, text: &str) -> Section {
        Section { kind, text: text.to_owned() }
    }

    fn texts(body: &str) -> Vec<String> {
        let sections = [section(Kind::Body, body)];
        parts(&sections).into_iter().map(|part| part.text.to_owned()).collect()
    }

    #[test]
    fn a_document_has_so_many_parts_and_the_short_sections_come_first() {
        let sections = [
            section(Kind::Body, &"word ".repeat(PARTS_MAX * PART_CHARACTERS_MAX)),
            section(Kind::Title, "title"),
            section(Kind::Decision, "decided"),
        ];
        let found = parts(&sections);
        assert_eq!((found.len(), found[0].text, found[1].text), (PARTS_MAX, "title", "decided"));
        assert!(found.iter().all(|part| part.text.chars().count() <= LARGE_PART_CHARACTERS_MAX));
        assert!(all_parts(&sections).count() > PARTS_MAX);
        let many = vec![section(Kind::Decision, "decided"); PARTS_MAX + 1];
        assert_eq!(parts(&many).len(), PARTS_MAX);
    }

    #[test]
    fn each_turn_of_a_conversation_is_a_part() {
        assert_eq!(
            texts("user: one\n\nassistant: two\n\nuser: three"),
            ["user: one", "assistant: two", "user: three"]
        );
        let long = format!("user: one\nassistant: {}\nuser: three", "word ".repeat(150));
        assert_eq!(texts(&long).len(), 4);
    }

    #[test]
    fn each_paragraph_of_a_text_is_a_part_and_a_heading_belongs_to_the_next() {
        let paragraph = "word ".repeat(30);
        let found = texts(&format!("# Head\n\n{paragraph}\n\n\n{paragraph}\n\nlast"));
        assert_eq!(found.len(), 3);
        assert!(found[0].starts_with("# Head\n\nword") && found[2] == "last");
    }

    #[test]
    fn what_would_have_too_many_parts_has_larger_ones() {
        let split = |count: usize, characters: usize| {
            texts(&format!("user: {}\n", "w".repeat(characters - 7)).repeat(count))
        };
        assert_eq!(split(PARTS_MAX, 100).len(), PARTS_MAX);
        let some = split(PARTS_MAX + 1, 100);
        assert!(some.len() < PARTS_MAX && some.concat().len() > 6_000);
        let many = split(600, 100);
        assert!(many.len() <= PARTS_MAX && many[0].len() > PART_CHARACTERS_MAX);
    }
}
