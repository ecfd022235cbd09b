//! The interface of every embedding model.
//! Must not know: any model.

use std::ops::Range;

use async_trait::async_trait;

/// The use of a text; some models embed both differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A text to be found.
    Document,
    /// A query.
    Query,
}

/// The reason why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The model can't work until a setting or file changes; the text says which.
    #[error("{0}")]
    Unusable(String),
    /// The model refuses one of these texts, or all texts because of a setting; others may have vectors.
    #[error("{0}")]
    Refused(String),
    /// A later attempt may succeed.
    #[error("{0}")]
    Unavailable(String),
}

/// A token of a text, embedded in its context.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Its byte range in the text.
    pub range: Range<usize>,
    /// Its vector, of length 1.
    pub vector: Vec<f32>,
}

/// The vectors of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// Its vector, of length 1.
    pub vector: Vec<f32>,
    /// Its tokens in order; empty if the model gives no token vectors.
    pub tokens: Vec<Token>,
}

/// A model. Implementations do not block the threads of the runtime.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Identifies the model and all settings that its vectors depend on. Vectors of different models cannot be
    /// compared.
    fn model(&self) -> &str;

    /// Number of components of a vector, once it is known.
    fn dimension(&self) -> Option<usize>;

    /// Most tokens of a text that are embedded; the rest is ignored. `None` if only the model's server knows.
    fn tokens_max(&self) -> Option<usize>;

    /// One vector of length 1 for each text, in order.
    async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault>;

    /// Whether it gives token vectors.
    fn has_tokens(&self) -> bool {
        false
    }

    /// The same vectors, with token vectors if the model gives them.
    async fn embed_tokens(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Embedded>, Fault> {
        let vectors = self.embed(purpose, texts).await?;
        Ok(vectors.into_iter().map(|vector| Embedded { vector, tokens: Vec::new() }).collect())
    }
}

/// Scales a vector to length 1; a zero vector stays unchanged.
pub fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|component| component * component).sum::<f32>().sqrt();
    if length > 0.0 {
        for component in vector {
            *component /= length;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_length_1_and_nothing_stays_nothing() {
        let mut vector = [3.0, 4.0];
        normalise(&mut vector);
        assert_eq!(vector, [0.6, 0.8]);
        let mut nothing = [0.0, 0.0];
        normalise(&mut nothing);
        assert_eq!(nothing, [0.0, 0.0]);
    }
}
