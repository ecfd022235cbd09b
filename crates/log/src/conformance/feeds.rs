//! The feed, and readers that tail the log while it is written.

use plenary_kernel::Position;

use super::{
    Store,
    build::{
        Say, accepted, answered, assert_gapless, batch, fresh, is_appended, pipelined, sound, stream, whole,
    },
};
use crate::{Log, OpenedLog, StoredEvent};

/// Committed events once, in order; refused ones never.
pub async fn the_feed_has_everything_once_and_in_order<S: Store>() {
    let (_store, log, mut tail) = fresh::<S>().await;
    let (a, b) = (stream("a"), stream("b"));
    for n in 0..20 {
        accepted(&log, batch().add(&a, "a").add(&b, "b")).await;
        assert!(!is_appended(&answered(&log, batch().when(&a, 77).add(&a, "x")).await));
        accepted(&log, batch().put("k", &n.to_string())).await;
        let key = batch().add(&a, "once").key(&n.to_string(), 1, "");
        accepted(&log, key.clone()).await;
        assert!(!is_appended(&answered(&log, key).await));
    }
    let fed = tail.take(60).await;
    assert_gapless(&fed, 1);
    assert_eq!(fed, whole(&log).await);
    drop(log);
    assert!(tail.rest().await.is_empty(), "nothing comes twice, and the feed ends with the log");
}

/// All batches of one commit are fed.
pub async fn the_feed_has_whole_groups<S: Store>() {
    let (_store, log, mut tail) = fresh::<S>().await;
    let at = [stream("a"), stream("b"), stream("c")];
    let batches = (0..600).map(|n| match n % 3 {
        0 => batch().add(&at[n % 7 % 3], "one"),
        1 => batch().add(&at[0], "one").add(&at[1], "two").add(&at[2], "three"),
        _ => batch().when(&at[0], 1_000_000).add(&at[0], "never"),
    });
    pipelined(&log, batches.collect()).await;
    let fed = tail.take(800).await;
    assert_gapless(&fed, 1);
    assert_eq!(fed, whole(&log).await);
    drop(log);
    assert!(tail.rest().await.is_empty());
}

/// A log works without a reader of its feed.
pub async fn a_dropped_feed_stops_nothing<S: Store>() {
    let store = S::fresh().await;
    let OpenedLog { log, feed } = store.open().await;
    accepted(&log, batch().add(&stream("a"), "before")).await;
    drop(feed);
    for n in 0..20 {
        accepted(&log, batch().add(&stream("a"), &n.to_string())).await;
    }
    assert_gapless(&whole(&log).await, 1);
    assert_eq!(sound(log.head().await), Position(21));
}

/// Reads the log from its own cursor until `count` events were seen.
pub(super) async fn tailed(log: &Log, count: usize) -> Vec<StoredEvent> {
    let mut seen: Vec<StoredEvent> = Vec::with_capacity(count);
    while seen.len() < count {
        let after = seen.last().map_or(Position::ZERO, |event| event.position);
        let page = sound(log.read_log(after, 37).await);
        for event in page {
            let expected = seen.last().map_or(Position(1), |event| event.position.next());
            assert_eq!(event.position, expected, "a tailing reader never sees a hole");
            seen.push(event);
        }
        tokio::task::yield_now().await;
    }
    seen
}

/// Two writers and a reader that trusts positions.
pub async fn a_tailing_reader_never_sees_a_hole<S: Store>() {
    const EACH: usize = 150;
    let (_store, log, mut tail) = fresh::<S>().await;
    let writers = ["one", "two"].map(|name| {
        let log = log.clone();
        tokio::spawn(async move {
            let (own, shared) = (stream(name), stream("shared"));
            for _ in 0..EACH {
                accepted(&log, batch().add(&own, name).add(&shared, name)).await;
            }
        })
    });
    let reader = {
        let log = log.clone();
        tokio::spawn(async move { tailed(&log, EACH * 4).await })
    };
    for writer in writers {
        writer.await.expect("the writer ends well");
    }
    let seen = reader.await.expect("the reader ends well");
    assert_gapless(&seen, 1);
    assert_eq!(seen, whole(&log).await);
    assert_eq!(seen, tail.take(EACH * 4).await);
}
