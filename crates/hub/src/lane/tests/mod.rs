//! The guarantees of the lane, on a paused clock.

mod bounds;
mod random;
mod resuming;
mod retained;

use std::{sync::Arc, time::Duration};

use tokio::time::advance;

use super::{Delivery, Emission, EndReason, Lane, LaneLimits, SubscribeError, Subscription};

/// A subscription is a name; a message is a text, which matches a subscription if it begins with its name or with `*`.
type Names = Lane<&'static str, &'static str>;

fn lane(limits: LaneLimits) -> Names {
    Lane::new(limits)
}

fn message(number: u64, text: &'static str) -> Emission<&'static str, &'static str> {
    let matches = Arc::new(move |name: &&'static str| text.starts_with(name) || text.starts_with('*'));
    Emission { number, message: text, bytes: text.len(), forget_at: None, matches }
}

fn subscribed(lane: &Names, name: &'static str) -> Subscription<&'static str, &'static str> {
    lane.subscribe("~k", name, None).unwrap()
}

fn resumed(lane: &Names, after: u64) -> Vec<u64> {
    numbers(&mut lane.subscribe("~k", "a", Some(after)).unwrap())
}

/// The numbers of all waiting messages, over as many turns as necessary.
fn numbers(subscription: &mut Subscription<&'static str, &'static str>) -> Vec<u64> {
    let mut deliveries = Vec::new();
    while subscription.try_next(&mut deliveries).unwrap() {}
    deliveries.into_iter().map(|Delivery { number, .. }| number).collect()
}

#[tokio::test(start_paused = true)]
async fn fo_43_fo_56_a_message_reaches_the_matching_subscriptions_and_is_counted() {
    let lane = lane(LaneLimits::default());
    assert_eq!(lane.emit("~k", message(1, "*")), 0, "nobody is there: FO-55");
    let (mut a, mut b) = (subscribed(&lane, "a"), subscribed(&lane, "b"));
    let mut twin = subscribed(&lane, "a");
    let mut other = lane.subscribe("~other", "a", None).unwrap();
    assert_eq!(lane.emit("~k", message(2, "a")), 2, "two of one name are two");
    assert_eq!(lane.emit("~k", message(3, "*")), 3);
    assert_eq!(lane.emit("~k", message(4, "c")), 0);
    assert_eq!((numbers(&mut a), numbers(&mut twin), numbers(&mut b)), (vec![2, 3], vec![2, 3], vec![3]));
    assert!(numbers(&mut other).is_empty());
    drop(a);
    assert_eq!(lane.emit("~k", message(5, "a")), 1, "its twin goes on");
    assert_eq!(numbers(&mut twin), [5]);
    assert_eq!((lane.count("~k"), lane.count("~other"), lane.count("~none")), (2, 1, 0));
    let mut roster = lane.roster("~k", |name| *name);
    roster.sort_unstable();
    assert_eq!(roster, ["a", "b"], "FO-93");
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_before_the_wait_is_not_lost_and_a_doubled_one_reads_once() {
    let lane = lane(LaneLimits::default());
    let mut reader = subscribed(&lane, "a");
    lane.emit("~k", message(1, "*"));
    lane.emit("~k", message(2, "*"));
    let mut deliveries = Vec::new();
    reader.next(&mut deliveries).await.unwrap();
    assert_eq!(deliveries.len(), 2, "all that waits comes at once");
    assert_eq!(reader.try_next(&mut deliveries), Ok(false));
    let waiting = tokio::spawn(async move {
        let mut deliveries = Vec::new();
        reader.next(&mut deliveries).await.map(|()| deliveries)
    });
    tokio::task::yield_now().await;
    assert_eq!(lane.emit("~k", message(3, "b")), 0);
    lane.emit("~k", message(4, "a"));
    lane.emit("~k", message(5, "a"));
    let deliveries = waiting.await.unwrap().unwrap();
    assert_eq!(deliveries.iter().map(|delivery| delivery.number).collect::<Vec<_>>(), [4, 5]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_dropped_while_it_waits_loses_nothing() {
    let lane = lane(LaneLimits::default());
    let mut reader = subscribed(&lane, "a");
    let mut deliveries = Vec::new();
    let waited = tokio::time::timeout(Duration::from_secs(1), reader.next(&mut deliveries)).await;
    assert!(waited.is_err());
    lane.emit("~k", message(1, "*"));
    reader.next(&mut deliveries).await.unwrap();
    assert_eq!(deliveries, [Delivery { number: 1, message: "*" }]);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_reader_is_dropped_and_blocks_no_other() {
    let limits = LaneLimits::default();
    let lane = lane(limits);
    let (mut slow, mut quick, mut idle) =
        (subscribed(&lane, "a"), subscribed(&lane, "a"), subscribed(&lane, "b"));
    for number in 1..=400 {
        assert_eq!(lane.emit("~k", message(number, "a")), 2, "a burst past what is retained");
        assert_eq!(numbers(&mut quick), [number]);
    }
    advance(limits.stall_max / 2).await;
    let mut deliveries = Vec::new();
    assert_eq!(slow.try_next(&mut deliveries), Ok(true), "it lags, and takes a turn");
    assert_eq!(deliveries.len(), limits.turn_count_max);
    advance(limits.stall_max - Duration::from_millis(1)).await;
    lane.sweep();
    assert_eq!(lane.count("~k"), 3, "since that turn it is not long enough");
    advance(Duration::from_millis(2)).await;
    lane.sweep();
    assert_eq!((lane.count("~k"), lane.size().stalled), (2, 1));
    assert_eq!(lane.emit("~k", message(401, "a")), 1);
    for _ in 0..2 {
        assert_eq!(slow.next(&mut deliveries).await, Err(EndReason::Stalled), "it says so each time");
    }
    assert_eq!(numbers(&mut quick), [401]);
    assert!(numbers(&mut idle).is_empty(), "who has nothing to take does not stall");
    assert_eq!(resumed(&lane, 256).first(), Some(&257), "it may come back where it was");
}

#[tokio::test(start_paused = true)]
async fn a_waiting_reader_learns_that_its_subscription_ended() {
    let lane = lane(LaneLimits::default());
    let ended = |mut reader: Subscription<&'static str, &'static str>| {
        tokio::spawn(async move { reader.next(&mut Vec::new()).await })
    };
    let (a, b) = (ended(subscribed(&lane, "a")), ended(subscribed(&lane, "b")));
    tokio::task::yield_now().await;
    assert_eq!(lane.expel("~k", |name| *name == "a"), 1);
    assert_eq!(a.await.unwrap(), Err(EndReason::Expelled));
    lane.close();
    assert_eq!(b.await.unwrap(), Err(EndReason::Closed));
    assert_eq!(lane.subscribe("~k", "c", None).unwrap_err(), SubscribeError::Closed);
    assert_eq!(lane.size().subscriptions, 0);
}

/// Real threads: each reader gets every message once and in order, however emitting and reading interleave.
#[test]
fn readers_on_other_threads_get_everything_once_and_in_order() {
    const READERS: usize = 50;
    const MESSAGES: u64 = 2_000;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let lane = Lane::<usize, u64>::new(LaneLimits { turn_count_max: 7, ..LaneLimits::default() });
        let read = |mut reader: Subscription<usize, u64>| async move {
            let (mut deliveries, mut seen) = (Vec::new(), 0);
            while seen < MESSAGES {
                reader.next(&mut deliveries).await.expect("it keeps up");
                for Delivery { number, message } in deliveries.drain(..) {
                    assert_eq!((number, message), (seen + 1, number), "once and in order");
                    seen = number;
                }
            }
        };
        let readers: Vec<_> =
            (0..READERS).map(|n| tokio::spawn(read(lane.subscribe("k", n, None).unwrap()))).collect();
        let matches: super::Matches<usize> = Arc::new(|_| true);
        for number in 1..=MESSAGES {
            let matches = matches.clone();
            let emission = Emission { number, message: number, bytes: 8, forget_at: None, matches };
            assert_eq!(lane.emit("k", emission), READERS);
            if number % 64 == 0 {
                lane.sweep();
                tokio::task::yield_now().await;
            }
        }
        for reader in readers {
            tokio::time::timeout(Duration::from_secs(20), reader)
                .await
                .expect("it ends")
                .expect("it ends well");
        }
    });
}
