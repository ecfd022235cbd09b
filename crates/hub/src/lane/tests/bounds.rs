//! The effect of each limit.

use super::super::{LaneSize, ring::ENTRY_BYTES};
use super::*;

#[tokio::test(start_paused = true)]
async fn past_its_bound_a_turn_ends_and_the_rest_waits() {
    let limits = LaneLimits { turn_count_max: 4, turn_bytes_max: 3 * ENTRY_BYTES, ..LaneLimits::default() };
    let lane = lane(limits);
    let mut reader = subscribed(&lane, "a");
    for number in 1..=5 {
        lane.emit("~k", message(number, "*"));
    }
    let mut deliveries = Vec::new();
    assert_eq!(reader.try_next(&mut deliveries), Ok(true));
    assert_eq!(deliveries.len(), 3, "it ends with the message that reaches the bytes");
    assert_eq!(numbers(&mut reader), [4, 5]);
    let roomy = LaneLimits { turn_bytes_max: usize::MAX, ..limits };
    let lane = Lane::new(roomy);
    let mut reader = subscribed(&lane, "a");
    for number in 1..=9 {
        lane.emit("~k", message(number, if number < 6 { "b" } else { "*" }));
    }
    deliveries.clear();
    assert_eq!(reader.try_next(&mut deliveries), Ok(true), "what is not for it does not fill its turn");
    assert_eq!(deliveries.iter().map(|delivery| delivery.number).collect::<Vec<_>>(), [6, 7, 8, 9]);
}

#[tokio::test(start_paused = true)]
async fn past_its_bound_a_subscription_is_refused_until_one_goes() {
    let lane = lane(LaneLimits { subscriptions_max: 2, ..LaneLimits::default() });
    let both = (subscribed(&lane, "a"), subscribed(&lane, "a"));
    assert_eq!(lane.subscribe("~k", "a", None).unwrap_err(), SubscribeError::TooMany);
    assert!(lane.subscribe("~l", "a", None).is_ok(), "another key has room");
    drop(both.0);
    assert!(lane.subscribe("~k", "a", None).is_ok());
}

#[tokio::test(start_paused = true)]
async fn past_its_bound_a_key_without_subscriptions_gives_way() {
    let lane = lane(LaneLimits { keys_max: 3, ..LaneLimits::default() });
    let mut reader = lane.subscribe("read", "a", None).unwrap();
    assert_eq!(lane.emit("old", message(1, "*")), 0);
    assert_eq!(lane.emit("new", message(1, "*")), 0);
    assert_eq!(lane.emit("newest", message(1, "*")), 0);
    assert_eq!(lane.size().keys, 3);
    assert!(numbers(&mut lane.subscribe("new", "a", Some(0)).unwrap()) == [1], "old gave way");
    let others = [lane.subscribe("new", "a", None).unwrap(), lane.subscribe("newest", "a", None).unwrap()];
    assert_eq!(lane.subscribe("one more", "a", None).unwrap_err(), SubscribeError::TooManyKeys);
    assert_eq!(lane.emit("one more", message(1, "*")), 0, "nobody can be there to get it");
    lane.emit("read", message(1, "*"));
    assert_eq!(numbers(&mut reader), [1]);
    drop(others);
    assert!(lane.subscribe("one more", "a", None).is_ok());
}

#[tokio::test(start_paused = true)]
async fn past_its_own_bytes_a_key_loses_its_oldest_and_no_other_key_does() {
    const EACH: usize = ENTRY_BYTES + 1;
    let limits = LaneLimits { key_bytes_max: 4 * EACH, bytes_max: 100 * EACH, ..LaneLimits::default() };
    let lane = lane(limits);
    let mut stalled = lane.subscribe("loud", "a", None).unwrap();
    let mut paused = lane.subscribe("calm", "a", None).unwrap();
    for number in 1..=3 {
        lane.emit("calm", message(number, "*"));
    }
    for number in 1..1_000 {
        lane.emit("loud", message(number, "*"));
        assert!(lane.size().bytes <= 7 * EACH);
    }
    assert_eq!(stalled.try_next(&mut Vec::new()), Err(EndReason::Stalled));
    assert_eq!(numbers(&mut paused), [1, 2, 3]);
    assert_eq!(numbers(&mut lane.subscribe("loud", "a", Some(995)).unwrap()), [996, 997, 998, 999]);
}

#[tokio::test(start_paused = true)]
async fn past_the_bytes_of_all_the_keys_that_hold_the_most_lose_their_oldest() {
    const EACH: usize = ENTRY_BYTES + 1;
    let limits = LaneLimits { bytes_max: 16 * EACH, entries_max: 100, ..LaneLimits::default() };
    let lane = lane(limits);
    for number in 1..=2 {
        lane.emit("calm", message(number, "*"));
    }
    for number in 1..=15 {
        lane.emit(if number % 3 == 0 { "loud" } else { "loudest" }, message(number, "*"));
    }
    assert_eq!(lane.size().bytes, 14 * EACH, "an eighth is free");
    let retained = |key| numbers(&mut lane.subscribe(key, "a", Some(0)).unwrap()).len();
    assert_eq!(lane.retained("calm", Some(&"a"), 0).len(), 2);
    assert_eq!(
        (lane.retained("loud", Some(&"a"), 0).len(), lane.retained("loudest", Some(&"a"), 0).len()),
        (5, 7)
    );
    assert_eq!(retained("calm"), 2);
    for number in 18..10_000 {
        lane.emit("loudest", message(number, "*"));
        assert!(lane.size().bytes <= 16 * EACH);
    }
    assert_eq!(
        (lane.retained("calm", Some(&"a"), 0).len(), lane.retained("loud", Some(&"a"), 0).len()),
        (2, 5)
    );
}

#[tokio::test(start_paused = true)]
async fn past_its_share_a_sender_loses_its_own_oldest_in_the_rings_of_others() {
    const BYTES: usize = 10_000;
    const EACH: usize = ENTRY_BYTES + BYTES;
    const KEYS: [&str; 8] = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"];
    let limits = LaneLimits { bytes_max: 40 * EACH, sender_bytes_max: 10 * EACH, ..LaneLimits::default() };
    let lane = lane(limits);
    let large = |number| Emission { bytes: BYTES, ..message(number, "*") };
    for number in 1..=20 {
        lane.emit("calm", large(number));
    }
    lane.emit_from("ann", vec![("calm", large(21))]);
    lane.emit("k0", large(1));
    let mut reader = lane.subscribe("k1", "a", None).unwrap();
    // A dropped message after one of the key's own still uses its entry.
    let dropped = limits.entries_max * ENTRY_BYTES;
    // Fewer than a ring keeps, so that only the share causes drops.
    for number in 2..200 {
        for key in KEYS {
            assert_eq!(lane.emit_from("eve", vec![(key, large(number))]), usize::from(key == "k1"));
            assert!(lane.size().bytes <= 32 * EACH + dropped, "its share, and what the others have");
        }
        assert_eq!(numbers(&mut reader), [number], "whoever is there gets all of it");
    }
    assert_eq!(lane.retained("calm", Some(&"a"), 0).len(), 21, "an equal part of the room would be four");
    let retained =
        |key| lane.retained(key, Some(&"a"), 0).into_iter().map(|(number, _)| number).collect::<Vec<_>>();
    assert_eq!((retained("k0"), retained("k7"), retained("k1")), (vec![1, 199], vec![198, 199], vec![199]));
    lane.emit("k1", large(1_000));
    assert_eq!(retained("k1"), [199, 1_000], "a key's own messages are in nobody's share");
    drop(reader);
    advance(LaneLimits::default().age_max).await;
    lane.sweep();
    assert_eq!(lane.size(), LaneSize::default());
    lane.emit_from("eve", vec![("k1", large(1_001))]);
    assert_eq!(retained("k1"), [1_001], "what is too old has left the share");
}

#[tokio::test(start_paused = true)]
async fn one_message_to_more_keys_than_the_share_holds_reaches_every_reader() {
    const KEYS: usize = 1_000;
    const BYTES: usize = 30 << 10;
    let lane = lane(LaneLimits::default());
    let keys: Vec<_> = (0..KEYS).map(|key| key.to_string()).collect();
    let mut readers: Vec<_> = keys.iter().map(|key| lane.subscribe(key, "a", None).unwrap()).collect();
    let emitted = |number| {
        let to = keys.iter().map(|key| (key, Emission { bytes: BYTES, ..message(number, "*") }));
        lane.emit_from("eve", to.collect())
    };
    for number in 1..=20 {
        assert_eq!(emitted(number), KEYS);
    }
    assert_eq!(lane.size().bytes, 20 * (BYTES + KEYS * ENTRY_BYTES), "its bytes are there once");
    for reader in &mut readers {
        assert_eq!(numbers(reader), (1..=20).collect::<Vec<_>>());
    }
    for number in 21..=200 {
        emitted(number);
        assert!(readers.iter_mut().all(|reader| numbers(reader) == [number]));
        assert!(lane.size().bytes <= LaneLimits::default().sender_bytes_max);
    }
}

#[tokio::test(start_paused = true)]
async fn past_its_share_a_sender_keeps_waiting_messages_and_past_its_backlog_the_reader_gets_a_notice() {
    const BYTES: usize = 10_000;
    const EACH: usize = ENTRY_BYTES + BYTES;
    let limits = LaneLimits {
        sender_bytes_max: 4 * EACH,
        sender_backlog_bytes_max: 8 * EACH,
        ..LaneLimits::default()
    };
    let lane = lane(limits);
    let sent = |number, text| {
        lane.emit_from("eve", vec![("~k", Emission { bytes: BYTES, ..message(number, text) })])
    };
    let (mut slow, mut other) = (subscribed(&lane, "a"), subscribed(&lane, "b"));
    lane.emit("~k", message(1, "*"));
    for number in 2..=9 {
        sent(number, "a");
    }
    assert_eq!(numbers(&mut slow), (1..=9).collect::<Vec<_>>(), "all of it waited");
    assert_eq!(numbers(&mut other), [1]);
    for number in 10..=20 {
        sent(number, "*");
        assert_eq!(numbers(&mut other), [number]);
        assert!(lane.size().bytes <= 8 * EACH + ENTRY_BYTES + 12 * ENTRY_BYTES);
    }
    assert_eq!(slow.try_next(&mut Vec::new()), Err(EndReason::Stalled), "10 is lost, and it is told");
    assert_eq!(resumed(&lane, 12), (13..=20).collect::<Vec<_>>());
    assert_eq!(resumed(&lane, 11), [0_u64; 0], "12 has gone: from now on");
    assert_eq!(resumed(&lane, lane.reaches_back_to("~k").unwrap()), (13..=20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn what_many_senders_have_in_the_rings_of_others_leaves_half_of_the_room() {
    const BYTES: usize = 10_000;
    const EACH: usize = ENTRY_BYTES + BYTES;
    const SENDERS: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
    let limits = LaneLimits { bytes_max: 64 * EACH, sender_bytes_max: 16 * EACH, ..LaneLimits::default() };
    let lane = lane(limits);
    let large = |number| Emission { bytes: BYTES, ..message(number, "*") };
    (1..=20).for_each(|number| _ = lane.emit("calm", large(number)));
    for number in 1..=100 {
        for sender in SENDERS {
            lane.emit_from(sender, vec![(sender, large(number))]);
            assert!(lane.size().bytes <= limits.bytes_max);
        }
    }
    assert_eq!(lane.retained("calm", Some(&"a"), 0).len(), 20);
    let retained = SENDERS.map(|sender| lane.retained(sender, Some(&"a"), 0).len());
    assert!(
        retained.iter().all(|retained| (3..=7).contains(retained)),
        "each has an equal part: {retained:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn unused_rings_are_freed() {
    let lane = lane(LaneLimits::default());
    tokio::spawn(lane.sweeping());
    let reader = lane.subscribe("read", "a", None).unwrap();
    lane.emit("kept", message(1, "*"));
    drop(lane.subscribe("left", "a", None).unwrap());
    assert_eq!(lane.size().keys, 3);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(lane.size().keys, 2, "one that was left without a message goes at once");
    tokio::time::sleep(LaneLimits::default().age_max).await;
    assert_eq!(lane.size(), LaneSize { keys: 1, bytes: 0, subscriptions: 1, stalled: 0 });
    drop(reader);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(lane.size(), LaneSize::default());
}
