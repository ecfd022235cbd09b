//! Beginning with the oldest retained message, whatever was dropped before it (FO-60).

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, advance};

use crate::lane::{Emission, Lane, LaneLimits, clock::SLEPT};

fn lane() -> Lane<(), u64> {
    Lane::new(LaneLimits { entries_max: 3, age_max: Duration::from_secs(60), ..LaneLimits::default() })
}

fn emit(lane: &Lane<(), u64>, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        let matches = Arc::new(|(): &()| true);
        lane.emit("~nick", Emission { number, message: number, bytes: 1, forget_at: None, matches });
    }
}

/// The messages of a subscription that requests all retained ones.
fn retained(lane: &Lane<(), u64>) -> Vec<u64> {
    let after = lane.reaches_back_to("~nick");
    let mut subscription = lane.subscribe("~nick", (), after).unwrap();
    let mut into = Vec::new();
    while subscription.try_next(&mut into).unwrap() {}
    into.iter().map(|delivery| delivery.message).collect()
}

#[tokio::test(start_paused = true)]
async fn fo_60_all_that_is_retained_comes_and_nothing_else() {
    let lane = lane();
    assert_eq!((lane.reaches_back_to("~nick"), retained(&lane)), (None, vec![]));
    emit(&lane, [10, 12]);
    assert_eq!(retained(&lane), [10, 12]);
    emit(&lane, [15, 20]);
    assert_eq!(retained(&lane), [12, 15, 20], "past the bound the oldest has gone");
    advance(Duration::from_secs(40)).await;
    emit(&lane, [21]);
    advance(Duration::from_secs(30)).await;
    assert_eq!(retained(&lane), [21], "what is too old has gone");
    advance(Duration::from_secs(60)).await;
    assert_eq!(retained(&lane), [0; 0]);
    emit(&lane, [30]);
    assert_eq!(retained(&lane), [30]);
    emit(&lane, [5, 7]);
    assert_eq!(retained(&lane), [5, 7], "numbers that began anew");
}

#[tokio::test(start_paused = true)]
async fn what_got_too_old_while_the_machine_slept_has_gone() {
    let lane = lane();
    emit(&lane, [1]);
    SLEPT.set(Duration::from_secs(61));
    assert_eq!(retained(&lane), [0; 0]);
    emit(&lane, [2]);
    assert_eq!(retained(&lane), [2]);
}

#[tokio::test(start_paused = true)]
async fn fo_60_a_backlog_of_a_slow_reader_is_not_for_later_readers() {
    let lane = lane();
    let mut lagging = lane.subscribe("~nick", (), None).unwrap();
    emit(&lane, 1..=8);
    assert_eq!(retained(&lane), [6, 7, 8]);
    let mut into = Vec::new();
    while lagging.try_next(&mut into).unwrap() {}
    assert_eq!(into.len(), 8);
}

#[tokio::test(start_paused = true)]
async fn fo_89_an_expired_message_is_not_among_it() {
    let lane = lane();
    emit(&lane, [1]);
    let forget_at = Some(Instant::now() + Duration::from_secs(5));
    let matches = Arc::new(|(): &()| true);
    lane.emit("~nick", Emission { number: 2, message: 2, bytes: 1, forget_at, matches });
    emit(&lane, [3]);
    assert_eq!(retained(&lane), [1, 2, 3]);
    advance(Duration::from_secs(6)).await;
    assert_eq!(retained(&lane), [1, 3]);
}
