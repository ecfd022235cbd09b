//! The reads, as SQL. Every read is one statement, so it sees one snapshot.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
};

use parking_lot::Mutex;
use plenary_kernel::{Position, TimestampMs, Version};
use plenary_log::{
    Digest, Fault, FoundRow, KeyRecord, Order, Read, Reads, Row, StoredEvent, StreamName, StreamNews, Usage,
};
use tokio_postgres::{Row as Record, types::ToSql};

use crate::{
    last::{self, KnownEnd},
    pool::Pool,
    target::{stored, unsigned},
    text::{self, Range},
    trouble::Trouble,
    write::known::{bytes, checked, key_record, nth, row},
};

macro_rules! statements {
    ($($name:ident = $sql:expr;)*) => {
        /// A read.
        #[derive(Debug, Clone, Copy)]
        pub(crate) enum Sql { $($name,)* }
        /// The prepared statements of a reading session.
        pub(crate) const STATEMENTS: &[&str] = &[$($sql,)*];
    };
}

statements! {
    Stream = "SELECT position, version, kind, form, at, envelope, payload, sum FROM events \
        WHERE stream = (SELECT id FROM streams WHERE name = $1) AND version > $2 ORDER BY version LIMIT $3";
    Log = "SELECT position, version, kind, form, at, envelope, payload, sum, stream FROM events \
        WHERE position > $1 ORDER BY position LIMIT $2";
    Gaps = "SELECT e.position, e.version, e.kind, e.form, e.at, e.envelope, e.payload, e.sum, e.stream \
        FROM unnest($1::bigint[], $2::bigint[]) AS gap (after, until) \
        JOIN events e ON e.position > gap.after AND e.position <= gap.until";
    Names = "SELECT id, name FROM streams WHERE id = ANY ($1)";
    IndexUp = "SELECT key, value, sum FROM idx WHERE name = $1 AND key >= $2 AND key < $3 ORDER BY key LIMIT $4";
    IndexUpAll = "SELECT key, value, sum FROM idx WHERE name = $1 AND key >= $2 ORDER BY key LIMIT $3";
    IndexDown = "SELECT key, value, sum FROM idx WHERE name = $1 AND key >= $2 AND key < $3 ORDER BY key DESC LIMIT $4";
    IndexDownAll = "SELECT key, value, sum FROM idx WHERE name = $1 AND key >= $2 ORDER BY key DESC LIMIT $3";
    OneRow = "SELECT name, revision, value, sum FROM rows WHERE name = $1";
    Rows = "SELECT name, revision, value, sum FROM rows WHERE name >= $1 AND name < $2 ORDER BY name LIMIT $3";
    RowsAll = "SELECT name, revision, value, sum FROM rows WHERE name >= $1 ORDER BY name LIMIT $2";
    Key = "SELECT digest, outcome, sum FROM keys WHERE scope = $1 AND key = $2";
    Usage = "SELECT GREATEST(0, bytes), GREATEST(0, events) FROM usage WHERE account = $1";
    Between = "SELECT s.name, min(e.version), min(e.position) FROM events e JOIN streams s ON s.id = e.stream \
        WHERE e.position > $1 AND e.position <= $2 AND starts_with(s.name, $3) GROUP BY s.name";
    // A search from the last event backwards in doubling steps until a version is not after the
    // position, then by bisection: `low` is not after it, `high` is.
    After = "WITH RECURSIVE search (nth, stream, low, high, step) AS ( \
        SELECT named.nth, s.id, 0::bigint, newest.version, 1::bigint \
        FROM unnest($1::text[]) WITH ORDINALITY AS named (name, nth) JOIN streams s ON s.name = named.name \
        CROSS JOIN LATERAL (SELECT e.version, e.position FROM events e WHERE e.stream = s.id \
            ORDER BY e.version DESC LIMIT 1) newest WHERE newest.position > $2 \
        UNION ALL \
        SELECT nth, stream, CASE WHEN past THEN low ELSE middle END, CASE WHEN past THEN middle ELSE high END, \
            CASE WHEN past AND low = 0 THEN step * 2 ELSE high END \
        FROM (SELECT w.*, e.position > $2 AS past FROM ( \
            SELECT *, high - least(step, greatest((high - low) / 2, 1)) AS middle FROM search WHERE high - low > 1) w \
            JOIN events e ON e.stream = w.stream AND e.version = w.middle) probed \
        ) SELECT nth, high, (SELECT e.position FROM events e WHERE e.stream = search.stream AND e.version = high) \
        FROM search WHERE high - low = 1";
    Head = "SELECT last FROM head";
    End = last::END;
}

/// Most names of streams that are remembered; beyond it all are dropped.
const NAMES_MAX: usize = 65_536;

/// Positions after one and up to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) after: Position,
    pub(crate) until: Position,
}

/// The reads, and the names of streams that they found.
pub(crate) struct Postgres(Pool, Mutex<HashMap<i64, StreamName>>);

impl Postgres {
    pub(crate) fn new(pool: Pool) -> Self {
        Self(pool, Mutex::default())
    }

    /// The events in the gaps, in order.
    pub(crate) async fn read_gaps(&self, gaps: &[Gap]) -> Result<Vec<StoredEvent>, Fault> {
        let after: Vec<_> = gaps.iter().map(|gap| stored(gap.after.0)).collect();
        let until: Vec<_> = gaps.iter().map(|gap| stored(gap.until.0)).collect();
        let mut events = self.events(&self.0.query(Sql::Gaps, &[&after, &until]).await?).await?;
        events.sort_by_key(|event| event.position);
        Ok(events)
    }

    /// The end of the log that has the known event.
    pub(crate) async fn end(&self, known: &KnownEnd) -> Result<Position, Fault> {
        let ends =
            decoded(&self.0.query(Sql::End, &[&known.position()]).await?, |record| known.checked(record))?;
        one(&ends)
    }

    /// Events with the id of their stream in the ninth column.
    async fn events(&self, records: &[Record]) -> Result<Vec<StoredEvent>, Fault> {
        let ids = decoded(records, |record| Ok(record.try_get::<_, i64>(8)?))?;
        let names = self.names(&ids).await?;
        let mut ids = ids.iter();
        decoded(records, |record| {
            let id = ids.next().copied().unwrap_or_default();
            let name = names.get(&id).cloned();
            event(record, name.ok_or_else(|| Trouble::Broken(format!("stream {id} has events and no name")))?)
        })
    }

    /// The names of streams, as far as they have one.
    async fn names(&self, ids: &[i64]) -> Result<HashMap<i64, StreamName>, Fault> {
        let (mut names, mut unknown) = (HashMap::new(), BTreeSet::new());
        {
            let known = self.1.lock();
            for id in ids {
                match known.get(id) {
                    Some(name) => _ = names.entry(*id).or_insert_with(|| name.clone()),
                    None => _ = unknown.insert(*id),
                }
            }
        }
        if unknown.is_empty() {
            return Ok(names);
        }
        let found = self.0.query(Sql::Names, &[&Vec::from_iter(unknown)]).await?;
        let found = decoded(&found, |record| {
            Ok((record.try_get::<_, i64>(0)?, StreamName::stored(&text::plain(record.try_get(1)?))))
        })?;
        names.extend(found.iter().cloned());
        let mut known = self.1.lock();
        if known.len() > NAMES_MAX {
            known.clear();
        }
        known.extend(found);
        Ok(names)
    }

    /// Rows of `(text, …)` in a range, by the statement with an end or the one without.
    async fn range(
        &self,
        (ended, endless): (Sql, Sql),
        name: Option<&str>,
        range: Range,
        max: usize,
    ) -> Result<Vec<Record>, Fault> {
        let (sql, max) = (if range.until.is_some() { ended } else { endless }, most(max));
        let mut params: Vec<&(dyn ToSql + Sync)> = Vec::with_capacity(4);
        if let Some(name) = &name {
            params.push(name);
        }
        params.push(&range.from);
        if let Some(until) = &range.until {
            params.push(until);
        }
        params.push(&max);
        self.0.query(sql, &params).await
    }
}

impl Reads for Postgres {
    fn read_stream<'a>(
        &'a self,
        stream: &'a StreamName,
        after: Version,
        max: usize,
    ) -> Read<'a, Vec<StoredEvent>> {
        Box::pin(async move {
            let name = text::stored(stream.as_str());
            let records = self.0.query(Sql::Stream, &[&name, &stored(after.0), &most(max)]).await?;
            decoded(&records, |record| event(record, stream.clone()))
        })
    }
    fn read_log(&self, after: Position, max: usize) -> Read<'_, Vec<StoredEvent>> {
        Box::pin(async move {
            let records = self.0.query(Sql::Log, &[&stored(after.0), &most(max)]).await?;
            self.events(&records).await
        })
    }
    fn read_index<'a>(
        &'a self,
        name: &'a str,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
        order: Order,
    ) -> Read<'a, Vec<FoundRow>> {
        let range = Range::of_prefix(prefix);
        let (sql, range) = match (order, after) {
            (Order::Ascending, Some(after)) => ((Sql::IndexUp, Sql::IndexUpAll), range.above(after)),
            (Order::Descending, Some(after)) => ((Sql::IndexDown, Sql::IndexDownAll), range.below(after)),
            (Order::Ascending, None) => ((Sql::IndexUp, Sql::IndexUpAll), range),
            (Order::Descending, None) => ((Sql::IndexDown, Sql::IndexDownAll), range),
        };
        Box::pin(async move {
            let records = self.range(sql, Some(name), range, max).await?;
            decoded(&records, |record| {
                let (key, value) = (text::plain(record.try_get(0)?).into_owned(), bytes(record, 1)?);
                let is_sound = Digest::index(name, &key, &value).agrees(record.try_get(2)?);
                Ok(FoundRow { key, value: is_sound.then_some(value) })
            })
        })
    }
    fn read_row<'a>(&'a self, name: &'a str) -> Read<'a, Option<Row>> {
        Box::pin(async move {
            let records = self.0.query(Sql::OneRow, &[&text::stored(name)]).await?;
            let rows = decoded(&records, |record| row(record, 1, name)?.map_err(Trouble::Broken))?;
            Ok(rows.into_iter().next())
        })
    }
    fn read_rows<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
    ) -> Read<'a, Vec<(String, Row)>> {
        let range = Range::of_prefix(prefix);
        let range = match after {
            Some(after) => range.above(after),
            None => range,
        };
        Box::pin(async move {
            let records = self.range((Sql::Rows, Sql::RowsAll), None, range, max).await?;
            decoded(&records, |record| {
                let name = text::plain(record.try_get(0)?).into_owned();
                let row = row(record, 1, &name)?.map_err(Trouble::Broken)?;
                Ok((name, row))
            })
        })
    }
    fn read_key<'a>(&'a self, scope: &'a str, key: &'a str) -> Read<'a, Option<KeyRecord>> {
        Box::pin(async move {
            let records = self.0.query(Sql::Key, &[&text::stored(scope), &text::stored(key)]).await?;
            let parse = |record: &Record| key_record(record, 0, (scope, key))?.map_err(Trouble::Broken);
            Ok(decoded(&records, parse)?.pop())
        })
    }
    fn read_usage<'a>(&'a self, account: &'a str) -> Read<'a, Usage> {
        Box::pin(async move {
            let records = self.0.query(Sql::Usage, &[&text::stored(account)]).await?;
            let usage = |record: &Record| {
                Ok(Usage { bytes: unsigned(record.try_get(0)?)?, events: unsigned(record.try_get(1)?)? })
            };
            Ok(decoded(&records, usage)?.pop().unwrap_or_default())
        })
    }
    fn streams_between<'a>(
        &'a self,
        category: &'a str,
        after: Position,
        until: Position,
    ) -> Read<'a, Vec<StreamNews>> {
        Box::pin(async move {
            let prefix = format!("{}/", text::stored(category));
            let records = self.0.query(Sql::Between, &[&stored(after.0), &stored(until.0), &prefix]).await?;
            decoded(&records, |record| {
                let stream = StreamName::stored(&text::plain(record.try_get(0)?));
                news(stream, record)
            })
        })
    }
    fn streams_after<'a>(&'a self, streams: &'a [StreamName], after: Position) -> Read<'a, Vec<StreamNews>> {
        Box::pin(async move {
            let names: Vec<_> = streams.iter().map(|name| text::stored(name.as_str())).collect();
            let records = self.0.query(Sql::After, &[&names, &stored(after.0)]).await?;
            decoded(&records, |record| {
                let stream = nth(streams, record)?.clone();
                news(stream, record)
            })
        })
    }
    fn head(&self) -> Read<'_, Position> {
        Box::pin(async move {
            let heads = decoded(&self.0.query(Sql::Head, &[]).await?, |record| unsigned(record.try_get(0)?))?;
            one(&heads).map(Position)
        })
    }
}

/// A stream with new events, from the second and third column.
fn news(stream: StreamName, record: &Record) -> Result<StreamNews, Trouble> {
    let (first, at) = (unsigned(record.try_get(1)?)?, unsigned(record.try_get(2)?)?);
    Ok(StreamNews { stream, first: Version(first), at: Position(at) })
}

/// The value of the one row of `head`.
fn one<T: Copy>(heads: &[T]) -> Result<T, Fault> {
    match heads {
        [head] => Ok(*head),
        heads => Err(Fault::Corrupt(format!("{} heads", heads.len()))),
    }
}

fn most(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}

fn decoded<T>(
    records: &[Record],
    decode: impl FnMut(&Record) -> Result<T, Trouble>,
) -> Result<Vec<T>, Fault> {
    records.iter().map(decode).collect::<Result<_, _>>().map_err(Trouble::fault)
}

/// An event, from its first eight columns.
fn event(record: &Record, stream: StreamName) -> Result<StoredEvent, Trouble> {
    let event = unchecked(record, stream)?;
    undamaged(Digest::event(&event), record.try_get(7)?, || {
        format!("position {} (version {} of {})", event.position, event.version, event.stream)
    })?;
    Ok(event)
}

/// An event, from its first seven columns, without a check of the checksum.
pub(crate) fn unchecked(record: &Record, stream: StreamName) -> Result<StoredEvent, Trouble> {
    let form: i32 = record.try_get(3)?;
    Ok(StoredEvent {
        position: Position(unsigned(record.try_get(0)?)?),
        stream,
        version: Version(unsigned(record.try_get(1)?)?),
        kind: Cow::Owned(record.try_get(2)?),
        form: u16::try_from(form).map_err(|_| Trouble::Broken(format!("a form of {form}")))?,
        at: TimestampMs(unsigned(record.try_get(4)?)?),
        envelope: bytes(record, 5)?,
        payload: bytes(record, 6)?,
    })
}

fn undamaged(digest: Digest, stored: Option<i32>, what: impl FnOnce() -> String) -> Result<(), Trouble> {
    checked((), digest, stored, what).map_err(Trouble::Broken)
}
