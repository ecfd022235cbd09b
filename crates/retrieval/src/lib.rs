//! Retrieval: documents and queries, the tokenizer, and the interface of every index.
//! Must not know: any protocol, any engine or database.

pub mod analysis;
mod archive;
#[cfg(feature = "conformance")]
pub mod conformance;
mod document;
mod evidence;
mod fusion;
mod index;
mod lexemes;
mod marks;
mod parts;
mod passages;
mod query;
mod ranking;
mod relevance;
mod semantic;
mod turns;
mod when;

pub use archive::{Additions, Archive, ArchivedDocument, Mark};
pub use document::{Change, Document, Kind, Section};
pub use fusion::{RANK_CONSTANT, fuse};
pub use index::{Answer, COMMON_DOCUMENTS_MIN, COMMON_SHARE, Extent, Fault, Hit, Index, PutOutcome, Scope};
pub use lexemes::{Lexemes, WEIGHTS, Weight, Word};
pub use parts::{PART_CHARACTERS_MAX, PARTS_FORM, PARTS_MAX, Part, parts};
pub use passages::passages;
pub use query::{Query, QueryFault};
pub use ranking::{Competition, Score};
pub use relevance::{RERANKED_CHARACTERS_MAX, RERANKED_MAX, Relevance, telling_passage};
pub use semantic::{PartHit, Semantic};

/// Longest query, in bytes; a longer one is [`QueryFault::TooLong`].
pub const QUERY_BYTES_MAX: usize = 4_096;
/// Most distinct words of a query; further ones are ignored.
pub const QUERY_WORDS_MAX: usize = 64;
/// Longest word, in bytes; a longer one is cut.
pub const WORD_BYTES_MAX: usize = 64;
/// Most words of a document, repetitions included; further ones are not indexed. [`Query::or_cut`] finds such a document.
pub const DOCUMENT_WORDS_MAX: usize = 65_536;
/// Total bytes of the distinct words of a document; beyond it no new words are indexed.
pub const DOCUMENT_LEXEME_BYTES_MAX: usize = 256 << 10;
/// Most hits of one search, whatever limit it gives.
pub const HITS_MAX: usize = 1_000;
