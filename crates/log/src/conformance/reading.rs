//! Reads of events: pages, and the streams that have news.

use plenary_kernel::{Position, Version};

use super::{
    Store,
    build::{Say, accepted, batch, fresh, pipelined, sound, stream},
};
use crate::{Batch, Log, Order, STREAMS_BYTES_MAX, StoredEvent, StreamName, StreamNews};

/// A stream is read from its cursor, a page at a time.
pub async fn a_stream_is_read_in_pages<S: Store>() {
    const COUNT: usize = 25;
    let (_store, log, _tail) = fresh::<S>().await;
    let (a, b) = (stream("a"), stream("b"));
    let batches = (0..COUNT).map(|n| batch().add(&a, &n.to_string()).add(&b, "other")).collect();
    pipelined(&log, batches).await;
    for size in [1, 7, COUNT, COUNT + 1, 1_000] {
        let mut read: Vec<StoredEvent> = Vec::new();
        loop {
            let after = read.last().map_or(Version::ZERO, |event| event.version);
            let page = sound(log.read_stream(&a, after, size).await);
            assert!(page.len() <= size);
            let ends = page.len() < size;
            read.extend(page);
            if ends {
                break;
            }
        }
        assert_eq!(read.len(), COUNT);
        for (event, n) in read.iter().zip(0..) {
            assert_eq!((event.version, &event.stream), (Version(n + 1), &a));
            assert_eq!(event.position, Position(2 * n + 1));
            assert_eq!(event.envelope, n.to_string());
        }
    }
    assert!(sound(log.read_stream(&a, Version::ZERO, 0).await).is_empty());
    assert!(sound(log.read_stream(&a, Version(1_000), 10).await).is_empty());
    assert!(sound(log.read_stream(&stream("c"), Version::ZERO, 10).await).is_empty());
}

/// Several streams are read at once, each from its cursor, as long as their events have few bytes.
pub async fn several_streams_are_read_at_once<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let (a, b, none, large) = (stream("a"), stream("b"), stream("none"), stream("large"));
    let third = "x".repeat(STREAMS_BYTES_MAX / 3);
    let batches = [
        batch().add(&a, "1").add(&b, "1").add(&a, "2"),
        batch().add(&a, "3").add(&large, &third).add(&large, &third),
        batch().add(&large, &third),
    ];
    pipelined(&log, batches.into()).await;
    let wanted = [(&b, 0), (&a, 1), (&none, 0), (&large, 2), (&large, 0), (&a, 0)];
    let wanted = wanted.map(|(stream, after)| (stream.clone(), Version(after)));
    let found = sound(log.read_streams(&wanted, 2).await);
    let versions = |events: &Vec<StoredEvent>| events.iter().map(|event| event.version.0).collect::<Vec<_>>();
    let found: Vec<_> = found.iter().map(|events| events.as_ref().map(versions)).collect();
    let within = [Some(vec![1]), Some(vec![2, 3]), Some(vec![]), Some(vec![3])];
    assert_eq!(found[..4], within, "a stream without events is no stream that was left out");
    assert_eq!(found.len(), wanted.len());
    assert_eq!(found[4], None, "its two events exceed the bytes of one read");
    let events = sound(log.read_streams(&wanted[1..2], 9).await).pop().flatten();
    assert_eq!(events, Some(sound(log.read_stream(&a, Version(1), 9).await)));
}

/// The log is read from a position, a page at a time.
pub async fn the_log_is_read_in_pages<S: Store>() {
    const COUNT: usize = 25;
    let (_store, log, _tail) = fresh::<S>().await;
    let batches = (0..COUNT).map(|n| batch().add(&stream(&(n % 4).to_string()), &n.to_string())).collect();
    pipelined(&log, batches).await;
    for size in [1, 7, COUNT, COUNT + 1, 1_000] {
        let mut read: Vec<StoredEvent> = Vec::new();
        loop {
            let after = read.last().map_or(Position::ZERO, |event| event.position);
            let page = sound(log.read_log(after, size).await);
            assert!(page.len() <= size);
            let ends = page.len() < size;
            read.extend(page);
            if ends {
                break;
            }
        }
        assert_eq!(read.len(), COUNT);
        for (event, n) in read.iter().zip(0..) {
            assert_eq!((event.position, event.version), (Position(n + 1), Version(n / 4 + 1)));
            assert_eq!(event.stream, stream(&(n % 4).to_string()));
            assert_eq!(event.envelope, n.to_string());
        }
    }
    assert!(sound(log.read_log(Position::ZERO, 0).await).is_empty());
    assert!(sound(log.read_log(Position(1_000), 10).await).is_empty());
}

/// Ten events on five streams of four categories whose names run into each other.
async fn some_news(log: &Log) -> [StreamName; 5] {
    let name = |category, id| StreamName::new(category, id);
    let at = [name("a.b", "1"), name("a.b", "2"), name("a.bc", "1"), name("a", "b/1"), name("a.b0", "1")];
    let [b1, b2, bc, slash, zero] = &at;
    let order = [b1, bc, b2, slash, b1, zero, b2, b1, bc, b1];
    for (stream, n) in order.into_iter().zip(1..) {
        let appended = accepted(log, batch().add(stream, &n.to_string())).await;
        assert_eq!(appended.last, Position(n));
    }
    at
}

fn news(expected: &[(&StreamName, u64)]) -> Vec<StreamNews> {
    let at = Position(0);
    sorted(expected.iter().map(|(stream, first)| StreamNews {
        stream: (*stream).clone(),
        first: Version(*first),
        at,
    }))
}

/// Sorted by stream. The random test checks the positions.
fn sorted(news: impl IntoIterator<Item = StreamNews>) -> Vec<StreamNews> {
    let mut news: Vec<_> = news.into_iter().map(|news| StreamNews { at: Position(0), ..news }).collect();
    news.sort_by(|a, b| a.stream.cmp(&b.stream));
    news
}

/// By category, each stream with its first version past the position.
pub async fn news_between_two_positions<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let [b1, b2, bc, slash, zero] = some_news(&log).await;
    let between = async |category: &str, after, until| {
        sorted(sound(log.streams_between(category, Position(after), Position(until)).await))
    };
    assert_eq!(between("a.b", 0, 10).await, news(&[(&b1, 1), (&b2, 1)]));
    assert_eq!(between("a.b", 0, 1_000).await, news(&[(&b1, 1), (&b2, 1)]));
    assert_eq!(between("a.b", 1, 10).await, news(&[(&b1, 2), (&b2, 1)]));
    assert_eq!(between("a.b", 3, 6).await, news(&[(&b1, 2)]));
    assert_eq!(between("a.b", 5, 7).await, news(&[(&b2, 2)]));
    assert_eq!(between("a.b", 7, 10).await, news(&[(&b1, 3)]));
    assert_eq!(between("a.b", 3, 4).await, news(&[]));
    assert_eq!(between("a.b", 4, 5).await, news(&[(&b1, 2)]));
    assert_eq!(between("a.b", 5, 5).await, news(&[]));
    assert_eq!(between("a.b", 9, 3).await, news(&[]));
    assert_eq!(between("a.b", 10, 20).await, news(&[]));
    assert_eq!(between("a.bc", 0, 10).await, news(&[(&bc, 1)]));
    assert_eq!(between("a.bc", 2, 10).await, news(&[(&bc, 2)]));
    assert_eq!(between("a.b0", 0, 10).await, news(&[(&zero, 1)]));
    assert_eq!(between("a", 0, 10).await, news(&[(&slash, 1)]));
    assert_eq!(between("a.", 0, 10).await, news(&[]));
    assert_eq!(between("A.B", 0, 10).await, news(&[]));
    assert_eq!(between("a_b", 0, 10).await, news(&[]));
    assert_eq!(between("", 0, 10).await, news(&[]));
}

/// The requested streams that have new events.
pub async fn news_of_named_streams<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let [b1, b2, bc, slash, zero] = some_news(&log).await;
    let absent = stream("absent");
    let all = [b1.clone(), absent.clone(), b2.clone(), bc.clone(), slash.clone(), zero.clone()];
    let after = async |streams: &[StreamName], after| {
        sorted(sound(log.streams_after(streams, Position(after)).await))
    };
    let everything = [(&b1, 1), (&b2, 1), (&bc, 1), (&slash, 1), (&zero, 1)];
    assert_eq!(after(&all, 0).await, news(&everything));
    assert_eq!(after(&all, 1).await, news(&[(&b1, 2), (&b2, 1), (&bc, 1), (&slash, 1), (&zero, 1)]));
    assert_eq!(after(&all, 4).await, news(&[(&b1, 2), (&b2, 2), (&bc, 2), (&zero, 1)]));
    assert_eq!(after(&all, 8).await, news(&[(&b1, 4), (&bc, 2)]));
    assert_eq!(after(&all, 9).await, news(&[(&b1, 4)]));
    assert_eq!(after(&all, 10).await, news(&[]));
    assert_eq!(after(&all, 1_000).await, news(&[]));
    assert_eq!(after(&[bc.clone(), zero], 2).await, news(&[(&bc, 2), (&all[5], 1)]));
    assert_eq!(after(&[absent], 0).await, news(&[]));
    assert_eq!(after(&[], 0).await, news(&[]));
    let many: Vec<_> = (0..999).map(|n| stream(&n.to_string())).chain([bc.clone()]).collect();
    assert_eq!(after(&many, 2).await, news(&[(&bc, 2)]));
}

/// The head is the position of the last committed event, once its append was answered.
pub async fn the_head_rises_with_every_event<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    assert_eq!(sound(log.head().await), Position::ZERO);
    for n in 1..=5 {
        accepted(&log, batch().add(&a, "one").add(&a, "two")).await;
        assert_eq!(sound(log.head().await), Position(2 * n));
        assert!(!super::build::is_appended(&sound(log.append(batch().when(&a, 0).add(&a, "x")).await)));
        accepted(&log, batch().put("k", "v")).await;
        assert_eq!(sound(log.head().await), Position(2 * n));
    }
}

/// An empty answer is not an error.
pub async fn an_empty_store_answers_everything<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let a = stream("a");
    assert!(sound(log.read_stream(&a, Version::ZERO, 10).await).is_empty());
    assert!(sound(log.read_log(Position::ZERO, 10).await).is_empty());
    assert!(sound(log.read_index("test.a", "", None, 10, Order::Descending).await).is_empty());
    assert_eq!(sound(log.read_row("r").await), None);
    assert!(sound(log.read_rows("", None, 10).await).is_empty());
    assert_eq!(sound(log.read_key("s", "k").await), None);
    assert!(sound(log.streams_between("a", Position(0), Position(9)).await).is_empty());
    assert!(sound(log.streams_after(&[a], Position(0)).await).is_empty());
    assert_eq!(sound(log.head().await), Position::ZERO);
    accepted(&log, Batch::default()).await;
}
