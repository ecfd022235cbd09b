//! Commands on streams that are assumed to be new: the store is not read if they are, and if they are not, no reader
//! sees the wrong decision.

use plenary_kernel::Version;
use plenary_log::{
    Fault,
    rigged::{InjectedFault, Process, ReadCounts, Store},
};

use super::hall::{
    Hall, HallEvent, HallState, Halls, ID, SeatRefusal, add, closing, halls, idle, opened, refused, rigged,
    start, take, written,
};
use crate::{Command, Conditions, Decided, Decision, ExecuteError, Executed, KeyUse, Point, Room};

/// Opens a new hall; the reply says whether this command did it, and the number of seats.
pub(super) struct Open(pub(super) usize);

impl Command<Hall> for Open {
    const NAME: &'static str = "open";
    type Reply = (bool, usize);
    type Rejection = SeatRefusal;
    type Facts = ();
    async fn facts(&self, _: &HallState, _: &mut Conditions) -> Result<(), Fault> {
        Ok(())
    }
    fn decide(&self, state: &HallState, (): &(), at: &Point) -> Decided<Hall, Self> {
        assert_eq!(at.version == Version::ZERO, *state == HallState::default(), "a state of its version");
        match state {
            HallState { closed: true, .. } => Err(SeatRefusal::Closed),
            HallState { seats: 0, .. } => Ok(Decision::new(vec![HallEvent::Opened(self.0)], (true, self.0))),
            HallState { seats, .. } => Ok(Decision::unchanged((false, *seats))),
        }
    }
}

pub(super) type Began = Result<Executed<(bool, usize)>, ExecuteError<SeatRefusal>>;

/// Begins in a separate task, and lets it run until it must wait.
pub(super) async fn begin(
    halls: &Halls,
    seats: usize,
    key: Option<KeyUse>,
) -> tokio::task::JoinHandle<Began> {
    let halls = halls.clone();
    let task = tokio::spawn(async move { halls.begin(ID, &Open(seats), key.as_ref()).await });
    idle().await;
    task
}

fn reply(began: Began) -> (bool, usize) {
    began.unwrap().reply
}

fn key(digest: u8) -> KeyUse {
    KeyUse { scope: "open".into(), key: "k".into(), digest: [digest; 32] }
}

#[tokio::test]
async fn a_new_stream_is_created_and_continued_without_a_read() {
    let store = Store::new();
    let Process { log, mut feed, rigging } = store.process(false);
    let halls = halls(&log);
    let done = halls.begin(ID, &Open(2), None).await.unwrap();
    assert_eq!((done.reply, done.replayed), ((true, 2), false));
    assert!(done.position.is_some());
    feed.next().await.unwrap().iter().for_each(|event| halls.observe(event));
    let (state, version) = halls.state(ID).await.unwrap();
    assert_eq!((state.seats, version), (2, Version(1)));
    assert_eq!(halls.fresh(ID).await.unwrap().1, Version(1));
    assert_eq!(halls.observed(ID).await.unwrap().1, Version(1));
    assert_eq!(reply(halls.begin(ID, &Open(3), None).await), (false, 2));
    halls.execute(ID, &closing(), None).await.unwrap();
    assert_eq!(rigging.counted(), ReadCounts::default());
    assert_eq!(written(&log).await, ["Opened 2", "Closed "]);
}

#[tokio::test]
async fn a_stream_that_is_there_after_all_is_decided_on_as_it_is() {
    let store = Store::new();
    let (one, _) = rigged(&store, false);
    one.execute(ID, &opened(3), None).await.unwrap();
    let (two, rigging) = rigged(&store, false);
    let done = two.begin(ID, &Open(9), None).await.unwrap();
    assert_eq!((done.reply, done.position), ((false, 3), None));
    assert!(rigging.counted().reads > 0);
    assert_eq!(written(one.log()).await, ["Opened 3"]);
}

#[tokio::test]
async fn a_refusal_of_the_empty_state_is_none() {
    let store = Store::new();
    let (one, _) = rigged(&store, false);
    one.execute(ID, &opened(1), None).await.unwrap();
    let (two, _) = rigged(&store, false);
    let seat = take(two.log(), "ann");
    assert_eq!(two.begin(ID, &seat, None).await.unwrap().reply, Version(2), "empty, it would be full");
    let (three, _) = rigged(&Store::new(), false);
    let nowhere = take(three.log(), "ann");
    assert_eq!(refused(three.begin(ID, &nowhere, None).await), SeatRefusal::Full, "there is no hall");
    assert_eq!(written(three.log()).await, [""; 0]);
}

#[tokio::test]
async fn a_decision_on_a_wrong_state_is_never_visible() {
    let store = Store::new();
    rigged(&store, false).0.execute(ID, &opened(1), None).await.unwrap();
    let (halls, rigging) = rigged(&store, false);
    rigging.hold();
    let began = begin(&halls, 9, None).await;
    assert!(!began.is_finished());
    for (state, version) in
        [halls.state(ID).await, halls.fresh(ID).await, halls.observed(ID).await].map(Result::unwrap)
    {
        assert_eq!((state.seats, version), (1, Version(1)));
    }
    let ann = start(&halls, take(halls.log(), "ann"), None).await;
    let bob = start(&halls, take(halls.log(), "bob"), None).await;
    rigging.release();
    assert_eq!(reply(began.await.unwrap()), (false, 1));
    assert_eq!(ann.await.unwrap().unwrap().reply, Version(2));
    assert_eq!(refused(bob.await.unwrap()), SeatRefusal::Full);
    assert_eq!(written(halls.log()).await, ["Opened 1", "Taken ann"]);
}

#[tokio::test]
async fn a_stream_does_not_exist_before_its_first_append_is_on_disk() {
    let (halls, rigging) = rigged(&Store::new(), false);
    rigging.hold();
    let began = begin(&halls, 2, None).await;
    assert_eq!(halls.state(ID).await.unwrap().1, Version::ZERO);
    assert_eq!(halls.fresh(ID).await.unwrap().1, Version::ZERO);
    // Decided on an empty stream, which by then it will not be.
    let seat = start(&halls, take(halls.log(), "ann"), None).await;
    let closed = start(&halls, closing(), None).await;
    rigging.release();
    assert_eq!(reply(began.await.unwrap()), (true, 2));
    closed.await.unwrap().unwrap();
    let written = written(halls.log()).await;
    match seat.await.unwrap() {
        // It was refused on the empty stream before the creation of the stream was on disk: no caller has the answer yet.
        Err(ExecuteError::Rejected(SeatRefusal::Full)) => assert_eq!(written, ["Opened 2", "Closed "]),
        answer => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn of_many_that_begin_one_stream_one_does() {
    let (halls, rigging) = rigged(&Store::new(), false);
    rigging.hold();
    let mut began = Vec::new();
    for seats in 1..=60 {
        began.push(begin(&halls, seats, None).await);
    }
    rigging.release();
    let mut replies = Vec::new();
    for task in began {
        replies.push(reply(task.await.unwrap()));
    }
    let seats = replies.iter().find(|(is_new, _)| *is_new).unwrap().1;
    assert_eq!(replies.iter().filter(|(is_new, _)| *is_new).count(), 1);
    assert!(replies.iter().all(|(_, open)| *open == seats), "{replies:?}");
    assert_eq!(written(halls.log()).await, [format!("Opened {seats}")]);
}

#[tokio::test]
async fn asp_35_of_many_equal_requests_that_begin_a_stream_one_is_carried_out() {
    let store = Store::new();
    let (one, rigging) = rigged(&store, true);
    let (two, _) = rigged(&store, true);
    rigging.hold();
    let mut began = Vec::new();
    for nth in 0..30 {
        began.push(begin(if nth % 2 == 0 { &one } else { &two }, 4, Some(key(1))).await);
    }
    let reused = begin(&one, 5, Some(key(2))).await;
    rigging.release();
    let mut first = 0;
    for task in began {
        let done = task.await.unwrap().unwrap();
        assert_eq!(done.reply, (true, 4), "each is told what the first one was");
        first += usize::from(!done.replayed);
    }
    assert_eq!(first, 1);
    assert!(matches!(reused.await.unwrap(), Err(ExecuteError::KeyReused)));
    assert_eq!(written(one.log()).await, ["Opened 4"]);
}

#[tokio::test]
async fn a_beginning_that_was_not_written_leaves_nothing() {
    let (halls, rigging) = rigged(&Store::new(), false);
    let unavailable = Fault::Unavailable("gone".into());
    rigging.fail_writes([InjectedFault::Before(unavailable.clone())]);
    let failed = halls.begin(ID, &Open(1), None).await;
    assert!(matches!(failed, Err(ExecuteError::Fault(fault)) if fault == unavailable));
    assert_eq!(halls.state(ID).await.unwrap().1, Version::ZERO);
    assert_eq!(reply(halls.begin(ID, &Open(2), None).await), (true, 2));
    assert_eq!(written(halls.log()).await, ["Opened 2"]);
}

#[tokio::test]
async fn a_creation_with_an_unknown_outcome_is_looked_up() {
    let (halls, rigging) = rigged(&Store::new(), false);
    rigging.fail_writes([InjectedFault::After(Fault::OutcomeUnknown("the answer was lost".into()))]);
    assert!(halls.begin(ID, &Open(1), None).await.is_err());
    assert_eq!(reply(halls.begin(ID, &Open(2), None).await), (false, 1));
    assert_eq!(halls.state(ID).await.unwrap().1, Version(1));
}

#[tokio::test]
async fn an_abandoned_creation_does_no_harm() {
    let (halls, rigging) = rigged(&Store::new(), false);
    rigging.hold();
    begin(&halls, 1, None).await.abort();
    let next = begin(&halls, 2, None).await;
    rigging.release();
    assert_eq!(reply(next.await.unwrap()), (false, 1));
    assert_eq!(written(halls.log()).await, ["Opened 1"]);
}

#[tokio::test]
async fn events_of_others_during_the_creation_of_a_stream_are_not_missed() {
    let store = Store::new();
    let Process { log, mut feed, .. } = store.process(true);
    let (one, two) = (halls(&log), rigged(&store, true).0);
    assert_eq!(reply(one.begin(ID, &Open(2), None).await), (true, 2));
    two.execute(ID, &take(two.log(), "ann"), None).await.unwrap();
    while one.observed(ID).await.unwrap().1 < Version(2) {
        feed.next().await.unwrap().iter().for_each(|event| one.observe(event));
    }
    let (state, version) = one.state(ID).await.unwrap();
    assert_eq!((state.taken.len(), version), (1, Version(2)));
    add(&log, &Hall::stream(ID), "Closed", "").await;
    assert_eq!(refused(one.begin(ID, &Open(5), None).await), SeatRefusal::Closed);
}
