//! Signals between two handles, as of two processes.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;

use super::{
    CASE_MAX, Store,
    build::{Tail, fresh, handle},
    signals::{FIRST, TOPIC, assert_next, numbered, publication, published, receive},
};
use crate::{
    Log, Signals,
    signals::{SIGNAL_ANSWER_BYTES_MAX, SIGNAL_BYTES_MAX, Signal, Subscription},
};

/// Long enough for an answer to arrive, short enough to wait for one that does not.
const WAIT: Duration = Duration::from_millis(500);

/// Two handles on one fresh store, with their subscriptions.
async fn two<S: Store>() -> (S, [(Log, Subscription); 2], [Tail; 2]) {
    let (store, first, first_tail) = fresh::<S>().await;
    let (second, second_tail) = handle(&store).await;
    let both = [first, second].map(|log| {
        let subscription = log.signals().subscribe(TOPIC);
        (log, subscription)
    });
    (store, both, [first_tail, second_tail])
}

/// Answers every question of a subscription with its name.
fn answering(mut subscription: Subscription, name: &'static str) {
    tokio::spawn(async move {
        while let Some(Signal { responder, .. }) = subscription.next().await {
            if let Some(responder) = responder {
                responder.answer(name.into());
            }
        }
    });
}

async fn ask_all(signals: &Signals, wait: Duration) -> (Vec<Bytes>, bool) {
    let answers = signals.ask(publication(&["a"], "who?"), wait).await.expect("asked");
    let mut bodies = answers.answers;
    bodies.sort_unstable();
    (bodies, answers.complete)
}

/// A signal of either handle reaches both, with the same numbers and bytes.
pub async fn a_signal_reaches_both_handles<S: Store>() {
    let (_store, [(first, mut one), (second, mut two)], _tails) = two::<S>().await;
    let bodies = [Bytes::from_static(b"{}"), vec![0xff; SIGNAL_BYTES_MAX].into(), "é".repeat(9_000).into()];
    for (nth, body) in bodies.into_iter().enumerate() {
        for (log, by_first) in [(&first, true), (&second, false)] {
            let numbers = published(log.signals(), publication(&["a", "b"], body.clone())).await;
            let number = FIRST + 2 * nth as u64 + u64::from(!by_first);
            assert_eq!(numbers, [number, number], "counters are one for all processes");
            for (subscription, own) in [(&mut one, by_first), (&mut two, !by_first)] {
                let signal = receive(subscription).await;
                assert_eq!((&signal.body, signal.own), (&body, own));
                assert_eq!(numbered(&signal), [("a".to_owned(), number), ("b".to_owned(), number)]);
            }
        }
    }
}

/// Many publishers on both handles, and counters in any order: both see the same order, without gaps.
pub async fn both_handles_get_signals_in_the_order_of_their_numbers<S: Store>() {
    const EACH: usize = 60;
    let (_store, [(first, mut one), (second, mut two)], _tails) = two::<S>().await;
    let tasks: Vec<_> = [&["a", "b"], &["b", "a"], &["b", "c"], &["c", "a"]]
        .into_iter()
        .flat_map(|counters| [(first.clone(), counters), (second.clone(), counters)])
        .map(|(log, counters)| {
            tokio::spawn(async move {
                for _ in 0..EACH {
                    published(log.signals(), publication(counters, "x")).await;
                }
            })
        })
        .collect();
    for subscription in [&mut one, &mut two] {
        let mut last = HashMap::new();
        for _ in 0..EACH * tasks.len() {
            assert_next(&mut last, &receive(subscription).await);
        }
    }
    for task in tasks {
        task.await.expect("the publisher ends well");
    }
}

/// Each handle answers, and the question ends with the last answer.
pub async fn a_question_is_answered_by_both<S: Store>() {
    let (_store, [(first, one), (second, two)], _tails) = two::<S>().await;
    answering(one, "one");
    answering(two, "two");
    for log in [&first, &second, &first] {
        let both = (vec!["one".into(), "two".into()], true);
        assert_eq!(ask_all(log.signals(), CASE_MAX).await, both);
    }
}

/// An answer of many parts, and one that is too large.
pub async fn an_answer_comes_whole_or_not_at_all<S: Store>() {
    let (_store, [(first, one), (_second, mut two)], _tails) = two::<S>().await;
    drop(one);
    for (bytes, comes) in [(SIGNAL_ANSWER_BYTES_MAX, true), (SIGNAL_ANSWER_BYTES_MAX + 1, false)] {
        let answer = async {
            let responder = receive(&mut two).await.responder.expect("an answer is awaited");
            responder.answer(vec![b'x'; bytes].into());
        };
        let (result, ()) = tokio::join!(ask_all(first.signals(), CASE_MAX), answer);
        let sizes: Vec<_> = result.0.iter().map(Bytes::len).collect();
        assert_eq!((sizes, result.1), (if comes { vec![bytes] } else { vec![] }, true));
    }
}

/// A process that does not answer costs one wait; after any message of it, it is waited for again.
pub async fn a_process_that_does_not_answer_is_not_waited_for_twice<S: Store>() {
    let (_store, [(first, one), (second, mut two)], _tails) = two::<S>().await;
    answering(one, "one");
    assert_eq!(ask_all(first.signals(), WAIT).await, (vec!["one".into()], false));
    let late = receive(&mut two).await;
    assert_eq!(ask_all(first.signals(), CASE_MAX).await, (vec!["one".into()], true));
    late.responder.expect("an answer was awaited").answer("late".into());
    answering(two, "two");
    // Its late answer, or any other message of it, shows that it is alive.
    published(second.signals(), publication(&["a"], "here")).await;
    let both = vec![Bytes::from("one"), Bytes::from("two")];
    while ask_all(first.signals(), WAIT).await != (both.clone(), true) {
        tokio::task::yield_now().await;
    }
}

/// A process that has ended is not waited for.
pub async fn a_process_that_goes_is_not_waited_for<S: Store>() {
    let (_store, [(first, one), (second, two)], _tails) = two::<S>().await;
    answering(one, "one");
    drop((second, two));
    while ask_all(first.signals(), WAIT).await != (vec!["one".into()], true) {
        tokio::task::yield_now().await;
    }
}
