//! The statements of a copy's pages: each table gets one statement, each column one array.
//! Must not know: transactions.

use std::collections::HashMap;

use plenary_log::{
    KeyClaim, Row, StoredEvent, StreamName, Usage,
    copy::{IndexEntry, Summed},
};
use tokio_postgres::{Client, types::ToSql};

use super::{STEP_MS_MAX, broken};
use crate::{
    target::{self, within},
    text::{TEXT_BYTES_MAX, stored},
    trouble::Trouble,
};

/// Most streams that are remembered; beyond it all are looked up again.
const STREAMS_REMEMBERED_MAX: usize = 65_536;

const FOUND: &str = "SELECT name, id FROM streams WHERE name = ANY($1::text[])";
const STREAMS: &str = "INSERT INTO streams (id, name) SELECT unnest($1::bigint[]), unnest($2::text[])";
const EVENTS: &str = "INSERT INTO events (position, stream, version, kind, form, at, envelope, payload, sum) \
    SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::text[]), unnest($5::int[]), \
    unnest($6::bigint[]), unnest($7::bytea[]), unnest($8::bytea[]), unnest($9::int[])";
const HEAD: &str = "UPDATE head SET last = $1, streams = $2";
const KEYS: &str = "INSERT INTO keys (scope, key, digest, outcome, sum) SELECT unnest($1::text[]), unnest($2::text[]), \
    unnest($3::bytea[]), unnest($4::bytea[]), unnest($5::int[]) ON CONFLICT (scope, key) DO NOTHING";
/// Another answer under the same key.
const OTHER_KEYS: &str = "SELECT k.key FROM keys k JOIN unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[]) \
    AS given (scope, key, digest, outcome) ON k.scope = given.scope AND k.key = given.key \
    WHERE k.digest <> given.digest OR k.outcome <> given.outcome LIMIT 1";
const INDEX: &str = "INSERT INTO idx (name, key, value, sum) SELECT unnest($1::text[]), unnest($2::text[]), \
    unnest($3::bytea[]), unnest($4::int[])";
const ROWS: &str = "INSERT INTO rows (name, revision, value, sum) SELECT unnest($1::text[]), unnest($2::bigint[]), \
    unnest($3::bytea[]), unnest($4::int[])";
const USAGE: &str = "INSERT INTO usage (account, bytes, events) SELECT unnest($1::text[]), unnest($2::bigint[]), \
    unnest($3::bigint[])";

type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

async fn run(client: &Client, sql: &str, params: Params<'_>) -> Result<u64, Trouble> {
    within(STEP_MS_MAX, client.execute(sql, params)).await
}

/// The streams of the copy.
#[derive(Default)]
pub(super) struct Streams {
    known: HashMap<StreamName, i64>,
    /// The number of streams; the newest one's id.
    pub(super) count: i64,
}

impl Streams {
    pub(super) fn new(count: i64) -> Self {
        Self { known: HashMap::new(), count }
    }

    /// The id of each event's stream; new streams are added.
    async fn of(&mut self, client: &Client, events: &[Summed<StoredEvent>]) -> Result<Vec<i64>, Trouble> {
        if self.known.len() > STREAMS_REMEMBERED_MAX {
            self.known.clear();
        }
        self.look_up(client, events).await?;
        let (mut new, mut names, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for event in events {
            let stream = &event.record.stream;
            let id = match self.known.get(stream) {
                Some(id) => *id,
                None => {
                    self.count += 1;
                    self.known.insert(stream.clone(), self.count);
                    new.push(self.count);
                    names.push(fitting(stream.as_str(), 0)?);
                    self.count
                }
            };
            ids.push(id);
        }
        if !new.is_empty() {
            run(client, STREAMS, &[&new, &names]).await?;
        }
        Ok(ids)
    }

    async fn look_up(&mut self, client: &Client, events: &[Summed<StoredEvent>]) -> Result<(), Trouble> {
        let unknown = events.iter().map(|event| &event.record.stream);
        let unknown: HashMap<_, _> = unknown
            .filter(|stream| !self.known.contains_key(*stream))
            .map(|stream| (stored(stream.as_str()).into_owned(), stream))
            .collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let names: Vec<&String> = unknown.keys().collect();
        for found in within(STEP_MS_MAX, client.query(FOUND, &[&names])).await? {
            let name: &str = found.try_get(0)?;
            let stream = unknown.get(name).ok_or_else(|| broken("a stream that was not asked for"))?;
            self.known.insert((*stream).clone(), found.try_get(1)?);
        }
        Ok(())
    }
}

/// The stored form of a text, which must fit into an index together with `more` bytes.
fn fitting(text: &str, more: usize) -> Result<String, Trouble> {
    let stored = stored(text);
    if stored.len() + more > TEXT_BYTES_MAX {
        let begin: String = text.chars().take(80).collect();
        return Err(broken(format!("the name or key {begin}… is longer than PostgreSQL can index")));
    }
    Ok(stored.into_owned())
}

pub(super) async fn events(
    client: &Client,
    streams: &mut Streams,
    events: &[Summed<StoredEvent>],
) -> Result<(), Trouble> {
    let ids = streams.of(client, events).await?;
    let numbers = |number_of: fn(&StoredEvent) -> u64| -> Vec<i64> {
        events.iter().map(|event| target::stored(number_of(&event.record))).collect()
    };
    let (position, version, at) =
        (numbers(|event| event.position.0), numbers(|event| event.version.0), numbers(|event| event.at.0));
    let kind: Vec<&str> = events.iter().map(|event| &*event.record.kind).collect();
    let form: Vec<i32> = events.iter().map(|event| event.record.form.into()).collect();
    let envelope: Vec<&[u8]> = events.iter().map(|event| &event.record.envelope[..]).collect();
    let payload: Vec<&[u8]> = events.iter().map(|event| &event.record.payload[..]).collect();
    let sum = sums(events);
    run(client, EVENTS, &[&position, &ids, &version, &kind, &form, &at, &envelope, &payload, &sum]).await?;
    let last = position.last().copied().unwrap_or_default();
    run(client, HEAD, &[&last, &streams.count]).await.map(drop)
}

fn sums<T>(records: &[Summed<T>]) -> Vec<Option<i32>> {
    records.iter().map(|record| record.sum).collect()
}

/// Leaves out the keys that are there, with an error if one is there for another request.
pub(super) async fn keys(client: &Client, keys: &[Summed<KeyClaim>]) -> Result<(), Trouble> {
    let claims = || keys.iter().map(|claim| &claim.record);
    let scope = claims().map(|claim| fitting(&claim.scope, claim.key.len()));
    let scope = scope.collect::<Result<Vec<_>, _>>()?;
    let key = claims().map(|claim| fitting(&claim.key, claim.scope.len()));
    let key = key.collect::<Result<Vec<_>, _>>()?;
    let digest: Vec<&[u8]> = claims().map(|claim| &claim.digest[..]).collect();
    let outcome: Vec<&[u8]> = claims().map(|claim| &claim.outcome[..]).collect();
    let added = run(client, KEYS, &[&scope, &key, &digest, &outcome, &sums(keys)]).await?;
    if added < keys.len() as u64 {
        let given: Params<'_> = &[&scope, &key, &digest, &outcome];
        if let Some(other) = within(STEP_MS_MAX, client.query_opt(OTHER_KEYS, given)).await? {
            let key: &str = other.try_get(0)?;
            return Err(broken(format!("the key {key} is there with another answer")));
        }
    }
    Ok(())
}

pub(super) async fn index(client: &Client, rows: &[Summed<IndexEntry>]) -> Result<(), Trouble> {
    let name: Vec<&str> = rows.iter().map(|row| &*row.record.name).collect();
    let key = rows.iter().map(|row| fitting(&row.record.key, row.record.name.len()));
    let key = key.collect::<Result<Vec<_>, _>>()?;
    let value: Vec<&[u8]> = rows.iter().map(|row| &row.record.value[..]).collect();
    run(client, INDEX, &[&name, &key, &value, &sums(rows)]).await.map(drop)
}

pub(super) async fn rows(client: &Client, rows: &[Summed<(String, Row)>]) -> Result<(), Trouble> {
    let name = rows.iter().map(|row| fitting(&row.record.0, 0)).collect::<Result<Vec<_>, _>>()?;
    let revision: Vec<i64> = rows.iter().map(|row| target::stored(row.record.1.revision)).collect();
    let value: Vec<&[u8]> = rows.iter().map(|row| &row.record.1.value[..]).collect();
    run(client, ROWS, &[&name, &revision, &value, &sums(rows)]).await.map(drop)
}

pub(super) async fn usage(client: &Client, usage: &[(String, Usage)]) -> Result<(), Trouble> {
    let account = usage.iter().map(|(account, _)| fitting(account, 0)).collect::<Result<Vec<_>, _>>()?;
    let bytes: Vec<i64> = usage.iter().map(|(_, usage)| target::stored(usage.bytes)).collect();
    let events: Vec<i64> = usage.iter().map(|(_, usage)| target::stored(usage.events)).collect();
    run(client, USAGE, &[&account, &bytes, &events]).await.map(drop)
}
