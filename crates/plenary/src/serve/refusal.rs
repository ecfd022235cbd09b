//! The reasons why a server does not start, with remedies if known.
//! Must not know: how a server is started.

use std::{io::ErrorKind, net::SocketAddr, path::Path, time::Duration};

use plenary_client::{BaseUrl, Client};
use plenary_edge::ListenFault;
use plenary_log_sqlite::OpenError;

use crate::paths;

/// How long a running server may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// The error with its remedy.
pub(super) async fn explained(error: anyhow::Error, data: Option<&Path>) -> anyhow::Error {
    let is_locked = error.chain().any(|cause| matches!(cause.downcast_ref(), Some(OpenError::Locked { .. })));
    if is_locked && let Some(url) = running(data).await {
        return anyhow::anyhow!(
            "a server is already running on this data directory, at {url}; use it, or stop it first"
        );
    }
    let address_in_use = error.chain().find_map(|cause| match cause.downcast_ref::<ListenFault>() {
        Some(fault) if fault.source.kind() == ErrorKind::AddrInUse => Some(fault.address),
        Some(_) | None => None,
    });
    match address_in_use {
        Some(address) => anyhow::anyhow!(
            "cannot listen on {address}: the address is in use; choose another with --listen, e.g. --listen {}",
            SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(address.port()))
        ),
        None => error,
    }
}

/// The server of a data directory, if it answers at the URL in the directory's file.
async fn running(data: Option<&Path>) -> Option<BaseUrl> {
    let text = std::fs::read_to_string(data?.join(paths::SERVER_URL_FILE)).ok()?;
    let url: BaseUrl = text.trim().parse().ok()?;
    let client = Client::builder(url.clone()).request_timeout(ANSWERS_WITHIN).build().ok()?;
    client.health().await.ok().map(|_| url)
}
