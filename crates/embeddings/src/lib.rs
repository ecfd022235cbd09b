//! Embeds texts as unit vectors, and scores how well texts answer a query, with a model in this process or on a
//! server with
//! the usual API.
//! Must not know: the source of the texts, or where vectors are stored.

mod embedder;
mod local;
mod openai;
mod rerank;
mod source;

pub use embedder::{Embedded, Embedder, Fault, Purpose, Token, normalise};
pub use local::{CrossEncoder, Local, Static};
pub use openai::OpenAi;
pub use rerank::{RERANK_KEY_VARIABLE, RERANK_TIME_MAX, Remote, RerankSource, Reranker};
pub use source::{KEY_VARIABLE, Source};
