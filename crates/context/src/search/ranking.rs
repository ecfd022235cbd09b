//! By what packages are ranked.
//! Must not know: HTTP.

use plenary_log::Fault;
use plenary_retrieval::{HITS_MAX, Hit, PartHit, Query, Scope, fuse};

use super::{Meaning, following::unavailable};
use crate::{Context, Failure, limits::CANDIDATES_FACTOR, rejection::Rejection};

/// What nearness is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ranking {
    /// By words.
    Lexical,
    /// By meaning.
    Semantic,
    /// By both together.
    Hybrid,
}

impl Ranking {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "lexical" => Some(Self::Lexical),
            "semantic" => Some(Self::Semantic),
            "hybrid" => Some(Self::Hybrid),
            _ => None,
        }
    }
}

impl Context {
    /// The index by meaning, if it may be asked now.
    fn working(&self) -> Option<&Meaning> {
        self.meaning().filter(|meaning| meaning.semantic.works())
    }

    /// Documents that have to do with a query. Who asks for meaning expressly is told where there is none; a ranking that
    /// was not asked for, or that words are a part of, is by words alone while the model is away.
    pub(super) async fn hits(
        &self,
        (query, ranking): (&Query, Option<Ranking>),
        scope: &Scope,
        limit: usize,
    ) -> Result<Vec<Hit>, Failure> {
        let lexical =
            |limit| async move { self.search().index.search(query, scope, limit).await.map_err(unavailable) };
        let missing = |capability| Failure::Rejected(Rejection::NotImplemented(capability));
        match (ranking, self.working()) {
            (None | Some(Ranking::Lexical), None) | (Some(Ranking::Lexical), Some(_)) => {
                Ok(lexical(limit).await?)
            }
            (Some(Ranking::Semantic), None) => Err(missing("semantic_search")),
            (Some(Ranking::Hybrid), None) => Err(missing("hybrid_search")),
            (Some(Ranking::Semantic), Some(meaning)) => {
                let found = meaning.semantic.search(query, scope, limit).await;
                found.map_err(|_| missing("semantic_search"))
            }
            (None | Some(Ranking::Hybrid), Some(meaning)) => {
                let most = limit.saturating_mul(CANDIDATES_FACTOR).min(HITS_MAX);
                let (words, meant) = tokio::join!(lexical(most), meaning.semantic.search(query, scope, most));
                Ok(match meant {
                    Ok(meant) => fuse(&[words?, meant], limit),
                    Err(_) => words?.into_iter().take(limit).collect(),
                })
            }
        }
    }

    /// The parts of documents that are near to a query by meaning; none while there is no model.
    pub(super) async fn parts_near(&self, query: &Query, scope: &Scope, limit: usize) -> Vec<PartHit> {
        match self.working() {
            Some(meaning) => meaning.semantic.nearest(query, scope, limit).await.unwrap_or_default(),
            None => Vec::new(),
        }
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
