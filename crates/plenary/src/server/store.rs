//! Which store a server runs on: SQLite in a directory, memory, or PostgreSQL.

use std::time::Duration;

use anyhow::Context as _;
use plenary_log::Opened;

use super::Settings;

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

pub(crate) async fn open(settings: &Settings) -> anyhow::Result<(Opened, Closing)> {
    if let Some(url) = &settings.database {
        let opened = plenary_log_postgres::open(url, plenary_log_postgres::Options::default()).await;
        return Ok((opened.context("opening the PostgreSQL store")?, Closing(None)));
    }
    let Some(directory) = &settings.data else { return Ok((plenary_log::open_memory(), Closing(None))) };
    let directory = directory.clone();
    let opening = move || {
        let opened = plenary_log_sqlite::open(&directory, plenary_log_sqlite::Options::default());
        opened.with_context(|| format!("opening the store in {}", directory.display()))
    };
    let (opened, closing) = tokio::task::spawn_blocking(opening).await.context("opening the store")??;
    Ok((opened, Closing(Some(closing))))
}
