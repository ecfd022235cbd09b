//! Retrieval: documents and queries, the tokenizer, and the interface of every index. It knows documents, sections
//! and queries.
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

/// Longest query, in bytes; past it [`QueryFault::TooLong`].
pub const QUERY_OCTETS_MAX: usize = 4_096;
/// Most different words of a query; those behind them are not looked for.
pub const QUERY_WORDS_MAX: usize = 64;
/// Longest word, in bytes; of a longer one the beginning counts.
pub const WORD_OCTETS_MAX: usize = 64;
/// Most words of a document, each as often as it stands there; those behind them are not indexed.
pub const DOCUMENT_WORDS_MAX: usize = 65_536;
/// Bytes of the different words of a document; past it no new ones are indexed.
pub const DOCUMENT_LEXEME_OCTETS_MAX: usize = 256 << 10;
/// Most hits of one search; an index gives no more, whatever it is asked for.
pub const HITS_MAX: usize = 1_000;
