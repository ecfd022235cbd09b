//! A missing token of a server that does not answer: then the server is what is missing.
//! Must not know: how tokens are chosen.

use plenary_client::Error;

use super::{
    context::Context,
    explain,
    failure::Failure,
    identity,
    server_address::{ServerAddress, UrlSource},
};
use crate::paths;

/// The failure; for a missing token of a server that cannot be reached, that failure instead.
pub(crate) async fn checked(context: &Context, failure: Failure) -> Failure {
    let Failure::Auth { missing: Some(holder), .. } = &failure else { return failure };
    let (Ok(client), Ok(ServerAddress { source, .. })) = (context.client(), context.server_address()) else {
        return failure;
    };
    let Err(Error::Network(fault)) = client.health().await else { return failure };
    let directory = paths::data_dir(&|name| context.environment.var(name));
    let what = match directory.filter(|_| source == UrlSource::Default) {
        Some(directory) => format!("no server runs on {}, and {fault}", directory.display()),
        None => fault.to_string(),
    };
    let mut next = explain::network_next(context, &fault).unwrap_or_default();
    if let Some(url) = identity::saved_elsewhere(context.tokens_file().as_ref(), holder) {
        next.push_str(&format!("; a token of {holder} is saved for {url}"));
    }
    Failure::unreachable(what, next)
}
