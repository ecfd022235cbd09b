//! A schema that becomes a copy. Until it is whole its version is one that no release knows, so that no server starts on
//! it, of whatever release.
//! Must not know: the source.

use plenary_kernel::Position;
use plenary_log::{
    StoredEvent, StreamName,
    copy::{CopyDestination, Records, Step},
};
use tokio_postgres::{Client, Row as Record};

use super::{
    STEP_MS_MAX, broken, servers,
    written::{self, Streams},
};
use crate::{
    Options,
    migrate::{self, UNFINISHED},
    reads::unchecked,
    target::{ANSWER_MS_MAX, OpenError, Purpose, Target, stored, within},
    text::plain,
    trouble::Trouble,
};

/// Anything that a server or an index wrote.
const CONTENT: &str = "SELECT (SELECT last > 0 OR streams > 0 FROM head) OR EXISTS (SELECT FROM keys) \
    OR EXISTS (SELECT FROM idx) OR EXISTS (SELECT FROM rows) OR EXISTS (SELECT FROM usage) \
    OR (SELECT cursor > 0 FROM search_state) OR (SELECT cursor > 0 FROM everything_state) \
    OR EXISTS (SELECT FROM vectors)";
const LAST: &str = "SELECT e.position, e.version, e.kind, e.form, e.at, e.envelope, e.payload, e.sum, s.name \
    FROM events e JOIN streams s ON s.id = e.stream ORDER BY e.position DESC LIMIT 1";

/// The place of a copy. Dropping it leaves an unfinished copy, which can go on.
pub struct Destination {
    target: Target,
    client: Client,
    streams: Streams,
}

impl Destination {
    /// Takes a schema, which is created if absent and has no store yet.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn new(url: &str, options: &Options) -> Result<Self, OpenError> {
        let target = Target::new(url, options)?;
        let client = target.connect(Purpose::Copying).await?;
        let alone = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
        let name = format!("plenary copy {}", target.schema());
        let alone = within(ANSWER_MS_MAX, client.query_one(alone, &[&name])).await?;
        if !alone.try_get::<_, bool>(0).map_err(Trouble::from)? {
            return Err(OpenError::Occupied("another copy is being made there".into()));
        }
        Ok(Self { target, client, streams: Streams::default() })
    }

    /// The version of the tables; `None` without tables.
    async fn version(&self) -> Result<Option<i32>, Trouble> {
        let there = "SELECT to_regclass(quote_ident($1) || '.meta') IS NOT NULL";
        let there = within(ANSWER_MS_MAX, self.client.query_one(there, &[&self.target.schema()])).await?;
        if !there.try_get::<_, bool>(0)? {
            return Ok(None);
        }
        let meta = within(ANSWER_MS_MAX, self.client.query_one("SELECT version FROM meta", &[])).await?;
        Ok(Some(meta.try_get(0)?))
    }

    async fn start(&mut self, epoch: &str) -> Result<Option<StoredEvent>, OpenError> {
        match self.version().await? {
            Some(version) if version > UNFINISHED => self.go_on(version, epoch).await?,
            Some(_) | None => self.mark(epoch).await?,
        }
        let head = within(ANSWER_MS_MAX, self.client.query_one("SELECT streams FROM head", &[])).await?;
        self.streams = Streams::new(head.try_get(0).map_err(Trouble::from)?);
        let last = within(ANSWER_MS_MAX, self.client.query_opt(LAST, &[])).await?;
        Ok(last.as_ref().map(event).transpose()?)
    }

    /// Refuses an unfinished copy of another store, or by another release.
    async fn go_on(&self, version: i32, epoch: &str) -> Result<(), OpenError> {
        let source = within(ANSWER_MS_MAX, self.client.query_one("SELECT source FROM copying", &[])).await?;
        let source: String = source.try_get(0).map_err(Trouble::from)?;
        if source == epoch && version == UNFINISHED + migrate::newest_schema_version() {
            return Ok(());
        }
        let schema = self.target.schema();
        let why = format!(
            "an unfinished copy of another store, or by another release; `DROP SCHEMA {schema} CASCADE` removes it"
        );
        Err(OpenError::Occupied(why))
    }

    /// Makes the tables, and marks them. Their epoch is a new one, as for every new store: it names one place. Processes
    /// on one database tell their stores' channels apart by it, and a connection that finds another epoch knows that the
    /// store was replaced. Nothing that a client has contains it: cursors, versions and `ETag`s are positions, versions
    /// and contents.
    async fn mark(&self, epoch: &str) -> Result<(), OpenError> {
        // Looks first, so that a store of an older release is not migrated.
        if let Some(version) = self.version().await? {
            migrate::known(version)?;
            if version == migrate::newest_schema_version() {
                self.vacant().await?;
            } else if version > 0 {
                return Err(OpenError::Occupied("a store of an older release".into()));
            }
        }
        migrate::migrate(&self.client, &self.target).await?;
        within(ANSWER_MS_MAX, self.client.batch_execute("BEGIN; SELECT 1 FROM head FOR UPDATE")).await?;
        self.vacant().await?;
        if servers::are_there(&self.client, &self.target).await? {
            return Err(OpenError::Occupied("a server uses it; stop it first".into()));
        }
        let mark =
            "CREATE TABLE copying (one boolean PRIMARY KEY DEFAULT true CHECK (one), source text NOT NULL)";
        within(ANSWER_MS_MAX, self.client.batch_execute(mark)).await?;
        within(ANSWER_MS_MAX, self.client.execute("INSERT INTO copying (source) VALUES ($1)", &[&epoch]))
            .await?;
        let version = UNFINISHED + migrate::newest_schema_version();
        within(ANSWER_MS_MAX, self.client.execute("UPDATE meta SET version = $1", &[&version])).await?;
        Ok(within(ANSWER_MS_MAX, self.client.batch_execute("COMMIT")).await?)
    }

    async fn vacant(&self) -> Result<(), OpenError> {
        let content = within(ANSWER_MS_MAX, self.client.query_one(CONTENT, &[])).await?;
        if content.try_get::<_, bool>(0).map_err(Trouble::from)? {
            return Err(OpenError::Occupied("a store".into()));
        }
        Ok(())
    }

    async fn put(&mut self, records: Records) -> Result<(), Trouble> {
        let client = &self.client;
        within(ANSWER_MS_MAX, client.batch_execute("BEGIN")).await?;
        match records {
            Records::Events(events) => written::events(client, &mut self.streams, &events).await?,
            Records::Keys(keys) => written::keys(client, &keys).await?,
            Records::Index(rows) => written::index(client, &rows).await?,
            Records::Rows(rows) => written::rows(client, &rows).await?,
            Records::Usage(usage) => written::usage(client, &usage).await?,
        }
        within(ANSWER_MS_MAX, client.batch_execute("COMMIT")).await
    }

    async fn end(&self, head: Position) -> Result<(), Trouble> {
        let client = &self.client;
        // The pages were not waited for; this commit is, and with it everything before it.
        within(ANSWER_MS_MAX, client.batch_execute("SET synchronous_commit = on; BEGIN")).await?;
        let last = within(ANSWER_MS_MAX, client.query_one("SELECT last FROM head FOR UPDATE", &[])).await?;
        if last.try_get::<_, i64>(0)? != stored(head.0) {
            return Err(broken("the copy does not end where the source does"));
        }
        if servers::are_there(client, &self.target).await? {
            return Err(broken("a server uses the unfinished copy"));
        }
        let done = "UPDATE meta SET version = $1";
        let version = migrate::newest_schema_version();
        within(ANSWER_MS_MAX, client.execute(done, &[&version])).await?;
        within(STEP_MS_MAX, client.batch_execute("DROP TABLE copying; COMMIT")).await
    }
}

fn event(record: &Record) -> Result<StoredEvent, Trouble> {
    unchecked(record, StreamName::stored(&plain(record.try_get(8)?)))
}

impl CopyDestination for Destination {
    fn begin(&mut self, epoch: &str) -> Step<'_, Option<StoredEvent>> {
        let epoch = epoch.to_owned();
        Box::pin(async move { Ok(self.start(&epoch).await?) })
    }
    fn write(&mut self, records: Records) -> Step<'_, ()> {
        Box::pin(async move { Ok(self.put(records).await.map_err(OpenError::from)?) })
    }
    fn clear(&mut self) -> Step<'_, ()> {
        Box::pin(async move {
            let empty = self.client.batch_execute("TRUNCATE idx, rows, usage");
            Ok(within(STEP_MS_MAX, empty).await.map_err(OpenError::from)?)
        })
    }
    fn finish(&mut self, head: Position) -> Step<'_, ()> {
        Box::pin(async move { Ok(self.end(head).await.map_err(OpenError::from)?) })
    }
}
