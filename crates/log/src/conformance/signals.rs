//! Signals: numbers, order, limits and questions in one process.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use plenary_kernel::TimestampMs;

use super::{
    CASE_MAX, Store,
    build::{AT, fresh, handle},
};
use crate::{
    Fault, Signals,
    signals::{
        COUNTER_BYTES_MAX, Publication, PublishError, SIGNAL_ANSWER_BYTES_MAX, SIGNAL_BYTES_MAX,
        SIGNAL_COUNTERS_MAX, SIGNALS_WAITING_BYTES_MAX, SIGNALS_WAITING_MAX, Signal, Subscription,
    },
};

/// The topic of these cases.
pub(super) const TOPIC: &str = "test";
/// The lowest number of a counter that was never used before `AT`.
pub(super) const FIRST: u64 = AT.0 * 1_000;

/// A publication with these counters.
pub(super) fn publication(counters: &[&str], body: impl Into<Bytes>) -> Publication {
    let counters = counters.iter().map(|name| Arc::from(*name)).collect();
    Publication { topic: TOPIC, counters, at: AT, body: body.into() }
}

pub(super) async fn published(signals: &Signals, publication: Publication) -> Vec<u64> {
    signals.publish(publication).await.expect("the signal is published")
}

pub(super) async fn receive(subscription: &mut Subscription) -> Signal {
    subscription.next().await.expect("the subscription goes on")
}

/// The counters' names with the numbers.
pub(super) fn numbered(signal: &Signal) -> Vec<(String, u64)> {
    signal.numbers.iter().map(|(name, number)| (name.to_string(), *number)).collect()
}

/// Each counter begins at the clock's time, which is read once, and rises by one.
pub async fn numbers_rise_by_one_from_the_clock<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let signals = log.signals();
    assert_eq!(published(signals, publication(&["a", "b"], "")).await, [FIRST, FIRST]);
    assert_eq!(published(signals, publication(&["b"], "")).await, [FIRST + 1]);
    assert_eq!(published(signals, publication(&["b", "c", "a"], "")).await, [FIRST + 2, FIRST, FIRST + 1]);
    assert!(published(signals, publication(&[], "")).await.is_empty());
    for at in [0, AT.0 - 1, AT.0 + 1_000_000] {
        let before = published(signals, publication(&["a"], "")).await[0];
        let publication = Publication { at: TimestampMs(at), ..publication(&["a"], "") };
        assert_eq!(published(signals, publication).await, [before + 1]);
    }
}

/// Any bytes, up to the limits.
pub async fn a_signal_comes_back_as_it_was<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let signals = log.signals();
    let mut subscription = signals.subscribe(TOPIC);
    let long = "\"é€😀\n".repeat(SIGNAL_BYTES_MAX / 11);
    let mut raw = vec![0xff; SIGNAL_BYTES_MAX];
    raw[7] = 0;
    let bodies = [Bytes::new(), "{\"a\":1}".into(), "a\0b".into(), long.into(), raw.into()];
    let widest = "~".repeat(COUNTER_BYTES_MAX);
    let many: Vec<String> = (0..SIGNAL_COUNTERS_MAX).map(|n| format!("~handle-{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for body in bodies {
        for counters in [&[][..], &["~é\"',{}"], &[&widest, "b"], &many] {
            let numbers = published(signals, publication(counters, body.clone())).await;
            let signal = receive(&mut subscription).await;
            assert!(signal.body == body && signal.own && signal.responder.is_none(), "{signal:?}");
            let expected: Vec<_> = counters.iter().map(ToString::to_string).zip(numbers).collect();
            assert_eq!(numbered(&signal), expected);
        }
    }
}

/// Many publishers at once, and counters in any order.
pub async fn signals_arrive_in_the_order_of_their_numbers<S: Store>() {
    const EACH: usize = 50;
    let (_store, log, _tail) = fresh::<S>().await;
    let mut subscription = log.signals().subscribe(TOPIC);
    let tasks: Vec<_> = [&["a", "b"], &["b", "c"], &["c", "a"], &["b", "a"], &["a", "c"]]
        .into_iter()
        .map(|counters| {
            let signals = log.signals().clone();
            tokio::spawn(async move {
                for _ in 0..EACH {
                    published(&signals, publication(counters, "x")).await;
                }
            })
        })
        .collect();
    let mut last = HashMap::new();
    for _ in 0..EACH * tasks.len() {
        assert_next(&mut last, &receive(&mut subscription).await);
    }
    for task in tasks {
        task.await.expect("the publisher ends well");
    }
    let expected = |many: usize| FIRST - 1 + (many * EACH) as u64;
    assert_eq!((last["a"], last["b"], last["c"]), (expected(4), expected(3), expected(3)));
    assert_eq!(log.signals().lost(), 0);
}

/// Each of its counters has risen by one.
#[track_caller]
pub(super) fn assert_next(last: &mut HashMap<String, u64>, signal: &Signal) {
    for (name, number) in numbered(signal) {
        let last = last.entry(name).or_insert(FIRST - 1);
        assert_eq!(number, *last + 1, "numbers rise by one");
        *last = number;
    }
}

/// Nothing is published, and no number is used up.
pub async fn past_its_limits_a_signal_is_refused<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let signals = log.signals();
    let size = SIGNAL_BYTES_MAX + 1;
    let refused = signals.publish(publication(&["a"], vec![b'x'; size])).await;
    assert_eq!(refused, Err(PublishError::BodyTooLarge(size)));
    let many: Vec<String> = (0..=SIGNAL_COUNTERS_MAX).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let refused = signals.publish(publication(&many, "")).await;
    assert_eq!(refused, Err(PublishError::TooManyCounters(many.len())));
    let long = "a".repeat(COUNTER_BYTES_MAX + 1);
    for counters in [&[""][..], &["a b"], &["a\n"], &["a\0"], &[&long], &["a", "b", "a"]] {
        let refused = signals.publish(publication(counters, "")).await;
        assert!(matches!(refused, Err(PublishError::BadCounter(_))), "{counters:?}: {refused:?}");
    }
    assert_eq!(published(signals, publication(&["a"], "")).await, [FIRST]);
}

/// A process that is alone waits only for its own answer, not for the time limit.
pub async fn a_question_is_answered_by_a_process_alone<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let signals = log.signals();
    let alone = signals.ask(publication(&["a"], "anybody?"), CASE_MAX).await.expect("asked");
    assert!(alone.complete && alone.answers.is_empty() && alone.numbers == [FIRST], "{alone:?}");
    let mut subscription = signals.subscribe(TOPIC);
    tokio::spawn(async move {
        while let Some(signal) = subscription.next().await {
            let Some(responder) = signal.responder else { continue };
            match &signal.body[..] {
                b"nothing" => drop(responder),
                b"too much" => responder.answer(vec![0; SIGNAL_ANSWER_BYTES_MAX + 1].into()),
                _ => responder.answer([&signal.body[..], b"!\0"].concat().into()),
            }
        }
    });
    let many: Vec<_> = (0..20).map(|n| (signals.clone(), n.to_string())).collect();
    let questions = many.into_iter().map(|(signals, body)| async move {
        let answers = signals.ask(publication(&["a"], body.clone()), CASE_MAX).await.expect("asked");
        assert!(answers.complete);
        assert_eq!(answers.answers, [Bytes::from(format!("{body}!\0"))]);
    });
    futures_util::future::join_all(questions).await;
    for body in ["nothing", "too much"] {
        let answers = signals.ask(publication(&[], body), CASE_MAX).await.expect("asked");
        assert!(answers.complete && answers.answers.is_empty(), "{body}");
    }
}

/// A full queue drops signals; no publisher waits.
pub async fn a_subscriber_that_lags_loses_signals_and_blocks_nobody<S: Store>() {
    const MORE: usize = 10;
    let (_store, log, _tail) = fresh::<S>().await;
    let signals = log.signals();
    let mut subscription = signals.subscribe(TOPIC);
    for _ in 0..SIGNALS_WAITING_MAX + MORE {
        published(signals, publication(&["a"], "x")).await;
    }
    let answers = signals.ask(publication(&["a"], "x"), CASE_MAX).await.expect("asked");
    assert!(answers.complete && answers.answers.is_empty(), "nobody waits for an answer that can't come");
    assert_eq!(signals.lost(), MORE as u64 + 1);
    let mut last = HashMap::new();
    for _ in 0..SIGNALS_WAITING_MAX {
        assert_next(&mut last, &receive(&mut subscription).await);
    }
    let number = published(signals, publication(&["a"], "x")).await[0];
    assert_eq!(number, FIRST + (SIGNALS_WAITING_MAX + MORE) as u64 + 1);
    assert_eq!(receive(&mut subscription).await.numbers[0].1, number, "then it goes on");
}

/// A queue is bounded in bytes as well as in signals.
pub async fn a_subscriber_that_lags_holds_few_bytes<S: Store>() {
    const ROOM: usize = SIGNALS_WAITING_BYTES_MAX / SIGNAL_BYTES_MAX;
    let (_store, log, _tail) = fresh::<S>().await;
    let signals = log.signals();
    let mut subscription = signals.subscribe(TOPIC);
    let body = Bytes::from(vec![b'x'; SIGNAL_BYTES_MAX]);
    for _ in 0..=ROOM {
        published(signals, publication(&["a"], body.clone())).await;
    }
    let answers = signals.ask(publication(&["a"], "x"), CASE_MAX).await.expect("asked");
    assert!(answers.complete && answers.answers.is_empty() && signals.lost() == 2);
    for _ in 0..ROOM {
        assert_eq!(receive(&mut subscription).await.body.len(), body.len());
    }
    assert!(subscription.try_next().is_none());
    published(signals, publication(&["a"], body.clone())).await;
    assert_eq!(receive(&mut subscription).await.body, body, "then there is room again");
}

/// A later subscription replaces the topic's earlier one; other topics are independent.
pub async fn a_topic_has_one_subscription<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let signals = log.signals();
    let (mut first, mut other) = (signals.subscribe(TOPIC), signals.subscribe("other"));
    let mut second = signals.subscribe(TOPIC);
    assert!(first.next().await.is_none());
    published(signals, Publication { topic: "other", ..publication(&["a"], "1") }).await;
    published(signals, publication(&["a"], "2")).await;
    assert_eq!(receive(&mut second).await.body, "2");
    assert_eq!(receive(&mut other).await.body, "1");
    assert!(second.try_next().is_none() && other.try_next().is_none());
}

/// Closing a log ends its signals, and so does dropping the last handle.
pub async fn closed_signals_end<S: Store>() {
    let (store, log, tail) = fresh::<S>().await;
    let signals = log.signals().clone();
    let mut subscription = signals.subscribe(TOPIC);
    log.close().await;
    assert!(subscription.next().await.is_none());
    let refused = signals.publish(publication(&["a"], "")).await;
    let closed =
        matches!(refused, Err(PublishError::Fault(Fault::Unavailable(_) | Fault::OutcomeUnknown(_))));
    assert!(closed, "{refused:?}");
    assert!(signals.subscribe(TOPIC).next().await.is_none());
    drop((signals, log));
    tail.rest().await;
    store.closed().await;
}

/// A subscription gets no signal after its process has ended.
pub async fn a_subscription_ends_with_the_last_handle<S: Store>() {
    let (_store, log, _tail) = fresh::<S>().await;
    let mut subscription = log.signals().subscribe(TOPIC);
    published(log.signals(), publication(&["a"], "1")).await;
    assert_eq!(receive(&mut subscription).await.body, "1");
    drop(log);
    assert!(subscription.next().await.is_none());
}

/// After a restart numbers are higher than all before, if the clock has advanced.
pub async fn numbers_go_on_rising_after_a_restart<S: Store>() {
    let (store, log, tail) = fresh::<S>().await;
    let mut last = 0;
    for _ in 0..100 {
        last = published(log.signals(), publication(&["a"], "")).await[0];
    }
    drop(log);
    tail.rest().await;
    store.closed().await;
    let (log, _tail) = handle(&store).await;
    let later = TimestampMs(AT.0 + 1_000);
    let next = published(log.signals(), Publication { at: later, ..publication(&["a"], "") }).await[0];
    assert!(next > last, "{next} after {last}");
    assert_eq!(published(log.signals(), publication(&["a"], "")).await, [next + 1]);
}
