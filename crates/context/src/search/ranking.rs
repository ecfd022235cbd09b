//! The rankings of packages.
//! Must not know: HTTP.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use plenary_indexing::unavailable;
use plenary_log::Fault;
use plenary_retrieval::{
    Competition, HITS_MAX, Hit, PartHit, Query, RERANKED_MAX, Scope, Section, fuse, telling_passage,
};

use super::{SemanticSearch, documents::sections};
use crate::{
    Context, Failure,
    limits::{CANDIDATES_FACTOR, HYBRID_CANDIDATES_MAX, READS_AT_ONCE},
    reading::StoredPackage,
    rejection::Rejection,
};

/// What the score of a reranked package has more than the reranker gives, so that scores fall: those of the others are below it.
const RERANKED_ABOVE: f64 = 2.0;

/// What nearness is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ranking {
    /// By words.
    Lexical,
    /// By meaning.
    Semantic,
    /// By both together.
    Hybrid,
    /// The first of them once more, by a model that reads each with the query; what is done unless another ranking is asked for.
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
    /// The index by meaning, if it may be asked now.
    fn working(&self) -> Option<&SemanticSearch> {
        self.meaning().filter(|meaning| meaning.semantic.works())
    }

    /// Documents that have to do with a query. Who asks for meaning or a reranker expressly is told where there is none; a
    /// ranking that was not asked for, or that words are a part of, is by words alone while the model is away.
    pub(super) async fn hits(
        &self,
        (query, ranking): (&Query, Option<Ranking>),
        scope: &Scope,
        limit: usize,
    ) -> Result<Vec<Hit>, Failure> {
        let missing = |capability| Failure::Rejected(Rejection::NotImplemented(capability));
        match (ranking, self.working()) {
            (Some(Ranking::Lexical), _) => Ok(self.lexical(query, scope, limit).await?),
            (Some(Ranking::Semantic), None) => Err(missing("semantic_search")),
            (Some(Ranking::Hybrid), None) => Err(missing("hybrid_search")),
            (Some(Ranking::Semantic), Some(meaning)) => {
                let query = self.telling(query, scope).await;
                let found = meaning.semantic.search(&query, scope, limit).await;
                found.map_err(|_| missing("semantic_search"))
            }
            (Some(Ranking::Hybrid), Some(meaning)) => {
                Ok(self.hybrid((query, meaning), scope, limit).await?.0)
            }
            (Some(Ranking::Reranked), _) if self.reranker().is_none() => Err(missing("reranked_search")),
            (None | Some(Ranking::Reranked), working) => {
                let most = if self.reranker().is_some() { limit.max(RERANKED_MAX) } else { limit };
                let (hits, parts) = match working {
                    Some(meaning) => self.hybrid((query, meaning), scope, most).await?,
                    None => (self.lexical(query, scope, most).await?, HashMap::new()),
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

    /// By words and meaning, and the nearest part of each document.
    async fn hybrid(
        &self,
        (query, meaning): (&Query, &SemanticSearch),
        scope: &Scope,
        limit: usize,
    ) -> Result<(Vec<Hit>, HashMap<String, usize>), Fault> {
        let most = limit.saturating_mul(CANDIDATES_FACTOR).min(HITS_MAX);
        let meant = async {
            let telling = self.telling(query, scope).await;
            let found = meaning.semantic.nearest(&telling, scope, HITS_MAX).await;
            (telling, found)
        };
        let (words, (telling, meant)) = tokio::join!(self.lexical(query, scope, most), meant);
        let Ok(meant) = meant else {
            return Ok((words?.into_iter().take(limit).collect(), HashMap::new()));
        };
        let parts = meant.iter().map(|hit| (hit.id.clone(), hit.part)).collect();
        let meant = meant.into_iter().map(|PartHit { id, part: _, score }| Hit { id, score }).collect();
        Ok((self.blend((query, &telling), words?, meant, (most, limit)).await?, parts))
    }

    /// The first in the order of the reranker, the others behind them; all as they are while it is away.
    async fn reranked(
        &self,
        query: &Query,
        mut hits: Vec<Hit>,
        parts: &HashMap<String, usize>,
    ) -> Result<Vec<Hit>, Fault> {
        let Some(reranker) = self.reranker() else { return Ok(hits) };
        let first = hits.len().min(RERANKED_MAX);
        let reads = hits[..first].iter().map(|hit| self.held(&hit.id));
        let text = |(hit, held): (&Hit, Option<StoredPackage>)| {
            let package = held.and_then(|held| serde_json::from_str(&held.text).ok()).unwrap_or_default();
            telling_passage(&sections(&package), query, parts.get(&hit.id).copied())
        };
        let texts = hits.iter().zip(try_join_all(reads).await?).map(text).collect();
        let Ok(relevance) = reranker.relevance(query.text(), texts).await else { return Ok(hits) };
        for (hit, relevance) in hits.iter_mut().zip(relevance) {
            hit.score = RERANKED_ABOVE + relevance;
        }
        hits[..first].sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(hits)
    }

    /// The query without words that nearly every document has: a vector of a name is near to all who have it. All of it while
    /// the index does not say.
    async fn telling(&self, query: &Query, scope: &Scope) -> Query {
        let common = self.search().index().common(query, scope).await.unwrap_or_default();
        query.without(&common)
    }

    /// Two rankings as one: the best of both by reciprocal rank fusion compete, and what they are worth is how alike they
    /// are in meaning, as a whole and word by word, and how many of the query's words they have (docs/decisions/0012).
    /// `telling` is the query that meaning was asked for.
    async fn blend(
        &self,
        (query, telling): (&Query, &Query),
        words: Vec<Hit>,
        mut meant: Vec<Hit>,
        (most, limit): (usize, usize),
    ) -> Result<Vec<Hit>, Fault> {
        let near: HashMap<String, f64> = meant.iter().map(|hit| (hit.id.clone(), hit.score)).collect();
        // What a full list no longer has is not nearer than its last. Otherwise it has no vectors yet, and counts as
        // near as most others.
        let unknown = if meant.len() == HITS_MAX { meant.last() } else { meant.get(meant.len() / 2) };
        let unknown = unknown.map_or(0.0, |hit| hit.score);
        meant.truncate(most);
        let candidates = fuse(&[words, meant], HYBRID_CANDIDATES_MAX);
        let mut competition = Competition::new(query);
        let (mut found, mut meaning, mut texts) =
            (Vec::with_capacity(candidates.len()), Vec::new(), Vec::new());
        for chunk in candidates.chunks(READS_AT_ONCE) {
            let reads =
                chunk.iter().map(|hit| async move { Ok::<_, Fault>((hit, self.held(&hit.id).await?)) });
            for (hit, held) in try_join_all(reads).await? {
                let Some(held) = held else { continue };
                let package = serde_json::from_str(&held.text).unwrap_or_default();
                let sections = sections(&package);
                competition.add(&sections, held.present.created_at.ms());
                texts.push(sections);
                meaning.push(near.get(&hit.id).copied().unwrap_or(unknown));
                found.push(hit.clone());
            }
        }
        let closeness = self.closeness(telling, &competition, texts).await;
        for (hit, score) in found.iter_mut().zip(competition.scores(&meaning, &closeness)) {
            hit.score = score.total;
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(limit);
        Ok(found)
    }

    /// How near the query's words are to those of documents, as far as that is known.
    async fn closeness(
        &self,
        telling: &Query,
        competition: &Competition<'_>,
        documents: Vec<Vec<Section>>,
    ) -> Vec<Option<f64>> {
        let Some(meaning) = self.working() else { return Vec::new() };
        let rarities = competition.rarities();
        meaning.semantic.closeness(telling, &rarities, documents).await.unwrap_or_default()
    }

    /// The parts of documents that are near to a query by meaning; none while there is no model.
    pub(super) async fn parts_near(&self, query: &Query, scope: &Scope, limit: usize) -> Vec<PartHit> {
        match self.working() {
            Some(meaning) => {
                let query = self.telling(query, scope).await;
                meaning.semantic.nearest(&query, scope, limit).await.unwrap_or_default()
            }
            None => Vec::new(),
        }
    }

    /// Documents that are near to a query by meaning; none while there is no model.
    pub(super) async fn meant(&self, query: &Query, scope: &Scope, limit: usize) -> Option<Vec<Hit>> {
        let meaning = self.working()?;
        let query = self.telling(query, scope).await;
        meaning.semantic.search(&query, scope, limit).await.ok()
    }

    /// Asks a model that does not work whether it does now.
    pub async fn probe_model(&self) -> Result<(), Fault> {
        if let Some(meaning) = self.meaning() {
            // What is wrong with it was said when it began to be.
            let _known = meaning.semantic.probe().await;
        }
        Ok(())
    }

    /// Whether packages are found by meaning at the moment.
    pub(crate) fn finds_meaning(&self) -> bool {
        self.working().is_some()
    }
}
