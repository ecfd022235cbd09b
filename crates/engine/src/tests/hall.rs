//! A room for the engine's tests: a hall with a number of seats, which can be closed, and a list of banned visitors
//! on another stream.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use plenary_kernel::{Clock, OwnerName, Stamp, TimestampMs, Version, limits::READ_ROWS_MAX};
use plenary_log::{
    Batch, Condition, Fault, IndexOp, Log, NewEvent, Outcome, RowOp, StoredEvent, StreamName, open_memory,
    rigged::{FaultControl, Process, Store},
};
use serde::{Deserialize, Serialize};

use crate::{
    Command, Conditions, Decided, Decision, ExecuteError, Executed, KeyUse, LookedUp, Point, Room,
    SideEvents, Streams, stored::StoredForm,
};

pub(super) const ID: &str = "main";

/// The room.
pub(super) struct Hall;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HallState {
    pub(super) seats: usize,
    pub(super) taken: BTreeSet<String>,
    pub(super) closed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HallEvent {
    Opened(usize),
    Taken(String),
    Closed,
    /// Changes nothing.
    Sung,
}

fn new(kind: &'static str, text: &str) -> NewEvent {
    NewEvent { kind, form: 1, envelope: Bytes::copy_from_slice(text.as_bytes()), payload: Bytes::new() }
}

impl StoredForm for HallEvent {
    const KINDS: &'static [&'static str] = &["Opened", "Taken", "Closed", "Sung"];

    fn encode(&self) -> NewEvent {
        match self {
            HallEvent::Opened(seats) => new("Opened", &seats.to_string()),
            HallEvent::Taken(guest) => new("Taken", guest),
            HallEvent::Closed => new("Closed", ""),
            HallEvent::Sung => new("Sung", ""),
        }
    }
    fn decode(event: &StoredEvent) -> Result<Self, Fault> {
        let text = String::from_utf8_lossy(&event.envelope).into_owned();
        match &*event.kind {
            "Opened" => Ok(HallEvent::Opened(text.parse().unwrap())),
            "Taken" => Ok(HallEvent::Taken(text)),
            "Closed" => Ok(HallEvent::Closed),
            "Sung" => Ok(HallEvent::Sung),
            kind => Err(Fault::Corrupt(kind.to_owned())),
        }
    }
}

impl Room for Hall {
    type State = HallState;
    type Event = HallEvent;
    const CATEGORY: &'static str = "toy.hall";
    const SNAPSHOT_FORM: u16 = 3;

    fn folds(event: &HallEvent) -> bool {
        *event != HallEvent::Sung
    }
    fn evolve(state: &mut HallState, _: Version, _: TimestampMs, event: &HallEvent) {
        match event {
            HallEvent::Opened(seats) => state.seats = *seats,
            HallEvent::Taken(guest) => drop(state.taken.insert(guest.clone())),
            HallEvent::Closed => state.closed = true,
            HallEvent::Sung => panic!("what does not fold is never folded"),
        }
    }
    /// The guest of a seat pays for it; owners and guests have the same names here.
    fn payer(_: &str, _: &HallState, event: &HallEvent) -> Option<OwnerName> {
        match event {
            HallEvent::Taken(guest) => guest.parse().ok(),
            HallEvent::Opened(_) | HallEvent::Closed | HallEvent::Sung => None,
        }
    }
    fn index(id: &str, event: &HallEvent) -> Vec<IndexOp> {
        match event {
            HallEvent::Taken(guest) => {
                vec![IndexOp::Put { name: "toy.seats", key: format!("{id}/{guest}"), value: Bytes::new() }]
            }
            HallEvent::Opened(_) | HallEvent::Closed | HallEvent::Sung => vec![],
        }
    }
}

/// Why a guest gets no seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeatRefusal {
    Closed,
    Full,
    Banned,
}

/// An action that runs once between the read of the facts and the decision.
pub(super) type Between = Box<dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Takes a seat; the answer is the version of the event.
pub(super) struct Take {
    pub(super) guest: String,
    pub(super) log: Log,
    pub(super) between: Option<Between>,
    looked: AtomicU64,
}

pub(super) fn take(log: &Log, guest: &str) -> Take {
    Take { guest: guest.to_owned(), log: log.clone(), between: None, looked: AtomicU64::new(0) }
}

impl Take {
    /// How often the facts were fetched.
    pub(super) fn attempts(&self) -> u64 {
        self.looked.load(Ordering::Relaxed)
    }
}

pub(super) fn bans() -> StreamName {
    StreamName::new("toy.bans", ID)
}

/// Bans a visitor.
pub(super) async fn ban(log: &Log, guest: &str) {
    add(log, &bans(), "Banned", guest).await;
}

/// Writes an event without the engine.
pub(super) async fn add(log: &Log, stream: &StreamName, kind: &'static str, text: &str) {
    let events = vec![(stream.clone(), new(kind, text))];
    let outcome = log.append(Batch { events, ..Batch::default() }).await.unwrap();
    assert!(matches!(outcome, Outcome::Appended(_)));
}

impl Command<Hall> for Take {
    const NAME: &'static str = "take";
    type Reply = Version;
    type Rejection = SeatRefusal;
    /// Whether the caller is banned.
    type Facts = bool;

    async fn facts(&self, _: &HallState, conditions: &mut Conditions) -> Result<bool, Fault> {
        let stream = bans();
        let banned = self.log.read_stream(&stream, Version::ZERO, READ_ROWS_MAX).await?;
        let expected = banned.last().map_or(Version::ZERO, |event| event.version);
        let value = banned.iter().any(|event| event.envelope == self.guest.as_bytes());
        if self.looked.fetch_add(1, Ordering::Relaxed) == 0
            && let Some(between) = &self.between
        {
            between().await;
        }
        conditions.push(Condition::at(stream, expected));
        Ok(value)
    }
    fn decide(&self, state: &HallState, banned: &bool, at: &Point) -> Decided<Hall, Self> {
        match state {
            _ if *banned => Err(SeatRefusal::Banned),
            HallState { closed: true, .. } => Err(SeatRefusal::Closed),
            HallState { seats, taken, .. } if taken.len() >= *seats => Err(SeatRefusal::Full),
            _ => Ok(Decision::new(vec![HallEvent::Taken(self.guest.clone())], at.version.next())),
        }
    }
    fn side_events(&self, decided: &Decision<HallEvent, Version>, stamp: &Stamp) -> SideEvents {
        let ticket = Bytes::from(stamp.now.0.to_string());
        let index =
            vec![IndexOp::Put { name: "toy.tickets", key: self.guest.clone(), value: ticket.clone() }];
        let rows =
            vec![RowOp { name: format!("ticket/{}", self.guest), expected: None, value: Some(ticket) }];
        let events = vec![(StreamName::new("toy.ledger", ID), new("Paid", &decided.reply.to_string()))];
        SideEvents { events, index, rows }
    }
}

/// A command that nothing refuses.
pub(super) struct Do(pub(super) Vec<HallEvent>);

impl Command<Hall> for Do {
    const NAME: &'static str = "do";
    type Reply = usize;
    type Rejection = Infallible;
    type Facts = ();
    async fn facts(&self, _: &HallState, _: &mut Conditions) -> Result<(), Fault> {
        Ok(())
    }
    fn decide(&self, _: &HallState, (): &(), _: &Point) -> Decided<Hall, Self> {
        Ok(Decision::new(self.0.clone(), self.0.len()))
    }
}

/// Opens another hall for a guest who has a seat in this one.
pub(super) struct OpenFor(pub(super) Halls, pub(super) &'static str);

impl Command<Hall> for OpenFor {
    const NAME: &'static str = "open_for";
    type Reply = ();
    type Rejection = SeatRefusal;
    /// Whether that guest has a seat.
    type Facts = bool;
    async fn facts(&self, _: &HallState, conditions: &mut Conditions) -> Result<bool, Fault> {
        let LookedUp { state, version, upon, .. } = self.0.look_up(ID).await?;
        conditions.push(Condition { stream: Hall::stream(ID), expected: version, upon });
        Ok(state.taken.contains(self.1))
    }
    fn decide(&self, _: &HallState, has_seat: &bool, _: &Point) -> Decided<Hall, Self> {
        if *has_seat { Ok(Decision::new(vec![HallEvent::Opened(1)], ())) } else { Err(SeatRefusal::Banned) }
    }
}

pub(super) fn opened(seats: usize) -> Do {
    Do(vec![HallEvent::Opened(seats)])
}

pub(super) fn closing() -> Do {
    Do(vec![HallEvent::Closed])
}

/// Each stamp is a millisecond later than the one before.
#[derive(Debug, Default)]
pub(super) struct CountingClock(AtomicU64);

impl Clock for CountingClock {
    fn now(&self) -> TimestampMs {
        TimestampMs(self.0.load(Ordering::Relaxed))
    }
    fn stamp(&self) -> Stamp {
        Stamp::new(TimestampMs(self.0.fetch_add(1, Ordering::Relaxed) + 1), [0; 10])
    }
}

pub(super) type Halls = Arc<Streams<Hall>>;

pub(super) fn halls(log: &Log) -> Halls {
    Arc::new(Streams::new(log.clone(), Arc::new(CountingClock::default())))
}

/// One process on a store of its own, with a hall of this number of seats.
pub(super) async fn hall(seats: usize) -> Halls {
    let halls = halls(&open_memory().log);
    halls.execute(ID, &opened(seats), None).await.unwrap();
    halls
}

/// One process on a rigged store.
pub(super) fn rigged(store: &Store, shared: bool) -> (Halls, FaultControl) {
    let Process { log, rigging, .. } = store.process(shared);
    (halls(&log), rigging)
}

/// Runs a command in a separate task, until it must wait.
pub(super) async fn start<C: Command<Hall> + 'static>(
    halls: &Halls,
    command: C,
    key: Option<KeyUse>,
) -> tokio::task::JoinHandle<Result<Executed<C::Reply>, ExecuteError<C::Rejection>>>
where
    C::Reply: Send,
{
    let halls = halls.clone();
    let task = tokio::spawn(async move { halls.execute(ID, &command, key.as_ref()).await });
    idle().await;
    task
}

/// Lets all tasks run until they must wait.
pub(super) async fn idle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// The kinds on the hall's stream, each with its text; the versions have no gaps.
pub(super) async fn written(log: &Log) -> Vec<String> {
    let (mut written, mut version) = (Vec::new(), Version::ZERO);
    loop {
        let events = log.read_stream(&Hall::stream(ID), version, READ_ROWS_MAX).await.unwrap();
        for event in &events {
            assert_eq!(event.version, version.next(), "versions have no gaps");
            version = event.version;
            written.push(format!("{} {}", event.kind, String::from_utf8_lossy(&event.envelope)));
        }
        if events.len() < READ_ROWS_MAX {
            return written;
        }
    }
}

/// The rejection; fails for any other error.
pub(super) fn refused<T: std::fmt::Debug, J>(answer: Result<Executed<T>, ExecuteError<J>>) -> J {
    match answer {
        Err(ExecuteError::Rejected(no)) => no,
        Err(ExecuteError::Fault(fault)) => panic!("{fault}"),
        Err(ExecuteError::KeyReused) => panic!("the key was used"),
        Err(ExecuteError::OverQuota(exceeded)) => panic!("{exceeded:?}"),
        Ok(done) => panic!("{done:?}"),
    }
}
