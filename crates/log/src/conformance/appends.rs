//! Appends: their outcomes, and the numbering of positions.

use bytes::Bytes;
use futures_util::future::join_all;
use plenary_kernel::{Position, TimestampMs, Version};

use super::{
    Store,
    build::{
        Say, accepted, answered, assert_gapless, batch, fresh, is_appended, pipelined, sound, stream, texts,
        whole,
    },
};
use crate::{AppendedRange, Batch, NewEvent, Outcome, StoredEvent};

const MIB: usize = 1 << 20;

/// Kind, form, time, envelope and payload come back unchanged.
pub async fn every_field_comes_back_byte_for_byte<S: Store>() {
    let (_store, log, mut tail) = fresh::<S>().await;
    let at = stream("sess_01/with a slash, ü and \u{10FFFF}");
    let every_byte: Vec<u8> = (0..=255).collect();
    let shapes = [
        ("MessageSent", 1, Bytes::from_static(b"envelope"), Bytes::from_static(b"{\"text\":\"hi\"}")),
        ("Empty", 0, Bytes::new(), Bytes::new()),
        ("OnlyPayload", u16::MAX, Bytes::new(), Bytes::from_static(b"\0")),
        ("Zeros", 2, Bytes::from_static(b"\0\0a\0"), Bytes::from_static(b"a\0\0")),
        ("NotUtf8", 3, Bytes::from(every_byte.clone()), Bytes::from_static(b"\xff\xfe\xc0\x80\xed\xa0\x80")),
        ("Ünïcode", 4, Bytes::from_static("ü\u{10FFFF}".as_bytes()), Bytes::from(every_byte)),
    ];
    let events = shapes
        .iter()
        .cloned()
        .map(|(kind, form, envelope, payload)| (at.clone(), NewEvent { kind, form, envelope, payload }));
    let appended =
        accepted(&log, Batch { events: events.collect(), at: TimestampMs((1 << 53) - 1), ..batch() }).await;
    assert_eq!(appended, AppendedRange { first: Position(1), last: Position(shapes.len() as u64) });

    let expected: Vec<_> = shapes
        .into_iter()
        .zip(1..)
        .map(|((kind, form, envelope, payload), n)| StoredEvent {
            position: Position(n),
            stream: at.clone(),
            version: Version(n),
            kind: kind.into(),
            form,
            at: TimestampMs((1 << 53) - 1),
            envelope,
            payload,
        })
        .collect();
    assert_eq!(sound(log.read_log(Position::ZERO, 100).await), expected);
    assert_eq!(sound(log.read_stream(&at, Version::ZERO, 100).await), expected);
    assert_eq!(tail.take(expected.len()).await, expected);
}

/// One mebibyte of payload, alone and between small ones.
pub async fn a_large_payload_comes_back<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let at = stream("large");
    let large: Vec<u8> = (0..MIB).map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect();
    let large = Bytes::from(large);
    let event = |envelope: &Bytes, payload: &Bytes| NewEvent {
        kind: "Large",
        form: 1,
        envelope: envelope.clone(),
        payload: payload.clone(),
    };
    let small = Bytes::from_static(b"small");
    let events = [(&small, &small), (&small, &large), (&large, &small)];
    let events = events.map(|(envelope, payload)| (at.clone(), event(envelope, payload)));
    accepted(&log, Batch { events: events.to_vec(), ..batch() }).await;
    let read = sound(log.read_stream(&at, Version::ZERO, 10).await);
    for (read, (_, written)) in read.iter().zip(&events) {
        assert!(read.envelope == written.envelope && read.payload == written.payload);
    }
    assert_eq!(read.len(), events.len());
}

/// Positions rise over all streams, versions in each.
pub async fn positions_and_versions_have_no_gaps<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let (a, b, c) = (stream("a"), stream("b"), stream("c"));
    let one = accepted(&log, batch().add(&a, "a1").add(&b, "b1").add(&a, "a2")).await;
    let two = accepted(&log, batch().add(&c, "c1")).await;
    let three = accepted(&log, batch().add(&b, "b2").add(&a, "a3")).await;
    assert_eq!(one, AppendedRange { first: Position(1), last: Position(3) });
    assert_eq!(two, AppendedRange { first: Position(4), last: Position(4) });
    assert_eq!(three, AppendedRange { first: Position(5), last: Position(6) });
    let events = whole(&log).await;
    assert_gapless(&events, 1);
    let envelopes: Vec<_> = events.iter().map(|event| &event.envelope[..]).collect();
    assert_eq!(envelopes, [&b"a1"[..], b"b1", b"a2", b"c1", b"b2", b"a3"]);
    assert_eq!(texts(&log, &a).await, ["a1", "a2", "a3"]);
    assert_eq!(texts(&log, &b).await, ["b1", "b2"]);
}

/// For a batch without events, `first` is the head + 1 and `last` the head.
pub async fn a_batch_without_events_takes_no_position<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let at = stream("a");
    let none = accepted(&log, batch().row("cursor/1", None, Some("x"))).await;
    assert_eq!(none, AppendedRange { first: Position(1), last: Position(0) });
    accepted(&log, batch().add(&at, "a1")).await;
    let none = accepted(&log, batch().put("k", "v")).await;
    assert_eq!(none, AppendedRange { first: Position(2), last: Position(1) });
    let nothing = accepted(&log, batch()).await;
    assert_eq!(nothing, AppendedRange { first: Position(2), last: Position(1) });
    let next = accepted(&log, batch().add(&at, "a2")).await;
    assert_eq!(next, AppendedRange { first: Position(2), last: Position(2) });
}

/// The order of the slots' use is the order of the log.
pub async fn batches_submitted_in_order_are_decided_in_order<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let at = [stream("a"), stream("b"), stream("c")];
    let batches: Vec<_> = (0..1_200).map(|n| batch().add(&at[n % 3], &n.to_string())).collect();
    let outcomes = pipelined(&log, batches).await;
    for (outcome, n) in outcomes.iter().zip(1..) {
        let appended = AppendedRange { first: Position(n), last: Position(n) };
        assert_eq!(*outcome, Outcome::Appended(appended));
    }
    let events = whole(&log).await;
    assert_gapless(&events, 1);
    for (event, n) in events.iter().zip(0..) {
        assert_eq!(event.envelope, n.to_string());
    }
}

/// Each of many concurrent callers gets its own position.
pub async fn many_tasks_append_at_once<S: Store>() {
    const TASKS: usize = 16;
    const EACH: usize = 20;
    let (_store, log, _tail) = fresh::<S>().await;
    let tasks = (0..TASKS).map(|task| {
        let log = log.clone();
        tokio::spawn(async move {
            let own = stream(&task.to_string());
            let shared = stream("all");
            for n in 0..EACH {
                let text = format!("{task}:{n}");
                let outcome = answered(&log, batch().add(&own, &text).add(&shared, &text)).await;
                assert!(is_appended(&outcome));
            }
        })
    });
    for task in join_all(tasks).await {
        task.expect("the writer ends well");
    }
    let events = whole(&log).await;
    assert_eq!(events.len(), TASKS * EACH * 2);
    assert_gapless(&events, 1);
    for task in 0..TASKS {
        let expected: Vec<_> = (0..EACH).map(|n| format!("{task}:{n}")).collect();
        assert_eq!(texts(&log, &stream(&task.to_string())).await, expected);
    }
    for pair in events.chunks(2) {
        assert_eq!(pair[0].envelope, pair[1].envelope, "a batch is not torn apart");
    }
}
