//! Agent Session Protocol: durable multi-party sessions between agents (wire.md section 2, decisions D.4, D.9).
//! Must not know: another protocol, or any database.

pub mod command;
mod connect;
mod connection_marks;
mod content;
pub mod crossing;
pub mod decide;
pub mod event;
pub mod files;
mod findable;
mod glance;
mod inside;
mod message_search;
pub mod news;
mod owned;
mod pump;
pub mod receipts;
mod refusals;
pub mod request;
mod room;
mod routes;
pub mod seen_ranges;
mod served;
mod session_reader;
mod sessions;
pub mod state;
#[cfg(test)]
mod tests;
mod transport;
pub mod urgency;
pub mod views;
mod watch_events;
pub mod wire;

pub use inside::Message;
pub use routes::{operations, routes};
pub use sessions::{Config, Sessions};

/// Most agents that one request invites; beyond it 400 `invalid_invite`.
pub const INVITE_MAX: usize = 50;
/// Most participants of a session, former ones included; beyond it 409 `session_full`.
pub const PARTICIPANTS_MAX: usize = 2_048;
/// Most invitations of one owner's agents that wait for an answer of an agent that does not list them, unless it is set;
/// beyond it 429 `too_many_invitations`.
pub const INVITATIONS_UNANSWERED_MAX: usize = 1_000;
/// Most single events of a session (invitations, ends and reopenings) that an agent gets while it answers no offer of a
/// stranger; then an agent of that owner invites it into this session no more.
pub const OFFER_EVENTS_MAX: usize = 30;
/// Longest topic, in characters; beyond it 400 `invalid_topic`.
pub const TOPIC_CHARS_MAX: usize = 512;
/// Most sessions of one `GET /sessions`; beyond it 400 `invalid_limit`.
pub const LIST_MAX: usize = 1_000;
/// Of how many agents of an owner `GET /_admin/sessions` lists the sessions, by handle; of more it lists none.
pub const AGENTS_LISTED_MAX: usize = 10_000;
/// The number of messages on a page of a search, unless the request sets it.
pub const RESULTS_DEFAULT: usize = 20;
/// Most messages on a page of a search; beyond it 400 `invalid_limit`.
pub const RESULTS_MAX: usize = 100;
/// Largest frame that a client may send on `/connect`, in bytes; beyond it the connection is closed (1009).
pub const CLIENT_FRAME_BYTES_MAX: usize = 256 << 10;
/// How long a client may leave a write waiting before its connection is closed with "resume".
pub const STALLED_MS_MAX: u64 = 20_000;
/// How long a client may leave a ping unanswered before its connection is closed.
pub const PONG_MS_MAX: u64 = 90_000;
/// After how long without unconfirmed events the server pings, to notice a peer that is gone.
pub const KEEPALIVE_MS: u64 = 30_000;
/// Bytes that are read at once from a client on `/connect`; it sends little, and each connection holds so many.
pub const READ_BUFFER_BYTES: usize = 1 << 10;
/// How long after an event the ping that asks for its confirmation goes out.
pub const CONFIRM_MS: u64 = 250;
