//! The one transaction of a group: lock the head, look up what is not remembered, write and commit. Each step is sent
//! in one burst.

use std::collections::HashMap;

use plenary_kernel::Position;
use tokio_postgres::{Error, Row, error::SqlState, types::ToSql};

use super::{
    burst::Burst,
    columns::{Columns, Texts},
    known::{Known, Names, by_name, key_record, row},
    streams::Streams,
};
use crate::{
    target::{ANSWER_MS_MAX, Session, place, stored as stored_place, within},
    text::stored,
    trouble::{Trouble, described},
};

macro_rules! statements {
    ($($name:ident = $sql:expr;)*) => {
        #[derive(Debug, Clone, Copy)]
        enum Sql { $($name,)* }
        /// What a writer's session prepares.
        pub(crate) const STATEMENTS: &[&str] = &[$($sql,)*];
    };
}

statements! {
    // The lock is a statement of its own: the ones behind it see everything that was committed before it was got.
    Head = "SELECT last, streams FROM head FOR UPDATE";
    Changes = "SELECT s.name, s.id, max(e.version) FROM events e JOIN streams s ON s.id = e.stream \
        WHERE e.position > $1 AND e.position <= $1 + 4096 GROUP BY s.id";
    Streams = "SELECT named.nth, s.id, \
        (SELECT e.version FROM events e WHERE e.stream = s.id ORDER BY e.version DESC LIMIT 1) \
        FROM unnest($1::text[]) WITH ORDINALITY AS named (name, nth) JOIN streams s ON s.name = named.name";
    Keys = "SELECT named.nth, k.digest, k.outcome FROM unnest($1::text[], $2::text[]) \
        WITH ORDINALITY AS named (scope, key, nth) \
        JOIN keys k ON k.scope = named.scope AND k.key = named.key";
    Rows = "SELECT named.nth, r.revision, r.value FROM unnest($1::text[]) WITH ORDINALITY AS named (name, nth) \
        JOIN rows r ON r.name = named.name";
    NewStreams = "INSERT INTO streams (id, name) SELECT * FROM unnest($1::bigint[], $2::text[])";
    Events = "INSERT INTO events (position, stream, version, kind, form, at, envelope, payload) \
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::int[], $6::bigint[], \
        $7::bytea[], $8::bytea[])";
    IndexPut = "INSERT INTO idx (name, key, value) SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[]) \
        ON CONFLICT (name, key) DO UPDATE SET value = excluded.value";
    IndexDelete = "DELETE FROM idx i USING unnest($1::text[], $2::text[]) AS named (name, key) \
        WHERE i.name = named.name AND i.key = named.key";
    RowsPut = "INSERT INTO rows (name, revision, value) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[]) \
        ON CONFLICT (name) DO UPDATE SET revision = excluded.revision, value = excluded.value";
    RowsDelete = "DELETE FROM rows r USING unnest($1::text[]) AS named (name) WHERE r.name = named.name";
    ClaimKeys = "INSERT INTO keys (scope, key, digest, outcome) \
        SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[])";
    Tell = "WITH moved AS (UPDATE head SET last = $1, streams = $2) SELECT pg_notify($3, $1::bigint::text)";
}

type Params<'a> = Vec<&'a (dyn ToSql + Sync)>;

async fn run(session: &Session, sql: Sql, params: Params<'_>) -> Result<Vec<Row>, Error> {
    session.client.query(&session.statements[sql as usize], &params).await
}

async fn control(session: &Session, sql: &str) -> Result<Vec<Row>, Error> {
    session.client.batch_execute(sql).await.map(|()| Vec::new())
}

/// Where the log ends, locked.
pub(crate) struct Head {
    pub(crate) last: Position,
    /// How many streams there are; the newest one's id.
    pub(crate) streams_made: i64,
}

/// Begins a transaction and locks the head; with `changes`, brings the streams up to it in the same breath. After an
/// error that leaves the connection good, the transaction is still open: see [`undo`].
pub(crate) async fn lock(session: &Session, streams: &mut Streams, changes: bool) -> Result<Head, Trouble> {
    let at = stored_place(streams.at().0);
    let mut burst = Burst::default();
    burst.send(control(session, "BEGIN")).await;
    burst.send(run(session, Sql::Head, vec![])).await;
    if changes {
        burst.send(run(session, Sql::Changes, vec![&at])).await;
    }
    let mut answers = answers(burst).await?.into_iter().skip(1);
    let head = answers.next().unwrap_or_default();
    let [record] = &head[..] else {
        return Err(Trouble::Broken(format!("{} heads", head.len())));
    };
    let head = Head { last: Position(place(record.try_get(0)?)?), streams_made: record.try_get(1)? };
    if head.last < streams.at() {
        let (is, was) = (head.last, streams.at());
        return Err(Trouble::Broken(format!("the log ends at {is} and once ended at {was}")));
    }
    if head.last > streams.at() {
        let changed = match answers.next() {
            Some(changed) => changed,
            None => within(ANSWER_MS_MAX, run(session, Sql::Changes, vec![&at])).await?,
        };
        streams.changed(head.last, &changed)?;
    }
    Ok(head)
}

/// Looks names up, under the lock.
pub(crate) async fn look_up<'a>(
    session: &Session,
    names: &Names,
    streams: &'a mut Streams,
) -> Result<Known<'a>, Trouble> {
    if names.is_empty() {
        return Ok(Known { streams, keys: HashMap::new(), rows: HashMap::new() });
    }
    let by_streams: Texts<'_> = names.streams.iter().map(|name| stored(name.as_str())).collect();
    let scopes: Texts<'_> = names.keys.iter().map(|(scope, _)| stored(scope)).collect();
    let keys: Texts<'_> = names.keys.iter().map(|(_, key)| stored(key)).collect();
    let rows: Texts<'_> = names.rows.iter().map(|name| stored(name)).collect();
    let mut burst = Burst::default();
    if !by_streams.is_empty() {
        burst.send(run(session, Sql::Streams, vec![&by_streams])).await;
    }
    if !keys.is_empty() {
        burst.send(run(session, Sql::Keys, vec![&scopes, &keys])).await;
    }
    if !rows.is_empty() {
        burst.send(run(session, Sql::Rows, vec![&rows])).await;
    }
    let mut answers = answers(burst).await?.into_iter();
    let mut next = |asked: bool| if asked { answers.next().unwrap_or_default() } else { Vec::new() };
    streams.found(&names.streams, &next(!by_streams.is_empty()))?;
    let keys = by_name(&names.keys, &next(!keys.is_empty()), key_record)?;
    let rows = by_name(&names.rows, &next(!rows.is_empty()), row)?;
    Ok(Known { streams, keys, rows })
}

async fn answers(burst: Burst<'_>) -> Result<Vec<Vec<Row>>, Trouble> {
    let answers = within(ANSWER_MS_MAX, async { Ok::<_, Trouble>(burst.answers().await) }).await?;
    Ok(answers.into_iter().collect::<Result<_, _>>()?)
}

/// Ends a transaction that wrote nothing.
pub(crate) async fn undo(session: &Session) -> Result<(), Trouble> {
    within(ANSWER_MS_MAX, session.client.batch_execute("ROLLBACK")).await
}

/// Why a commit was not acknowledged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotCommitted {
    /// The server refused a statement before the commit: nothing was written, the transaction is over.
    Nothing(Trouble),
    /// A key was claimed before, which is only seen by looking: nothing was written, the transaction is over.
    KeyTaken,
    /// The commit was sent, and its answer did not come.
    Unknown(String),
}

/// Writes everything and commits.
pub(crate) async fn write_and_commit(
    session: &Session,
    columns: &Columns<'_>,
    last: Position,
    channel: &str,
) -> Result<(), NotCommitted> {
    let last = stored_place(last.0);
    let burst = send(session, columns, &last, &channel).await;
    let answers = within(ANSWER_MS_MAX, async { Ok::<_, Trouble>(burst.answers().await) }).await;
    let mut answers = answers.map_err(|trouble| NotCommitted::Unknown(format!("{trouble:?}")))?;
    let committed = answers.pop();
    for answer in answers {
        if let Err(error) = answer {
            // The server's own word on a statement before the commit; without it the commit may have gone through.
            return Err(match error.as_db_error() {
                Some(db) if *db.code() == SqlState::UNIQUE_VIOLATION && db.table() == Some("keys") => {
                    NotCommitted::KeyTaken
                }
                Some(_) => NotCommitted::Nothing(Trouble::from(error)),
                None => NotCommitted::Unknown(described(&error)),
            });
        }
    }
    match committed {
        Some(Err(error)) => Err(NotCommitted::Unknown(described(&error))),
        Some(Ok(_)) | None => Ok(()),
    }
}

async fn send<'a>(
    session: &'a Session,
    columns: &'a Columns<'a>,
    last: &'a i64,
    channel: &'a &'a str,
) -> Burst<'a> {
    let mut burst = Burst::default();
    let Columns { new_streams, events, index_put, index_delete, rows_put, rows_delete, keys, .. } = columns;
    if !new_streams.0.is_empty() {
        burst.send(run(session, Sql::NewStreams, vec![&new_streams.0, &new_streams.1])).await;
    }
    if !events.position.is_empty() {
        let place: [&(dyn ToSql + Sync); 3] = [&events.position, &events.stream, &events.version];
        let form: [&(dyn ToSql + Sync); 3] = [&events.kind, &events.form, &events.at];
        let content: [&(dyn ToSql + Sync); 2] = [&events.envelope, &events.payload];
        burst.send(run(session, Sql::Events, [&place[..], &form, &content].concat())).await;
    }
    if !index_put.0.is_empty() {
        burst.send(run(session, Sql::IndexPut, vec![&index_put.0, &index_put.1, &index_put.2])).await;
    }
    if !index_delete.0.is_empty() {
        burst.send(run(session, Sql::IndexDelete, vec![&index_delete.0, &index_delete.1])).await;
    }
    if !rows_put.0.is_empty() {
        burst.send(run(session, Sql::RowsPut, vec![&rows_put.0, &rows_put.1, &rows_put.2])).await;
    }
    if !rows_delete.is_empty() {
        burst.send(run(session, Sql::RowsDelete, vec![rows_delete])).await;
    }
    if !keys.0.is_empty() {
        burst.send(run(session, Sql::ClaimKeys, vec![&keys.0, &keys.1, &keys.2, &keys.3])).await;
    }
    if !events.position.is_empty() {
        burst.send(run(session, Sql::Tell, vec![last, &columns.streams_made, channel])).await;
    }
    burst.send(control(session, "COMMIT")).await;
    burst
}
