//! The interface of a room: its state, its events, its commands.

use std::future::Future;

use plenary_kernel::{OwnerName, Position, Stamp, TimestampMs, Version};
use plenary_log::{
    Condition, ExceededQuota, Fault, IndexOp, NewEvent, RowOp, StoredEvent, StreamName, Usage,
};
use serde::{Serialize, de::DeserializeOwned};

/// One kind of stream: how its events are stored, and how its state follows from them.
pub trait Room: Send + Sync + 'static {
    /// The fold of a stream. Serialisable, so that a snapshot can be kept.
    type State: Default + Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What can stand on the stream.
    type Event: Send + Sync + 'static;
    /// `<room>.<kind>`: the streams are `<room>.<kind>/<id>`.
    const CATEGORY: &'static str;
    /// Changes whenever the state's serialised form does; older snapshots are then ignored.
    const SNAPSHOT_FORM: u16;

    /// The stored form of an event.
    fn encode(event: &Self::Event) -> NewEvent;
    /// Reads a stored event. An unknown kind or form is corrupt, never skipped.
    fn decode(event: &StoredEvent) -> Result<Self::Event, Fault>;
    /// Whether an event changes the state at all; one that does not is never folded.
    fn folds(_event: &Self::Event) -> bool {
        true
    }
    /// Pure: the state after an event.
    fn evolve(state: &mut Self::State, version: Version, at: TimestampMs, event: &Self::Event);
    /// Pure: what an event changes in the indexes. `id` is the stream's own.
    fn index(_id: &str, _event: &Self::Event) -> Vec<IndexOp> {
        Vec::new()
    }
    /// Pure: what goes onto other streams because of an event, in the same append and behind all its events. The event
    /// stands at `version`.
    fn follow(_id: &str, _version: Version, _event: &Self::Event) -> Vec<(StreamName, NewEvent)> {
        Vec::new()
    }
    /// Pure: the owner whose use of the store an event counts towards, with what follows from it; none for what ends or
    /// removes something, and for what the server writes for itself. `id` is the stream's own; the state is the one before
    /// the command.
    fn payer(id: &str, state: &Self::State, event: &Self::Event) -> Option<OwnerName>;
    /// Pure: what an event counts in place of its size, with what follows from it, where the size would tell its payer
    /// what it may not know.
    fn fixed_usage(_event: &Self::Event) -> Option<Usage> {
        None
    }
    /// Pure: bytes that are kept elsewhere for an event, and count with it.
    fn content_bytes(_event: &Self::Event) -> u64 {
        0
    }
    /// Pure: bytes that are not kept any more because of an event, and the owner whose use they counted towards.
    fn frees(_event: &Self::Event) -> Option<(OwnerName, u64)> {
        None
    }
    /// The stream of one thing.
    fn stream(id: &str) -> StreamName {
        StreamName::new(Self::CATEGORY, id)
    }
}

/// What a decider answers when it does not refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<E, R> {
    /// Events for the stream itself, in order; none when nothing changes.
    pub events: Vec<E>,
    /// What the caller gets, once the events are on disk.
    pub reply: R,
}

impl<E, R> Decision<E, R> {
    /// Events and the reply.
    pub fn new(events: Vec<E>, reply: R) -> Self {
        Self { events, reply }
    }
    /// Nothing changes.
    pub fn unchanged(reply: R) -> Self {
        Self { events: Vec::new(), reply }
    }
}

/// What lives on other streams: the values, the versions they were read at, and events that go onto other
/// streams in the same append.
#[derive(Debug, Clone)]
pub struct Facts<F> {
    /// What the decider sees.
    pub value: F,
    /// Conditions of the append.
    pub conditions: Vec<Condition>,
}

/// The facts of a command that needs none.
pub type NoFacts = Facts<()>;

impl NoFacts {
    /// No facts.
    #[must_use]
    pub fn none() -> Self {
        Self { value: (), conditions: Vec::new() }
    }
}

/// A command on one kind of stream.
pub trait Command<R: Room>: Send + Sync {
    /// Its name within the room. Frozen: the keys of commands that a request asks for are made of it.
    const NAME: &'static str;
    /// The answer; stored with the idempotency key, so that a retry gets it again.
    type Reply: Serialize + DeserializeOwned + Send + Sync;
    /// A normal "no".
    type Rejection: Send;
    /// What it needs to know of other streams.
    type Facts: Send + Sync;

    /// Fetches the facts. Called again for every attempt.
    fn facts(&self, state: &R::State) -> impl Future<Output = Result<Facts<Self::Facts>, Fault>> + Send;
    /// Pure: decides. The stream is at version `at`: the first event of the decision stands at `at.next()`.
    fn decide(
        &self,
        state: &R::State,
        at: Version,
        facts: &Self::Facts,
        stamp: &Stamp,
    ) -> Result<Decision<R::Event, Self::Reply>, Self::Rejection>;
    /// Whether it is carried out although its owner has used up what it may store: what it writes is counted all the same.
    fn exceeds_quota(&self) -> bool {
        false
    }
    /// Events that go onto other streams in the same append, with their index changes. They count for nobody.
    fn beside(&self, _decided: &Decision<R::Event, Self::Reply>, _stamp: &Stamp) -> SideEvents {
        SideEvents::default()
    }
}

/// Events for other streams.
#[derive(Debug, Clone, Default)]
pub struct SideEvents {
    /// The events, in order.
    pub events: Vec<(StreamName, NewEvent)>,
    /// What they change in the indexes.
    pub index: Vec<IndexOp>,
    /// Rows that change with them.
    pub rows: Vec<RowOp>,
}

/// A use of an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUse {
    /// Within what the key is unique.
    pub scope: String,
    /// The client's key.
    pub key: String,
    /// The digest of the request without the key.
    pub digest: [u8; 32],
}

/// A command that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed<T> {
    /// The answer.
    pub reply: T,
    /// Whether it is the answer of an earlier, equal request.
    pub replayed: bool,
    /// The position of its last event; `None` when nothing was written.
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
    /// Its owner may not store so much more.
    #[error("the owner's quota is exceeded")]
    OverQuota(ExceededQuota),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}
