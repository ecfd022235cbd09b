//! A document in parts that are small enough for one vector each.
//! Must not know: models, vectors.

use crate::{Kind, Section, passages};

/// Most parts of a document; what is behind them is found by its words alone.
pub const PARTS_MAX: usize = 64;
/// Most characters of a part: about 130 tokens of English, where small models take 256 or more.
pub const PART_CHARACTERS_MAX: usize = 500;

/// A part of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// What the section is.
    pub kind: Kind,
    /// A passage of it.
    pub text: &'a str,
}

/// The parts of a document, the short sections first, so that a long body takes no room from them.
#[must_use]
pub fn parts(sections: &[Section]) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    for is_body in [false, true] {
        for section in sections.iter().filter(|section| (section.kind == Kind::Body) == is_body) {
            let passages = passages(&section.text, PART_CHARACTERS_MAX);
            let room = PARTS_MAX - found.len();
            found.extend(passages.into_iter().take(room).map(|text| Part { kind: section.kind, text }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_so_many_parts_and_the_short_sections_come_first() {
        let section = |kind, text: &str| Section { kind, text: text.to_owned() };
        let sections = [
            section(Kind::Body, &"word ".repeat(PARTS_MAX * PART_CHARACTERS_MAX)),
            section(Kind::Title, "title"),
            section(Kind::Decision, "decided"),
        ];
        let found = parts(&sections);
        assert_eq!((found.len(), found[0].text, found[1].text), (PARTS_MAX, "title", "decided"));
        assert!(found.iter().all(|part| part.text.chars().count() <= PART_CHARACTERS_MAX));
    }
}
