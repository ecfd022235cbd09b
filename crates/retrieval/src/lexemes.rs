//! The counted words of a document: each distinct word, with its count for each section weight.
//! Must not know: any index.

use std::hash::BuildHasher as _;

use hashbrown::{DefaultHashBuilder, HashTable, hash_table::Entry};

use crate::{
    DOCUMENT_LEXEME_BYTES_MAX, DOCUMENT_WORDS_MAX, Document,
    analysis::{Purpose, words},
};

/// A word of each document of which a part is not indexed. No text has it: the words of texts are in lower case.
pub(crate) const CUT: &str = "CUT";

/// The weight of a word, given by its section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Titles.
    A,
    /// Decisions.
    B,
    /// Questions and handoff notes.
    C,
    /// The body.
    D,
}

/// All weights, the heaviest first.
pub const WEIGHTS: [Weight; 4] = [Weight::A, Weight::B, Weight::C, Weight::D];

impl Weight {
    /// The factor of a word's count, relative to a word of the body.
    pub const fn factor(self) -> u32 {
        match self {
            Self::A => 5,
            Self::B => 3,
            Self::C => 2,
            Self::D => 1,
        }
    }
}

/// A word with its counts in sections of each weight, in the order of [`WEIGHTS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word as it is indexed.
    pub text: String,
    /// The number of occurrences.
    pub counts: [u32; 4],
}

impl Word {
    /// The weighted number of occurrences.
    pub fn weighted(&self) -> u32 {
        WEIGHTS.iter().zip(self.counts).fold(0, |sum, (weight, count)| sum + weight.factor() * count)
    }
}

/// The words of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lexemes {
    /// The distinct words, in order of first appearance.
    pub words: Vec<Word>,
}

impl Lexemes {
    /// Counts the words of a document, up to its limits. The heavier sections come first, so that a long body
    /// cannot
    /// displace them.
    pub fn of(document: &Document) -> Self {
        let mut counter = WordCounter::default();
        for weight in WEIGHTS {
            for section in document.sections.iter().filter(|section| section.kind.weight() == weight) {
                words(&section.text, Purpose::Document, &mut |word| counter.count(word, weight));
            }
        }
        if counter.is_cut {
            counter.words.push(Word { text: CUT.to_owned(), counts: [0, 0, 0, 1] });
        }
        Self { words: counter.words }
    }

    /// The length of the document: the weighted number of its words.
    pub fn length(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.weighted())).sum()
    }
}

/// The words so far. A word is hashed once and stored once.
#[derive(Default)]
struct WordCounter {
    words: Vec<Word>,
    /// Positions in `words`.
    by_text: HashTable<usize>,
    hasher: DefaultHashBuilder,
    counted: usize,
    bytes: usize,
    /// Whether a limit left a word out.
    is_cut: bool,
}

impl WordCounter {
    /// Counts an occurrence, up to the limits of a document.
    fn count(&mut self, text: &str, weight: Weight) {
        let Self { words, by_text, hasher, counted, bytes, is_cut } = self;
        if *counted == DOCUMENT_WORDS_MAX {
            *is_cut = true;
            return;
        }
        let same = |at: &usize| words[*at].text == text;
        let hash_at = |at: &usize| hasher.hash_one(words[*at].text.as_str());
        let at = match by_text.entry(hasher.hash_one(text), same, hash_at) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if *bytes + text.len() > DOCUMENT_LEXEME_BYTES_MAX => {
                *is_cut = true;
                return;
            }
            Entry::Vacant(new) => {
                new.insert(words.len());
                *bytes += text.len();
                words.push(Word { text: text.to_owned(), counts: [0; 4] });
                words.len() - 1
            }
        };
        *counted += 1;
        words[at].counts[weight as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Section};

    fn document(sections: &[(Kind, &str)]) -> Document {
        Document {
            id: "a".to_owned(),
            project: "p".to_owned(),
            created_at_ms: 0,
            is_draft: false,
            sections: sections
                .iter()
                .map(|(kind, text)| Section { kind: *kind, text: (*text).to_owned() })
                .collect(),
        }
    }

    #[test]
    fn words_count_by_the_weight_of_their_section() {
        let lexemes = Lexemes::of(&document(&[
            (Kind::Body, "login login"),
            (Kind::Handoff, "login"),
            (Kind::Title, "Login"),
        ]));
        assert_eq!(lexemes.words, [Word { text: "login".to_owned(), counts: [1, 0, 1, 2] }]);
        assert_eq!(lexemes.length(), 5 + 2 + 2);
    }

    #[test]
    fn past_its_limits_a_document_keeps_what_weighs_most() {
        let many: Vec<String> = (0..DOCUMENT_LEXEME_BYTES_MAX / 4).map(|nth| format!("w{nth}")).collect();
        let lexemes = Lexemes::of(&document(&[(Kind::Body, &many.join(" ")), (Kind::Title, "login")]));
        assert_eq!(lexemes.words.last().map(|word| word.text.as_str()), Some(CUT));
        let words = &lexemes.words[..lexemes.words.len() - 1];
        let bytes: usize = words.iter().map(|word| word.text.len()).sum();
        assert!(bytes <= DOCUMENT_LEXEME_BYTES_MAX && bytes > DOCUMENT_LEXEME_BYTES_MAX - 8, "{bytes}");
        assert_eq!(lexemes.words[0].text, "login");
        let lexemes = Lexemes::of(&document(&[(Kind::Body, &"word ".repeat(DOCUMENT_WORDS_MAX + 9))]));
        assert_eq!(lexemes.length(), DOCUMENT_WORDS_MAX as u64 + 1, "and that it is cut");
        let lexemes = Lexemes::of(&document(&[(Kind::Body, &"word ".repeat(DOCUMENT_WORDS_MAX))]));
        assert_eq!(lexemes.words.len(), 1, "a document within the limits is whole");
    }
}
