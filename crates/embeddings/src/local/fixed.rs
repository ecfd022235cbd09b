//! A static model: one vector for each token of a vocabulary, independent of its context (docs/decisions/0012).
//! The vector of
//! a text is the mean of its tokens.
//! Must not know: the meaning of the texts.

use std::{path::Path, sync::Arc};

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokenizers::{Tokenizer, TruncationParams};

use super::{TOKEN_BYTES_MAX, directory, weights::Weights};
use crate::{Embedder, Fault, Purpose, normalise};

/// Most tokens of a text; further ones are ignored.
const TOKENS_MAX: usize = 512;
/// The names of the matrix in model2vec, WordLlama and sentence-transformers.
const NAMES: [&str; 3] = ["embeddings", "embedding.weight", "0.embedding.weight"];
/// Matrices of model variants that are not supported.
const FOREIGN: [&str; 2] = ["mapping", "weights"];

/// The model of a directory.
pub struct Static {
    parts: Arc<Table>,
    name: String,
}

struct Table {
    tokenizer: Tokenizer,
    rows: Vec<f32>,
    width: usize,
}

impl std::fmt::Debug for Static {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Static").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Static {
    /// Reads the directory: `model.safetensors` and `tokenizer.json`.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        let foreign = |why: &str| {
            Fault::Unusable(format!(
                "the directory {} is no static model: {why}. It has to have tokenizer.json and model.safetensors with one \
                 matrix of vectors",
                directory.display()
            ))
        };
        let file = directory::read(directory, "model.safetensors")?;
        let weights = Weights::read(&file).map_err(|why| foreign(&why))?;
        if FOREIGN.iter().any(|name| weights.has(name)) {
            return Err(foreign("its vectors are shared or weighted"));
        }
        let name = NAMES.iter().find(|name| weights.has(name)).ok_or_else(|| foreign("it has no matrix"))?;
        let (count, width) = weights.shape(name).ok_or_else(|| foreign("its vectors are no matrix"))?;
        let rows = weights.matrix(name, count, width).map_err(|why| foreign(&why))?;
        let vocabulary = directory::read(directory, "tokenizer.json")?;
        let mut tokenizer =
            Tokenizer::from_bytes(&vocabulary).map_err(|why| foreign(&format!("tokenizer.json: {why}")))?;
        let truncation = TruncationParams { max_length: TOKENS_MAX, ..TruncationParams::default() };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|why| foreign(&format!("tokenizer.json: {why}")))?
            .with_padding(None);
        let mut digest = Sha256::new();
        for part in [&file, &vocabulary] {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        let name = format!("static:{}", &hex::encode(digest.finalize())[..16]);
        Ok(Self { parts: Arc::new(Table { tokenizer, rows, width }), name })
    }
}

impl Table {
    fn embed(&self, text: &str) -> Result<Vec<f32>, Fault> {
        let end = text.floor_char_boundary(TOKENS_MAX * TOKEN_BYTES_MAX);
        let encoding = self.tokenizer.encode_fast(&text[..end], false);
        let encoding =
            encoding.map_err(|why| Fault::Unusable(format!("the tokenizer of the model failed: {why}")))?;
        let mut sum = vec![0.0; self.width];
        for id in encoding.get_ids() {
            let row = usize::try_from(*id).ok().and_then(|id| self.rows.chunks_exact(self.width).nth(id));
            let row = row.ok_or_else(|| Fault::Unusable(format!("the model has no token {id}")))?;
            sum.iter_mut().zip(row).for_each(|(sum, part)| *sum += part);
        }
        normalise(&mut sum);
        Ok(sum)
    }
}

#[async_trait]
impl Embedder for Static {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> Option<usize> {
        Some(self.parts.width)
    }

    fn tokens_max(&self) -> Option<usize> {
        Some(TOKENS_MAX)
    }

    async fn embed(&self, _purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault> {
        let table = self.parts.clone();
        let work = move || texts.iter().map(|text| table.embed(text)).collect();
        // A panic in the model ends only this work.
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| Fault::Unavailable("the model broke off".into()))?
    }
}
