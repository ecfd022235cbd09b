//! A store as the source of a copy: each part is one statement, whose rows arrive as fast as they are taken.
//! Must not know: the destination.

use std::pin::Pin;

use futures_util::StreamExt;
use plenary_kernel::Position;
use plenary_log::{
    KeyClaim, KeyRecord, Row, StoredEvent, StreamName, Usage,
    copy::{COPY_PAGE_BYTES, COPY_PAGE_RECORDS_MAX, CopySource, IndexEntry, Part, Records, Step, Summed},
};
use tokio_postgres::{Client, Row as Record, RowStream, types::ToSql};

use super::{STEP_MS_MAX, broken, servers};
use crate::{
    Options, migrate,
    reads::unchecked,
    target::{ANSWER_MS_MAX, OpenError, Purpose, Target, stored, unsigned, within},
    text::plain,
    trouble::Trouble,
    write::known::{bytes, key_as_stored, row_as_stored},
};

const EVENTS: &str = "SELECT e.position, e.version, e.kind, e.form, e.at, e.envelope, e.payload, e.sum, s.name FROM \
    (SELECT * FROM events WHERE position > $1 ORDER BY position) e \
    LEFT JOIN streams s ON s.id = e.stream ORDER BY e.position";
const EVENT: &str = "SELECT e.position, e.version, e.kind, e.form, e.at, e.envelope, e.payload, e.sum, s.name \
    FROM events e LEFT JOIN streams s ON s.id = e.stream WHERE e.position = $1";
/// Keys have no order of their own. A key that an earlier snapshot did not show was written by a transaction that had not
/// ended then, so by one that is no older than the oldest of these.
const NEW_KEYS: &str =
    "SELECT scope, key, digest, outcome, sum FROM keys WHERE age(xmin) <= age($1::text::xid8::xid)";
const KEYS: &str = "SELECT scope, key, digest, outcome, sum FROM keys";
const INDEX: &str = "SELECT name, key, value, sum FROM idx ORDER BY name, key";
const ROWS: &str = "SELECT name, revision, value, sum FROM rows ORDER BY name";
const USAGE: &str = "SELECT account, GREATEST(0, bytes), GREATEST(0, events) FROM usage ORDER BY account";
/// The oldest transaction that has not ended.
const OLDEST: &str = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text";

/// A store that is copied.
pub struct Source {
    target: Target,
    client: Client,
    epoch: String,
    /// The rows of the current part.
    rows: Option<(Part, Pin<Box<RowStream>>)>,
    /// The keys of transactions before this one were given.
    keys_before: Option<String>,
    /// The connection that locks out servers.
    lock: Option<Client>,
}

impl Source {
    /// Opens the store at `url`. Servers may use it.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(url: &str, options: &Options) -> Result<Self, OpenError> {
        let target = Target::new(url, options)?;
        let client = target.connect(Purpose::Copying).await?;
        let meta = within(ANSWER_MS_MAX, client.query_one("SELECT version, epoch FROM meta", &[])).await;
        let meta = meta.map_err(|trouble| absent(trouble, &target))?;
        let (found, known): (i32, i32) =
            (meta.try_get(0).map_err(Trouble::from)?, migrate::newest_schema_version());
        if migrate::known(found)? < known {
            return Err(OpenError::Older { found, known });
        }
        let epoch = meta.try_get(1).map_err(Trouble::from)?;
        Ok(Self { target, client, epoch, rows: None, keys_before: None, lock: None })
    }

    async fn begin(&mut self, part: Part) -> Result<(), Trouble> {
        self.rows = None;
        let rows = match part {
            Part::Events { after } => self.rows(EVENTS, &[&stored(after.0)]).await?,
            Part::Keys => {
                let oldest = within(ANSWER_MS_MAX, self.client.query_one(OLDEST, &[])).await?;
                let before = self.keys_before.replace(oldest.try_get(0)?);
                match before {
                    Some(before) => self.rows(NEW_KEYS, &[&before]).await?,
                    None => self.rows(KEYS, &[]).await?,
                }
            }
            Part::Index => self.rows(INDEX, &[]).await?,
            Part::Rows => self.rows(ROWS, &[]).await?,
            Part::Usage => self.rows(USAGE, &[]).await?,
        };
        self.rows = Some((part, Box::pin(rows)));
        Ok(())
    }

    async fn rows(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<RowStream, Trouble> {
        within(STEP_MS_MAX, self.client.query_raw(sql, params.iter().copied())).await
    }

    async fn next(&mut self) -> Result<Option<Records>, Trouble> {
        let Some((part, rows)) = &mut self.rows else { return Ok(None) };
        let (mut page, mut filled, mut is_end) = (Page::of(*part), 0, false);
        while !is_end && filled < COPY_PAGE_BYTES && page.0.count() < COPY_PAGE_RECORDS_MAX as u64 {
            match within(STEP_MS_MAX, async { Ok::<_, Trouble>(rows.next().await) }).await? {
                Some(row) => filled += page.add(&row?)?,
                None => is_end = true,
            }
        }
        if is_end {
            // After its end the statement has no answer.
            self.rows = None;
        }
        Ok(if page.0.count() > 0 { Some(page.0) } else { None })
    }

    async fn one(&self, at: Position) -> Result<Option<(StoredEvent, Option<i32>)>, Trouble> {
        let found = within(ANSWER_MS_MAX, self.client.query_opt(EVENT, &[&stored(at.0)])).await?;
        found.map(|record| Ok((event(&record)?, record.try_get(7)?))).transpose()
    }

    async fn begin_snapshot(&self) -> Result<Position, Trouble> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        within(ANSWER_MS_MAX, self.client.batch_execute(begin)).await?;
        let head = within(ANSWER_MS_MAX, self.client.query_one("SELECT last FROM head", &[])).await?;
        Ok(Position(unsigned(head.try_get(0)?)?))
    }

    async fn hold(&self) -> Result<(), Trouble> {
        let lock = self.lock.as_ref().ok_or_else(|| broken("servers were not locked out"))?;
        within(ANSWER_MS_MAX, lock.batch_execute("SELECT 1")).await
    }
}

/// Says where nothing is.
fn absent(trouble: Trouble, target: &Target) -> OpenError {
    match &trouble {
        Trouble::Broken(text) if text.ends_with("(42P01)") => {
            OpenError::Schema(format!("there is no store in the schema {}", target.schema()))
        }
        Trouble::Broken(_) | Trouble::Lost(_) | Trouble::Busy(_) | Trouble::Full(_) | Trouble::Refused(_) => {
            trouble.into()
        }
    }
}

/// A page that is being filled.
struct Page(Records);

impl Page {
    fn of(part: Part) -> Self {
        Self(match part {
            Part::Events { .. } => Records::Events(Vec::new()),
            Part::Keys => Records::Keys(Vec::new()),
            Part::Index => Records::Index(Vec::new()),
            Part::Rows => Records::Rows(Vec::new()),
            Part::Usage => Records::Usage(Vec::new()),
        })
    }

    /// Adds a record; returns about how many bytes it has.
    fn add(&mut self, record: &Record) -> Result<usize, Trouble> {
        Ok(match &mut self.0 {
            Records::Events(events) => {
                let event = event(record)?;
                let size = event.envelope.len() + event.payload.len() + event.stream.as_str().len();
                events.push(Summed::new(event, record.try_get(7)?));
                size
            }
            Records::Keys(keys) => {
                let claim = claim(record)?;
                let size = claim.scope.len() + claim.key.len() + claim.digest.len() + claim.outcome.len();
                keys.push(Summed::new(claim, record.try_get(4)?));
                size
            }
            Records::Index(rows) => {
                let (name, key) = (text(record, 0)?, text(record, 1)?);
                let entry = IndexEntry { name, key, value: bytes(record, 2)? };
                let size = entry.name.len() + entry.key.len() + entry.value.len();
                rows.push(Summed::new(entry, record.try_get(3)?));
                size
            }
            Records::Rows(rows) => {
                let (name, row): (String, Row) = (text(record, 0)?, row_as_stored(record, 1)?);
                let size = name.len() + row.value.len();
                rows.push(Summed::new((name, row), record.try_get(3)?));
                size
            }
            Records::Usage(usage) => {
                let (account, used) = (text(record, 0)?, used(record)?);
                let size = account.len() + size_of::<Usage>();
                usage.push((account, used));
                size
            }
        })
    }
}

fn text(record: &Record, column: usize) -> Result<String, Trouble> {
    Ok(plain(record.try_get(column)?).into_owned())
}

fn event(record: &Record) -> Result<StoredEvent, Trouble> {
    let Some(name) = record.try_get::<_, Option<&str>>(8)? else {
        let position: i64 = record.try_get(0)?;
        return Err(broken(format!("the stream of position {position} has no name")));
    };
    unchecked(record, StreamName::stored(&plain(name)))
}

fn claim(record: &Record) -> Result<KeyClaim, Trouble> {
    let (scope, key) = (text(record, 0)?, text(record, 1)?);
    let Some(KeyRecord { digest, outcome }) = key_as_stored(record, 2)? else {
        return Err(broken(format!("the key {key} of {scope} is damaged")));
    };
    Ok(KeyClaim { scope, key, digest, outcome })
}

fn used(record: &Record) -> Result<Usage, Trouble> {
    Ok(Usage { bytes: unsigned(record.try_get(1)?)?, events: unsigned(record.try_get(2)?)? })
}

impl CopySource for Source {
    fn epoch(&self) -> &str {
        &self.epoch
    }
    fn event(&mut self, at: Position) -> Step<'_, Option<(StoredEvent, Option<i32>)>> {
        Box::pin(async move { Ok(self.one(at).await.map_err(OpenError::from)?) })
    }
    fn read(&mut self, part: Part) -> Step<'_, ()> {
        Box::pin(async move { Ok(self.begin(part).await.map_err(OpenError::from)?) })
    }
    fn page(&mut self) -> Step<'_, Option<Records>> {
        Box::pin(async move { Ok(self.next().await.map_err(OpenError::from)?) })
    }
    fn lock_out(&mut self) -> Step<'_, bool> {
        Box::pin(async move {
            // Without another connection, as this is asked often.
            if servers::are_there(&self.client, &self.target).await.map_err(OpenError::from)? {
                return Ok(false);
            }
            self.lock = servers::lock_out(&self.target).await?;
            Ok(self.lock.is_some())
        })
    }
    fn freeze(&mut self) -> Step<'_, Position> {
        Box::pin(async move { Ok(self.begin_snapshot().await.map_err(OpenError::from)?) })
    }
    fn still_locked_out(&mut self) -> Step<'_, ()> {
        Box::pin(async move { Ok(self.hold().await.map_err(OpenError::from)?) })
    }
}
