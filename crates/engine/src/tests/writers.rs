//! Several processes on one store: a write of one makes the other decide again, whether or not it has received the
//! notification.

use std::sync::Arc;

use plenary_kernel::Version;
use plenary_log::rigged::{Process, Store};

use super::hall::{
    ID, OpenFor, SeatRefusal, add, ban, closing, halls, idle, opened, refused, rigged, start, take, written,
};
use crate::{Room, tests::hall::Hall};

#[tokio::test(start_paused = true)]
async fn two_processes_fill_one_hall_without_overbooking() {
    let store = Store::new();
    let (one, _) = rigged(&store, true);
    let (two, _) = rigged(&store, true);
    one.execute(ID, &opened(40), None).await.unwrap();
    let mut tasks = Vec::new();
    for nth in 0..60 {
        let halls = if nth % 2 == 0 { &one } else { &two };
        let (halls, take) = (halls.clone(), take(halls.log(), &format!("guest{nth}")));
        tasks.push(tokio::spawn(async move { halls.execute(ID, &take, None).await }));
    }
    let mut seated = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => seated += 1,
            answer => assert_eq!(refused(answer), SeatRefusal::Full),
        }
    }
    assert_eq!((seated, written(one.log()).await.len()), (40, 41));
}

#[tokio::test]
async fn a_command_is_decided_again_on_what_another_process_wrote() {
    let store = Store::new();
    let (one, _) = rigged(&store, true);
    let (two, _) = rigged(&store, true);
    one.execute(ID, &opened(1), None).await.unwrap();
    assert_eq!(two.state(ID).await.unwrap().1, Version(1));
    one.execute(ID, &take(one.log(), "ann"), None).await.unwrap();
    let late = take(two.log(), "bob");
    assert_eq!(refused(two.execute(ID, &late, None).await), SeatRefusal::Full);
    assert_eq!(late.attempts(), 2);
}

#[tokio::test]
async fn a_refusal_is_checked_against_what_another_process_wrote() {
    let store = Store::new();
    let (one, _) = rigged(&store, true);
    let (two, _) = rigged(&store, true);
    one.execute(ID, &opened(0), None).await.unwrap();
    assert_eq!(refused(two.execute(ID, &take(two.log(), "bob"), None).await), SeatRefusal::Full);
    one.execute(ID, &opened(1), None).await.unwrap();
    two.execute(ID, &take(two.log(), "bob"), None).await.unwrap();
}

#[tokio::test]
async fn nothing_is_written_on_top_of_a_batch_that_lost_to_another_process() {
    let store = Store::new();
    let (one, rigging) = rigged(&store, true);
    let (two, _) = rigged(&store, true);
    one.execute(ID, &opened(9), None).await.unwrap();
    rigging.hold();
    // Decided on version 1 and on the version 2 that the first one will not get.
    let (ann, bob) =
        (start(&one, take(one.log(), "ann"), None).await, start(&one, take(one.log(), "bob"), None).await);
    two.execute(ID, &closing(), None).await.unwrap();
    rigging.release();
    assert_eq!(refused(ann.await.unwrap()), SeatRefusal::Closed);
    assert_eq!(refused(bob.await.unwrap()), SeatRefusal::Closed);
    assert_eq!(written(one.log()).await, ["Opened 9", "Closed "]);
}

/// The version is the same, but the event is another.
#[tokio::test]
async fn nothing_is_written_on_a_fact_of_another_stream_that_never_came_to_be() {
    let store = Store::new();
    let (one, rigging) = rigged(&store, true);
    let (two, _) = rigged(&store, true);
    one.execute(ID, &opened(9), None).await.unwrap();
    rigging.hold();
    let ann = start(&one, take(one.log(), "ann"), None).await;
    let (halls, annex) = (one.clone(), OpenFor(one.clone(), "ann"));
    let annex = tokio::spawn(async move { halls.execute("annex", &annex, None).await });
    idle().await;
    two.execute(ID, &closing(), None).await.unwrap();
    rigging.release();
    assert_eq!(refused(ann.await.unwrap()), SeatRefusal::Closed);
    assert_eq!(refused(annex.await.unwrap()), SeatRefusal::Banned, "ann got no seat");
    assert_eq!(one.state("annex").await.unwrap().1, Version::ZERO);
}

#[tokio::test]
async fn an_observed_event_of_another_process_is_loaded() {
    let store = Store::new();
    let Process { log, mut feed, .. } = store.process(true);
    let (one, (two, _)) = (halls(&log), rigged(&store, true));
    one.execute(ID, &opened(2), None).await.unwrap();
    assert_eq!(one.observed(ID).await.unwrap().1, Version(0), "committed, and not handed out yet");
    two.execute(ID, &take(two.log(), "ann"), None).await.unwrap();
    assert_eq!(two.observed(ID).await.unwrap().1, Version(1), "found when it was loaded");
    assert_eq!(one.state(ID).await.unwrap().1, Version(1), "not heard of yet");
    while one.observed(ID).await.unwrap().1 < Version(2) {
        for event in feed.next().await.unwrap().iter() {
            one.observe(event);
        }
    }
    assert_eq!(one.state(ID).await.unwrap().1, Version(2));
}

#[tokio::test]
async fn observed_events_of_another_process_are_folded_without_a_read() {
    let store = Store::new();
    let Process { log, mut feed, rigging } = store.process(true);
    let (one, (two, _)) = (halls(&log), rigged(&store, true));
    one.execute(ID, &opened(9), None).await.unwrap();
    for guest in ["ann", "bob", "cy"] {
        two.execute(ID, &take(two.log(), guest), None).await.unwrap();
    }
    rigging.fail_reads(Some(plenary_log::Fault::Unavailable("no read is needed".into())));
    while one.observed(ID).await.unwrap().1 < Version(4) {
        feed.next().await.unwrap().iter().for_each(|event| one.observe(event));
    }
    let (state, version) = one.state(ID).await.unwrap();
    assert_eq!(version, Version(4));
    rigging.fail_reads(None);
    assert_eq!(*state, *two.state(ID).await.unwrap().0);
}

/// A decision on a folded state sees the other process's events, at the first attempt.
#[tokio::test]
async fn a_command_after_folded_events_is_decided_once() {
    let store = Store::new();
    let Process { log, mut feed, .. } = store.process(true);
    let (one, (two, _)) = (halls(&log), rigged(&store, true));
    one.execute(ID, &opened(1), None).await.unwrap();
    two.execute(ID, &take(two.log(), "ann"), None).await.unwrap();
    while one.observed(ID).await.unwrap().1 < Version(2) {
        feed.next().await.unwrap().iter().for_each(|event| one.observe(event));
    }
    let late = take(one.log(), "bob");
    assert_eq!(refused(one.execute(ID, &late, None).await), SeatRefusal::Full);
    assert_eq!(late.attempts(), 1);
}

/// A gap in what was observed makes the state stale, and the store is read.
#[tokio::test]
async fn an_observed_event_beyond_a_gap_is_not_folded() {
    let store = Store::new();
    let Process { log, mut feed, .. } = store.process(true);
    let (one, (two, _)) = (halls(&log), rigged(&store, true));
    one.execute(ID, &opened(9), None).await.unwrap();
    for guest in ["ann", "bob"] {
        two.execute(ID, &take(two.log(), guest), None).await.unwrap();
    }
    while one.observed(ID).await.unwrap().1 < Version(3) {
        let events = feed.next().await.unwrap();
        events.iter().filter(|event| event.version == Version(3)).for_each(|event| one.observe(event));
    }
    let (state, version) = one.state(ID).await.unwrap();
    assert_eq!((version, &*state), (Version(3), &*two.state(ID).await.unwrap().0));
}

#[tokio::test]
async fn own_events_that_are_observed_do_not_make_the_state_load_again() {
    let store = Store::new();
    let Process { log, mut feed, rigging } = store.process(true);
    let one = halls(&log);
    one.execute(ID, &opened(9), None).await.unwrap();
    one.execute(ID, &take(&log, "ann"), None).await.unwrap();
    let before = one.state(ID).await.unwrap().0;
    for _ in 0..2 {
        feed.next().await.unwrap().iter().for_each(|event| one.observe(event));
    }
    rigging.fail_reads(Some(plenary_log::Fault::Unavailable("no read is needed".into())));
    assert!(Arc::ptr_eq(&before, &one.state(ID).await.unwrap().0));
}

#[tokio::test]
async fn a_fresh_state_has_what_another_process_wrote_a_moment_ago() {
    let store = Store::new();
    let (one, _) = rigged(&store, true);
    let (two, _) = rigged(&store, true);
    one.execute(ID, &opened(2), None).await.unwrap();
    two.execute(ID, &take(two.log(), "ann"), None).await.unwrap();
    assert_eq!(one.state(ID).await.unwrap().1, Version(1));
    assert_eq!(one.fresh(ID).await.unwrap().1, Version(2));
    assert_eq!(one.fresh("absent").await.unwrap().1, Version::ZERO);
}

#[tokio::test]
async fn facts_that_changed_between_the_look_and_the_append_are_looked_at_again() {
    let store = Store::new();
    let (one, _) = rigged(&store, false);
    let elsewhere = store.process(true).log;
    one.execute(ID, &opened(9), None).await.unwrap();
    let mut seat = take(one.log(), "ann");
    seat.between = Some(Box::new(move || {
        let log = elsewhere.clone();
        Box::pin(async move { ban(&log, "ann").await })
    }));
    assert_eq!(refused(one.execute(ID, &seat, None).await), SeatRefusal::Banned);
    assert_eq!(seat.attempts(), 2);
    assert_eq!(written(one.log()).await, ["Opened 9"]);
}

#[tokio::test]
async fn an_event_that_was_written_past_the_room_is_reckoned_with() {
    let store = Store::new();
    let (one, _) = rigged(&store, false);
    one.execute(ID, &opened(9), None).await.unwrap();
    add(one.log(), &Hall::stream(ID), "Closed", "").await;
    idle().await;
    assert_eq!(refused(one.execute(ID, &take(one.log(), "ann"), None).await), SeatRefusal::Closed);
}

#[tokio::test]
async fn after_a_second_lost_race_only_new_events_are_read() {
    const GUESTS: usize = 40;
    let store = Store::new();
    let (one, _) = rigged(&store, true);
    let (two, rigging) = rigged(&store, true);
    one.execute(ID, &opened(2 * GUESTS), None).await.unwrap();
    for nth in 0..GUESTS {
        one.execute(ID, &take(one.log(), &format!("guest{nth}")), None).await.unwrap();
    }
    let mut read = Vec::new();
    for nth in 0..3 {
        one.execute(ID, &take(one.log(), &format!("first{nth}")), None).await.unwrap();
        let before = rigging.counted().rows;
        let late = take(two.log(), &format!("late{nth}"));
        two.execute(ID, &late, None).await.unwrap();
        assert_eq!(late.attempts(), if nth == 0 { 1 } else { 2 });
        read.push(rigging.counted().rows - before);
    }
    // The whole stream at first, all of it again after the first lost race, and then only newer events.
    assert_eq!(read, [GUESTS + 2, GUESTS + 4, 2]);
    assert_eq!(two.fresh(ID).await.unwrap().0.taken.len(), GUESTS + 6);
}
