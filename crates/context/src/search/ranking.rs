//! The rankings of packages.
//! Must not know: HTTP.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use plenary_indexing::unavailable;
use plenary_kernel::json::Tree;
use plenary_log::Fault;
use plenary_retrieval::{
    Competition, HITS_MAX, Hit, PartHit, Query, RERANKED_MAX, Scope, Section, fuse, telling_passage,
};

use super::{SemanticSearch, documents::sections};
use crate::{
    Context, Failure,
    limits::{CANDIDATES_FACTOR, HYBRID_CANDIDATES_MAX, READS_AT_ONCE},
    package_reader::StoredPackage,
    rejection::Rejection,
};

/// Added to a reranker's score, so that the reranked packages score higher than the others.
const RERANKED_ABOVE: f64 = 2.0;

/// The kinds of ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ranking {
    /// By words.
    Lexical,
    /// By meaning.
    Semantic,
    /// By words and meaning.
    Hybrid,
    /// Hybrid, with the first hits reordered by a reranker. The default.
    Reranked,
}

impl Ranking {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "lexical" => Some(Self::Lexical),
            "semantic" => Some(Self::Semantic),
            "hybrid" => Some(Self::Hybrid),
            "reranked" => Some(Self::Reranked),
            _ => None,
        }
    }
}

impl Context {
    /// The vector index, if its model works at the moment.
    fn working(&self) -> Option<&SemanticSearch> {
        self.meaning().filter(|meaning| meaning.semantic.works())
    }

    /// The packages that match a query. An explicit request for meaning or a reranker is rejected if there is no model.
    /// The default ranking, and a hybrid one, use words alone while the model is unavailable.
    pub(super) async fn hits(
        &self,
        (query, ranking): (&Query, Option<Ranking>),
        scope: &Scope,
        limit: usize,
    ) -> Result<Vec<Hit>, Failure> {
        let not_implemented = |capability| Failure::Rejected(Rejection::NotImplemented(capability));
        match (ranking, self.working()) {
            (Some(Ranking::Lexical), _) => Ok(self.lexical(query, scope, limit).await?),
            (Some(Ranking::Semantic), None) => Err(not_implemented("semantic_search")),
            (Some(Ranking::Hybrid), None) => Err(not_implemented("hybrid_search")),
            (Some(Ranking::Semantic), Some(meaning)) => {
                let query = self.without_common_words(query, scope).await;
                let hits = meaning.semantic.search(&query, scope, limit).await;
                hits.map_err(|_| not_implemented("semantic_search"))
            }
            (Some(Ranking::Hybrid), Some(meaning)) => {
                Ok(self.hybrid((query, meaning), scope, limit).await?.0)
            }
            (Some(Ranking::Reranked), _) if self.reranker().is_none() => {
                Err(not_implemented("reranked_search"))
            }
            (None | Some(Ranking::Reranked), working) => {
                let hits_max = if self.reranker().is_some() { limit.max(RERANKED_MAX) } else { limit };
                let (hits, parts) = match working {
                    Some(meaning) => self.hybrid((query, meaning), scope, hits_max).await?,
                    None => (self.lexical(query, scope, hits_max).await?, HashMap::new()),
                };
                let mut hits = self.reranked(query, hits, &parts).await?;
                hits.truncate(limit);
                Ok(hits)
            }
        }
    }

    async fn lexical(&self, query: &Query, scope: &Scope, limit: usize) -> Result<Vec<Hit>, Fault> {
        self.search().index().search(query, scope, limit).await.map_err(unavailable)
    }

    /// Ranks by words and meaning. Returns also the best part of each document.
    async fn hybrid(
        &self,
        (query, meaning): (&Query, &SemanticSearch),
        scope: &Scope,
        limit: usize,
    ) -> Result<(Vec<Hit>, HashMap<String, usize>), Fault> {
        let hits_max = limit.saturating_mul(CANDIDATES_FACTOR).min(HITS_MAX);
        let nearest_parts = async {
            let rare_words = self.without_common_words(query, scope).await;
            let nearest = meaning.semantic.nearest(&rare_words, scope, HITS_MAX).await;
            (rare_words, nearest)
        };
        let (words, (rare_words, nearest)) =
            tokio::join!(self.lexical(query, scope, hits_max), nearest_parts);
        let Ok(nearest) = nearest else {
            return Ok((words?.into_iter().take(limit).collect(), HashMap::new()));
        };
        let parts = nearest.iter().map(|hit| (hit.id.clone(), hit.part)).collect();
        let semantic_hits =
            nearest.into_iter().map(|PartHit { id, part: _, score }| Hit { id, score }).collect();
        Ok((self.blend((query, &rare_words), words?, semantic_hits, (hits_max, limit)).await?, parts))
    }

    /// Reorders the first hits with the reranker; returns them unchanged while it is unavailable.
    async fn reranked(
        &self,
        query: &Query,
        mut hits: Vec<Hit>,
        parts: &HashMap<String, usize>,
    ) -> Result<Vec<Hit>, Fault> {
        let Some(reranker) = self.reranker() else { return Ok(hits) };
        let reranked_count = hits.len().min(RERANKED_MAX);
        let reads = hits[..reranked_count].iter().map(|hit| self.sound_package(&hit.id));
        let text = |(hit, stored_package): (&Hit, Option<StoredPackage>)| {
            let text = stored_package.map_or_else(String::new, |stored_package| stored_package.text);
            let package = Tree::read(&text).unwrap_or(Tree::Null);
            telling_passage(&sections(&package), query, parts.get(&hit.id).copied())
        };
        let texts = hits.iter().zip(try_join_all(reads).await?).map(text).collect();
        let Ok(relevance) = reranker.relevance(query.text(), texts).await else { return Ok(hits) };
        for (hit, relevance) in hits.iter_mut().zip(relevance) {
            hit.score = RERANKED_ABOVE + relevance;
        }
        hits[..reranked_count].sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(hits)
    }

    /// The query without words that nearly every document has: a vector of a common name is similar to every document
    /// with that name. The whole query if the index fails.
    async fn without_common_words(&self, query: &Query, scope: &Scope) -> Query {
        let common = self.search().index().common(query, scope).await.unwrap_or_default();
        query.without(&common)
    }

    /// Merges two rankings: the best of both by reciprocal rank fusion are scored by their meaning, as a whole and word
    /// by word, and by their share of the query's words (docs/decisions/0012). `rare_words` is the query that was used for
    /// meaning.
    async fn blend(
        &self,
        (query, rare_words): (&Query, &Query),
        lexical_hits: Vec<Hit>,
        mut semantic_hits: Vec<Hit>,
        (hits_max, limit): (usize, usize),
    ) -> Result<Vec<Hit>, Fault> {
        let near: HashMap<String, f64> =
            semantic_hits.iter().map(|hit| (hit.id.clone(), hit.score)).collect();
        // A document that is missing in a full list is at most as similar as its last entry. In a shorter list it has
        // no vectors yet, and gets the median.
        let unknown = if semantic_hits.len() == HITS_MAX {
            semantic_hits.last()
        } else {
            semantic_hits.get(semantic_hits.len() / 2)
        };
        let unknown = unknown.map_or(0.0, |hit| hit.score);
        semantic_hits.truncate(hits_max);
        let candidates = fuse(&[lexical_hits, semantic_hits], HYBRID_CANDIDATES_MAX);
        let mut competition = Competition::new(query);
        let (mut ranked, mut meaning, mut texts) =
            (Vec::with_capacity(candidates.len()), Vec::new(), Vec::new());
        for chunk in candidates.chunks(READS_AT_ONCE) {
            let reads = chunk
                .iter()
                .map(|hit| async move { Ok::<_, Fault>((hit, self.sound_package(&hit.id).await?)) });
            for (hit, stored_package) in try_join_all(reads).await? {
                let Some(stored_package) = stored_package else { continue };
                let package = Tree::read(&stored_package.text).unwrap_or(Tree::Null);
                let sections = sections(&package);
                competition.add(&sections, stored_package.present.created_at.ms());
                texts.push(sections);
                meaning.push(near.get(&hit.id).copied().unwrap_or(unknown));
                ranked.push(hit.clone());
            }
        }
        let closeness = self.closeness(rare_words, &competition, texts).await;
        for (hit, score) in ranked.iter_mut().zip(competition.scores(&meaning, &closeness)) {
            hit.score = score.total;
        }
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
        ranked.truncate(limit);
        Ok(ranked)
    }

    /// The similarity of the query's words to those of documents, where it is known.
    async fn closeness(
        &self,
        rare_words: &Query,
        competition: &Competition<'_>,
        documents: Vec<Vec<Section>>,
    ) -> Vec<Option<f64>> {
        let Some(meaning) = self.working() else { return Vec::new() };
        let rarities = competition.rarities();
        meaning.semantic.closeness(rare_words, &rarities, documents).await.unwrap_or_default()
    }

    /// The parts of documents that are similar to a query; none without a working model.
    pub(super) async fn parts_near(&self, query: &Query, scope: &Scope, limit: usize) -> Vec<PartHit> {
        match self.working() {
            Some(meaning) => {
                let query = self.without_common_words(query, scope).await;
                meaning.semantic.nearest(&query, scope, limit).await.unwrap_or_default()
            }
            None => Vec::new(),
        }
    }

    /// The documents that are similar to a query; `None` without a working model.
    pub(super) async fn semantic_hits(&self, query: &Query, scope: &Scope, limit: usize) -> Option<Vec<Hit>> {
        let meaning = self.working()?;
        let query = self.without_common_words(query, scope).await;
        meaning.semantic.search(&query, scope, limit).await.ok()
    }

    /// Checks whether a model that failed works again.
    pub async fn probe_model(&self) -> Result<(), Fault> {
        if let Some(meaning) = self.meaning() {
            // The fault was reported when the model failed.
            let _known = meaning.semantic.probe().await;
        }
        Ok(())
    }

    /// Whether search by meaning works at the moment.
    pub(crate) fn finds_meaning(&self) -> bool {
        self.working().is_some()
    }
}
