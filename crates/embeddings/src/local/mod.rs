//! A sentence-transformers directory, run in this process on the CPU (docs/decisions/0012).
//! Must not know: the meaning of the texts.

mod bert;
mod cross;
mod directory;
mod fixed;
mod functions;
mod matrix;
mod weights;

use std::{path::Path, sync::Arc};

pub use cross::CrossEncoder;
pub use fixed::Static;

use async_trait::async_trait;
use tokenizers::{Encoding, Tokenizer, TruncationParams};
use tokio::sync::Semaphore;

use crate::{Embedded, Embedder, Fault, Purpose, Token, normalise};
use bert::Bert;
use directory::{PoolingMode, Prompts, Recipe};

/// Threads that embed documents: the other cores serve requests.
const DOCUMENT_THREADS: usize = 1;
/// Threads that embed queries, so that a query never waits for documents.
const QUERY_THREADS: usize = 1;
/// Bytes of a text that are read per allowed token; no token of a language is as long.
const TOKEN_BYTES_MAX: usize = 64;

/// The model of a directory.
pub struct Local {
    parts: Arc<Model>,
    name: String,
    documents: Lane,
    queries: Lane,
}

/// A limit on concurrent threads, each of which works on one text at a time.
struct Lane(Arc<Semaphore>);

impl Lane {
    fn new(threads: usize) -> Self {
        Self(Arc::new(Semaphore::new(threads)))
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Fault> {
        let broken = || Fault::Unavailable("the model broke off".into());
        // A caller that waits here can still cancel; running work holds its permit to the end.
        let permit = self.0.clone().acquire_owned().await.map_err(|_| broken())?;
        let working = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        // A panic in the model ends only this work.
        working.await.map_err(|_| broken())
    }
}

struct Model {
    tokenizer: Tokenizer,
    bert: Bert,
    pooling: PoolingMode,
    prompts: Prompts,
    tokens_max: usize,
}

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Local {
    /// Reads the directory. The fault says what is missing or not supported.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        let recipe = Recipe::read(directory)?;
        let weights = directory::read(directory, "model.safetensors")?;
        let name = recipe.name(directory, &weights);
        let bert = Bert::read(&recipe.config, &weights)
            .map_err(|why| directory::foreign(directory, &format!("model.safetensors: {why}")))?;
        drop(weights);
        let mut tokenizer = Tokenizer::from_bytes(&recipe.tokenizer)
            .map_err(|why| directory::foreign(directory, &format!("tokenizer.json: {why}")))?;
        let truncation = TruncationParams { max_length: recipe.tokens_max, ..TruncationParams::default() };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|why| directory::foreign(directory, &format!("tokenizer.json: {why}")))?
            .with_padding(None);
        let (pooling, prompts, tokens_max) = (recipe.pooling, recipe.prompts, recipe.tokens_max);
        Ok(Self {
            parts: Arc::new(Model { tokenizer, bert, pooling, prompts, tokens_max }),
            name,
            documents: Lane::new(DOCUMENT_THREADS),
            queries: Lane::new(QUERY_THREADS),
        })
    }
}

#[async_trait]
impl Embedder for Local {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> Option<usize> {
        Some(self.parts.bert.width())
    }

    fn tokens_max(&self) -> Option<usize> {
        Some(self.parts.tokens_max)
    }

    async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault> {
        let model = self.parts.clone();
        let lane = self.lane(purpose);
        lane.run(move || texts.iter().map(|text| model.embed(purpose, text)).collect()).await?
    }

    fn has_tokens(&self) -> bool {
        true
    }

    async fn embed_tokens(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Embedded>, Fault> {
        let model = self.parts.clone();
        let lane = self.lane(purpose);
        lane.run(move || texts.iter().map(|text| model.embed_tokens(purpose, text)).collect()).await?
    }
}

impl Local {
    fn lane(&self, purpose: Purpose) -> &Lane {
        match purpose {
            Purpose::Document => &self.documents,
            Purpose::Query => &self.queries,
        }
    }
}

impl Model {
    fn embed(&self, purpose: Purpose, text: &str) -> Result<Vec<f32>, Fault> {
        let encoding = self.tokenizer.encode_fast(self.prompted(purpose, text), true);
        let states = self.states(&encoding.map_err(failed)?)?;
        Ok(self.pooled(&states))
    }

    fn embed_tokens(&self, purpose: Purpose, text: &str) -> Result<Embedded, Fault> {
        let before = self.prompts.of(purpose).len();
        let encoding = self.tokenizer.encode(self.prompted(purpose, text), true).map_err(failed)?;
        let states = self.states(&encoding)?;
        let ranges = encoding.get_offsets().iter().zip(encoding.get_special_tokens_mask());
        let tokens =
            ranges.zip(states.chunks_exact(self.bert.width())).filter_map(|((range, special), state)| {
                let range = range.0.checked_sub(before)?..range.1.checked_sub(before)?;
                (*special == 0 && !range.is_empty()).then(|| {
                    let mut vector = state.to_vec();
                    normalise(&mut vector);
                    Token { range, vector }
                })
            });
        Ok(Embedded { tokens: tokens.collect(), vector: self.pooled(&states) })
    }

    fn prompted(&self, purpose: Purpose, text: &str) -> String {
        let end = text.floor_char_boundary(self.tokens_max * TOKEN_BYTES_MAX);
        format!("{}{}", self.prompts.of(purpose), &text[..end])
    }

    fn states(&self, encoding: &Encoding) -> Result<Vec<f32>, Fault> {
        let states = self.bert.states(encoding.get_ids(), encoding.get_type_ids());
        states.map_err(|why| Fault::Unusable(format!("the model failed: {why}")))
    }

    fn pooled(&self, states: &[f32]) -> Vec<f32> {
        let width = self.bert.width();
        let mut vector = match self.pooling {
            PoolingMode::First => states[..width].to_vec(),
            PoolingMode::Mean => mean(states, width),
        };
        normalise(&mut vector);
        vector
    }
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands it over")]
fn failed(why: tokenizers::Error) -> Fault {
    Fault::Unusable(format!("the tokenizer of the model failed: {why}"))
}

/// The sum of the states: vectors are normalised later, so it is as good as the mean.
fn mean(states: &[f32], width: usize) -> Vec<f32> {
    let mut sum = vec![0.0; width];
    for state in states.chunks_exact(width) {
        for (sum, component) in sum.iter_mut().zip(state) {
            *sum += component;
        }
    }
    sum
}
