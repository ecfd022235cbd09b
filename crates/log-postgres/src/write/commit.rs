//! The second half of a group's transaction: one statement that writes to every table, then the commit. Or the whole
//! transaction: one statement that locks the head as well, and does nothing if it is not where it was.

use plenary_kernel::Position;
use tokio_postgres::{
    Error, Row, Statement,
    error::{DbError, Severity, SqlState},
    types::ToSql,
};

use super::{burst::Burst, columns::Columns, session::WriteSession};
use crate::{
    target::{ANSWER_MS_MAX, stored, within},
    trouble::{Trouble, described},
};

/// Why a commit was not acknowledged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotCommitted {
    /// The server refused: nothing was written, and no transaction is open.
    Nothing(Trouble),
    /// A key was claimed before; nothing was written. The group must be decided with its keys looked up.
    KeyClaimed,
    /// No commit was sent; the transaction is still open.
    NotSent(Trouble),
    /// The commit was sent, but its answer did not arrive.
    Unknown(String),
}

/// A write to one table: whether there is anything to write, the SQL with `?` for its parameters, and
/// the parameters. `%` is the place of a condition; a deletion has none, because it is written under the lock only.
type Part<'a> = (bool, &'static str, Vec<&'a (dyn ToSql + Sync)>);

/// The new head, and the channel to notify.
struct End<'a> {
    before: i64,
    last: i64,
    channel: &'a str,
    payload: String,
}

fn parts<'a>(columns: &'a Columns<'a>, first: Part<'a>) -> [Part<'a>; 9] {
    let Columns {
        new_streams, events, index_put, index_delete, rows_put, rows_delete, keys, charges, ..
    } = columns;
    [
        first,
        (
            !new_streams.0.is_empty(),
            "INSERT INTO streams (id, name) SELECT unnest(?::bigint[]), unnest(?::text[])%",
            vec![&new_streams.0, &new_streams.1],
        ),
        (
            !events.position.is_empty(),
            "INSERT INTO events (position, stream, version, kind, form, at, envelope, payload, sum) \
             SELECT unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]), \
             unnest(?::int[]), unnest(?::bigint[]), unnest(?::bytea[]), unnest(?::bytea[]), unnest(?::int[])%",
            events.params(),
        ),
        (
            !index_put.0.is_empty(),
            "INSERT INTO idx (name, key, value, sum) \
             SELECT unnest(?::text[]), unnest(?::text[]), unnest(?::bytea[]), unnest(?::int[])% \
             ON CONFLICT (name, key) DO UPDATE SET value = excluded.value, sum = excluded.sum",
            vec![&index_put.0, &index_put.1, &index_put.2, &index_put.3],
        ),
        (
            !index_delete.0.is_empty(),
            "DELETE FROM idx i USING unnest(?::text[], ?::text[]) AS named (name, key) \
             WHERE i.name = named.name AND i.key = named.key",
            vec![&index_delete.0, &index_delete.1],
        ),
        (
            !rows_put.0.is_empty(),
            "INSERT INTO rows (name, revision, value, sum) \
             SELECT unnest(?::text[]), unnest(?::bigint[]), unnest(?::bytea[]), unnest(?::int[])% ON CONFLICT (name) \
             DO UPDATE SET revision = excluded.revision, value = excluded.value, sum = excluded.sum",
            vec![&rows_put.0, &rows_put.1, &rows_put.2, &rows_put.3],
        ),
        (
            !rows_delete.is_empty(),
            "DELETE FROM rows r USING unnest(?::text[]) AS named (name) WHERE r.name = named.name",
            vec![rows_delete],
        ),
        (
            !keys.0.is_empty(),
            "INSERT INTO keys (scope, key, digest, outcome, sum) SELECT unnest(?::text[]), unnest(?::text[]), \
             unnest(?::bytea[]), unnest(?::bytea[]), unnest(?::int[])%",
            vec![&keys.0, &keys.1, &keys.2, &keys.3, &keys.4],
        ),
        (
            !charges.0.is_empty(),
            "INSERT INTO usage AS u (account, bytes, events) \
             SELECT unnest(?::text[]), unnest(?::bigint[]), unnest(?::bigint[])% ON CONFLICT (account) \
             DO UPDATE SET bytes = GREATEST(0, u.bytes + excluded.bytes), \
             events = GREATEST(0, u.events + excluded.events)",
            vec![&charges.0, &charges.1, &charges.2],
        ),
    ]
}

/// The head and the notification, if the head was not locked before. The first part, which the others depend on.
fn moved<'a>(columns: &'a Columns<'a>, end: &'a End<'a>) -> Part<'a> {
    let sql = "UPDATE head SET last = ?, streams = ? WHERE last = ? RETURNING pg_notify(?, ?)";
    (true, sql, vec![&end.last, &columns.stream_count, &end.before, &end.channel, &end.payload])
}

/// The head and the notification, under its lock.
fn head<'a>(columns: &'a Columns<'a>, end: &'a End<'a>) -> Part<'a> {
    let sql = "UPDATE head SET last = ?, streams = ? RETURNING pg_notify(?, ?)";
    let params = vec![&end.last as _, &columns.stream_count as _, &end.channel as _, &end.payload as _];
    (!columns.events.position.is_empty(), sql, params)
}

/// The condition of every other part if the head was not locked before.
const MOVED: &str = " WHERE EXISTS (SELECT FROM p0)";

/// All parts as one statement. No part reads what another one writes, except whether the head was moved.
fn joined(parts: &[&Part<'_>], alone: bool) -> String {
    let mut joined = String::from("WITH ");
    for (nth, (_, sql, _)) in parts.iter().enumerate() {
        let sql = sql.replace('%', if alone { MOVED } else { "" });
        joined += &format!("{}p{nth} AS ({sql})", if nth > 0 { ", " } else { "" });
    }
    joined += if alone { " SELECT count(*) FROM p0" } else { " SELECT 1" };
    let mut numbered = String::with_capacity(joined.len() + 64);
    for (nth, piece) in joined.split('?').enumerate() {
        if nth > 0 {
            numbered += &format!("${nth}");
        }
        numbered += piece;
    }
    numbered
}

/// Writes everything and commits.
pub(crate) async fn write_and_commit(
    session: &mut WriteSession,
    columns: &Columns<'_>,
    last: Position,
    channel: &str,
) -> Result<(), NotCommitted> {
    let end = End { before: 0, last: stored(last.0), channel, payload: last.to_string() };
    let parts = parts(columns, head(columns, &end));
    let (statement, params) = prepared(session, &parts, false).await?;
    let mut burst = Burst::default();
    burst.send(write(session, &statement, &params)).await;
    burst.send(commit(session)).await;
    let answers = within(ANSWER_MS_MAX, async { Ok::<_, Trouble>(burst.answers().await) }).await;
    let answers = answers.map_err(|trouble| NotCommitted::Unknown(trouble.to_string()))?;
    let [written, committed]: [_; 2] =
        answers.try_into().map_err(|_| NotCommitted::Unknown("two answers were awaited".into()))?;
    written.map_err(refused)?;
    committed.map(|_| ()).map_err(|error| lost(&error))
}

/// Writes everything in a transaction of its own, if the head is still at `before`; whether it was.
pub(crate) async fn write_alone(
    session: &mut WriteSession,
    columns: &Columns<'_>,
    (before, last): (Position, Position),
    channel: &str,
) -> Result<bool, NotCommitted> {
    let end = End { before: stored(before.0), last: stored(last.0), channel, payload: last.to_string() };
    let parts = parts(columns, moved(columns, &end));
    let (statement, params) = prepared(session, &parts, true).await?;
    let answer = async { Ok::<_, Trouble>(write(session, &statement, &params).await) };
    let answer = within(ANSWER_MS_MAX, answer).await;
    let rows = answer.map_err(|trouble| NotCommitted::Unknown(trouble.to_string()))?;
    let rows = rows.map_err(|error| if ends_session(&error) { lost(&error) } else { refused(error) })?;
    let moved: i64 = match rows.first().map(|row| row.try_get(0)) {
        Some(Ok(moved)) => moved,
        Some(Err(_)) | None => return Err(NotCommitted::Unknown("the answer has another form".into())),
    };
    Ok(moved > 0)
}

/// The statement of the parts that have anything to write, and its parameters.
async fn prepared<'a>(
    session: &mut WriteSession,
    parts: &[Part<'a>],
    alone: bool,
) -> Result<(Statement, Vec<&'a (dyn ToSql + Sync)>), NotCommitted> {
    let parts: Vec<_> = parts.iter().enumerate().filter(|(_, part)| part.0).collect();
    let shape = parts.iter().fold(u16::from(alone) << 15, |shape, (nth, _)| shape | 1 << nth);
    let parts: Vec<_> = parts.into_iter().map(|(_, part)| part).collect();
    let statement = session.shape(shape, || joined(&parts, alone)).await.map_err(NotCommitted::NotSent)?;
    Ok((statement, parts.iter().flat_map(|(_, _, params)| params.iter().copied()).collect()))
}

/// Whether the server ends the session. It may do so between the commit of a statement and its answer.
fn ends_session(error: &Error) -> bool {
    let severity = error.as_db_error().and_then(DbError::parsed_severity);
    matches!(severity, Some(Severity::Fatal | Severity::Panic))
}

fn lost(error: &Error) -> NotCommitted {
    NotCommitted::Unknown(described(error))
}

/// The failure of the writing statement. A definite answer of the server came before the commit; without it the
/// commit may have succeeded.
fn refused(error: Error) -> NotCommitted {
    match error.as_db_error() {
        Some(db) if *db.code() == SqlState::UNIQUE_VIOLATION && db.table() == Some("keys") => {
            NotCommitted::KeyClaimed
        }
        Some(_) => NotCommitted::Nothing(Trouble::from(error)),
        None => lost(&error),
    }
}

async fn write(
    session: &WriteSession,
    statement: &Statement,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, Error> {
    session.client().query(statement, params).await
}

async fn commit(session: &WriteSession) -> Result<Vec<Row>, Error> {
    session.client().batch_execute("COMMIT").await.map(|()| Vec::new())
}
