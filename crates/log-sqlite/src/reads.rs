//! The reads of a store, each with its own connection while it runs.

use plenary_kernel::{Position, Version};
use plenary_log::{
    Fault, FoundRow, KeyRecord, Order, Read, Reads, Row, StoredEvent, StreamName, StreamNews, Usage,
};

use crate::{events, news, pool::Pool, records};

impl Reads for Pool {
    fn read_stream<'a>(
        &'a self,
        stream: &'a StreamName,
        after: Version,
        max: usize,
    ) -> Read<'a, Vec<StoredEvent>> {
        let young =
            self.shared().unindexed.try_read().and_then(|unindexed| unindexed.young(stream, after, max));
        if let Some(events) = young {
            return Box::pin(std::future::ready(Ok(events)));
        }
        let stream = stream.clone();
        Box::pin(self.read(move |reader, shared| events::stream(reader, shared, &stream, after, max)))
    }

    fn read_streams<'a>(
        &'a self,
        streams: &'a [(StreamName, Version)],
        max: usize,
    ) -> Read<'a, Vec<Option<Vec<StoredEvent>>>> {
        let streams = streams.to_vec();
        Box::pin(self.read(move |reader, shared| events::streams(reader, shared, &streams, max)))
    }

    fn read_log(&self, after: Position, max: usize) -> Read<'_, Vec<StoredEvent>> {
        Box::pin(self.read(move |reader, _| events::log(reader, after, max)))
    }

    fn read_index<'a>(
        &'a self,
        name: &'a str,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
        order: Order,
    ) -> Read<'a, Vec<FoundRow>> {
        let (name, prefix, after) = (name.to_owned(), prefix.to_owned(), after.map(str::to_owned));
        Box::pin(self.read(move |reader, shared| {
            records::index(&reader.connection, shared, &name, &prefix, after.as_deref(), max, order)
        }))
    }

    fn keys_of<'a>(&'a self, name: &'a str, keys: &'a [String]) -> Read<'a, Vec<String>> {
        let (name, keys) = (name.to_owned(), keys.to_vec());
        Box::pin(self.read(move |reader, shared| records::keys(&reader.connection, shared, &name, keys)))
    }

    fn read_row<'a>(&'a self, name: &'a str) -> Read<'a, Option<Row>> {
        let name = name.to_owned();
        Box::pin(self.read(move |reader, _| records::row(&reader.connection, &name)))
    }

    fn read_rows<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
    ) -> Read<'a, Vec<(String, Row)>> {
        let (prefix, after) = (prefix.to_owned(), after.map(str::to_owned));
        Box::pin(
            self.read(move |reader, _| records::rows(&reader.connection, &prefix, after.as_deref(), max)),
        )
    }

    fn read_key<'a>(&'a self, scope: &'a str, key: &'a str) -> Read<'a, Option<KeyRecord>> {
        let (scope, key) = (scope.to_owned(), key.to_owned());
        Box::pin(self.read(move |reader, shared| records::key(&reader.connection, shared, &scope, &key)))
    }

    fn read_usage<'a>(&'a self, account: &'a str) -> Read<'a, Usage> {
        let account = account.to_owned();
        Box::pin(self.read(move |reader, shared| records::usage(&reader.connection, shared, &account)))
    }

    fn streams_between<'a>(
        &'a self,
        category: &'a str,
        after: Position,
        until: Position,
    ) -> Read<'a, Vec<StreamNews>> {
        let category = category.to_owned();
        Box::pin(self.read(move |reader, _| news::between(reader, &category, after, until)))
    }

    fn streams_after<'a>(&'a self, streams: &'a [StreamName], after: Position) -> Read<'a, Vec<StreamNews>> {
        let streams = streams.to_vec();
        Box::pin(self.read(move |reader, shared| news::after(reader, shared, &streams, after)))
    }

    fn head(&self) -> Read<'_, Position> {
        let head = Position(self.shared().head().cast_unsigned());
        Box::pin(std::future::ready(Ok::<_, Fault>(head)))
    }
}
