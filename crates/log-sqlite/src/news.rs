//! The streams with news after a position.

use std::collections::HashMap;

use plenary_kernel::{Position, Version};
use plenary_log::{StreamName, StreamNews};
use rusqlite::{Connection, OptionalExtension};

use crate::{
    error::ReadError,
    events::position,
    pool::Reader,
    streams::{name, slot, stream_id, version_indexed},
    unindexed::SharedTail,
};

/// See `Reads::streams_between`.
pub(crate) fn between(
    reader: &mut Reader,
    category: &str,
    after: Position,
    until: Position,
) -> Result<Vec<StreamNews>, ReadError> {
    let Reader { connection, names, .. } = reader;
    let mut firsts: HashMap<i64, (i64, i64)> = HashMap::new();
    let mut statement = connection.prepare_cached(
        "SELECT stream, version, position FROM events WHERE position > ?1 AND position <= ?2 ORDER BY position",
    )?;
    let mut rows = statement.query([position(after), position(until)])?;
    while let Some(row) = rows.next()? {
        let first = (row.get_ref(1)?.as_i64()?, row.get_ref(2)?.as_i64()?);
        firsts.entry(row.get_ref(0)?.as_i64()?).or_insert(first);
    }
    let mut news = Vec::new();
    for (id, first) in firsts {
        let stream = name(connection, names, id)?;
        if stream.category() == category {
            news.push(found(stream, first));
        }
    }
    Ok(news)
}

/// A stream with the version and position of its first new event.
fn found(stream: StreamName, (version, position): (i64, i64)) -> StreamNews {
    let (first, at) = (Version(version.cast_unsigned()), Position(position.cast_unsigned()));
    StreamNews { stream, first, at }
}

/// See `Reads::streams_after`. Each half is one read transaction, so that a thousand look-ups take the
/// locks once. The unindexed end is copied between them, before the snapshot of the second begins.
pub(crate) fn after(
    reader: &mut Reader,
    shared: &SharedTail,
    streams: &[StreamName],
    after: Position,
) -> Result<Vec<StreamNews>, ReadError> {
    let after = position(after);
    if after >= shared.head() {
        return Ok(Vec::new());
    }
    let mut known = Vec::with_capacity(streams.len());
    let transaction = reader.connection.transaction()?;
    for stream in streams {
        if let Some(id) = stream_id(&transaction, shared, stream)? {
            known.push((stream, id));
        }
    }
    transaction.finish()?;
    let ends: Vec<_> = {
        let unindexed = shared.unindexed.read();
        known.iter().map(|(_, id)| unindexed.past(*id, after)).collect()
    };
    let transaction = reader.connection.transaction()?;
    let mut news = Vec::new();
    for ((stream, id), end) in known.into_iter().zip(ends) {
        if let Some(first) = first_past(&transaction, id, end, after)? {
            news.push(found(stream.clone(), first));
        }
    }
    transaction.finish()?;
    Ok(news)
}

/// The first version of a stream after a position, with its own position. `end` is the unindexed part:
/// its first version, and its first version after the position with that position.
fn first_past(
    connection: &Connection,
    stream: i64,
    end: Option<(i64, Option<(i64, i64)>)>,
    after: i64,
) -> Result<Option<(i64, i64)>, ReadError> {
    let (last, past) = match end {
        Some((first, past)) => (first - 1, past),
        None => (version_indexed(connection, stream)?, None),
    };
    if last < 1 || position_of(connection, stream, last)? <= after {
        return Ok(past);
    }
    // Newer events are usually near the end: steps back of growing size, then bisection.
    let (mut not_past, mut is_past, mut step) = (0, last, 1);
    while is_past - step > not_past {
        if position_of(connection, stream, is_past - step)? <= after {
            not_past = is_past - step;
        } else {
            is_past -= step;
            step *= 2;
        }
    }
    while is_past - not_past > 1 {
        let middle = not_past + (is_past - not_past) / 2;
        if position_of(connection, stream, middle)? <= after {
            not_past = middle;
        } else {
            is_past = middle;
        }
    }
    Ok(Some((is_past, position_of(connection, stream, is_past)?)))
}

fn position_of(connection: &Connection, stream: i64, version: i64) -> Result<i64, ReadError> {
    let mut statement = connection.prepare_cached("SELECT position FROM stream_index WHERE slot = ?1")?;
    let position = statement.query_row([slot(stream, version)], |row| row.get(0)).optional()?;
    position.ok_or_else(|| ReadError::Corrupt(format!("version {version} of stream {stream} is not indexed")))
}
