//! The certificate of the server. It is read again when its files change, and on SIGHUP, because certificates are renewed while
//! the server runs.
//! Must not know: connections.

use std::{sync::Arc, time::Duration};

use plenary_edge::TlsFiles;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{Settings, privacy};

/// How often the server looks whether the files have changed.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Opens the files of the settings, if they name any.
pub(super) fn open(settings: &Settings) -> anyhow::Result<Option<Arc<TlsFiles>>> {
    let Some((certificate, key)) = &settings.tls else { return Ok(None) };
    privacy::secret(key)?;
    Ok(Some(TlsFiles::open(certificate, key)?))
}

/// Reads the files again if they have changed. A pair that cannot be used is logged, and the last one stays in use.
pub(super) async fn read_again(files: Arc<TlsFiles>) {
    let read = {
        let files = files.clone();
        tokio::task::spawn_blocking(move || files.read_again())
    };
    match read.await {
        Ok(Ok(true)) => {
            tracing::info!("the certificate was read again");
            if let Err(fault) = privacy::secret(files.key()) {
                tracing::warn!(%fault, "the key is in use, but the next start refuses it");
            }
        }
        Ok(Ok(false)) => {}
        Ok(Err(fault)) => {
            tracing::warn!(%fault, "the certificate was changed and cannot be used; the last one stays in use");
        }
        Err(error) => tracing::warn!(%error, "the certificate was not read again"),
    }
}

/// Reads changed files until `stop`.
pub(super) async fn watch(files: Arc<TlsFiles>, stop: CancellationToken) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        read_again(files.clone()).await;
    }
}
