//! The additional interface of an index by meaning.
//! Must not know: models.

use std::collections::HashMap;

use crate::{Answer, Index, Query, Scope, Section};

/// A part of a document that is near to a query.
#[derive(Debug, Clone, PartialEq)]
pub struct PartHit {
    /// The document.
    pub id: String,
    /// Which of its [`parts`](crate::parts), from 0.
    pub part: usize,
    /// How near it is, above 0 and at most 1.
    pub score: f64,
}

/// An index by meaning, which depends on a model that may be away. A search that can't have the query's vector in time
/// is a fault.
pub trait Semantic: Index {
    /// Whether the model worked when it was last asked.
    fn works(&self) -> bool;
    /// Asks a model that does not work, or was never asked, whether it does now.
    fn probe(&self) -> Answer<'_, ()>;
    /// The nearest part of each of the nearest documents, the nearest first.
    fn nearest<'a>(&'a self, query: &'a Query, scope: &'a Scope, limit: usize) -> Answer<'a, Vec<PartHit>>;
    /// How alike in meaning texts are to a query, each from 0 to 1 and in their order: for what the index has no vectors of.
    fn likeness<'a>(&'a self, query: &'a Query, texts: Vec<String>) -> Answer<'a, Vec<f64>>;
    /// How near the words of a query are to those of documents, each to its nearest in one part, from 0 to 1; `rarities` say
    /// what a word weighs. In their order; nothing for a document that this is not known of, or not yet.
    fn closeness<'a>(
        &'a self,
        query: &'a Query,
        rarities: &'a HashMap<String, f64>,
        documents: Vec<Vec<Section>>,
    ) -> Answer<'a, Vec<Option<f64>>> {
        let _ = (query, rarities);
        Box::pin(async move { Ok(vec![None; documents.len()]) })
    }
}
