//! Signals over connections that are lost, and over a server that forgets its counters.

mod server;

use std::{sync::Arc, time::Duration};

use plenary_kernel::TimestampMs;
use plenary_log::{
    Fault, OpenedLog, Signals,
    signals::{Publication, PublishError, Subscription},
};
use server::{
    TestStore,
    relay::{Relay, Way},
    run, soon,
};

const AT: TimestampMs = TimestampMs(1_700_000_000_000);

fn message(body: &str, at: TimestampMs) -> Publication {
    Publication { topic: "test", counters: vec![Arc::from("a")], at, body: body.to_owned().into() }
}

/// Publishes until it succeeds; returns the number.
async fn insist(signals: &Signals, body: &str) -> u64 {
    loop {
        match signals.publish(message(body, AT)).await {
            Ok(numbers) => return numbers[0],
            Err(PublishError::Fault(Fault::Unavailable(_) | Fault::OutcomeUnknown(_))) => {
                tokio::task::yield_now().await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Publishes until both have received a signal that was published now; failed publications do not count.
async fn until_both_receive(signals: &Signals, hearing: &mut [&mut Subscription; 2], round: &str) {
    let [one, two] = hearing;
    loop {
        let number = insist(signals, round).await;
        let both = async { (receive(one, number).await, receive(two, number).await) };
        if tokio::time::timeout(Duration::from_millis(200), both).await.is_ok() {
            return;
        }
    }
}

/// Waits for a signal of this number; numbers only rise.
async fn receive(subscription: &mut Subscription, number: u64) {
    let mut last = 0;
    while last < number {
        let signal = subscription.next().await.expect("the subscription goes on");
        assert!(signal.numbers[0].1 > last, "numbers rise");
        last = signal.numbers[0].1;
    }
}

#[test]
fn a_lost_connection_costs_signals_and_comes_back() {
    run(async {
        let store = TestStore::new();
        let (one, two) = (store.open().await, store.open().await);
        let (mut first, mut second) =
            (one.log.signals().subscribe("test"), two.log.signals().subscribe("test"));
        let admin = store.admin().await;
        for round in 0..5 {
            assert!(store.terminate(&admin, "signal").await > 0);
            let both = &mut [&mut first, &mut second];
            soon(until_both_receive(one.log.signals(), both, &round.to_string())).await;
        }
        // Questions reach both again. One may still be lost: delivery is at most once.
        let answering = |mut subscription: Subscription| async move {
            while let Some(signal) = subscription.next().await {
                signal.responder.into_iter().for_each(|responder| responder.answer("here".into()));
            }
        };
        let answerers = [tokio::spawn(answering(first)), tokio::spawn(answering(second))];
        let both_answer = async {
            loop {
                let answers = one.log.signals().ask(message("?", AT), Duration::from_secs(1)).await;
                if answers.is_ok_and(|answers| answers.answers == ["here", "here"]) {
                    return;
                }
            }
        };
        soon(both_answer).await;
        answerers.iter().for_each(tokio::task::JoinHandle::abort);
    });
}

#[test]
fn a_stalled_connection_is_replaced() {
    run(async {
        let (store, relay) = (TestStore::new(), Relay::start().await);
        let still = store.try_open(relay.url()).await.expect("the store opens");
        let other = store.open().await;
        let (mut first, mut second) =
            (still.log.signals().subscribe("test"), other.log.signals().subscribe("test"));
        relay.set(Way::Still);
        soon(until_both_receive(still.log.signals(), &mut [&mut first, &mut second], "again")).await;
    });
}

#[test]
fn a_server_that_can_not_be_reached_refuses_and_comes_back() {
    run(async {
        let (store, relay) = (TestStore::new(), Relay::start().await);
        let OpenedLog { log, feed: _feed } = store.try_open(relay.url()).await.expect("the store opens");
        let mut subscription = log.signals().subscribe("test");
        relay.set(Way::Cut);
        let refused = soon(async {
            loop {
                if let Err(error) = log.signals().publish(message("x", AT)).await {
                    return error;
                }
            }
        });
        let refused = refused.await;
        let fault = matches!(refused, PublishError::Fault(Fault::Unavailable(_) | Fault::OutcomeUnknown(_)));
        assert!(fault, "{refused:?}");
        relay.set(Way::Open);
        let number = soon(insist(log.signals(), "y")).await;
        soon(receive(&mut subscription, number)).await;
    });
}

/// Empties the unlogged tables, as a crash of the server does.
#[test]
fn counters_that_the_server_forgot_begin_above_the_clock() {
    run(async {
        let store = TestStore::new();
        let OpenedLog { log, feed: _feed } = store.open().await;
        let mut last = 0;
        for _ in 0..10 {
            last = log.signals().publish(message("x", AT)).await.expect("published")[0];
        }
        store.admin().await.batch_execute("TRUNCATE signal_counters").await.expect("emptied");
        let later = TimestampMs(AT.0 + 1);
        let next = log.signals().publish(message("x", later)).await.expect("published")[0];
        assert_eq!(next, later.0 * 1_000);
        assert!(next > last);
    });
}
