//! A scan of the whole store, in pages, while other processes may write to it; and checksums for older records.
//! Must not know: the errors of a log; `plenary_log::Walk` finds them.

use plenary_kernel::{Position, limits::READ_ROWS_MAX};
use plenary_log::{Audit, AuditVisitor, Change, Digest, StreamName, Usage, Walk};
use tokio_postgres::{Client, Row as Record, types::ToSql};

use crate::{
    Options, migrate,
    reads::unchecked,
    target::{ANSWER_MS_MAX, OpenError, Purpose, Target, stored, unsigned, within},
    text::{plain, stored as stored_text},
    trouble::Trouble,
    write::known::{key_as_stored, row_as_stored},
};

const EVENTS: &str = "SELECT e.position, e.version, e.kind, e.form, e.at, e.envelope, e.payload, e.sum, e.stream, s.name \
    FROM (SELECT * FROM events WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3) e \
    LEFT JOIN streams s ON s.id = e.stream ORDER BY e.position";
const INDEXES: &str =
    "SELECT name, key, value, sum FROM idx WHERE (name, key) > ($1, $2) ORDER BY name, key LIMIT $3";
const ROWS: &str = "SELECT name, revision, value, sum FROM rows WHERE name > $1 ORDER BY name LIMIT $2";
const KEYS: &str = "SELECT scope, key, digest, outcome, sum FROM keys WHERE (scope, key) > ($1, $2) \
    ORDER BY scope, key LIMIT $3";
const USAGE: &str = "SELECT account, GREATEST(0, bytes), GREATEST(0, events) FROM usage";
const RECOUNT: &str = "INSERT INTO usage AS u (account, bytes, events) VALUES ($1, $2, $3) ON CONFLICT (account) \
    DO UPDATE SET bytes = GREATEST(0, u.bytes + excluded.bytes), events = GREATEST(0, u.events + excluded.events)";
const EVENT: &str = "UPDATE events SET sum = $2 WHERE position = $1 AND sum IS NULL";
const INDEX: &str = "UPDATE idx SET sum = $4 WHERE name = $1 AND key = $2 AND value = $3 AND sum IS NULL";
const ROW: &str = "UPDATE rows SET sum = $3 WHERE name = $1 AND revision = $2 AND sum IS NULL";
const KEY: &str = "UPDATE keys SET sum = $3 WHERE scope = $1 AND key = $2 AND sum IS NULL";

/// Audits the store at `url`. With `add`, records without a checksum get one and are assumed to be
/// valid; the number is that of these records.
pub async fn audit(url: &str, options: &Options, add: bool) -> Result<(Audit, u64), OpenError> {
    audit_with(url, options, add, &mut ()).await
}

/// Audits the store, and shows every record to a visitor.
pub async fn audit_with(
    url: &str,
    options: &Options,
    add: bool,
    looks: &mut (dyn AuditVisitor + Send),
) -> Result<(Audit, u64), OpenError> {
    let target = Target::new(url, options)?;
    let client = target.connect(Purpose::Looking).await?;
    // The use of accounts belongs to the head at that time.
    within(ANSWER_MS_MAX, client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")).await?;
    let meta = within(ANSWER_MS_MAX, client.query_one("SELECT version, last FROM meta, head", &[])).await?;
    let (found, head): (i32, i64) =
        (meta.try_get(0).map_err(Trouble::from)?, meta.try_get(1).map_err(Trouble::from)?);
    if migrate::known(found)? < migrate::newest_schema_version() {
        return Err(OpenError::Older { found, known: migrate::newest_schema_version() });
    }
    for record in within(ANSWER_MS_MAX, client.query(USAGE, &[])).await? {
        let (account, usage) = used(&record)?;
        looks.usage(&account, usage);
    }
    within(ANSWER_MS_MAX, client.batch_execute("COMMIT")).await?;
    let mut looking = AuditRun { client, audit: Audit::default(), add, added: 0 };
    let walked = looking.log(Position(unsigned(head)?), looks).await;
    looking.survived(walked)?;
    let walked = looking.indexes().await;
    looking.survived(walked)?;
    let walked = looking.rows(looks).await;
    looking.survived(walked)?;
    let walked = looking.keys(looks).await;
    looking.survived(walked)?;
    Ok((looking.audit, looking.added))
}

/// Changes the counted use of accounts; servers may change it at the same time.
///
/// # Errors
/// When the store can't be reached.
pub async fn recount(url: &str, options: &Options, changes: &[(String, Change)]) -> Result<(), OpenError> {
    let client = Target::new(url, options)?.connect(Purpose::Looking).await?;
    within(ANSWER_MS_MAX, client.batch_execute("BEGIN")).await?;
    for (account, change) in changes {
        let account = stored_text(account);
        within(ANSWER_MS_MAX, client.execute(RECOUNT, &[&account, &change.bytes, &change.events])).await?;
    }
    within(ANSWER_MS_MAX, client.batch_execute("COMMIT")).await?;
    Ok(())
}

fn used(record: &Record) -> Result<(String, Usage), Trouble> {
    let account: &str = record.try_get(0)?;
    let usage = Usage { bytes: unsigned(record.try_get(1)?)?, events: unsigned(record.try_get(2)?)? };
    Ok((plain(account).into_owned(), usage))
}

struct AuditRun {
    client: Client,
    audit: Audit,
    add: bool,
    added: u64,
}

const PAGE: usize = READ_ROWS_MAX;

impl AuditRun {
    async fn query(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Record>, Trouble> {
        within(ANSWER_MS_MAX, self.client.query(sql, params)).await
    }

    /// Data that the server can't read ends one walk. The findings of the others are still useful.
    fn survived(&mut self, walked: Result<(), Trouble>) -> Result<(), Trouble> {
        if let Err(Trouble::Broken(text)) = walked {
            self.audit.find("database", None, text);
            return Ok(());
        }
        walked
    }

    /// Adds a missing checksum, if requested.
    async fn complete(
        &mut self,
        sum: Option<i32>,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<(), Trouble> {
        if self.add && sum.is_none() {
            self.added += within(ANSWER_MS_MAX, self.client.execute(sql, params)).await?;
        }
        Ok(())
    }

    async fn log(&mut self, head: Position, looks: &mut (dyn AuditVisitor + Send)) -> Result<(), Trouble> {
        let mut walk = Walk::default();
        loop {
            let page = [stored(walk.last.0), stored(head.0)];
            let records = self.query(EVENTS, &[&page[0], &page[1], &limit()]).await?;
            for record in &records {
                let (position, sum): (i64, Option<i32>) = (record.try_get(0)?, record.try_get(7)?);
                match named(record) {
                    Ok(stream) => {
                        let event = unchecked(record, stream)?;
                        walk.event(&event, sum, &mut self.audit);
                        looks.event(&event);
                        let digest = Digest::event(&event).stored();
                        self.complete(sum, EVENT, &[&position, &digest]).await?;
                    }
                    Err(text) => {
                        let at = Position(unsigned(position)?);
                        self.audit.find("damaged", Some(at), format!("position {at}: {text}"));
                        walk.last = at;
                    }
                }
            }
            if records.len() < PAGE {
                walk.end(head, &mut self.audit);
                return Ok(());
            }
        }
    }

    async fn indexes(&mut self) -> Result<(), Trouble> {
        let mut after = (String::new(), String::new());
        loop {
            let records = self.query(INDEXES, &[&after.0, &after.1, &limit()]).await?;
            for record in &records {
                let (name, key): (&str, &str) = (record.try_get(0)?, record.try_get(1)?);
                let (value, sum): (&[u8], Option<i32>) = (record.try_get(2)?, record.try_get(3)?);
                let digest = Digest::index(name, &plain(key), value);
                self.audit.index_rows += 1;
                self.audit.check(digest, sum, None, || format!("the key {key} of the index {name}"));
                self.complete(sum, INDEX, &[&name, &key, &value, &digest.stored()]).await?;
            }
            match records.last() {
                Some(last) if records.len() == PAGE => after = (last.try_get(0)?, last.try_get(1)?),
                _ => return Ok(()),
            }
        }
    }

    async fn rows(&mut self, looks: &mut (dyn AuditVisitor + Send)) -> Result<(), Trouble> {
        let mut after = String::new();
        loop {
            let records = self.query(ROWS, &[&after, &limit()]).await?;
            for record in &records {
                let (name, sum): (&str, Option<i32>) = (record.try_get(0)?, record.try_get(3)?);
                let row = row_as_stored(record, 1)?;
                let digest = Digest::row(&plain(name), &row);
                self.audit.rows += 1;
                looks.row(&plain(name));
                looks.unowned_usage(Usage { bytes: (name.len() + row.value.len()) as u64, events: 1 });
                self.audit.check(digest, sum, None, || format!("the row {name}"));
                let revision = stored(row.revision);
                self.complete(sum, ROW, &[&name, &revision, &digest.stored()]).await?;
            }
            match records.last() {
                Some(last) if records.len() == PAGE => after = last.try_get(0)?,
                _ => return Ok(()),
            }
        }
    }

    async fn keys(&mut self, looks: &mut (dyn AuditVisitor + Send)) -> Result<(), Trouble> {
        let mut after = (String::new(), String::new());
        loop {
            let records = self.query(KEYS, &[&after.0, &after.1, &limit()]).await?;
            for record in &records {
                let (scope, key): (&str, &str) = (record.try_get(0)?, record.try_get(1)?);
                let sum: Option<i32> = record.try_get(4)?;
                self.audit.keys += 1;
                let Some(stored_key) = key_as_stored(record, 2)? else {
                    self.audit.find("damaged", None, format!("the key {key} of {scope} is damaged"));
                    continue;
                };
                let digest = Digest::key(&plain(scope), &plain(key), &stored_key);
                let bytes = scope.len() + key.len() + stored_key.digest.len() + stored_key.outcome.len();
                looks.unowned_usage(Usage { bytes: bytes as u64, events: 0 });
                self.audit.check(digest, sum, None, || format!("the key {key} of {scope}"));
                self.complete(sum, KEY, &[&scope, &key, &digest.stored()]).await?;
            }
            match records.last() {
                Some(last) if records.len() == PAGE => after = (last.try_get(0)?, last.try_get(1)?),
                _ => return Ok(()),
            }
        }
    }
}

fn limit() -> i64 {
    i64::try_from(PAGE).unwrap_or(i64::MAX)
}

/// The name of an event's stream.
fn named(record: &Record) -> Result<StreamName, String> {
    match record.try_get::<_, Option<&str>>(9) {
        Ok(Some(name)) => Ok(StreamName::stored(&plain(name))),
        Ok(None) => Err("its stream has no name".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
