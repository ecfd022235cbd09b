//! Resuming with the number of the last message (FO-60), at each edge of retention.

use tokio::time::Instant;

use super::super::LaneSize;

use super::*;

const FEW: LaneLimits = LaneLimits {
    entries_max: 3,
    backlog_max: 5,
    age_max: Duration::from_secs(10),
    keys_max: 2,
    key_bytes_max: 1 << 20,
    bytes_max: 1 << 20,
    sender_bytes_max: usize::MAX,
    sender_backlog_bytes_max: usize::MAX,
    subscriptions_max: 3,
    turn_count_max: 2,
    turn_bytes_max: 1 << 20,
    stall_max: Duration::from_secs(5),
};

fn emitted(lane: &Names, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        lane.emit("~k", message(number, "*"));
    }
}

#[tokio::test(start_paused = true)]
async fn fo_60_the_ring_reaches_back_as_far_as_its_count() {
    let lane = lane(FEW);
    assert_eq!(resumed(&lane, 7), [0_u64; 0], "nothing was ever emitted");
    emitted(&lane, 10..=16);
    assert_eq!(resumed(&lane, 16), [0_u64; 0], "nothing was missed");
    assert_eq!(resumed(&lane, 99), [0_u64; 0], "a number that was never given");
    assert_eq!(resumed(&lane, 15), [16]);
    assert_eq!(resumed(&lane, 13), [14, 15, 16], "just what is kept");
    assert_eq!(resumed(&lane, 12), [0_u64; 0], "13 has gone: from now on");
    assert_eq!(resumed(&lane, 0), [0_u64; 0]);
}

#[tokio::test(start_paused = true)]
async fn fo_60_messages_for_live_readers_only_are_not_resumed() {
    let lane = lane(FEW);
    let mut live = subscribed(&lane, "a");
    emitted(&lane, 1..=5);
    assert_eq!(resumed(&lane, 2), [3, 4, 5]);
    assert_eq!(resumed(&lane, 1), [0_u64; 0], "2 is there only for who has not read it");
    assert_eq!(numbers(&mut live), [1, 2, 3, 4, 5]);
    lane.sweep();
    let bytes = lane.size().bytes;
    emitted(&lane, 6..=9);
    lane.sweep();
    assert!(lane.size().bytes > bytes, "all four wait for their reader");
    assert_eq!(numbers(&mut live), [6, 7, 8, 9]);
    lane.sweep();
    assert_eq!(lane.size().bytes, bytes, "what all have read is let go of");
}

#[tokio::test(start_paused = true)]
async fn fo_60_numbers_that_were_never_got_are_no_gap() {
    let lane = lane(FEW);
    emitted(&lane, [10, 20]);
    assert_eq!(resumed(&lane, 9), [10, 20], "nothing went before 10");
    assert_eq!(resumed(&lane, 8), [0_u64; 0], "9 may have been missed: nobody knows");
    assert_eq!(resumed(&lane, 15), [20]);
    assert_eq!(resumed(&lane, 10), [20]);
}

#[tokio::test(start_paused = true)]
async fn a_number_that_does_not_rise_begins_anew() {
    let lane = lane(FEW);
    let mut live = subscribed(&lane, "a");
    emitted(&lane, [100, 101, 5, 6]);
    assert_eq!(numbers(&mut live), [100, 101, 5, 6], "who is there gets everything");
    assert_eq!(resumed(&lane, 5), [6]);
    assert_eq!(resumed(&lane, 4), [5, 6]);
    assert_eq!(resumed(&lane, 100), [0_u64; 0]);
}

#[tokio::test(start_paused = true)]
async fn fo_60_a_message_is_retained_up_to_its_age_limit() {
    let lane = lane(FEW);
    emitted(&lane, [1]);
    advance(Duration::from_secs(6)).await;
    emitted(&lane, [2]);
    advance(Duration::from_secs(4) - Duration::from_millis(1)).await;
    assert_eq!(resumed(&lane, 0), [1, 2]);
    advance(Duration::from_millis(1)).await;
    assert_eq!(resumed(&lane, 0), [0_u64; 0], "1 has gone");
    assert_eq!(resumed(&lane, 1), [2]);
    advance(Duration::from_secs(6)).await;
    assert_eq!(resumed(&lane, 1), [0_u64; 0]);
    lane.sweep();
    assert_eq!(lane.size(), LaneSize::default(), "nothing is left of the key");
}

#[tokio::test(start_paused = true)]
async fn fo_89_what_has_to_be_forgotten_is_not_resumed_and_leaves_no_gap() {
    let lane = lane(FEW);
    let mut live = subscribed(&lane, "a");
    emitted(&lane, [1]);
    let forget_at = Some(Instant::now() + Duration::from_secs(3));
    lane.emit("~k", Emission { forget_at, ..message(2, "*") });
    emitted(&lane, [3]);
    assert_eq!(resumed(&lane, 0), [1, 2, 3]);
    advance(Duration::from_secs(3)).await;
    assert_eq!(resumed(&lane, 0), [1, 3], "at once, swept or not");
    lane.sweep();
    assert_eq!(resumed(&lane, 1), [3]);
    assert_eq!(numbers(&mut live), [1, 3], "nor does it wait longer for a slow reader");
    advance(Duration::from_secs(7)).await;
    assert_eq!(resumed(&lane, 3), [0_u64; 0]);
}

#[tokio::test(start_paused = true)]
async fn fo_89_a_late_message_still_reaches_current_readers() {
    let lane = lane(FEW);
    let mut live = subscribed(&lane, "a");
    let before = Emission { forget_at: Some(Instant::now()), ..message(1, "*") };
    assert_eq!(lane.emit("~k", before), 1);
    lane.sweep();
    assert_eq!(resumed(&lane, 0), [0_u64; 0]);
    assert_eq!(numbers(&mut live), [1]);
    let late = Emission { forget_at: Some(Instant::now()), ..message(2, "*") };
    lane.emit("~k", late);
    advance(Duration::from_secs(1)).await;
    lane.sweep();
    assert!(numbers(&mut live).is_empty(), "a second later it is gone");
    emitted(&lane, [3]);
    assert_eq!(numbers(&mut live), [3], "and that was no stall");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_the_ring_has_passed_gets_a_notice() {
    let lane = lane(FEW);
    let (mut slow, mut deaf) = (subscribed(&lane, "a"), subscribed(&lane, "c"));
    emitted(&lane, 1..=5);
    for number in 6..=20 {
        lane.emit("~k", message(number, "b"));
    }
    let mut deliveries = Vec::new();
    assert_eq!(slow.try_next(&mut deliveries), Err(EndReason::Stalled), "1 has gone");
    assert_eq!(deaf.try_next(&mut deliveries), Err(EndReason::Stalled), "for it too");
    let mut quiet = subscribed(&lane, "c");
    for number in 21..=40 {
        lane.emit("~k", message(number, "b"));
    }
    assert!(numbers(&mut quiet).is_empty(), "what passed was not for it");
    lane.emit("~k", message(41, "c"));
    assert_eq!(numbers(&mut quiet), [41]);
}
