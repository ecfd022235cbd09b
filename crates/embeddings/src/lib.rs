//! Turns texts into unit vectors, with a model in this process or a server with OpenAI's API.
//! Must not know: the source of the texts, or where vectors are stored.

mod embedder;
mod local;
mod openai;
mod source;

pub use embedder::{Embedded, Embedder, Fault, Purpose, Token, normalise};
pub use local::Local;
pub use openai::OpenAi;
pub use source::{KEY_VARIABLE, Source};
