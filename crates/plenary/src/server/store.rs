//! The store of a server, and its index: SQLite in a directory, memory, PostgreSQL, or a replica of a cluster's log
//! in a directory.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use plenary_journal::jetstream::{Nats, Retention};
use plenary_log::OpenedLog;
use plenary_log_cluster::Journals;
use plenary_retrieval::Index;
use plenary_retrieval_postgres::Tables;

use super::{
    Settings,
    cluster::{Cluster, LOG, SIGNALS, flush_check},
    model::VECTORS,
    privacy,
};

/// How long the store may take to close; after that the next start has more to recover, but nothing is lost.
const CLOSING: Duration = Duration::from_millis(1_500);

/// Waits until the store is closed.
pub(crate) struct StoreClose(Option<plenary_log_sqlite::StoreClose>);

impl StoreClose {
    pub(crate) async fn wait(self) {
        if let Some(closing) = self.0 {
            let _ = tokio::time::timeout(CLOSING, closing.wait()).await;
        }
    }
}

/// The directories of the search indexes in the data directory: of packages, and of everything else.
const SEARCH: &str = "search";
const EVERYTHING: &str = "search-everything";
/// The directory of blobs in the data directory, if they are stored there.
pub(super) const BLOBS: &str = "blobs";

/// The private parts of a data directory; the database protects its own files.
const DIRECTORIES: [&str; 3] = [SEARCH, EVERYTHING, BLOBS];
const FILES: [&str; 1] = [VECTORS];

/// A search index in a data directory. It belongs to the log that it was made from.
pub(crate) fn index_in(data: &Path) -> Option<PathBuf> {
    // A directory may be there without an index.
    let is_index = |path: &PathBuf| match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.exists(),
    };
    [SEARCH, EVERYTHING, VECTORS].iter().map(|name| data.join(name)).find(is_index)
}

/// An open store.
pub(crate) struct Store {
    pub(crate) opened: OpenedLog,
    pub(crate) closing: StoreClose,
    /// The index of packages.
    pub(crate) index: Arc<dyn Index>,
    /// The index of everything else, if there is one.
    pub(crate) everything: Option<Arc<dyn Index>>,
    /// The NATS servers, if the store is a replica.
    pub(crate) nats: Option<Nats>,
}

/// The index of packages, and that of everything else.
type Indexes = (Arc<dyn Index>, Option<Arc<dyn Index>>);

/// Opens the indexes of a data directory. An index that is turned off is deleted.
fn indexes(data: &Path, has_everything: bool) -> anyhow::Result<Indexes> {
    let open = |name| {
        let directory = data.join(name);
        let opened = plenary_retrieval_sqlite::open(&directory);
        opened.with_context(|| format!("opening the search index in {}", directory.display()))
    };
    let everything: Option<Arc<dyn Index>> = match has_everything {
        true => Some(open(EVERYTHING)?),
        false => {
            let removed = std::fs::remove_dir_all(data.join(EVERYTHING));
            let is_missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
            removed.or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) })?;
            None
        }
    };
    Ok((open(SEARCH)?, everything))
}

pub(crate) async fn open(settings: &Settings) -> anyhow::Result<Store> {
    if let Some(url) = &settings.database {
        let options = plenary_log_postgres::Options::default();
        let opened = plenary_log_postgres::open(url, options.clone()).await;
        let opened = opened.context("opening the PostgreSQL store")?;
        let open = |shelf| plenary_retrieval_postgres::open_index(url, &options, shelf);
        let index = open(Tables::Packages).await.context("opening the search index in PostgreSQL")?;
        let everything = match settings.search_everything {
            true => Some(open(Tables::Everything).await.context("opening the search index in PostgreSQL")?),
            false => None,
        };
        return Ok(Store { opened, closing: StoreClose(None), index, everything, nats: None });
    }
    if let (Some(cluster), Some(directory)) = (&settings.cluster, &settings.data) {
        return replica(cluster, directory, settings.search_everything).await;
    }
    let Some(directory) = &settings.data else {
        let open = || -> anyhow::Result<Arc<dyn Index>> {
            Ok(plenary_retrieval_sqlite::open_memory().context("opening the search index")?)
        };
        let (index, everything) = (open()?, settings.search_everything.then(open).transpose()?);
        return Ok(Store {
            opened: plenary_log::open_memory(),
            closing: StoreClose(None),
            index,
            everything,
            nats: None,
        });
    };
    let (directory, has_everything) = (directory.clone(), settings.search_everything);
    let opening = move || {
        privacy::close(&directory, &DIRECTORIES, &FILES)?;
        let opened = plenary_log_sqlite::open(&directory, plenary_log_sqlite::Options::default());
        let opened = opened.with_context(|| format!("opening the store in {}", directory.display()))?;
        Ok::<_, anyhow::Error>((opened, indexes(&directory, has_everything)?))
    };
    let ((opened, closing), (index, everything)) =
        tokio::task::spawn_blocking(opening).await.context("opening the store")??;
    Ok(Store { opened, closing: StoreClose(Some(closing)), index, everything, nats: None })
}

/// Opens a node of a cluster: its replica of the log, and its own index of it.
async fn replica(cluster: &Cluster, directory: &Path, has_everything: bool) -> anyhow::Result<Store> {
    flush_check::check(&cluster.monitors).await?;
    let nats =
        Nats::connect(&cluster.servers, cluster.options()).await.context("connecting to the cluster")?;
    let log = nats.journal(LOG, Retention::Forever).await.context("opening the journal of the log")?;
    let signals =
        nats.journal(SIGNALS, Retention::Shortly).await.context("opening the journal of signals")?;
    let data = directory.to_owned();
    let opening = move || {
        privacy::close(&data, &DIRECTORIES, &FILES)?;
        indexes(&data, has_everything)
    };
    let (index, everything) =
        tokio::task::spawn_blocking(opening).await.context("opening the search index")??;
    let peers = Arc::new(nats.peers(LOG));
    let journals = Journals { log: Arc::new(log), signals: Arc::new(signals), peers };
    let options = plenary_log_cluster::Options {
        name: cluster.node.clone(),
        keep: cluster.keep,
        ..plenary_log_cluster::Options::default()
    };
    let opened = plenary_log_cluster::open(directory, journals, options).await;
    let (opened, closing) =
        opened.with_context(|| format!("opening this node's replica in {}", directory.display()))?;
    Ok(Store { opened, closing: StoreClose(Some(closing)), index, everything, nats: Some(nats) })
}
