//! The store of a server, and its index: SQLite in a directory, memory, PostgreSQL, or a replica of a cluster's log
//! in a directory.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;
use plenary_journal::jetstream::{Nats, Retention};
use plenary_log::OpenedLog;
use plenary_log_cluster::Journals;
use plenary_retrieval::Index;

use super::{
    Settings,
    cluster::{Cluster, LOG, SIGNALS},
    model::VECTORS,
    privacy,
};

/// How long the store may take to close; past it the next start has more to recover, and nothing is lost.
const CLOSING: Duration = Duration::from_millis(1_500);

/// Tells when the store has been closed.
pub(crate) struct StoreClose(Option<plenary_log_sqlite::StoreClose>);

impl StoreClose {
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
    pub(crate) opened: OpenedLog,
    pub(crate) closing: StoreClose,
    pub(crate) index: Arc<dyn Index>,
}

pub(crate) async fn open(settings: &Settings) -> anyhow::Result<Store> {
    if let Some(url) = &settings.database {
        let options = plenary_log_postgres::Options::default();
        let opened = plenary_log_postgres::open(url, options.clone()).await;
        let opened = opened.context("opening the PostgreSQL store")?;
        let index = plenary_retrieval_postgres::open_index(url, &options).await;
        let index = index.context("opening the search index in PostgreSQL")?;
        return Ok(Store { opened, closing: StoreClose(None), index });
    }
    if let (Some(cluster), Some(directory)) = (&settings.cluster, &settings.data) {
        return replica(cluster, directory).await;
    }
    let Some(directory) = &settings.data else {
        let index = plenary_retrieval_sqlite::open_memory().context("opening the search index")?;
        return Ok(Store { opened: plenary_log::open_memory(), closing: StoreClose(None), index });
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
    Ok(Store { opened, closing: StoreClose(Some(closing)), index })
}

/// A node of a cluster: its replica of the log, and its own index of it.
async fn replica(cluster: &Cluster, directory: &Path) -> anyhow::Result<Store> {
    let nats =
        Nats::connect(&cluster.servers, cluster.options()).await.context("connecting to the cluster")?;
    let log = nats.journal(LOG, Retention::Forever).await.context("opening the journal of the log")?;
    let signals =
        nats.journal(SIGNALS, Retention::Shortly).await.context("opening the journal of signals")?;
    let data = directory.to_owned();
    let opening = move || {
        privacy::close(&data, &DIRECTORIES, &FILES)?;
        plenary_retrieval_sqlite::open(&data.join(SEARCH)).context("opening the search index")
    };
    let index = tokio::task::spawn_blocking(opening).await.context("opening the search index")??;
    let journals = Journals { log: Arc::new(log), signals: Arc::new(signals) };
    let opened =
        plenary_log_cluster::open(directory, journals, plenary_log_cluster::Options::default()).await;
    let (opened, closing) =
        opened.with_context(|| format!("opening this node's replica in {}", directory.display()))?;
    Ok(Store { opened, closing: StoreClose(Some(closing)), index })
}
