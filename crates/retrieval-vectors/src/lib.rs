//! A vector index: one vector for each part of a document. All vectors are in memory, and stored for restarts.
//! A search
//! compares all vectors of a small project, and the nearest cells of a large one.
//! Must not know: any protocol, any engine or database.

mod cells;
mod closeness;
mod codes;
mod file;
mod health;
mod journal_entry;
mod memory;
mod projects;
mod reranker;
mod shared;
mod shelf;
mod tree;
mod vectors;

pub use cells::EXACT_VECTORS_MAX;
pub use closeness::{COMPARED_TOKENS_MAX, MISSED_MAX, WORDS_BYTES_MAX};
pub use codes::Code;
pub use file::FileShelf;
pub use journal_entry::{Entry, JournalEntry};
pub use memory::MemoryShelf;
pub use reranker::Reranking;
pub use shared::SharedShelf;
pub use shelf::{Changes, News, Shelf};
pub use vectors::{QUERY_TIME_MAX, VECTORS_BYTES_MAX, Vectors};
