//! The interface of a room: its state, its events, its commands.

use std::{convert::Infallible, future::Future};

use plenary_kernel::{OwnerName, Position, Stamp, TimestampMs, Version};
use plenary_log::{
    Condition, ExceededQuota, Fault, IndexOp, NewEvent, RowOp, StoredEvent, StreamName, Usage,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::stored::StoredForm;

/// One kind of stream: how its events are stored, and how its state follows from them.
pub trait Room: Send + Sync + 'static {
    /// The fold of a stream. Serialisable, so that a snapshot can be kept.
    type State: Default + Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// An event of the stream.
    type Event: StoredForm;
    /// `<room>.<kind>`: the streams are `<room>.<kind>/<id>`.
    const CATEGORY: &'static str;
    /// Changes whenever the state's serialised form does; older snapshots are then ignored.
    const SNAPSHOT_FORM: u16;
    /// Whether most streams have fewer events than a first page. Then the events are read before a snapshot is looked for: one
    /// read for a short stream, and one more than otherwise for a stream with a snapshot. Not for streams that are read before
    /// it is known whether the caller may know of them: their number of reads would tell.
    const MOSTLY_SHORT: bool = false;

    /// The stored form of an event.
    fn encode(event: &Self::Event) -> NewEvent {
        event.encode()
    }
    /// Reads a stored event. An unknown kind or form is corrupt, never skipped.
    fn decode(stored: &StoredEvent) -> Result<Self::Event, Fault> {
        Self::Event::decode(stored)
    }
    /// Whether an event changes the state at all; one that does not is never folded.
    fn folds(_event: &Self::Event) -> bool {
        true
    }
    /// Pure: the state after an event.
    fn evolve(state: &mut Self::State, version: Version, at: TimestampMs, event: &Self::Event);
    /// Pure: the index changes of an event. `id` is the stream's own.
    fn index(_id: &str, _event: &Self::Event) -> Vec<IndexOp> {
        Vec::new()
    }
    /// Pure: the events that an event causes on other streams, in the same append and after all its
    /// events. The event has `version`.
    fn follow(_id: &str, _version: Version, _event: &Self::Event) -> Vec<(StreamName, NewEvent)> {
        Vec::new()
    }
    /// Pure: the owner whose storage use an event counts towards, including its follow-ups; `None` for
    /// an event that ends or removes something, and for events of the server itself. `id` is the
    /// stream's own; the state is the one before the command.
    fn payer(id: &str, state: &Self::State, event: &Self::Event) -> Option<OwnerName>;
    /// Pure: a fixed use in place of the size of an event and its follow-ups, if the size would reveal
    /// to its payer what it may not know.
    fn fixed_usage(_event: &Self::Event) -> Option<Usage> {
        None
    }
    /// Pure: the size of blobs that are stored for an event, and count with it.
    fn content_bytes(_event: &Self::Event) -> u64 {
        0
    }
    /// Pure: the bytes that an event frees, and the owner whose use they counted towards.
    fn frees(_event: &Self::Event) -> Option<(OwnerName, u64)> {
        None
    }
    /// The stream of one thing.
    fn stream(id: &str) -> StreamName {
        StreamName::new(Self::CATEGORY, id)
    }
}

/// The result of a decider that does not refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<E, R> {
    /// Events for the stream itself, in order; none when nothing changes.
    pub events: Vec<E>,
    /// The reply to the caller, once the events are on disk.
    pub reply: R,
}

impl<E, R> Decision<E, R> {
    /// Events and the reply.
    pub fn new(events: Vec<E>, reply: R) -> Self {
        Self { events, reply }
    }
    /// A reply without events.
    pub fn unchanged(reply: R) -> Self {
        Self { events: Vec::new(), reply }
    }
}

/// The conditions of an append: the versions at which the facts of its decision were read.
pub type Conditions = Vec<Condition>;

/// Where and when a command is decided.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    /// The version of the stream; the first event of the decision gets the next one.
    pub version: Version,
    /// The time and the randomness.
    pub stamp: Stamp,
}

/// What a command decides: events and the reply, or a normal "no".
pub type Decided<R, C> =
    Result<Decision<<R as Room>::Event, <C as Command<R>>::Reply>, <C as Command<R>>::Rejection>;

/// A command on one kind of stream.
pub trait Command<R: Room>: Sized + Send + Sync {
    /// Its name within the room. Frozen: the keys of a request's commands are derived from it.
    const NAME: &'static str;
    /// The reply; stored with the idempotency key, so that a retry gets it again.
    type Reply: Serialize + DeserializeOwned + Send + Sync;
    /// A normal "no".
    type Rejection: Send;
    /// The facts from other streams that it needs.
    type Facts: Send + Sync;

    /// Fetches the facts, values from other streams, and adds the conditions under which they hold. Called again for
    /// every attempt.
    fn facts(
        &self,
        state: &R::State,
        conditions: &mut Conditions,
    ) -> impl Future<Output = Result<Self::Facts, Fault>> + Send;
    /// Pure: decides.
    fn decide(&self, state: &R::State, facts: &Self::Facts, at: &Point) -> Decided<R, Self>;
    /// Whether it is carried out even beyond its owner's quota; its use is counted all the same.
    fn exceeds_quota(&self) -> bool {
        false
    }
    /// Side events, with their index changes, in the same append. They count towards no quota.
    fn side_events(&self, _decided: &Decision<R::Event, Self::Reply>, _stamp: &Stamp) -> SideEvents {
        SideEvents::default()
    }
}

/// Events for other streams.
#[derive(Debug, Clone, Default)]
pub struct SideEvents {
    /// The events, in order.
    pub events: Vec<(StreamName, NewEvent)>,
    /// Their index changes.
    pub index: Vec<IndexOp>,
    /// Row changes of the same append.
    pub rows: Vec<RowOp>,
}

/// A use of an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    /// The scope in which the key is unique.
    pub scope: String,
    /// The client's key.
    pub key: String,
    /// The digest of the request without the key.
    pub digest: [u8; 32],
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed<T> {
    /// The answer.
    pub reply: T,
    /// Whether it is the reply of an earlier, equal request.
    pub replayed: bool,
    /// The position of its last event; `None` if nothing was written.
    pub position: Option<Position>,
}

/// Why a command was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError<J> {
    /// A normal "no".
    #[error("rejected")]
    Rejected(J),
    /// The idempotency key was used by another request.
    #[error("the idempotency key was used by another request")]
    KeyReused,
    /// The owner's quota does not allow it.
    #[error("the owner's quota is exceeded")]
    OverQuota(ExceededQuota),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl ExecuteError<Infallible> {
    /// The reply of a command that nothing refuses; `None` if its key was used before.
    ///
    /// # Errors
    /// If the store failed.
    pub fn settled<T>(done: Result<T, Self>) -> Result<Option<T>, Fault> {
        match done {
            Ok(reply) => Ok(Some(reply)),
            Err(Self::KeyReused) => Ok(None),
            Err(Self::OverQuota(exceeded)) => Err(exceeded.without_payer()),
            Err(Self::Fault(fault)) => Err(fault),
        }
    }
}

impl<J> ExecuteError<J> {
    /// The reply of a command that may be pointless by now; `None` if it was refused.
    ///
    /// # Errors
    /// If the store failed.
    pub fn skip_refused<T>(done: Result<T, Self>) -> Result<Option<T>, Fault> {
        match done {
            Ok(reply) => Ok(Some(reply)),
            Err(Self::Rejected(_) | Self::KeyReused | Self::OverQuota(_)) => Ok(None),
            Err(Self::Fault(fault)) => Err(fault),
        }
    }
}
