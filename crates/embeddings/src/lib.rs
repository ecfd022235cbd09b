//! Texts to unit vectors, by a model in this process or by a server that speaks the OpenAI form.
//! Must not know: what the texts are of, or where vectors are kept.

mod embedder;
mod local;
mod openai;
mod source;

pub use embedder::{Embedder, Fault, Purpose, normalise};
pub use local::Local;
pub use openai::OpenAi;
pub use source::{KEY_VARIABLE, Source};
