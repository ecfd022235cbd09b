//! The counted words of a document: each distinct word, with its count for each section weight.
//! Must not know: any index.

use std::ops::Range;

use hashbrown::{HashTable, hash_table::Entry};

use crate::{
    DOCUMENT_LEXEME_BYTES_MAX, DOCUMENT_WORDS_MAX, Document,
    analysis::{Purpose, hash, hashed_words},
};

/// A text has about one distinct word for this many bytes.
const BYTES_PER_WORD: usize = 8;
/// Most words for which room is made at once.
const ROOM_MAX: usize = 1_024;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word as it is indexed.
    pub text: &'a str,
    /// Its hash, which is the same in every document.
    pub hash: u64,
    /// The number of occurrences.
    pub counts: [u32; 4],
}

impl Word<'_> {
    /// The weighted number of occurrences.
    pub fn weighted(&self) -> u32 {
        WEIGHTS.iter().zip(self.counts).fold(0, |sum, (weight, count)| sum + weight.factor() * count)
    }
}

/// The words of a document.
#[derive(Debug, Clone, Default)]
pub struct Lexemes {
    /// The distinct words, in order of first appearance.
    words: Vec<Count>,
    /// The texts of the words, one after the other.
    texts: String,
}

/// The counts of a word.
#[derive(Debug, Clone)]
struct Count {
    /// Where its text is.
    range: Range<usize>,
    hash: u64,
    counts: [u32; 4],
}

impl Lexemes {
    /// Counts the words of a document, up to its limits. The heavier sections come first, so that a long body
    /// cannot
    /// displace them.
    pub fn of(document: &Document) -> Self {
        let bytes: usize = document.sections.iter().map(|section| section.text.len()).sum();
        let mut counter = WordCounter::with_room((bytes / BYTES_PER_WORD).min(ROOM_MAX));
        for weight in WEIGHTS {
            for section in document.sections.iter().filter(|section| section.kind.weight() == weight) {
                hashed_words(&section.text, Purpose::Document, &mut |word, hash| {
                    counter.count(word, hash, weight);
                });
            }
        }
        if counter.is_cut {
            counter.lexemes.push(CUT, hash(CUT), [0, 0, 0, 1]);
        }
        counter.lexemes
    }

    /// The distinct words, in order of first appearance.
    pub fn words(&self) -> impl ExactSizeIterator<Item = Word<'_>> {
        self.words.iter().map(|Count { range, hash, counts }| Word {
            text: &self.texts[range.clone()],
            hash: *hash,
            counts: *counts,
        })
    }

    /// The length of the document: the weighted number of its words.
    pub fn length(&self) -> u64 {
        self.words().map(|word| u64::from(word.weighted())).sum()
    }

    fn push(&mut self, text: &str, hash: u64, counts: [u32; 4]) {
        let begin = self.texts.len();
        self.texts.push_str(text);
        self.words.push(Count { range: begin..self.texts.len(), hash, counts });
    }
}

/// The words so far. A word is hashed once and stored once.
struct WordCounter {
    lexemes: Lexemes,
    /// Positions in the words.
    by_text: HashTable<usize>,
    counted: usize,
    /// Whether a limit left a word out.
    is_cut: bool,
}

impl WordCounter {
    fn with_room(words: usize) -> Self {
        let lexemes = Lexemes { words: Vec::with_capacity(words), ..Lexemes::default() };
        Self { lexemes, by_text: HashTable::with_capacity(words), counted: 0, is_cut: false }
    }

    /// Counts an occurrence, up to the limits of a document.
    fn count(&mut self, text: &str, hash: u64, weight: Weight) {
        let Self { lexemes, by_text, counted, is_cut } = self;
        if *counted == DOCUMENT_WORDS_MAX {
            *is_cut = true;
            return;
        }
        let same = |at: &usize| lexemes.texts[lexemes.words[*at].range.clone()] == *text;
        let at = match by_text.entry(hash, same, |at| lexemes.words[*at].hash) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if lexemes.texts.len() + text.len() > DOCUMENT_LEXEME_BYTES_MAX => {
                *is_cut = true;
                return;
            }
            Entry::Vacant(new) => {
                let at = lexemes.words.len();
                new.insert(at);
                lexemes.push(text, hash, [0; 4]);
                at
            }
        };
        *counted += 1;
        lexemes.words[at].counts[weight as usize] += 1;
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
        let words: Vec<_> = lexemes.words().map(|word| (word.text, word.counts)).collect();
        assert_eq!(words, [("login", [1, 0, 1, 2])]);
        assert_eq!(lexemes.length(), 5 + 2 + 2);
    }

    #[test]
    fn past_its_limits_a_document_keeps_what_weighs_most() {
        let many: Vec<String> = (0..DOCUMENT_LEXEME_BYTES_MAX / 4).map(|nth| format!("w{nth}")).collect();
        let lexemes = Lexemes::of(&document(&[(Kind::Body, &many.join(" ")), (Kind::Title, "login")]));
        assert_eq!(lexemes.words().last().map(|word| word.text), Some(CUT));
        let bytes: usize = lexemes.words().map(|word| word.text.len()).sum::<usize>() - CUT.len();
        assert!(bytes <= DOCUMENT_LEXEME_BYTES_MAX && bytes > DOCUMENT_LEXEME_BYTES_MAX - 8, "{bytes}");
        assert_eq!(lexemes.words().next().map(|word| word.text), Some("login"));
        let lexemes = Lexemes::of(&document(&[(Kind::Body, &"word ".repeat(DOCUMENT_WORDS_MAX + 9))]));
        assert_eq!(lexemes.length(), DOCUMENT_WORDS_MAX as u64 + 1, "and that it is cut");
        let lexemes = Lexemes::of(&document(&[(Kind::Body, &"word ".repeat(DOCUMENT_WORDS_MAX))]));
        assert_eq!(lexemes.words().len(), 1, "a document within the limits is whole");
    }
}
