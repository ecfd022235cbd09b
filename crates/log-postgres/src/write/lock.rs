//! The first half of a group's transaction: locks the head, and reads the required values under the lock.

use std::collections::HashMap;

use plenary_kernel::{Position, Version};
use tokio_postgres::{Error, Row, SimpleQueryMessage, SimpleQueryRow, types::ToSql};

use super::{
    burst::Burst,
    columns::Texts,
    known::{CommittedNames, Names, by_name, key_record, row},
    session::WriteSession,
    streams::Streams,
};
use crate::{
    target::{ANSWER_MS_MAX, unsigned, within},
    text::stored,
    trouble::Trouble,
};

/// Prepared by name, so that the statements of a turn leave as one message. Processes queue at an
/// advisory lock, which wakes one of them, in order; a row lock would wake all. The row lock provides
/// the guarantee. Each is a separate statement, so that later statements see everything that was
/// committed before the lock.
pub(crate) const NAMED: &str = "\
    PREPARE queue AS SELECT pg_advisory_xact_lock(x'506c656e00000000'::bigint + 'head'::regclass::oid::bigint); \
    PREPARE lock_head AS SELECT last, streams FROM head FOR UPDATE; \
    PREPARE changes (bigint) AS SELECT stream, max(version) FROM events \
    WHERE position > $1 AND position <= $1 + 4096 GROUP BY stream";
const BEGIN: &str = "BEGIN; EXECUTE queue; EXECUTE lock_head";

/// The other prepared statements of a writing session.
pub(crate) const STATEMENTS: &[&str] = &[STREAMS, KEYS, ROWS];
const STREAMS: &str = "SELECT named.nth, s.id, \
    (SELECT e.version FROM events e WHERE e.stream = s.id ORDER BY e.version DESC LIMIT 1) \
    FROM unnest($1::text[]) WITH ORDINALITY AS named (name, nth) JOIN streams s ON s.name = named.name";
const KEYS: &str = "SELECT named.nth, k.digest, k.outcome, k.sum FROM unnest($1::text[], $2::text[]) \
    WITH ORDINALITY AS named (scope, key, nth) JOIN keys k ON k.scope = named.scope AND k.key = named.key";
const ROWS: &str = "SELECT named.nth, r.revision, r.value, r.sum FROM unnest($1::text[]) \
    WITH ORDINALITY AS named (name, nth) JOIN rows r ON r.name = named.name";

/// The locked head.
pub(crate) struct Head {
    pub(crate) last: Position,
    /// The number of streams; the newest one's id.
    pub(crate) stream_count: i64,
}

/// Begins a transaction and locks the head; with `changes`, also updates the streams to it. After an
/// error that leaves the connection good, the transaction is still open: see [`undo`].
pub(crate) async fn lock(
    session: &WriteSession,
    streams: &mut Streams,
    changes: bool,
) -> Result<Head, Trouble> {
    let look = format!("EXECUTE changes({})", streams.at());
    let begin = if changes { format!("{BEGIN}; {look}") } else { BEGIN.to_owned() };
    let mut answers = control(session, &begin).await?.into_iter().skip(2);
    let heads = answers.next().unwrap_or_default();
    let [record] = &heads[..] else {
        return Err(Trouble::Broken(format!("{} heads", heads.len())));
    };
    let head = Head { last: Position(unsigned(number(record, 0)?)?), stream_count: number(record, 1)? };
    if head.last < streams.at() {
        let (is, was) = (head.last, streams.at());
        return Err(Trouble::Broken(format!("the log ends at {is} and once ended at {was}")));
    }
    if head.last > streams.at() {
        let changed = match answers.next() {
            Some(changed) => changed,
            None => control(session, &look).await?.pop().unwrap_or_default(),
        };
        let changed = changed.iter().map(change).collect::<Result<Vec<_>, _>>()?;
        streams.changed(head.last, changed);
    }
    streams.stream_count = head.stream_count;
    Ok(head)
}

/// Runs statements without parameters; returns the rows of each.
async fn control(session: &WriteSession, sql: &str) -> Result<Vec<Vec<SimpleQueryRow>>, Trouble> {
    let (mut answers, mut rows) = (Vec::new(), Vec::new());
    for message in within(ANSWER_MS_MAX, session.client().simple_query(sql)).await? {
        if let SimpleQueryMessage::Row(row) = message {
            rows.push(row);
        } else if matches!(message, SimpleQueryMessage::CommandComplete(_)) {
            answers.push(std::mem::take(&mut rows));
        }
    }
    Ok(answers)
}

fn number(record: &SimpleQueryRow, column: usize) -> Result<i64, Trouble> {
    let text = record.try_get(column)?.unwrap_or_default();
    text.parse().map_err(|_| Trouble::Broken(format!("a number of {text:?}")))
}

/// A stream's id, and its version now.
fn change(record: &SimpleQueryRow) -> Result<(i64, Version), Trouble> {
    Ok((number(record, 0)?, Version(unsigned(number(record, 1)?)?)))
}

async fn run(
    session: &WriteSession,
    nth: usize,
    params: Vec<&(dyn ToSql + Sync)>,
) -> Result<Vec<Row>, Error> {
    session.client().query(session.statement(nth), &params).await
}

/// Looks up names, under the lock.
pub(crate) async fn look_up<'a>(
    session: &WriteSession,
    names: &Names,
    streams: &'a mut Streams,
) -> Result<CommittedNames<'a>, Trouble> {
    if names.is_empty() {
        return Ok(CommittedNames { streams, keys: HashMap::new(), rows: HashMap::new() });
    }
    let by_streams: Texts<'_> = names.streams.iter().map(|name| stored(name.as_str())).collect();
    let scopes: Texts<'_> = names.keys.iter().map(|(scope, _)| stored(scope)).collect();
    let keys: Texts<'_> = names.keys.iter().map(|(_, key)| stored(key)).collect();
    let rows: Texts<'_> = names.rows.iter().map(|name| stored(name)).collect();
    let mut burst = Burst::default();
    if !by_streams.is_empty() {
        burst.send(run(session, 0, vec![&by_streams])).await;
    }
    if !keys.is_empty() {
        burst.send(run(session, 1, vec![&scopes, &keys])).await;
    }
    if !rows.is_empty() {
        burst.send(run(session, 2, vec![&rows])).await;
    }
    let answers = within(ANSWER_MS_MAX, async { Ok::<_, Trouble>(burst.answers().await) }).await?;
    let mut answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
    let mut next = |is_needed: bool| if is_needed { answers.next().unwrap_or_default() } else { Vec::new() };
    streams.found(&names.streams, &next(!by_streams.is_empty()))?;
    let keys = by_name(&names.keys, &next(!keys.is_empty()), |record, column, (scope, key)| {
        key_record(record, column, (scope, key))
    })?;
    let rows =
        by_name(&names.rows, &next(!rows.is_empty()), |record, column, name| row(record, column, name))?;
    Ok(CommittedNames { streams, keys, rows })
}

/// Ends a transaction that wrote nothing.
pub(crate) async fn undo(session: &WriteSession) -> Result<(), Trouble> {
    within(ANSWER_MS_MAX, session.client().batch_execute("ROLLBACK")).await
}
