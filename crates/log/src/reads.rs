//! The reads of a store.

use std::{future::Future, pin::Pin};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use plenary_kernel::{Position, Version};

use crate::{Fault, KeyRecord, Row, StoredEvent, StreamName, Usage};

/// A boxed read.
pub type Read<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// The direction in which an index is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Byte order of the keys.
    Ascending,
    /// The reverse.
    Descending,
}

/// One row of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRow {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Bytes,
}

/// One row of an index as a store finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRow {
    /// The key.
    pub key: String,
    /// The value; `None` if it is not what was written.
    pub value: Option<Bytes>,
}

impl FoundRow {
    /// The row, if it is sound.
    ///
    /// # Errors
    /// The row is damaged.
    pub fn sound(self, index: &str) -> Result<IndexRow, Fault> {
        let Self { key, value } = self;
        match value {
            Some(value) => Ok(IndexRow { key, value }),
            None => Err(Fault::Corrupt(format!("the key {key} of the index {index} is damaged"))),
        }
    }
}

/// A stream that has events after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamNews {
    /// The stream.
    pub stream: StreamName,
    /// The version of its first event after the position.
    pub first: Version,
    /// The position of that event.
    pub at: Position,
}

/// Most bytes of the events that one read of several streams returns; it ends before the event that exceeds them.
pub const STREAMS_BYTES_MAX: usize = 1 << 20;

/// Streams that a store without a read of its own for several reads at the same time.
const STREAMS_AT_ONCE: usize = 16;

/// The reading half of a store. Reads see everything that was committed before they began. `max` is at
/// most `limits::READ_ROWS_MAX` rows unless stated otherwise; fewer than `max` results mean that there
/// are no more.
pub trait Reads: Send + Sync + 'static {
    /// Events of one stream with `version > after`, in order.
    fn read_stream<'a>(
        &'a self,
        stream: &'a StreamName,
        after: Version,
        max: usize,
    ) -> Read<'a, Vec<StoredEvent>>;
    /// The events of several streams (at most `READ_ROWS_MAX`) with `version > after`, up to `max` of each, in the order of
    /// the streams. `None` for a stream that was left out: its events are damaged, or it would exceed
    /// [`STREAMS_BYTES_MAX`].
    fn read_streams<'a>(
        &'a self,
        streams: &'a [(StreamName, Version)],
        max: usize,
    ) -> Read<'a, Vec<Option<Vec<StoredEvent>>>> {
        Box::pin(async move {
            let reads = streams.iter().map(|(stream, after)| self.read_stream(stream, *after, max));
            let mut reads = stream::iter(reads.collect::<Vec<_>>()).buffered(STREAMS_AT_ONCE);
            let (mut found, mut bytes) = (Vec::with_capacity(streams.len()), 0);
            while bytes <= STREAMS_BYTES_MAX
                && let Some(events) = reads.next().await
            {
                let events =
                    Fault::skip_corrupt(events, "a damaged stream is left out of a read of several")?;
                bytes += events.iter().flatten().map(StoredEvent::bytes).sum::<usize>();
                found.push(events.filter(|_| bytes <= STREAMS_BYTES_MAX));
            }
            found.resize_with(streams.len(), || None);
            Ok(found)
        })
    }
    /// Events of the whole log with `position > after`, in order.
    fn read_log(&self, after: Position, max: usize) -> Read<'_, Vec<StoredEvent>>;
    /// Rows of an index whose key starts with `prefix`, strictly after `after` in that order.
    fn read_index<'a>(
        &'a self,
        name: &'a str,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
        order: Order,
    ) -> Read<'a, Vec<FoundRow>>;
    /// Those of these keys (at most `READ_ROWS_MAX`) that an index has, in this order, whatever their values.
    fn keys_of<'a>(&'a self, name: &'a str, keys: &'a [String]) -> Read<'a, Vec<String>> {
        Box::pin(async move {
            let mut found = Vec::new();
            for key in keys {
                let first = self.read_index(name, key, None, 1, Order::Ascending).await?;
                found.extend(first.into_iter().map(|row| row.key).filter(|first| first == key));
            }
            Ok(found)
        })
    }
    /// One row, if present.
    fn read_row<'a>(&'a self, name: &'a str) -> Read<'a, Option<Row>>;
    /// Rows whose name starts with `prefix`, in byte order, strictly after `after`.
    fn read_rows<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
    ) -> Read<'a, Vec<(String, Row)>>;
    /// A claimed idempotency key.
    fn read_key<'a>(&'a self, scope: &'a str, key: &'a str) -> Read<'a, Option<KeyRecord>>;
    /// The storage use of an account.
    fn read_usage<'a>(&'a self, account: &'a str) -> Read<'a, Usage>;
    /// The streams of a category with events in `(after, until]`, each with the first such version, in
    /// no order. The cost is proportional to the events between the two positions; the caller bounds the
    /// distance.
    fn streams_between<'a>(
        &'a self,
        category: &'a str,
        after: Position,
        until: Position,
    ) -> Read<'a, Vec<StreamNews>>;
    /// The named streams (at most `READ_ROWS_MAX`) that have events after `after`. Costs a few look-ups
    /// per stream, whatever the length of the log.
    fn streams_after<'a>(&'a self, streams: &'a [StreamName], after: Position) -> Read<'a, Vec<StreamNews>>;
    /// The position of the last committed event.
    fn head(&self) -> Read<'_, Position>;
}
