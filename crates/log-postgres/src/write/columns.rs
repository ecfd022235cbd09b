//! The writes of one commit as columns: each table gets one statement, each column one array.

use std::{borrow::Cow, collections::HashMap};

use plenary_log::{Digest, IndexOp, StreamName, Writes};
use tokio_postgres::types::ToSql;

use super::streams::Streams;
use crate::{target, text};

/// Everything that one commit writes, by table and column.
#[derive(Default)]
pub(crate) struct Columns<'a> {
    pub(crate) stream_count: i64,
    pub(crate) new_streams: (Vec<i64>, Texts<'a>),
    pub(crate) events: Events<'a>,
    pub(crate) index_put: (Vec<&'a str>, Texts<'a>, Bytes<'a>, Vec<i32>),
    pub(crate) index_delete: (Vec<&'a str>, Texts<'a>),
    pub(crate) rows_put: (Texts<'a>, Vec<i64>, Bytes<'a>, Vec<i32>),
    pub(crate) rows_delete: Texts<'a>,
    pub(crate) keys: (Texts<'a>, Texts<'a>, Bytes<'a>, Bytes<'a>, Vec<i32>),
    pub(crate) charges: (Texts<'a>, Vec<i64>, Vec<i64>),
}

/// Stored forms of texts.
pub(crate) type Texts<'a> = Vec<Cow<'a, str>>;
/// Byte columns.
type Bytes<'a> = Vec<&'a [u8]>;

/// The columns of new events.
#[derive(Default)]
pub(crate) struct Events<'a> {
    pub(crate) position: Vec<i64>,
    pub(crate) stream: Vec<i64>,
    pub(crate) version: Vec<i64>,
    pub(crate) kind: Vec<&'a str>,
    pub(crate) form: Vec<i32>,
    pub(crate) at: Vec<i64>,
    pub(crate) envelope: Bytes<'a>,
    pub(crate) payload: Bytes<'a>,
    pub(crate) sum: Vec<i32>,
}

impl Events<'_> {
    /// The parameters in the order of the table.
    pub(crate) fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        let ids: [&(dyn ToSql + Sync); 3] = [&self.position, &self.stream, &self.version];
        let form: [&(dyn ToSql + Sync); 3] = [&self.kind, &self.form, &self.at];
        let content: [&(dyn ToSql + Sync); 3] = [&self.envelope, &self.payload, &self.sum];
        ids.into_iter().chain(form).chain(content).collect()
    }
}

impl<'a> Columns<'a> {
    /// `stream_count` is the newest stream's id.
    pub(crate) fn of(writes: &'a Writes, streams: &Streams, stream_count: i64) -> Self {
        let mut columns = Self { stream_count, ..Self::default() };
        columns.events(writes, streams);
        columns.index(&writes.index);
        for (name, row) in &writes.rows {
            match row {
                Some(row) => {
                    columns.rows_put.0.push(text::stored(name));
                    columns.rows_put.1.push(target::stored(row.revision));
                    columns.rows_put.2.push(&row.value);
                    columns.rows_put.3.push(Digest::row(name, row).stored());
                }
                None => columns.rows_delete.push(text::stored(name)),
            }
        }
        for claim in &writes.keys {
            columns.keys.0.push(text::stored(&claim.scope));
            columns.keys.1.push(text::stored(&claim.key));
            columns.keys.2.push(&claim.digest);
            columns.keys.3.push(&claim.outcome);
            let sum = Digest::parts_of_key(&claim.scope, &claim.key, &claim.digest, &claim.outcome);
            columns.keys.4.push(sum.stored());
        }
        for (account, change) in &writes.charges {
            columns.charges.0.push(text::stored(account));
            columns.charges.1.push(change.bytes);
            columns.charges.2.push(change.events);
        }
        columns
    }

    fn events(&mut self, writes: &'a Writes, streams: &Streams) {
        let mut new: HashMap<&StreamName, i64> = HashMap::new();
        for event in &writes.events {
            let id = match streams.get(&event.stream) {
                Some(stream) => stream.id,
                None => *new.entry(&event.stream).or_insert_with(|| {
                    self.stream_count += 1;
                    self.new_streams.0.push(self.stream_count);
                    self.new_streams.1.push(text::stored(event.stream.as_str()));
                    self.stream_count
                }),
            };
            let events = &mut self.events;
            events.position.push(target::stored(event.position.0));
            events.stream.push(id);
            events.version.push(target::stored(event.version.0));
            events.kind.push(&event.kind);
            events.form.push(event.form.into());
            events.at.push(target::stored(event.at.0));
            events.envelope.push(&event.envelope);
            events.payload.push(&event.payload);
            events.sum.push(Digest::event(event).stored());
        }
    }

    /// Keeps the last change of each key; one statement can't change a row twice.
    fn index(&mut self, ops: &'a [IndexOp]) {
        let mut last: HashMap<(&'static str, &'a str), Option<&'a [u8]>> = HashMap::with_capacity(ops.len());
        for op in ops {
            match op {
                IndexOp::Put { name, key, value } => last.insert((name, key), Some(value)),
                IndexOp::Delete { name, key } => last.insert((name, key), None),
            };
        }
        for ((name, key), value) in last {
            match value {
                Some(value) => {
                    self.index_put.0.push(name);
                    self.index_put.1.push(text::stored(key));
                    self.index_put.2.push(value);
                    self.index_put.3.push(Digest::index(name, key, value).stored());
                }
                None => {
                    self.index_delete.0.push(name);
                    self.index_delete.1.push(text::stored(key));
                }
            }
        }
    }
}
