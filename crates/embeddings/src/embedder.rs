//! The interface of every embedding model.
//! Must not know: any model.

use std::ops::Range;

use async_trait::async_trait;

/// What a text is embedded for; some models want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It will be found.
    Document,
    /// It asks.
    Query,
}

/// Why there are no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It will not work until somebody changes something; says what.
    #[error("{0}")]
    Unusable(String),
    /// It may work later.
    #[error("{0}")]
    Unavailable(String),
}

/// A token of a text, as the model understands it there.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Where it stands in the text, in bytes.
    pub place: Range<usize>,
    /// Its vector, of length 1.
    pub vector: Vec<f32>,
}

/// A text as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// Its vector, of length 1.
    pub vector: Vec<f32>,
    /// Its tokens in their order; none where the model tells nothing of them.
    pub tokens: Vec<Token>,
}

/// A model. Waiting and computing stay off the threads of the runtime.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// What the vectors depend on. Vectors of different models do not compare.
    fn model(&self) -> &str;

    /// Components of a vector, once that is known.
    fn dimension(&self) -> Option<usize>;

    /// So many tokens of a text count; what is behind them is not looked at. `None`: the model's server knows.
    fn tokens_max(&self) -> Option<usize>;

    /// One vector of length 1 for each text, in their order.
    async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault>;

    /// Whether it tells the vectors of tokens.
    fn has_tokens(&self) -> bool {
        false
    }

    /// The same vectors, with those of the tokens where it tells them.
    async fn embed_tokens(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Embedded>, Fault> {
        let vectors = self.embed(purpose, texts).await?;
        Ok(vectors.into_iter().map(|vector| Embedded { vector, tokens: Vec::new() }).collect())
    }
}

/// Brings a vector to length 1; one without a direction is left alone.
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
