//! Many states are loaded with few reads, and are those that a load of each returns.

use plenary_kernel::Version;
use plenary_log::{
    Fault,
    rigged::{ReadCounts, Store},
};

use super::hall::{Do, Hall, HallEvent, Halls, add, closing, opened, rigged, take};
use crate::Room as _;

const SHORT: [&str; 3] = ["a", "b", "c"];

/// Short halls, and one that is long.
async fn filled(store: &Store) -> Halls {
    let (halls, _) = rigged(store, false);
    for (id, seats) in SHORT.into_iter().zip(1..) {
        halls.execute(id, &opened(seats), None).await.unwrap();
    }
    let songs = (0..100).map(|_| HallEvent::Sung).collect();
    halls.execute("long", &Do(songs), None).await.unwrap();
    halls
}

#[tokio::test]
async fn short_streams_are_loaded_together_and_a_long_one_when_it_is_needed() {
    let store = Store::new();
    filled(&store).await;
    let (halls, rigging) = rigged(&store, false);
    halls.load_short(&["a", "long", "b", "nobody", "a"]).await;
    rigging.counted();
    for (id, seats, events) in [("a", 1, 1), ("b", 2, 1), ("nobody", 0, 0)] {
        let (state, version) = halls.state(id).await.unwrap();
        assert_eq!((state.seats, version), (seats, Version(events)), "{id}");
    }
    assert_eq!(rigging.counted(), ReadCounts::default(), "they are in memory");
    assert_eq!(halls.state("long").await.unwrap().1, Version(100));
    assert!(rigging.counted().reads > 0);
    assert_eq!(halls.state("c").await.unwrap().0.seats, 3);
    // A loaded state goes on as any other.
    halls.execute("a", &take(halls.log(), "ann"), None).await.unwrap();
    assert_eq!(halls.state("a").await.unwrap().1, Version(2));
}

/// Around the length from which a stream is not short; and the streams grow, and drop out of the memory.
#[tokio::test]
async fn a_state_that_was_loaded_with_others_is_that_of_a_load_alone() {
    let store = Store::new();
    let (together, _) = rigged(&store, false);
    let lengths = [0, 1, 2, 61, 62, 63, 64, 65, 66, 129];
    let ids = lengths.map(|length| length.to_string());
    for (id, length) in ids.iter().zip(lengths) {
        let event = |nth| if nth % 3 == 1 { HallEvent::Sung } else { HallEvent::Opened(nth) };
        together.execute(id, &Do((0..length).map(event).collect()), None).await.unwrap();
    }
    for round in 0..4 {
        together.cache.clear();
        together.load_short(&ids.each_ref().map(String::as_str)).await;
        let (alone, _) = rigged(&store, false);
        for (id, length) in ids.iter().zip(lengths) {
            let loaded = together.state(id).await.unwrap();
            assert_eq!(loaded, alone.state(id).await.unwrap(), "{id} in round {round}");
            assert_eq!(loaded.1, Version(length as u64 + round), "{id}");
            let one_more = if round == 3 { closing() } else { opened(1_000) };
            together.execute(id, &one_more, None).await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_event_that_is_dispatched_while_the_others_are_read_is_not_missed() {
    let store = Store::new();
    let written = filled(&store).await;
    let (halls, _) = rigged(&store, false);
    halls.entry("a").observe(Version(2));
    // The read began before the event was there.
    halls.load_short(&SHORT).await;
    written.execute("a", &closing(), None).await.unwrap();
    let (state, version) = halls.state("a").await.unwrap();
    assert_eq!((state.closed, version), (true, Version(2)));
}

#[tokio::test]
async fn the_events_of_streams_that_were_loaded_are_returned() {
    let store = Store::new();
    filled(&store).await;
    let (halls, _) = rigged(&store, false);
    halls.state("b").await.unwrap();
    let events = halls.begin_short(&["a", "b", "long"]).await;
    assert_eq!(events.len(), 1, "one was in memory, and one is long");
    assert_eq!(events[&Hall::stream("a")].len(), 1);
    assert!(halls.begin_short(&["a", "b"]).await.is_empty());
}

#[tokio::test]
async fn a_state_that_is_in_use_is_left_to_its_user() {
    let store = Store::new();
    filled(&store).await;
    let (halls, _) = rigged(&store, false);
    let entry = halls.entry("a");
    let in_use = entry.loaded.lock().await;
    halls.load_short(&SHORT).await;
    assert!(in_use.is_none());
    drop(in_use);
    assert_eq!(halls.state("a").await.unwrap().0.seats, 1);
}

#[tokio::test]
async fn what_can_not_be_read_fails_when_it_is_needed() {
    let store = Store::new();
    let written = filled(&store).await;
    add(written.log(), &Hall::stream("b"), "Burnt", "").await;
    let (halls, rigging) = rigged(&store, false);
    rigging.fail_reads(Some(Fault::Overloaded));
    halls.load_short(&SHORT).await;
    rigging.fail_reads(None);
    halls.load_short(&SHORT).await;
    assert!(matches!(halls.state("b").await, Err(Fault::Corrupt(_))));
    assert_eq!(halls.state("c").await.unwrap().0.seats, 3);
}

#[tokio::test]
async fn on_a_store_with_several_processes_nothing_is_loaded_ahead() {
    let store = Store::new();
    filled(&store).await;
    let (halls, rigging) = rigged(&store, true);
    halls.load_short(&SHORT).await;
    assert_eq!(rigging.counted(), ReadCounts::default());
}
