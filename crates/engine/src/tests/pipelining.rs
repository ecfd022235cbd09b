//! Concurrent commands on one stream: each is decided on the decisions before it, on disk or not, and never on a
//! failed one.

use std::collections::BTreeSet;

use plenary_kernel::{Position, Version};
use plenary_log::{Fault, Order, rigged::InjectedFault, rigged::Store};

use super::hall::{
    HallState, ID, SeatRefusal, add, ban, bans, closing, hall, idle, opened, refused, rigged, start, take,
    written,
};
use crate::{Command, Conditions, Decided, ExecuteError, Point, tests::hall::Hall};

#[tokio::test]
async fn one_stream_takes_a_thousand_commands_at_once_without_gaps() {
    let halls = hall(1_000).await;
    let mut tasks = Vec::new();
    for nth in 0..1_000 {
        let (halls, take) = (halls.clone(), take(halls.log(), &format!("guest{nth}")));
        tasks.push(tokio::spawn(async move { halls.execute(ID, &take, None).await }));
    }
    let mut replies = BTreeSet::new();
    for task in tasks {
        let done = task.await.unwrap().unwrap();
        assert!(!done.replayed);
        replies.insert(done.reply);
    }
    assert_eq!(replies, (2..=1_001).map(Version).collect());
    assert_eq!(written(halls.log()).await.len(), 1_001);
    let (state, version) = halls.state(ID).await.unwrap();
    assert_eq!((state.taken.len(), version), (1_000, Version(1_001)));
    let afresh = super::hall::halls(halls.log()).state(ID).await.unwrap();
    assert_eq!(afresh, (state, version), "the state in memory is the fold of what was written");
}

#[tokio::test]
async fn a_command_sees_what_was_decided_before_it_though_nothing_is_on_disk() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    halls.execute(ID, &opened(100), None).await.unwrap();
    rigging.hold();
    let mut tasks = Vec::new();
    for nth in 0..300 {
        tasks.push(start(&halls, take(halls.log(), &format!("guest{nth}")), None).await);
    }
    assert_eq!(halls.state(ID).await.unwrap().1, Version(101), "decided");
    assert_eq!(written(halls.log()).await.len(), 1, "and not on disk");
    rigging.release();
    let mut full = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => {}
            answer => {
                assert_eq!(refused(answer), SeatRefusal::Full);
                full += 1;
            }
        }
    }
    assert_eq!((full, written(halls.log()).await.len()), (200, 101));
}

#[tokio::test]
async fn side_events_are_written_with_the_command_or_not_at_all() {
    let halls = hall(1).await;
    let done = halls.execute(ID, &take(halls.log(), "ann"), None).await.unwrap();
    assert_eq!(done.position, Some(Position(3)), "the position of the last event, beside included");
    assert_eq!(refused(halls.execute(ID, &take(halls.log(), "bob"), None).await), SeatRefusal::Full);
    let log = halls.log();
    let keys = |rows: Vec<plenary_log::IndexRow>| rows.into_iter().map(|row| row.key).collect::<Vec<_>>();
    assert_eq!(
        keys(log.read_index("toy.seats", "", None, 10, Order::Ascending).await.unwrap()),
        ["main/ann"]
    );
    assert_eq!(keys(log.read_index("toy.tickets", "", None, 10, Order::Ascending).await.unwrap()), ["ann"]);
    assert!(log.read_row("ticket/ann").await.unwrap().is_some());
    assert!(log.read_row("ticket/bob").await.unwrap().is_none());
    assert_eq!(log.head().await.unwrap(), Position(3));
}

#[tokio::test]
async fn a_refusal_waits_until_what_it_is_founded_on_is_on_disk() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    halls.execute(ID, &opened(9), None).await.unwrap();
    rigging.hold();
    let closed = start(&halls, closing(), None).await;
    let no = start(&halls, take(halls.log(), "ann"), None).await;
    assert!(!no.is_finished(), "nobody knows yet whether the hall is closed");
    rigging.release();
    closed.await.unwrap().unwrap();
    assert_eq!(refused(no.await.unwrap()), SeatRefusal::Closed);
}

#[tokio::test]
async fn a_refusal_that_was_founded_on_a_failed_write_is_decided_again() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    halls.execute(ID, &opened(9), None).await.unwrap();
    rigging.hold();
    rigging.fail_writes([InjectedFault::Before(Fault::Unavailable("no".into()))]);
    let closed = start(&halls, closing(), None).await;
    let seat = start(&halls, take(halls.log(), "ann"), None).await;
    rigging.release();
    assert!(matches!(closed.await.unwrap(), Err(ExecuteError::Fault(Fault::Unavailable(_)))));
    assert_eq!(seat.await.unwrap().unwrap().reply, Version(2), "the hall was never closed");
}

#[tokio::test]
async fn a_caller_that_goes_away_stops_nothing_and_spoils_nothing() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    halls.execute(ID, &opened(9), None).await.unwrap();
    rigging.hold();
    let dropped = start(&halls, take(halls.log(), "ann"), None).await;
    dropped.abort();
    let next = start(&halls, take(halls.log(), "bob"), None).await;
    rigging.release();
    assert_eq!(next.await.unwrap().unwrap().reply, Version(3));
    assert_eq!(written(halls.log()).await, ["Opened 9", "Taken ann", "Taken bob"]);
}

#[tokio::test]
async fn a_decision_never_rests_on_an_abandoned_command() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    halls.execute(ID, &opened(9), None).await.unwrap();
    rigging.hold();
    start(&halls, closing(), None).await.abort();
    idle().await;
    let (ann, bob) = (
        start(&halls, take(halls.log(), "ann"), None).await,
        start(&halls, take(halls.log(), "bob"), None).await,
    );
    rigging.release();
    assert_eq!(refused(ann.await.unwrap()), SeatRefusal::Closed);
    assert_eq!(refused(bob.await.unwrap()), SeatRefusal::Closed);
    assert_eq!(written(halls.log()).await, ["Opened 9", "Closed "]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_trust_before_hundreds_of_commands_makes_each_decide_again() {
    let store = Store::new();
    let (halls, rigging) = rigged(&store, false);
    let elsewhere = store.process(true).log;
    halls.execute(ID, &opened(1_000), None).await.unwrap();
    rigging.hold();
    let mut tasks = Vec::new();
    for nth in 0..500 {
        tasks.push(start(&halls, take(halls.log(), &format!("guest{nth}")), None).await);
    }
    ban(&elsewhere, "guest7").await;
    rigging.release();
    for (nth, task) in tasks.into_iter().enumerate() {
        match task.await.unwrap() {
            Ok(_) => assert_ne!(nth, 7),
            answer => assert_eq!((nth, refused(answer)), (7, SeatRefusal::Banned)),
        }
    }
    assert_eq!(written(halls.log()).await.len(), 500);
}

#[tokio::test(start_paused = true)]
async fn past_its_attempts_a_command_is_refused_as_overloaded_with_nothing_written() {
    let halls = hall(9).await;
    let log = halls.log().clone();
    let mut restless = take(&log, "ann");
    restless.between = None;
    // Another task changes the list after every read.
    struct Restless(super::hall::Take);
    impl Command<Hall> for Restless {
        const NAME: &'static str = "restless";
        type Reply = Version;
        type Rejection = SeatRefusal;
        type Facts = bool;
        async fn facts(&self, state: &HallState, conditions: &mut Conditions) -> Result<bool, Fault> {
            let facts = self.0.facts(state, conditions).await;
            add(&self.0.log, &bans(), "Banned", "somebody").await;
            facts
        }
        fn decide(&self, state: &HallState, facts: &bool, at: &Point) -> Decided<Hall, Self> {
            self.0.decide(state, facts, at)
        }
    }
    let restless = Restless(restless);
    let answer = halls.execute(ID, &restless, None).await;
    assert!(matches!(answer, Err(ExecuteError::Fault(Fault::Overloaded))), "{answer:?}");
    assert_eq!(restless.0.attempts(), crate::ATTEMPTS_MAX as u64);
    assert_eq!(written(&log).await, ["Opened 9"]);
    assert_eq!(super::hall::halls(&log).state(ID).await.unwrap(), halls.state(ID).await.unwrap());
}

#[tokio::test]
async fn readers_are_shown_nothing_that_may_yet_not_be_written() {
    let (halls, rigging) = rigged(&Store::new(), false);
    halls.execute(ID, &opened(9), None).await.unwrap();
    rigging.hold();
    let seat = start(&halls, take(halls.log(), "ann"), None).await;
    let reading = tokio::spawn({
        let halls = halls.clone();
        async move { halls.fresh(ID).await }
    });
    idle().await;
    assert!(!reading.is_finished(), "it waits for the disk");
    rigging.fail_writes([InjectedFault::Before(Fault::Full("no room".into()))]);
    rigging.release();
    assert!(seat.await.unwrap().is_err());
    let (state, version) = reading.await.unwrap().unwrap();
    assert_eq!((state.taken.len(), version), (0, Version(1)), "what was not written was never there");
    check_seat_is_visible(&halls).await;
}

/// A reader waits once for a store that writes nothing, then reads what is on disk.
#[tokio::test(start_paused = true)]
async fn readers_go_on_while_nothing_is_written() {
    for shared in [false, true] {
        let (halls, rigging) = rigged(&Store::new(), shared);
        halls.execute(ID, &opened(9), None).await.unwrap();
        rigging.hold();
        let seat = start(&halls, take(halls.log(), "ann"), None).await;
        let began = tokio::time::Instant::now();
        for _ in 0..10 {
            let (state, version) = halls.fresh(ID).await.unwrap();
            assert_eq!((state.taken.len(), version), (0, Version(1)));
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
        rigging.release();
        seat.await.unwrap().unwrap();
        let (state, version) = halls.fresh(ID).await.unwrap();
        assert_eq!((state.taken.len(), version), (1, Version(2)));
    }
}

/// A state on disk is returned at once.
async fn check_seat_is_visible(halls: &super::hall::Halls) {
    halls.execute(ID, &take(halls.log(), "bob"), None).await.unwrap();
    assert!(halls.fresh(ID).await.unwrap().0.taken.contains("bob"));
}
