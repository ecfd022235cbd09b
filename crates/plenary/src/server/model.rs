//! The embedding model for search by meaning, and the storage of its vectors: in the data directory, in PostgreSQL,
//! or otherwise in memory.

use std::{path::Path, sync::Arc};

use anyhow::Context as _;
use plenary_embeddings::{Embedder, KEY_VARIABLE, RERANK_KEY_VARIABLE, RerankSource, Source};
use plenary_log_postgres::Options;
use plenary_retrieval::{PARTS_FORM, Relevance, Semantic};
use plenary_retrieval_vectors::{FileShelf, MemoryShelf, Reranking, SharedShelf, Shelf, Vectors};

use super::Settings;
use crate::secrets;

/// The file of vectors in the data directory.
pub(super) const VECTORS: &str = "vectors";

/// Opens the model, if the settings name one.
pub(super) async fn open(settings: &Settings) -> anyhow::Result<Option<Arc<dyn Semantic>>> {
    let Some(source) = settings.embeddings.clone() else { return Ok(None) };
    let (directory, database) = (settings.data.clone(), settings.database.clone());
    let bytes_max = settings.vectors_bytes_max;
    let opening = move || {
        let embedder = source.open(secrets::variable(KEY_VARIABLE).as_deref())?;
        let shelf = shelf(directory.as_deref(), database.as_deref(), &*embedder)?;
        Ok::<_, anyhow::Error>(Arc::new(Vectors::bounded(embedder, shelf, bytes_max)) as Arc<dyn Semantic>)
    };
    let opened = tokio::task::spawn_blocking(opening).await.context("preparing the model")?;
    Ok(Some(opened.context("--embeddings")?))
}

/// Opens the reranker, if the settings name one.
pub(super) async fn open_reranker(settings: &Settings) -> anyhow::Result<Option<Arc<dyn Relevance>>> {
    let Some(source) = settings.rerank.clone() else { return Ok(None) };
    let opening = move || source.open(secrets::variable(RERANK_KEY_VARIABLE).as_deref());
    let opened = tokio::task::spawn_blocking(opening).await.context("preparing the reranker")?;
    Ok(Some(Arc::new(Reranking::new(opened.context("--rerank")?))))
}

fn shelf(
    directory: Option<&Path>,
    database: Option<&str>,
    embedder: &dyn Embedder,
) -> anyhow::Result<Box<dyn Shelf>> {
    let model = fingerprint(embedder);
    if let Some(url) = database {
        let archive = plenary_retrieval_postgres::open_archive(url, &Options::default(), &model);
        return Ok(Box::new(SharedShelf::new(archive.context("opening the vectors in PostgreSQL")?)));
    }
    let Some(directory) = directory else { return Ok(Box::new(MemoryShelf::default())) };
    let path = directory.join(VECTORS);
    let shelf = FileShelf::open(&path, &model);
    Ok(Box::new(shelf.with_context(|| format!("opening the vectors in {}", path.display()))?))
}

/// The identity of the embedder. Vectors with another fingerprint are computed again.
fn fingerprint(embedder: &dyn Embedder) -> String {
    format!("{} parts {PARTS_FORM}", embedder.model())
}

/// Parses the name of a model; the model itself is opened when the server starts.
pub(super) fn parse(text: &str) -> anyhow::Result<Source> {
    Ok(text.parse::<Source>()?)
}

/// Parses the name of a reranker.
pub(super) fn parse_reranker(text: &str) -> anyhow::Result<RerankSource> {
    Ok(text.parse::<RerankSource>()?)
}
