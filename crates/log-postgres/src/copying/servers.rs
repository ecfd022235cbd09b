//! The servers that use a store, and how they are locked out.
//! Must not know: what is copied.

use tokio_postgres::Client;

use crate::{
    Options,
    target::{ANSWER_MS_MAX, OpenError, Purpose, Target, within},
    trouble::Trouble,
};

/// A server has a connection for its appends, which the name of the application shows to everybody; and it says every
/// second that it is alive, which outlasts a lost connection.
const SERVERS: &str = "SELECT (SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name = $1) \
    + (SELECT count(*) FROM signal_processes WHERE alive_until > clock_timestamp())";

/// The connections for appends; each server has one.
const WRITERS: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE datname = current_database() AND application_name = $1";

/// Whether a server uses the store, besides the one that asks and has opened it.
///
/// # Errors
/// When the server cannot be reached.
pub async fn others_run(url: &str, options: &Options) -> Result<bool, OpenError> {
    let target = Target::new(url, options)?;
    let client = target.connect(Purpose::Looking).await?;
    let name = target.name(Purpose::Writing);
    let writers = within(ANSWER_MS_MAX, client.query_one(WRITERS, &[&name])).await?;
    Ok(writers.try_get::<_, i64>(0).map_err(Trouble::from)? > 1)
}

/// Whether a server uses the store.
pub(super) async fn are_there(client: &Client, target: &Target) -> Result<bool, Trouble> {
    let servers = within(ANSWER_MS_MAX, client.query_one(SERVERS, &[&target.name(Purpose::Writing)])).await?;
    Ok(servers.try_get::<_, i64>(0)? > 0)
}

/// Locks the end of the log, so that nothing is appended; servers that try get a fault, and acknowledge nothing. `None` if
/// a server uses the store. The lock lasts as long as the connection.
pub(super) async fn lock_out(target: &Target) -> Result<Option<Client>, OpenError> {
    let client = target.connect(Purpose::Copying).await?;
    if are_there(&client, target).await? {
        return Ok(None);
    }
    match within(ANSWER_MS_MAX, client.batch_execute("BEGIN; SELECT 1 FROM head FOR UPDATE")).await {
        Ok(()) => {}
        Err(Trouble::Busy(_)) => return Ok(None),
        Err(trouble) => return Err(trouble.into()),
    }
    // One may have come in between.
    Ok(if are_there(&client, target).await? { None } else { Some(client) })
}
