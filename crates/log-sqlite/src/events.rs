//! Reads of events: by stream and by position.
//!
//! The unindexed end of a stream is copied before the file is read. Whatever is removed from that end is
//! in the file's index by then, so the two together have every event once.

use std::borrow::Cow;

use bytes::Bytes;
use plenary_kernel::{Position, TimestampMs, Version};
use plenary_log::{Digest, STREAMS_BYTES_MAX, StoredEvent, StreamName};
use rusqlite::{Connection, Row};

use crate::{
    error::ReadError,
    pool::Reader,
    streams::{VERSION_MAX, name, slot, stream_id},
    unindexed::SharedTail,
};

/// Most kinds that a connection remembers; there are only as many as event types in the program.
const KINDS_MAX: usize = 256;
/// Two wanted events with fewer others between them are read in one pass.
const GAP_MAX: i64 = 8;

macro_rules! event_columns {
    () => {
        "e.position, e.stream, e.version, e.form, e.at, e.kind, e.envelope, e.payload, e.sum"
    };
}

const BY_SLOT: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM stream_index i CROSS JOIN events e ON e.position = i.position",
    " WHERE i.slot > ?1 AND i.slot < ?2 ORDER BY i.slot LIMIT ?3"
);
const BY_POSITION: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM events e WHERE e.position BETWEEN ?1 AND ?2 AND e.stream = ?3 ORDER BY e.position"
);
const LOG: &str =
    concat!("SELECT ", event_columns!(), " FROM events e WHERE e.position > ?1 ORDER BY e.position LIMIT ?2");

pub(crate) use event_columns;

/// Every event, in the order of the log.
pub(crate) const ALL: &str = concat!("SELECT ", event_columns!(), " FROM events e ORDER BY e.position");
/// Every event after a position, in the order of the log.
pub(crate) const AFTER: &str =
    concat!("SELECT ", event_columns!(), " FROM events e WHERE e.position > ?1 ORDER BY e.position");
/// The column of the checksum.
pub(crate) const SUM: usize = 8;

pub(crate) fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}

pub(crate) fn position(position: Position) -> i64 {
    i64::try_from(position.0).unwrap_or(i64::MAX)
}

/// The row of an event; the stream's name is given.
fn event(row: &Row<'_>, stream: StreamName, kinds: &mut Vec<&'static str>) -> Result<StoredEvent, ReadError> {
    let event = unchecked(row, stream, kinds)?;
    if Digest::event(&event).agrees(row.get(SUM)?) {
        return Ok(event);
    }
    let StoredEvent { position, stream, version, .. } = event;
    Err(ReadError::Corrupt(format!("position {position} (version {version} of {stream}) is damaged")))
}

/// An event, without a check of the checksum.
pub(crate) fn unchecked(
    row: &Row<'_>,
    stream: StreamName,
    kinds: &mut Vec<&'static str>,
) -> Result<StoredEvent, ReadError> {
    let form = u16::try_from(row.get_ref(3)?.as_i64()?);
    Ok(StoredEvent {
        position: Position(row.get_ref(0)?.as_i64()?.cast_unsigned()),
        stream,
        version: Version(row.get_ref(2)?.as_i64()?.cast_unsigned()),
        kind: kind(row.get_ref(5)?.as_str()?, kinds),
        form: form.map_err(|_| ReadError::Corrupt("the form of an event is out of range".to_owned()))?,
        at: TimestampMs(row.get_ref(4)?.as_i64()?.cast_unsigned()),
        envelope: Bytes::copy_from_slice(row.get_ref(6)?.as_blob()?),
        payload: Bytes::copy_from_slice(row.get_ref(7)?.as_blob()?),
    })
}

/// There are few kinds, so each is interned for good; a linear search of so few is the fastest.
fn kind(text: &str, kinds: &mut Vec<&'static str>) -> Cow<'static, str> {
    if let Some(kind) = kinds.iter().find(|kind| **kind == text) {
        return Cow::Borrowed(kind);
    }
    if kinds.len() >= KINDS_MAX {
        return Cow::Owned(text.to_owned());
    }
    let kind: &'static str = Box::leak(text.to_owned().into_boxed_str());
    kinds.push(kind);
    Cow::Borrowed(kind)
}

/// See `Reads::read_stream`.
pub(crate) fn stream(
    reader: &mut Reader,
    shared: &SharedTail,
    name: &StreamName,
    after: Version,
    max: usize,
) -> Result<Vec<StoredEvent>, ReadError> {
    let Reader { connection, kinds, .. } = reader;
    let Some(id) = stream_id(connection, shared, name)? else { return Ok(Vec::new()) };
    let part = StreamPart::of(shared, (id, name), after, max);
    part.read(connection, kinds, usize::MAX).map(Option::unwrap_or_default)
}

/// See `Reads::read_streams`. Each half is one read transaction; see `news::after`.
pub(crate) fn streams(
    reader: &mut Reader,
    shared: &SharedTail,
    streams: &[(StreamName, Version)],
    max: usize,
) -> Result<Vec<Option<Vec<StoredEvent>>>, ReadError> {
    let Reader { connection, kinds, .. } = reader;
    let mut ids = Vec::with_capacity(streams.len());
    let transaction = connection.transaction()?;
    for (name, _) in streams {
        ids.push(stream_id(&transaction, shared, name)?);
    }
    transaction.finish()?;
    let parts = ids.into_iter().zip(streams);
    let parts = parts.map(|(id, (name, after))| id.map(|id| StreamPart::of(shared, (id, name), *after, max)));
    let parts: Vec<_> = parts.collect();
    let transaction = connection.transaction()?;
    let (mut found, mut remaining) = (Vec::with_capacity(streams.len()), STREAMS_BYTES_MAX);
    for part in parts {
        let events = match part.map(|part| part.read(&transaction, kinds, remaining)) {
            None => Some(Vec::new()),
            Some(Ok(events)) => events,
            Some(Err(ReadError::Corrupt(detail))) => {
                tracing::error!(detail, "a damaged stream is left out of a read of several");
                None
            }
            Some(Err(error)) => return Err(error),
        };
        let bytes: usize = events.iter().flatten().map(StoredEvent::bytes).sum();
        remaining -= bytes;
        found.push(events);
    }
    transaction.finish()?;
    Ok(found)
}

/// A part of a stream to read, with its unindexed end.
struct StreamPart<'a> {
    id: i64,
    name: &'a StreamName,
    /// The version before it.
    after: i64,
    max: usize,
    /// The first unindexed version.
    first: i64,
    /// The unindexed positions.
    positions: Vec<i64>,
}

impl<'a> StreamPart<'a> {
    fn of(shared: &SharedTail, (id, name): (i64, &'a StreamName), after: Version, max: usize) -> Self {
        let after = i64::try_from(after.0).map_or(VERSION_MAX, |after| after.min(VERSION_MAX));
        let (first, positions) = shared.unindexed.read().run(id, after, max);
        Self { id, name, after, max, first, positions }
    }

    /// Its events; `None` if they have more bytes than this.
    fn read(
        &self,
        connection: &Connection,
        kinds: &mut Vec<&'static str>,
        bytes_max: usize,
    ) -> Result<Option<Vec<StoredEvent>>, ReadError> {
        let Self { id, name, after, max, first, ref positions } = *self;
        let (mut events, mut bytes) = (Vec::new(), 0);
        let mut checked = |row: &Row<'_>, nth: usize| {
            let event = event(row, name.clone(), kinds)?;
            let expected = after + 1 + limit(nth);
            if event.version.0 != expected.cast_unsigned() || row.get_ref(1)?.as_i64()? != id {
                return Err(ReadError::Corrupt(format!("{name} has no version {expected} in its place")));
            }
            bytes += event.bytes();
            Ok(Some(event).filter(|_| bytes <= bytes_max))
        };
        if after + 1 < first {
            let mut statement = connection.prepare_cached(BY_SLOT)?;
            let mut rows = statement.query([slot(id, after), slot(id, first), limit(max)])?;
            while let Some(row) = rows.next()? {
                let Some(event) = checked(row, events.len())? else { return Ok(None) };
                events.push(event);
            }
        }
        for (from, to) in spans(positions) {
            let mut statement = connection.prepare_cached(BY_POSITION)?;
            let mut rows = statement.query([from, to, id])?;
            while events.len() < max
                && let Some(row) = rows.next()?
            {
                let Some(event) = checked(row, events.len())? else { return Ok(None) };
                events.push(event);
            }
        }
        let known =
            usize::try_from(first.saturating_sub(after + 1)).unwrap_or(0).saturating_add(positions.len());
        if !positions.is_empty() && events.len() < known.min(max) {
            return Err(ReadError::Corrupt(format!("{name} has lost events at its end")));
        }
        Ok(Some(events))
    }
}

/// Joins positions that are close together.
fn spans(positions: &[i64]) -> Vec<(i64, i64)> {
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for position in positions {
        match spans.last_mut() {
            Some((_, to)) if position - *to <= GAP_MAX => *to = *position,
            _ => spans.push((*position, *position)),
        }
    }
    spans
}

/// See `Reads::read_log`.
pub(crate) fn log(reader: &mut Reader, after: Position, max: usize) -> Result<Vec<StoredEvent>, ReadError> {
    let Reader { connection, names, kinds } = reader;
    let mut events: Vec<StoredEvent> = Vec::new();
    let mut last: Option<(i64, StreamName)> = None;
    let mut statement = connection.prepare_cached(LOG)?;
    let mut rows = statement.query([position(after), limit(max)])?;
    while let Some(row) = rows.next()? {
        let id = row.get_ref(1)?.as_i64()?;
        let stream = match &last {
            Some((last, stream)) if *last == id => stream.clone(),
            _ => last.insert((id, name(connection, names, id)?)).1.clone(),
        };
        let event = event(row, stream, kinds)?;
        let expected = events.last().map_or(after, |event| event.position).next();
        if event.position != expected {
            return Err(ReadError::Corrupt(format!("position {expected} is not there")));
        }
        events.push(event);
    }
    Ok(events)
}
