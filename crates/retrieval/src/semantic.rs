//! The additional interface of a vector index.
//! Must not know: models.

use std::collections::HashMap;

use crate::{Answer, Index, Query, Scope, Section};

/// A part of a document that is similar to a query.
#[derive(Debug, Clone, PartialEq)]
pub struct PartHit {
    /// The id of the document.
    pub id: String,
    /// The index of the part in [`parts`](crate::parts), from 0.
    pub part: usize,
    /// The similarity, above 0 and at most 1.
    pub score: f64,
}

/// A vector index, which depends on a model that may be unavailable. If a search does not get the query's
/// vector in time,
/// it returns a fault.
pub trait Semantic: Index {
    /// Whether the last call of the model succeeded.
    fn works(&self) -> bool;
    /// Checks whether a model works that failed or was never called.
    fn probe(&self) -> Answer<'_, ()>;
    /// The best part of each of the most similar documents, best first.
    fn nearest<'a>(&'a self, query: &'a Query, scope: &'a Scope, limit: usize) -> Answer<'a, Vec<PartHit>>;
    /// The similarity of texts to a query, each from 0 to 1, in the order of the texts: for documents without
    /// vectors.
    fn likeness<'a>(&'a self, query: &'a Query, texts: Vec<String>) -> Answer<'a, Vec<f64>>;
    /// The similarity of a query's words to those of documents, from 0 to 1: each query word with the most
    /// similar word of one
    /// part. `rarities` has the weight of each word. In the order of the documents; `None` where it is not
    /// known, or not yet.
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
