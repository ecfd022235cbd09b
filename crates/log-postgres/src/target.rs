//! The address of the store, the settings of every session, and the requirements on the server.
//! Must not know: reads and writes.

use std::{future::Future, sync::OnceLock, time::Duration};

use plenary_kernel::Position;
use tokio_postgres::{
    Client, Config, Connection, Row, SimpleQueryMessage, Socket, Statement, config::TargetSessionAttrs,
    error::SqlState,
};

use crate::{
    Options, migrate,
    tls::{self, EncryptedStream, Tls},
    trouble::{Trouble, described},
};

/// The oldest supported server, as `server_version_num`.
const SERVER_VERSION_MIN: i32 = 130_000;
/// Longest wait for a connection to be ready.
const CONNECT_MS_MAX: u64 = 3_000;
/// Longest time that sent bytes may stay unacknowledged by the server's machine.
const UNACKNOWLEDGED_MS_MAX: u64 = 10_000;
/// Longest wait for a lock, above all for the head.
const LOCK_MS_MAX: u64 = 2_000;
/// Time limit of a statement.
const STATEMENT_MS_MAX: u64 = 10_000;
/// Longest pause in a transaction: a stalled process must not hold the head.
const PAUSE_MS_MAX: u64 = 5_000;
/// Longest wait for an answer, whatever the server's own limits.
pub(crate) const ANSWER_MS_MAX: u64 = 15_000;
/// How often two sessions are compared at a start: a pooler that has many connections may give them the
/// same ones for a while.
const SESSION_CHECKS: usize = 4;
/// Longest schema name; with `plenary_` before it, it names a notification channel of at most 63 bytes.
const SCHEMA_BYTES_MAX: usize = 48;

/// Why the store can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL or an option is invalid.
    #[error("{0}")]
    Options(String),
    /// The server can't be reached, or rejects the login.
    #[error("PostgreSQL cannot be reached: {0}")]
    Unreachable(String),
    /// The server is starting or has no connection to spare: it refuses connections, or recovers from a crash.
    #[error("PostgreSQL is not ready: {0}")]
    Starting(String),
    /// The server would not keep acknowledged data, or is too old.
    #[error("PostgreSQL is not suitable for the log: {0}")]
    Unfit(String),
    /// The tables were made by a newer Plenary.
    #[error("the schema has version {found}, but this program supports up to {known}; use the newer program")]
    Newer {
        /// The version found.
        found: i32,
        /// The newest version known here.
        known: i32,
    },
    /// An older Plenary made the tables, and a check does not migrate them.
    #[error(
        "the schema is at version {found}, and version {known} can be checked: start this program on it once"
    )]
    Older {
        /// The version found.
        found: i32,
        /// The version of this program.
        known: i32,
    },
    /// The tables hold a copy that is not finished.
    #[error(
        "the schema holds an unfinished copy of a store; run the same `plenary log copy` again to finish it"
    )]
    Unfinished,
    /// A copy would replace something.
    #[error("the schema is not empty: {0}")]
    Occupied(String),
    /// The tables can't be created, or have an unexpected form.
    #[error("the schema cannot be used: {0}")]
    Schema(String),
}

impl From<Trouble> for OpenError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Lost(text) | Trouble::Busy(text) => Self::Unreachable(text),
            Trouble::Full(text) | Trouble::Refused(text) | Trouble::Broken(text) => Self::Schema(text),
        }
    }
}

impl OpenError {
    /// The equivalent trouble for a store that is open already.
    pub(crate) fn trouble(self) -> Trouble {
        match self {
            Self::Unreachable(text) | Self::Starting(text) => Trouble::Lost(text),
            Self::Options(_) | Self::Unfit(_) => Trouble::Lost(self.to_string()),
            Self::Newer { .. }
            | Self::Older { .. }
            | Self::Unfinished
            | Self::Occupied(_)
            | Self::Schema(_) => Trouble::Broken(self.to_string()),
        }
    }
}

/// The raw connection; a task must drive it.
pub(crate) type Wire = Connection<Socket, EncryptedStream<Socket>>;

/// The purpose of a connection; operators see it in the application's name.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// Making or migrating the tables.
    Migrating,
    /// Appending to the log.
    Writing,
    /// Reading the log.
    Reading,
    /// Signals between processes, and listening for commits.
    Signalling,
    /// Searches, and reading vectors.
    Searching,
    /// Writing the search index.
    Indexing,
    /// Writing vectors.
    Keeping,
    /// Checking the store.
    Looking,
    /// Copying the store.
    Copying,
}

impl Purpose {
    /// Settings besides those of every session. The terms of a search are known only at its execution,
    /// and words are looked up in bitmaps; an index that is lost in a crash is rebuilt from the log.
    fn settings(self) -> &'static str {
        match self {
            Self::Migrating | Self::Writing | Self::Reading | Self::Signalling | Self::Looking => "",
            Self::Searching => "SET enable_bitmapscan = on; SET plan_cache_mode = force_custom_plan",
            Self::Indexing | Self::Keeping => "SET synchronous_commit = off",
            // One statement reads a whole table, as fast as the other end takes it.
            Self::Copying => {
                "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET synchronous_commit = off"
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Migrating => "migrate",
            Self::Writing => "write",
            Self::Reading => "read",
            Self::Signalling => "signal",
            Self::Searching => "search",
            Self::Indexing => "index",
            Self::Keeping => "vectors",
            Self::Looking => "fsck",
            Self::Copying => "copy",
        }
    }
}

/// The address of one store.
#[derive(Debug)]
pub struct Target {
    config: Config,
    tls: Tls,
    schema: String,
    channel: String,
    /// A UUID, drawn when the tables were created; known once the store is open.
    epoch: OnceLock<String>,
}

impl Target {
    /// Parses the address; makes no connection yet.
    ///
    /// # Errors
    /// [`OpenError::Options`] if the URL or the schema's name is invalid.
    pub fn new(url: &str, options: &Options) -> Result<Self, OpenError> {
        let (url, tls) = tls::parse(url)?;
        let mut config: Config = url
            .parse()
            .map_err(|error| OpenError::Options(format!("the database URL: {}", described(&error))))?;
        let schema = options.schema.clone();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if schema.is_empty() || schema.len() > SCHEMA_BYTES_MAX || !schema.chars().all(plain) {
            return Err(OpenError::Options(format!(
                "the schema name {schema:?}: 1 to {SCHEMA_BYTES_MAX} of a-z, 0-9 and _"
            )));
        }
        // A standby may show commits late or in another order: never read from one.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.tcp_user_timeout(Duration::from_millis(UNACKNOWLEDGED_MS_MAX));
        config.keepalives_idle(Duration::from_millis(UNACKNOWLEDGED_MS_MAX));
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_millis(CONNECT_MS_MAX));
        }
        let channel = format!("plenary_{schema}");
        Ok(Self { config, tls, schema, channel, epoch: OnceLock::new() })
    }

    /// The schema that holds the tables.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// The name of a connection's application.
    pub(crate) fn name(&self, purpose: Purpose) -> String {
        format!("plenary {} {}", purpose.name(), self.schema)
    }

    /// The channel of commit notifications.
    pub(crate) fn channel(&self) -> &str {
        &self.channel
    }

    /// The channel of signals to all processes.
    pub(crate) fn signal_channel(&self) -> String {
        self.channel_of("all")
    }

    /// The channel of messages to one process.
    pub(crate) fn private_channel(&self, process: u64) -> String {
        self.channel_of(&process.to_string())
    }

    /// The epoch is a UUID, so the name is unique to this store; it has at most 63 bytes.
    fn channel_of(&self, suffix: &str) -> String {
        let epoch = self.epoch.get().map_or("", String::as_str);
        format!("plenary_{}_{suffix}", epoch.replace('-', ""))
    }

    /// Sets the epoch that every later session must find.
    pub(crate) fn set_epoch(&self, epoch: String) {
        let _ = self.epoch.set(epoch);
    }

    /// A connection that no task drives yet.
    pub(crate) async fn dial(&self, purpose: Purpose) -> Result<(Client, Wire), OpenError> {
        let mut config = self.config.clone();
        config.application_name(self.name(purpose));
        let dialled =
            tokio::time::timeout(Duration::from_millis(CONNECT_MS_MAX), config.connect(self.tls.clone()));
        match dialled.await {
            Ok(Ok(dialled)) => Ok(dialled),
            Ok(Err(error)) if is_starting(&error) => Err(OpenError::Starting(described(&error))),
            Ok(Err(error)) => Err(Trouble::from(error).into()),
            Err(_) => Err(OpenError::Unreachable(format!("no answer within {CONNECT_MS_MAX} ms"))),
        }
    }

    /// A session with our settings on a suitable server, driven by its own task.
    pub(crate) async fn connect(&self, purpose: Purpose) -> Result<Client, OpenError> {
        let (client, wire) = self.dial(purpose).await?;
        tokio::spawn(async move {
            if let Err(error) = wire.await {
                tracing::debug!(error = described(&error), "a connection to PostgreSQL ended");
            }
        });
        self.fit(&client).await?;
        within(CONNECT_MS_MAX, client.batch_execute(purpose.settings())).await?;
        Ok(client)
    }

    /// Applies our settings, and checks that the server is suitable.
    async fn fit(&self, client: &Client) -> Result<(), OpenError> {
        within(CONNECT_MS_MAX, client.batch_execute(&self.settings())).await?;
        let server = within(CONNECT_MS_MAX, client.query_one(SERVER, &[])).await?;
        fit(&server)
    }

    /// Prepares a connection that a task drives: applies our settings, and checks that the server is
    /// suitable and has the store that was opened.
    pub(crate) async fn settle(&self, client: &Client) -> Result<(), OpenError> {
        self.fit(client).await?;
        within(CONNECT_MS_MAX, self.same_store(client)).await?;
        Ok(())
    }

    /// Fails if two sessions get the same process of the server, or one gets several: a pooler that gives
    /// out its connections for a transaction loses the settings, statements, locks and notifications of
    /// a session, and mixes up those of several.
    pub(crate) async fn check_sessions(&self, client: &Client) -> Result<(), OpenError> {
        let other = self.connect(Purpose::Migrating).await?;
        let (first, second) = (process(client).await?, process(&other).await?);
        for _ in 0..SESSION_CHECKS {
            if first == second || process(client).await? != first || process(&other).await? != second {
                return Err(OpenError::Unfit(
                    "a pooler gives a session another connection for each transaction; let it pool sessions, or name \
                     the server itself"
                        .into(),
                ));
            }
        }
        Ok(())
    }

    /// A session on the opened store with prepared statements, and the current head.
    pub(crate) async fn session(
        &self,
        purpose: Purpose,
        statements: &[&str],
    ) -> Result<(Session, Position), OpenError> {
        let client = self.connect(purpose).await?;
        let head = within(CONNECT_MS_MAX, self.same_store(&client)).await?;
        let preparing = futures_util::future::try_join_all(statements.iter().map(|sql| client.prepare(sql)));
        let statements = within(CONNECT_MS_MAX, preparing).await?;
        let pid = process(&client).await?;
        Ok((Session { client, statements, pid }, head))
    }

    async fn same_store(&self, client: &Client) -> Result<Position, Trouble> {
        let meta = client.query_one("SELECT version, epoch, last FROM meta, head", &[]).await?;
        migrate::known(meta.try_get(0)?).map_err(OpenError::trouble)?;
        let epoch: String = meta.try_get(1)?;
        if self.epoch.get().is_some_and(|known| *known != epoch) {
            return Err(Trouble::Broken("another store stands where ours was".into()));
        }
        Ok(Position(unsigned(meta.try_get(2)?)?))
    }

    /// Plans are made once, and use indexes: otherwise a plan that was made for an empty table would
    /// scan it for ever. Not every supported server has the time limits of idle sessions and of transactions.
    fn settings(&self) -> String {
        format!(
            "SET search_path TO \"{}\"; \
             SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
                WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false); \
             SELECT set_config(name, '0', false) FROM pg_settings \
                WHERE name IN ('idle_session_timeout', 'transaction_timeout'); \
             SET lock_timeout = {LOCK_MS_MAX}; SET statement_timeout = {STATEMENT_MS_MAX}; \
             SET idle_in_transaction_session_timeout = {PAUSE_MS_MAX}; \
             SET default_transaction_isolation = 'read committed'; \
             SET plan_cache_mode = force_generic_plan; SET jit = off; \
             SET enable_seqscan = off; SET enable_bitmapscan = off; \
             SET enable_hashjoin = off; SET enable_mergejoin = off",
            self.schema
        )
    }
}

/// The process of the server that answers on a connection. Without a prepared statement, which another process may
/// not know.
async fn process(client: &Client) -> Result<i32, Trouble> {
    let answer = within(CONNECT_MS_MAX, client.simple_query("SELECT pg_backend_pid()")).await?;
    let pid = answer.iter().find_map(|message| {
        let SimpleQueryMessage::Row(row) = message else { return None };
        row.get(0)?.parse().ok()
    });
    pid.ok_or_else(|| Trouble::Broken("the server does not say which process answers".into()))
}

/// Whether a retry may succeed: the server does not listen yet, is not ready, or has no connection to spare.
fn is_starting(error: &tokio_postgres::Error) -> bool {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    if let Some(code) = error.code() {
        return [SqlState::CANNOT_CONNECT_NOW, SqlState::TOO_MANY_CONNECTIONS].contains(code);
    }
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| matches!(cause.kind(), ConnectionRefused | NotFound))
}

/// A session with its prepared statements.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) statements: Vec<Statement>,
    /// The process on the server; notifications include it.
    pub(crate) pid: i32,
}

const SERVER: &str = "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), \
    current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery(), \
    current_setting('synchronous_commit'), current_setting('transaction_isolation')";

/// Whether the server keeps acknowledged data.
fn fit(server: &Row) -> Result<(), OpenError> {
    let setting = |column: usize| server.try_get::<_, String>(column).map_err(Trouble::from);
    let mut unfit = Vec::new();
    if server.try_get::<_, i32>(0).map_err(Trouble::from)? < SERVER_VERSION_MIN {
        unfit.push("the server is older than version 13");
    }
    if setting(1)? != "UTF8" {
        unfit.push("the database's encoding is not UTF8");
    }
    if setting(2)? != "on" {
        unfit.push("fsync is off");
    }
    if setting(3)? != "on" {
        unfit.push("full_page_writes is off");
    }
    if server.try_get::<_, bool>(4).map_err(Trouble::from)? {
        unfit.push("the server is a standby");
    }
    if !matches!(setting(5)?.as_str(), "on" | "remote_apply") {
        unfit.push("synchronous_commit cannot be switched on");
    }
    if setting(6)? != "read committed" {
        unfit.push("the transaction isolation cannot be set");
    }
    if unfit.is_empty() { Ok(()) } else { Err(OpenError::Unfit(unfit.join(", "))) }
}

/// Waits for an answer; after the time limit the connection counts as lost.
pub(crate) async fn within<T, E>(
    ms_max: u64,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, Trouble>
where
    Trouble: From<E>,
{
    match tokio::time::timeout(Duration::from_millis(ms_max), answer).await {
        Ok(answer) => answer.map_err(Trouble::from),
        Err(_) => Err(Trouble::Lost(format!("no answer within {ms_max} ms"))),
    }
}

/// A number in the form of PostgreSQL. No number ever reaches the end of its range.
pub fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The number of a stored form.
///
/// # Errors
/// [`Trouble::Broken`] if the stored form is invalid.
pub fn unsigned(stored: i64) -> Result<u64, Trouble> {
    u64::try_from(stored).map_err(|_| Trouble::Broken(format!("a number of {stored}")))
}
