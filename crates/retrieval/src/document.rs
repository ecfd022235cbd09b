//! The indexed documents, made of sections.
//! Must not know: the source of a document.

use crate::Weight;

/// The role of a section in its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The subject, in a line.
    Title,
    /// A decision.
    Decision,
    /// An open question.
    Question,
    /// Instructions for the next reader.
    Handoff,
    /// All other text.
    Body,
}

impl Kind {
    /// The weight of a word in such a section.
    pub const fn weight(self) -> Weight {
        match self {
            Self::Title => Weight::A,
            Self::Decision => Weight::B,
            Self::Question | Self::Handoff => Weight::C,
            Self::Body => Weight::D,
        }
    }
}

/// A section of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its role.
    pub kind: Kind,
    /// Its text.
    pub text: String,
}

/// A document. A later document with the same id replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its id, unique in the index.
    pub id: String,
    /// Its project, which limits searches.
    pub project: String,
    /// Time of creation, in milliseconds since 1970; of two documents with equal scores the newer one ranks
    /// first.
    pub created_at_ms: i64,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// Its text, in sections.
    pub sections: Vec<Section>,
}

/// A change to an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds a document whose id the index has never had. No later change has this id, so the index need not find the
    /// document by it.
    Add(Document),
    /// Adds the document, or replaces the one with its id.
    Put(Document),
    /// Removes the document with this id, if there is one.
    Delete(String),
}

impl Change {
    /// The id of the changed document.
    pub fn id(&self) -> &str {
        match self {
            Self::Add(document) | Self::Put(document) => &document.id,
            Self::Delete(id) => id,
        }
    }

    /// The document, unless it is removed.
    pub fn document(self) -> Option<Document> {
        match self {
            Self::Add(document) | Self::Put(document) => Some(document),
            Self::Delete(_) => None,
        }
    }
}
