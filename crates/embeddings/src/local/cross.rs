//! A cross-encoder: a BERT model that reads a query and a text together and scores how well the text answers
//! the query.
//! Must not know: the source of the texts.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use tokenizers::{Tokenizer, TruncationParams};

use super::{
    Lane, TOKEN_BYTES_MAX,
    bert::{Bert, Config},
    directory,
    matrix::{PackedFactor, Rows},
    weights::Weights,
};
use crate::{Fault, RERANK_TIME_MAX, Reranker};

/// Most tokens of a query and a text together; further ones are ignored.
const TOKENS_MAX: usize = 512;
/// Threads of the model.
const THREADS: usize = 1;

/// The model of a directory.
pub struct CrossEncoder {
    parts: Arc<Parts>,
    name: String,
    lane: Lane,
}

struct Parts {
    tokenizer: Tokenizer,
    bert: Bert,
    pooler: PackedFactor,
    head: PackedFactor,
}

impl std::fmt::Debug for CrossEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrossEncoder").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CrossEncoder {
    /// Reads `config.json`, `tokenizer.json` and `model.safetensors`.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        let foreign = |why: &str| {
            Fault::Unusable(format!(
                "the directory {} is no cross-encoder: {why}. It has to be a BERT model with a head of one or two labels, \
                 such as ms-marco-MiniLM-L6-v2, with config.json, tokenizer.json and model.safetensors",
                directory.display()
            ))
        };
        let file = |name: &str| directory::read(directory, name);
        let config: Config = serde_json::from_slice(&file("config.json")?)
            .map_err(|why| foreign(&format!("config.json: {why}")))?;
        config.check().map_err(|why| foreign(&format!("config.json: {why}")))?;
        let weights = file("model.safetensors")?;
        let bert = Bert::read(&config, &weights).map_err(|why| foreign(&why))?;
        let (pooler, head) = head(&weights, bert.width()).map_err(|why| foreign(&why))?;
        let wrong = |why: tokenizers::Error| foreign(&format!("tokenizer.json: {why}"));
        let mut tokenizer = Tokenizer::from_bytes(file("tokenizer.json")?).map_err(wrong)?;
        let max_length = TOKENS_MAX.min(config.max_position_embeddings);
        let truncation = TruncationParams { max_length, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(wrong)?.with_padding(None);
        let named = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let name = named.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let parts = Arc::new(Parts { tokenizer, bert, pooler, head });
        Ok(Self { parts, name: format!("local:{name}"), lane: Lane::new(THREADS) })
    }
}

/// The two last layers, which make one or two numbers of the first token's state.
fn head(file: &[u8], width: usize) -> Result<(PackedFactor, PackedFactor), String> {
    let weights = Weights::read(file)?;
    let pooler = PackedFactor::layer(
        &weights.matrix("pooler.dense.weight", width, width)?,
        &weights.vector("pooler.dense.bias", width)?,
    );
    let labels = weights.shape("classifier.weight").map_or(0, |(labels, _)| labels);
    if !(1..=2).contains(&labels) {
        return Err(format!("its head has {labels} labels"));
    }
    let head = PackedFactor::layer(
        &weights.matrix("classifier.weight", labels, width)?,
        &weights.vector("classifier.bias", labels)?,
    );
    Ok((pooler, head))
}

impl Parts {
    fn relevance(&self, query: &str, text: &str) -> Result<f64, Fault> {
        let cut = |text: &str| text[..text.floor_char_boundary(TOKENS_MAX * TOKEN_BYTES_MAX)].to_owned();
        let encoding = self.tokenizer.encode((cut(query), cut(text)), true);
        let encoding =
            encoding.map_err(|why| Fault::Unusable(format!("the tokenizer of the model failed: {why}")))?;
        let states = self.bert.states(encoding.get_ids(), encoding.get_type_ids());
        let states = states.map_err(|why| Fault::Unusable(format!("the model failed: {why}")))?;
        let mut pooled = applied(&self.pooler, &states[..self.bert.width()]);
        pooled.iter_mut().for_each(|part| *part = part.tanh());
        let answer = match applied(&self.head, &pooled)[..] {
            [one] => one,
            [no, yes] => yes - no,
            _ => f32::NAN,
        };
        if !answer.is_finite() {
            return Err(Fault::Unusable("the model gave no number".into()));
        }
        Ok(1.0 / (1.0 + f64::from(-answer).exp()))
    }
}

fn applied(layer: &PackedFactor, state: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; layer.width()];
    layer.multiply(Rows { numbers: state, stride: state.len(), count: 1 }, &mut out, layer.width());
    out
}

#[async_trait]
impl Reranker for CrossEncoder {
    fn model(&self) -> &str {
        &self.name
    }

    async fn relevance(&self, query: String, texts: Vec<String>) -> Result<Vec<f64>, Fault> {
        let parts = self.parts.clone();
        let started_at = Instant::now();
        let work = move || {
            let each = texts.iter().map(|text| {
                // The caller's time limit is over.
                if started_at.elapsed() > RERANK_TIME_MAX + Duration::from_millis(100) {
                    return Err(Fault::Unavailable("the model did not answer in time".into()));
                }
                parts.relevance(&query, text)
            });
            each.collect()
        };
        self.lane.run(work).await?
    }
}
