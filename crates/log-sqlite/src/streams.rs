//! Streams in the file: their numbers and names, and the positions of their versions in `stream_index`.

use std::collections::HashMap;

use plenary_log::StreamName;
use rusqlite::{Connection, Error, OptionalExtension};

use crate::{error::ReadError, unindexed::SharedTail};

/// Highest number of a stream and of a version: both share one 64-bit slot of `stream_index`.
pub(crate) const STREAM_MAX: i64 = i32::MAX as i64;
pub(crate) const VERSION_MAX: i64 = u32::MAX as i64;
/// Most stream names that a connection remembers.
const NAMES_MAX: usize = 16_384;

/// The key of a version of a stream in `stream_index`.
pub(crate) fn slot(stream: i64, version: i64) -> i64 {
    stream << 32 | version.min(VERSION_MAX)
}

fn version_of(slot: i64) -> i64 {
    slot & VERSION_MAX
}

/// The number of a stream, from the unindexed names or the index. The names are read first: whatever is
/// removed from them is in the index by then.
pub(crate) fn stream_id(
    connection: &Connection,
    shared: &SharedTail,
    stream: &StreamName,
) -> Result<Option<i64>, Error> {
    let unindexed = shared.unindexed.read().named(stream);
    if unindexed.is_some() {
        return Ok(unindexed);
    }
    let mut statement = connection.prepare_cached("SELECT id FROM stream_names WHERE name = ?1")?;
    statement.query_row([stream.as_str()], |row| row.get(0)).optional()
}

/// The last version of a stream in the file's index.
pub(crate) fn version_indexed(connection: &Connection, stream: i64) -> Result<i64, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT slot FROM stream_index WHERE slot BETWEEN ?1 AND ?2 ORDER BY slot DESC LIMIT 1",
    )?;
    let range = [slot(stream, 0), slot(stream, VERSION_MAX)];
    let last: Option<i64> = statement.query_row(range, |row| row.get(0)).optional()?;
    Ok(last.map_or(0, version_of))
}

/// The name of a stream that has events.
pub(crate) fn name(
    connection: &Connection,
    names: &mut HashMap<i64, StreamName>,
    id: i64,
) -> Result<StreamName, ReadError> {
    if let Some(name) = names.get(&id) {
        return Ok(name.clone());
    }
    let mut statement = connection.prepare_cached("SELECT name FROM streams WHERE id = ?1")?;
    let mut found = statement.query([id])?;
    let Some(row) = found.next()? else {
        return Err(ReadError::Corrupt(format!("stream {id} has events and no name")));
    };
    let name = StreamName::stored(row.get_ref(0)?.as_str()?);
    if names.len() >= NAMES_MAX {
        names.clear();
    }
    names.insert(id, name.clone());
    Ok(name)
}
