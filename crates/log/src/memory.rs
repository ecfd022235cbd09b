//! The log in memory: for tests, and for `--data :memory:`, without durability.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::Arc,
};

use bytes::Bytes;
use parking_lot::Mutex;
use plenary_kernel::{Position, Version};

use crate::{
    Fault, Feeder, FoundRow, IndexOp, Job, Jobs, KeyRecord, Lookup, OpenedLog, Order, Reads, Row,
    StoredEvent, StreamName, StreamNews, Usage, Writes, channel, plan, reads::Read,
};

/// Opens an empty log. Needs a tokio runtime.
pub fn open_memory() -> OpenedLog {
    let (channel, jobs, feeder) = channel();
    let memory = Arc::new(Memory::default());
    tokio::spawn(write(memory.clone(), jobs, feeder));
    channel.open(memory)
}

async fn write(memory: Arc<Memory>, mut jobs: Jobs, feeder: Feeder) {
    let mut queued = Vec::new();
    loop {
        jobs.take(&mut queued).await;
        if queued.is_empty() {
            return;
        }
        let (batches, replies): (Vec<_>, Vec<_>) =
            queued.drain(..).map(|Job { batch, reply }| (batch, reply)).unzip();
        let planned = {
            let mut state = memory.0.lock();
            let head = state.head();
            plan(batches.into_iter(), head, &mut *state)
                .map(|(writes, outcomes)| (state.apply(writes), outcomes))
        };
        match planned {
            Ok((committed, outcomes)) => {
                for (reply, outcome) in replies.into_iter().zip(outcomes) {
                    let _ = reply.send(outcome);
                }
                feeder.publish(committed).await;
            }
            Err(fault) => {
                for reply in replies {
                    let _ = reply.send(Err(fault.clone()));
                }
            }
        }
    }
}

#[derive(Default)]
struct Memory(Mutex<State>);

#[derive(Default)]
struct State {
    log: Vec<StoredEvent>,
    /// Offsets into `log`; the version is the offset here + 1.
    streams: HashMap<StreamName, Vec<usize>>,
    index: HashMap<&'static str, BTreeMap<String, Bytes>>,
    rows: BTreeMap<String, Row>,
    keys: HashMap<(String, String), KeyRecord>,
    usage: HashMap<String, Usage>,
}

impl Memory {
    fn read<T: Send + 'static>(&self, read: impl FnOnce(&State) -> T) -> Read<'_, T> {
        let answer = read(&self.0.lock());
        Box::pin(std::future::ready(Ok(answer)))
    }
}

impl State {
    fn head(&self) -> Position {
        Position(self.log.len() as u64)
    }
    fn apply(&mut self, writes: Writes) -> Arc<[StoredEvent]> {
        let committed: Arc<[StoredEvent]> = writes.events.into();
        for event in committed.iter() {
            self.streams.entry(event.stream.clone()).or_default().push(self.log.len());
            self.log.push(event.clone());
        }
        for op in writes.index {
            match op {
                IndexOp::Put { name, key, value } => {
                    self.index.entry(name).or_default().insert(key, value);
                }
                IndexOp::Delete { name, key } => {
                    self.index.entry(name).or_default().remove(&key);
                }
            }
        }
        for (name, row) in writes.rows {
            match row {
                Some(row) => self.rows.insert(name, row),
                None => self.rows.remove(&name),
            };
        }
        for claim in writes.keys {
            let record = KeyRecord { digest: claim.digest, outcome: claim.outcome };
            self.keys.insert((claim.scope, claim.key), record);
        }
        for (account, change) in writes.charges {
            let usage = self.usage.entry(account).or_default();
            *usage = change.applied(*usage);
        }
        committed
    }
    fn first_after(&self, stream: &StreamName, after: Position) -> Option<StreamNews> {
        let offsets = self.streams.get(stream)?;
        let nth = offsets.partition_point(|offset| self.log[*offset].position <= after);
        let event = &self.log[*offsets.get(nth)?];
        Some(StreamNews { stream: stream.clone(), first: event.version, at: event.position })
    }
}

impl Lookup for State {
    fn version(&mut self, stream: &StreamName) -> Result<Version, Fault> {
        Ok(Version(self.streams.get(stream).map_or(0, Vec::len) as u64))
    }
    fn key(&mut self, scope: &str, key: &str) -> Result<Option<KeyRecord>, Fault> {
        Ok(self.keys.get(&(scope.to_owned(), key.to_owned())).cloned())
    }
    fn row(&mut self, name: &str) -> Result<Option<Row>, Fault> {
        Ok(self.rows.get(name).cloned())
    }
}

fn offset(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// The entries of a sorted map whose key starts with `prefix`, strictly after `after` in that order.
fn after_key<'a, V>(
    map: &'a BTreeMap<String, V>,
    prefix: &'a str,
    after: Option<&'a str>,
    order: Order,
) -> Box<dyn Iterator<Item = (&'a String, &'a V)> + 'a> {
    let start = match (order, after) {
        (Order::Ascending, Some(after)) if after >= prefix => Bound::Excluded(after),
        _ => Bound::Included(prefix),
    };
    let run =
        map.range::<str, _>((start, Bound::Unbounded)).take_while(move |(key, _)| key.starts_with(prefix));
    match order {
        Order::Ascending => Box::new(run),
        Order::Descending => {
            let run: Vec<_> = run.filter(|(key, _)| after.is_none_or(|after| key.as_str() < after)).collect();
            Box::new(run.into_iter().rev())
        }
    }
}

impl Reads for Memory {
    fn read_stream<'a>(
        &'a self,
        stream: &'a StreamName,
        after: Version,
        max: usize,
    ) -> Read<'a, Vec<StoredEvent>> {
        self.read(|state| {
            let offsets = state.streams.get(stream).map_or(&[][..], Vec::as_slice);
            offsets.iter().skip(offset(after.0)).take(max).map(|at| state.log[*at].clone()).collect()
        })
    }
    fn read_log(&self, after: Position, max: usize) -> Read<'_, Vec<StoredEvent>> {
        self.read(|state| state.log.iter().skip(offset(after.0)).take(max).cloned().collect())
    }
    fn read_index<'a>(
        &'a self,
        name: &'a str,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
        order: Order,
    ) -> Read<'a, Vec<FoundRow>> {
        self.read(|state| {
            let empty = BTreeMap::new();
            let index = state.index.get(name).unwrap_or(&empty);
            let rows = after_key(index, prefix, after, order).take(max);
            rows.map(|(key, value)| FoundRow { key: key.clone(), value: Some(value.clone()) }).collect()
        })
    }
    fn read_row<'a>(&'a self, name: &'a str) -> Read<'a, Option<Row>> {
        self.read(|state| state.rows.get(name).cloned())
    }
    fn read_rows<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
    ) -> Read<'a, Vec<(String, Row)>> {
        self.read(|state| {
            let rows = after_key(&state.rows, prefix, after, Order::Ascending).take(max);
            rows.map(|(name, row)| (name.clone(), row.clone())).collect()
        })
    }
    fn read_key<'a>(&'a self, scope: &'a str, key: &'a str) -> Read<'a, Option<KeyRecord>> {
        self.read(|state| state.keys.get(&(scope.to_owned(), key.to_owned())).cloned())
    }
    fn read_usage<'a>(&'a self, account: &'a str) -> Read<'a, Usage> {
        self.read(|state| state.usage.get(account).copied().unwrap_or_default())
    }
    fn streams_between<'a>(
        &'a self,
        category: &'a str,
        after: Position,
        until: Position,
    ) -> Read<'a, Vec<StreamNews>> {
        self.read(|state| {
            let mut news = HashMap::new();
            let end = offset(until.0).min(state.log.len());
            for event in state.log.iter().take(end).skip(offset(after.0)) {
                if event.stream.category() == category {
                    news.entry(event.stream.clone()).or_insert((event.version, event.position));
                }
            }
            news.into_iter().map(|(stream, (first, at))| StreamNews { stream, first, at }).collect()
        })
    }
    fn streams_after<'a>(&'a self, streams: &'a [StreamName], after: Position) -> Read<'a, Vec<StreamNews>> {
        self.read(|state| {
            let news = streams.iter().filter_map(|stream| state.first_after(stream, after));
            news.collect()
        })
    }
    fn head(&self) -> Read<'_, Position> {
        self.read(State::head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, NewEvent, Outcome};

    #[tokio::test]
    async fn a_log_that_closes_writes_what_waits_and_takes_nothing_more() {
        let OpenedLog { log, mut feed } = open_memory();
        let event = NewEvent { kind: "K", form: 1, envelope: Bytes::new(), payload: Bytes::new() };
        let batch = Batch { events: vec![(StreamName::new("t.t", "a"), event)], ..Batch::default() };
        let waiting = log.reserve().await.unwrap().submit(batch.clone());
        log.close().await;
        assert!(matches!(waiting.await, Ok(Outcome::Appended(_))));
        while log.append(batch.clone()).await.is_ok() {}
        assert!(matches!(log.append(batch).await, Err(Fault::Unavailable(_) | Fault::OutcomeUnknown(_))));
        while feed.next().await.is_some() {}
    }
}
