//! The second half of a group's transaction: one statement that writes to every table, then the commit.

use plenary_kernel::Position;
use tokio_postgres::{Error, Row, Statement, error::SqlState, types::ToSql};

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
/// the parameters.
type Part<'a> = (bool, &'static str, Vec<&'a (dyn ToSql + Sync)>);

/// The new head, and the channel to notify.
struct End<'a> {
    last: i64,
    channel: &'a str,
    payload: String,
}

fn parts<'a>(columns: &'a Columns<'a>, end: &'a End<'a>) -> [Part<'a>; 9] {
    let Columns {
        new_streams, events, index_put, index_delete, rows_put, rows_delete, keys, charges, ..
    } = columns;
    [
        (
            !new_streams.0.is_empty(),
            "INSERT INTO streams (id, name) SELECT unnest(?::bigint[]), unnest(?::text[])",
            vec![&new_streams.0, &new_streams.1],
        ),
        (
            !events.position.is_empty(),
            "INSERT INTO events (position, stream, version, kind, form, at, envelope, payload, sum) \
             SELECT unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::bigint[]), unnest(?::text[]), \
             unnest(?::int[]), unnest(?::bigint[]), unnest(?::bytea[]), unnest(?::bytea[]), unnest(?::int[])",
            events.params(),
        ),
        (
            !index_put.0.is_empty(),
            "INSERT INTO idx (name, key, value, sum) \
             SELECT unnest(?::text[]), unnest(?::text[]), unnest(?::bytea[]), unnest(?::int[]) \
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
             SELECT unnest(?::text[]), unnest(?::bigint[]), unnest(?::bytea[]), unnest(?::int[]) ON CONFLICT (name) \
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
             unnest(?::bytea[]), unnest(?::bytea[]), unnest(?::int[])",
            vec![&keys.0, &keys.1, &keys.2, &keys.3, &keys.4],
        ),
        (
            !charges.0.is_empty(),
            "INSERT INTO usage AS u (account, bytes, events) \
             SELECT unnest(?::text[]), unnest(?::bigint[]), unnest(?::bigint[]) ON CONFLICT (account) \
             DO UPDATE SET bytes = GREATEST(0, u.bytes + excluded.bytes), \
             events = GREATEST(0, u.events + excluded.events)",
            vec![&charges.0, &charges.1, &charges.2],
        ),
        (
            !events.position.is_empty(),
            "UPDATE head SET last = ?, streams = ? RETURNING pg_notify(?, ?)",
            vec![&end.last, &columns.stream_count, &end.channel, &end.payload],
        ),
    ]
}

/// All parts as one statement. No part reads what another one writes.
fn joined(parts: &[&Part<'_>]) -> String {
    let mut joined = String::from("WITH ");
    for (nth, (_, sql, _)) in parts.iter().enumerate() {
        joined += &format!("{}p{nth} AS ({sql})", if nth > 0 { ", " } else { "" });
    }
    joined += " SELECT 1";
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
    let end = End { last: stored(last.0), channel, payload: last.to_string() };
    let parts = parts(columns, &end);
    let parts: Vec<_> = parts.iter().enumerate().filter(|(_, part)| part.0).collect();
    let shape = parts.iter().fold(0_u16, |shape, (nth, _)| shape | 1 << nth);
    let parts: Vec<_> = parts.into_iter().map(|(_, part)| part).collect();
    let statement = session.shape(shape, || joined(&parts)).await.map_err(NotCommitted::NotSent)?;
    let params: Vec<_> = parts.iter().flat_map(|(_, _, params)| params.iter().copied()).collect();
    let mut burst = Burst::default();
    burst.send(write(session, &statement, &params)).await;
    burst.send(commit(session)).await;
    let answers = within(ANSWER_MS_MAX, async { Ok::<_, Trouble>(burst.answers().await) }).await;
    let answers = answers.map_err(|trouble| NotCommitted::Unknown(format!("{trouble:?}")))?;
    let [written, committed]: [_; 2] =
        answers.try_into().map_err(|_| NotCommitted::Unknown("two answers were awaited".into()))?;
    if let Err(error) = written {
        // A definite answer of the server before the commit; without it the commit may have succeeded.
        return Err(match error.as_db_error() {
            Some(db) if *db.code() == SqlState::UNIQUE_VIOLATION && db.table() == Some("keys") => {
                NotCommitted::KeyClaimed
            }
            Some(_) => NotCommitted::Nothing(Trouble::from(error)),
            None => NotCommitted::Unknown(described(&error)),
        });
    }
    committed.map(|_| ()).map_err(|error| NotCommitted::Unknown(described(&error)))
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
