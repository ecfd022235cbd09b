//! Which store a server runs on, and which index beside it: SQLite in a directory, memory, or PostgreSQL.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use plenary_log::Opened;
use plenary_retrieval::Index;

use super::{Settings, model::VECTORS, privacy};

/// How long the store may take to close; past it the next start has more to recover, and nothing is lost.
const CLOSING: Duration = Duration::from_millis(1_500);

/// Tells when the store has been closed.
pub(crate) struct Closing(Option<plenary_log_sqlite::Closing>);

impl Closing {
    pub(crate) async fn wait(self) {
        if let Some(closing) = self.0 {
            let _ = tokio::time::timeout(CLOSING, closing.wait()).await;
        }
    }
}

/// The search index's directory in the data directory.
const SEARCH: &str = "search";
/// The contents' directory in the data directory, where they are kept there.
pub(super) const BLOBS: &str = "blobs";

/// What a data directory holds that others must not read; the database closes its own files.
const DIRECTORIES: [&str; 2] = [SEARCH, BLOBS];
const FILES: [&str; 1] = [VECTORS];

/// A store that was opened.
pub(crate) struct Store {
    pub(crate) opened: Opened,
    pub(crate) closing: Closing,
    pub(crate) index: Arc<dyn Index>,
}

pub(crate) async fn open(settings: &Settings) -> anyhow::Result<Store> {
    if let Some(url) = &settings.database {
        let options = plenary_log_postgres::Options::default();
        let opened = plenary_log_postgres::open(url, options.clone()).await;
        let opened = opened.context("opening the PostgreSQL store")?;
        let index = plenary_retrieval_postgres::open_index(url, &options).await;
        let index = index.context("opening the search index in PostgreSQL")?;
        return Ok(Store { opened, closing: Closing(None), index });
    }
    let Some(directory) = &settings.data else {
        let index = plenary_retrieval_sqlite::open_memory().context("opening the search index")?;
        return Ok(Store { opened: plenary_log::open_memory(), closing: Closing(None), index });
    };
    let directory = directory.clone();
    let opening = move || {
        privacy::close(&directory, &DIRECTORIES, &FILES)?;
        let opened = plenary_log_sqlite::open(&directory, plenary_log_sqlite::Options::default());
        let opened = opened.with_context(|| format!("opening the store in {}", directory.display()))?;
        let index = plenary_retrieval_sqlite::open(&directory.join(SEARCH));
        Ok::<_, anyhow::Error>((opened, index.context("opening the search index")?))
    };
    let ((opened, closing), index) =
        tokio::task::spawn_blocking(opening).await.context("opening the store")??;
    Ok(Store { opened, closing: Closing(Some(closing)), index })
}
