//! Random batches in random groups: a store gives the same answers and contents as the model.

use bytes::Bytes;
use plenary_kernel::{Position, TimestampMs, Version};
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_oneof},
    test_runner::{Config, TestRunner},
};

use super::{
    Store,
    build::{fresh, pipelined, sound, whole},
    model::Model,
};
use crate::{Batch, Condition, IndexOp, KeyClaim, Log, NewEvent, Order, RowOp, StreamName, StreamNews};

const STORES: u32 = 24;
const NAMES: [(&str, &str); 5] = [("m.a", "1"), ("m.a", "2"), ("m.ab", "1"), ("m", "a/1"), ("m.a", "1/1")];
const INDEXES: [&str; 2] = ["m.one", "m.two"];
const KEYS: [&str; 7] = ["", "a", "a/", "a/b", "a0", "aü", "\u{10ffff}"];
const ROWS: [&str; 4] = ["r", "r/1", "r/2", "r0"];

/// The expectation of a batch about a version, before that version is known.
#[derive(Debug, Clone, Copy)]
enum Guess {
    Right,
    Off(u64),
}

impl Guess {
    fn of(self, actual: u64) -> u64 {
        match self {
            Self::Right => actual,
            Self::Off(n) if n == actual => n + 1,
            Self::Off(n) => n,
        }
    }
}

#[derive(Debug, Clone)]
struct Draft {
    conditions: Vec<(usize, Guess)>,
    events: Vec<(usize, Vec<u8>)>,
    index: Vec<(usize, usize, Option<u8>)>,
    rows: Vec<(usize, Option<Guess>, Option<u8>)>,
    key: Option<(u8, u8)>,
}

fn guess() -> impl Strategy<Value = Guess> {
    prop_oneof![6 => Just(Guess::Right), 1 => (0_u64..4).prop_map(Guess::Off)]
}

fn draft() -> impl Strategy<Value = Draft> {
    let conditions = vec((0..NAMES.len(), guess()), 0..3);
    let events = vec((0..NAMES.len(), vec(any::<u8>(), 0..6)), 0..4);
    let index = vec((0..INDEXES.len(), 0..KEYS.len(), proptest::option::of(any::<u8>())), 0..3);
    let row = (0..ROWS.len(), proptest::option::of(guess()), proptest::option::weighted(0.7, any::<u8>()));
    let key = proptest::option::weighted(0.3, (0_u8..6, 0_u8..2));
    (conditions, events, index, vec(row, 0..3), key)
        .prop_map(|(conditions, events, index, rows, key)| Draft { conditions, events, index, rows, key })
}

fn name(nth: usize) -> StreamName {
    StreamName::new(NAMES[nth].0, NAMES[nth].1)
}

fn batch(draft: &Draft, model: &Model, nth: u64) -> Batch {
    let conditions = draft.conditions.iter().map(|(at, guess)| {
        let stream = name(*at);
        let expected = Version(guess.of(model.version(&stream).0));
        Condition::at(stream, expected)
    });
    let events = draft.events.iter().map(|(at, bytes)| {
        let (envelope, payload) = bytes.split_at(bytes.len() / 2);
        let (envelope, payload) = (Bytes::copy_from_slice(envelope), Bytes::copy_from_slice(payload));
        (name(*at), NewEvent { kind: "Drawn", form: 7, envelope, payload })
    });
    let index = draft.index.iter().map(|(index, key, value)| {
        let (name, key) = (INDEXES[*index], KEYS[*key].to_owned());
        match value {
            Some(value) => IndexOp::Put { name, key, value: vec![*value].into() },
            None => IndexOp::Delete { name, key },
        }
    });
    let rows = draft.rows.iter().map(|(row, guess, value)| RowOp {
        name: ROWS[*row].to_owned(),
        expected: guess.map(|guess| guess.of(model.revision(ROWS[*row]))),
        value: value.map(|value| vec![value].into()),
    });
    let key = draft.key.map(|(key, digest)| KeyClaim {
        scope: format!("s/{}", key % 2),
        key: key.to_string(),
        digest: [digest; 32],
        outcome: nth.to_string().into(),
    });
    Batch {
        conditions: conditions.collect(),
        events: events.collect(),
        at: TimestampMs(nth),
        index: index.collect(),
        rows: rows.collect(),
        key,
        charges: Vec::new(),
        chain: None,
    }
}

/// Groups of batches that are submitted together.
pub async fn a_store_does_what_the_model_does<S: Store>() {
    let runtime = tokio::runtime::Handle::current();
    let cases =
        Config { cases: STORES, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let checked = tokio::task::spawn_blocking(move || {
        TestRunner::new(cases).run(&vec(vec(draft(), 1..12), 1..10), |groups| {
            runtime.block_on(compared::<S>(groups));
            Ok(())
        })
    });
    if let Err(failure) = checked.await.expect("the runner ends") {
        panic!("{failure}");
    }
}

async fn compared<S: Store>(groups: Vec<Vec<Draft>>) {
    let (store, log, tail) = fresh::<S>().await;
    let mut model = Model::default();
    let mut nth = 0;
    for group in groups {
        let mut batches = Vec::new();
        let mut expected = Vec::new();
        for draft in &group {
            nth += 1;
            let batch = batch(draft, &model, nth);
            expected.push(model.append(&batch));
            batches.push(batch);
        }
        assert_eq!(pipelined(&log, batches).await, expected);
        assert_eq!(sound(log.head().await), Position(model.log.len() as u64));
    }
    assert_eq!(whole(&log).await, model.log);
    streams_agree(&log, &model).await;
    records_agree(&log, &model).await;
    drop(log);
    assert_eq!(tail.rest().await, model.log);
    store.closed().await;
}

fn sorted(mut news: Vec<StreamNews>) -> Vec<StreamNews> {
    news.sort_by(|a, b| a.stream.cmp(&b.stream));
    news
}

async fn streams_agree(log: &Log, model: &Model) {
    let names: Vec<_> = (0..NAMES.len()).map(name).collect();
    for stream in &names {
        for (after, max) in [(0, 1_000), (0, 2), (1, 3), (5, 1)] {
            let read = sound(log.read_stream(stream, Version(after), max).await);
            assert_eq!(read, model.stream(stream, after, max));
        }
    }
    let head = model.log.len() as u64;
    for (after, until) in [(0, head), (head / 2, head), (head / 3, head / 2), (1, 2), (head, head + 5)] {
        for category in ["m.a", "m.ab", "m"] {
            let read = sound(log.streams_between(category, Position(after), Position(until)).await);
            let expected = model.news(after, until, |stream| stream.category() == category);
            assert_eq!(sorted(read), expected, "{category} between {after} and {until}");
        }
        let read = sound(log.streams_after(&names[1..], Position(after)).await);
        assert_eq!(sorted(read), model.news(after, u64::MAX, |stream| names[1..].contains(stream)));
    }
}

async fn records_agree(log: &Log, model: &Model) {
    for index in INDEXES {
        for (prefix, after, max) in
            [("", None, 100), ("a", None, 2), ("a/", Some("a/"), 9), ("", Some("a0"), 9), ("", Some("b"), 9)]
        {
            for order in [Order::Ascending, Order::Descending] {
                let read = sound(log.read_index(index, prefix, after, max, order).await);
                assert_eq!(read, model.read_index(index, prefix, after, max, order));
            }
        }
    }
    for name in ROWS {
        assert_eq!(sound(log.read_row(name).await), model.rows.get(name).cloned());
    }
    let rows: Vec<_> = model.rows.clone().into_iter().collect();
    assert_eq!(sound(log.read_rows("", None, 100).await), rows);
    for key in 0..6 {
        let (scope, key) = (format!("s/{}", key % 2), key.to_string());
        let read = sound(log.read_key(&scope, &key).await);
        assert_eq!(read, model.keys.get(&(scope, key)).cloned());
    }
}
