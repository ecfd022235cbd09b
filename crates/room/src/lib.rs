//! The common parts of all rooms: the interface to the server, live streams, news for the inbox, and the form of
//! refusals.
//! Must not know: accounts, or any protocol.

mod close_handshake;
mod download;
mod findable;
mod glance;
mod idempotency;
mod kind;
mod live;
mod news;
mod onlookers;
mod readers;
mod refused;
mod sealing;
mod served;
pub mod sse;

pub use async_trait::async_trait;
pub use close_handshake::close;
pub use download::{broken_off, while_allowed};
pub use findable::{
    Findable, FoundItem, Matches, OwnHits, Searcher, Shelf, WordIndex, body, indexed, indexed_at, text_of,
    texts,
};
pub use glance::{AttentionGlance, CodingGlance, Glance, Glancer, Glances};
pub use idempotency::{IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_CHARS_MAX, InvalidIdempotencyKey, idempotency_key};
pub use kind::Kind;
pub use live::{Catchup, LiveSource, live};
pub use news::{Description, FoundNews, News, NewsSource, Reference, Senders, StreamOfNews};
pub use onlookers::{
    Audience, EXCERPT_CHARS_MAX, EphemeralEvent, EphemeralSource, Onlooker, OnlookerEvent, Teller, excerpt,
};
pub use plenary_hub::Observer;
pub use readers::{CannotWatch, Watch, Watchers};
pub use refused::{ErrorReply, Form, House, fault_refusal, house_error};
pub use sealing::SealingKey;
pub use served::{Example, Mount, PeriodicTask, RoomDescription, ServedRoom, Tally, Task};
pub use sse::{BURST_BYTES, KEEPALIVE_MS};
