//! Token vectors of texts, in a bounded cache, and the similarity of a query's words to them. The cache is
//! filled while texts
//! are embedded; a text that a query misses is embedded afterwards.
//! Must not know: where vectors are stored, how two rankings become one.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    hash::{BuildHasher as _, RandomState},
    ops::Range,
    sync::Arc,
};

use async_trait::async_trait;
use parking_lot::Mutex;
use plenary_embeddings::{Embedded, Embedder, Fault, Purpose, Token};
use plenary_retrieval::analysis;
use pulp::Arch;

use crate::codes::Code;

/// Size of the cache, in bytes; beyond it the least recently used texts are dropped.
pub const WORDS_BYTES_MAX: usize = 128 << 20;
/// Number of recent queries whose token vectors are cached.
const QUERIES_MAX: usize = 64;
/// Most tokens of documents that are compared with one query; further documents are not compared.
pub const COMPARED_TOKENS_MAX: usize = 16_384;
/// Tokens of a query that are used, from the start.
const QUERY_TOKENS_MAX: usize = 32;
/// Most texts that wait to be embedded after a miss; further ones are left for a later query.
pub const MISSED_MAX: usize = 256;
/// Texts per call of the model.
const MISSED_BATCH: usize = 8;
/// Bytes of a cached text beside its codes.
const TEXT_BYTES: usize = 96;

/// The token vectors of a text, without stop words.
#[derive(Debug, Default)]
struct TokenVectors {
    codes: Vec<i8>,
    scales: Vec<f32>,
}

/// A token of a query: its word and its vector.
type QueryToken = (String, Vec<f32>);

/// A model with a cache of token vectors.
pub(crate) struct Remembering {
    model: Arc<dyn Embedder>,
    known: Arc<TokenCache>,
}

pub(crate) struct TokenCache {
    hashing: RandomState,
    bytes_max: usize,
    texts: Mutex<Texts>,
    queries: Mutex<VecDeque<(String, Arc<Vec<QueryToken>>)>>,
    missed: Mutex<Missed>,
}

#[derive(Debug, Default)]
struct Texts {
    words: HashMap<u64, (Arc<TokenVectors>, u64)>,
    /// Texts by the time of their last use.
    order: BTreeMap<u64, u64>,
    bytes: usize,
    now: u64,
}

#[derive(Debug, Default)]
struct Missed {
    texts: VecDeque<String>,
    is_embedding: bool,
}

impl TokenVectors {
    fn bytes(&self) -> usize {
        self.codes.len() + self.scales.len() * size_of::<f32>() + TEXT_BYTES
    }
}

impl Texts {
    fn put(&mut self, key: u64, words: TokenVectors, bytes_max: usize) {
        self.remove(key);
        self.bytes += words.bytes();
        self.now += 1;
        self.order.insert(self.now, key);
        self.words.insert(key, (Arc::new(words), self.now));
        while self.bytes > bytes_max {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.remove(oldest);
        }
    }

    fn remove(&mut self, key: u64) {
        if let Some((words, used)) = self.words.remove(&key) {
            self.order.remove(&used);
            self.bytes -= words.bytes();
        }
    }

    fn get(&mut self, key: u64) -> Option<Arc<TokenVectors>> {
        let (words, used) = self.words.get_mut(&key)?;
        self.order.remove(used);
        self.now += 1;
        *used = self.now;
        self.order.insert(self.now, key);
        Some(words.clone())
    }
}

impl Remembering {
    pub(crate) fn new(model: Arc<dyn Embedder>, bytes_max: usize) -> Self {
        let known = TokenCache {
            hashing: RandomState::new(),
            bytes_max,
            texts: Mutex::default(),
            queries: Mutex::default(),
            missed: Mutex::default(),
        };
        Self { model, known: Arc::new(known) }
    }

    /// The similarity of the query's words to each document, given as its parts; `None` if a part is not
    /// cached, which is then
    /// embedded later. `weigh` gives the weight of a word of the query.
    pub(crate) async fn closeness(
        &self,
        query: &str,
        weigh: impl Fn(&str) -> f64,
        documents: Vec<Vec<String>>,
    ) -> Vec<Option<f64>> {
        let nothing = vec![None; documents.len()];
        let Some(query) = self.known.query(query).filter(|tokens| !tokens.is_empty()) else { return nothing };
        let weights: Vec<f64> = query.iter().map(|(word, _)| weigh(word)).collect();
        let whole: f64 = weights.iter().sum();
        if whole <= 0.0 {
            return nothing;
        }
        let mut room = COMPARED_TOKENS_MAX;
        let (mut found, mut missing) = (Vec::with_capacity(documents.len()), Vec::new());
        for parts in documents {
            let words: Option<Vec<_>> = parts.iter().map(|part| self.known.words(part)).collect();
            let words = words.filter(|words| !words.is_empty()).filter(|words| {
                let count: usize = words.iter().map(|words| words.scales.len()).sum();
                let fits = count <= room;
                room -= if fits { count } else { 0 };
                fits
            });
            if words.is_none() {
                missing.extend(parts.into_iter().filter(|part| !self.known.has(part)));
            }
            found.push(words);
        }
        self.embed_later(missing);
        #[expect(clippy::cast_possible_truncation, reason = "shares of 1")]
        let weights: Vec<f32> = weights.iter().map(|weight| (weight / whole) as f32).collect();
        let comparing = move || {
            let tokens: Vec<&[f32]> = query.iter().map(|(_, vector)| vector.as_slice()).collect();
            let near = |parts: Vec<Arc<TokenVectors>>| {
                let near = parts.iter().map(|words| nearness(&tokens, &weights, words));
                f64::from(near.fold(0.0, f32::max).min(1.0))
            };
            found.into_iter().map(|words| words.map(near)).collect()
        };
        tokio::task::spawn_blocking(comparing).await.unwrap_or(nothing)
    }

    /// Embeds missed texts in the background, so that the next query finds them.
    fn embed_later(&self, texts: Vec<String>) {
        let mut missed = self.known.missed.lock();
        for text in texts {
            if missed.texts.len() < MISSED_MAX && !missed.texts.contains(&text) {
                missed.texts.push_back(text);
            }
        }
        if missed.texts.is_empty() || missed.is_embedding {
            return;
        }
        missed.is_embedding = true;
        let (model, known) = (self.model.clone(), self.known.clone());
        tokio::spawn(async move {
            while let Some(texts) = known.take_missed() {
                let Ok(embedded) = model.embed_tokens(Purpose::Document, texts.clone()).await else {
                    known.missed.lock().texts.clear();
                    continue;
                };
                texts.iter().zip(&embedded).for_each(|(text, embedded)| known.remember(text, embedded));
            }
        });
    }
}

impl TokenCache {
    fn key(&self, text: &str) -> u64 {
        self.hashing.hash_one(text)
    }

    fn has(&self, text: &str) -> bool {
        self.texts.lock().words.contains_key(&self.key(text))
    }

    fn words(&self, text: &str) -> Option<Arc<TokenVectors>> {
        self.texts.lock().get(self.key(text))
    }

    fn query(&self, text: &str) -> Option<Arc<Vec<QueryToken>>> {
        let queries = self.queries.lock();
        queries.iter().find(|(query, _)| query == text).map(|(_, tokens)| tokens.clone())
    }

    fn remember(&self, text: &str, embedded: &Embedded) {
        let mut words = TokenVectors::default();
        for (_, token) in telling(text, &embedded.tokens) {
            let code = Code::of(&token.vector);
            words.codes.extend(code.parts);
            words.scales.push(code.scale);
        }
        self.texts.lock().put(self.key(text), words, self.bytes_max);
    }

    fn remember_query(&self, text: &str, embedded: &Embedded) {
        let tokens = telling(text, &embedded.tokens).take(QUERY_TOKENS_MAX);
        let tokens = tokens.map(|(word, token)| (word, token.vector.clone())).collect();
        let mut queries = self.queries.lock();
        queries.retain(|(query, _)| query != text);
        queries.push_back((text.to_owned(), Arc::new(tokens)));
        if queries.len() > QUERIES_MAX {
            queries.pop_front();
        }
    }

    /// Some of the missed texts; `None` when all are done.
    fn take_missed(&self) -> Option<Vec<String>> {
        let mut missed = self.missed.lock();
        let count = missed.texts.len().min(MISSED_BATCH);
        missed.is_embedding = count > 0;
        (count > 0).then(|| missed.texts.drain(..count).collect())
    }
}

#[async_trait]
impl Embedder for Remembering {
    fn model(&self) -> &str {
        self.model.model()
    }

    fn dimension(&self) -> Option<usize> {
        self.model.dimension()
    }

    fn tokens_max(&self) -> Option<usize> {
        self.model.tokens_max()
    }

    fn has_tokens(&self) -> bool {
        self.model.has_tokens()
    }

    async fn embed(&self, purpose: Purpose, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Fault> {
        if !self.model.has_tokens() {
            return self.model.embed(purpose, texts).await;
        }
        let embedded = self.model.embed_tokens(purpose, texts.clone()).await?;
        for (text, embedded) in texts.iter().zip(&embedded) {
            match purpose {
                Purpose::Document => self.known.remember(text, embedded),
                Purpose::Query => self.known.remember_query(text, embedded),
            }
        }
        Ok(embedded.into_iter().map(|embedded| embedded.vector).collect())
    }
}

/// The tokens of words that are not stop words, each with its word as an index has it.
fn telling<'a>(text: &'a str, tokens: &'a [Token]) -> impl Iterator<Item = (String, &'a Token)> {
    let mut last: Option<(Range<usize>, Option<String>)> = None;
    tokens.iter().filter_map(move |token| {
        let range = around(text, token.range.clone());
        if last.as_ref().is_none_or(|(known, _)| *known != range) {
            let mut word = None;
            analysis::words(text.get(range.clone())?, analysis::Purpose::Document, &mut |found| {
                word.get_or_insert_with(|| found.to_owned());
            });
            last = Some((range, word));
        }
        let (_, word) = last.as_ref()?;
        Some((word.clone()?, token))
    })
}

/// The range of the whole word that contains a token.
fn around(text: &str, range: Range<usize>) -> Range<usize> {
    let (Some(before), Some(after)) = (text.get(..range.start), text.get(range.end..)) else { return range };
    let is_word = text.get(range.clone()).is_some_and(|token| token.chars().all(char::is_alphanumeric));
    if !is_word {
        return range;
    }
    let start = before.trim_end_matches(char::is_alphanumeric).len();
    let end = text.len() - after.trim_start_matches(char::is_alphanumeric).len();
    start..end
}

/// The weighted sum of the highest similarity of each query token to the tokens of a text.
fn nearness(query: &[&[f32]], weights: &[f32], words: &TokenVectors) -> f32 {
    let width = query.first().map_or(0, |vector| vector.len());
    if width == 0 || words.codes.len() != words.scales.len() * width {
        return 0.0;
    }
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut sum = 0.0;
            for (token, weight) in query.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                let mut nearest = 0.0_f32;
                for (code, scale) in words.codes.chunks_exact(width).zip(&words.scales) {
                    nearest = nearest.max(scale * product(token, code));
                }
                sum += weight * nearest;
            }
            sum
        },
    )
}

/// The dot product of a vector and a code, in sixteen lanes, because the compiler may not reorder additions.
#[inline(always)]
fn product(vector: &[f32], code: &[i8]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0_f32; LANES];
    let (mut vectors, mut codes) = (vector.chunks_exact(LANES), code.chunks_exact(LANES));
    for (vector, code) in vectors.by_ref().zip(codes.by_ref()) {
        for ((sum, one), other) in sums.iter_mut().zip(vector).zip(code) {
            *sum += one * f32::from(*other);
        }
    }
    let rest = vectors.remainder().iter().zip(codes.remainder());
    rest.fold(sums.iter().sum(), |sum, (one, other)| sum + one * f32::from(*other))
}

#[cfg(test)]
mod tests;
