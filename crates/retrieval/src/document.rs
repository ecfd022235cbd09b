//! The indexed documents, made of sections.
//! Must not know: the source of a document.

use crate::Weight;

/// What a section is to its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What it is about, in a line.
    Title,
    /// What was decided.
    Decision,
    /// What is still open.
    Question,
    /// What the next one has to know.
    Handoff,
    /// Everything else that is said.
    Body,
}

impl Kind {
    /// What a word of it weighs.
    #[must_use]
    pub const fn weight(self) -> Weight {
        match self {
            Self::Title => Weight::A,
            Self::Decision => Weight::B,
            Self::Question | Self::Handoff => Weight::C,
            Self::Body => Weight::D,
        }
    }
}

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: String,
}

/// A document. One with the same id takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its id, unique in the index.
    pub id: String,
    /// The project that it belongs to; searches are scoped by it.
    pub project: String,
    /// When it was made, in milliseconds since 1970: of two that are as near to a query the newer comes first.
    pub created_at_ms: i64,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// Its text.
    pub sections: Vec<Section>,
}

/// A change of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The document is in the index, in place of any other of its id.
    Put(Document),
    /// No document of this id is in the index.
    Delete(String),
}

impl Change {
    /// The document that it is about.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Put(document) => &document.id,
            Self::Delete(id) => id,
        }
    }
}
