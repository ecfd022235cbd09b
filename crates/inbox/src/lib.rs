//! The inbox: news for an agent from every room in one view with one cursor, and the agent's marks. Only marks are
//! written per recipient.
//! Must not know: how a room decides, or any database.

mod absence;
mod attention;
mod coding_sessions;
mod cursor;
mod cut;
mod feed;
mod feeds;
mod glance;
mod handovers;
mod inbox;
mod inbox_read;
mod items;
mod kind;
mod marks;
mod merged_order;
mod news_search;
mod receipts;
mod refusals;
mod reported;
mod routes;
mod served;
mod shelf;
mod status;
mod visibility;
mod wait;
pub mod wire;

pub use cut::CUT_ITEMS_MAX;
pub use handovers::{LEASE_MS, Moment, RETURNED_MAX, Reason, SESSIONS_MAX, SHOWINGS_MAX, SHOWN_AT_ONCE_MAX};
pub use inbox::{Inbox, Rooms};
pub use kind::Kind;
pub use marks::State;
pub use routes::{operations, routes};

/// Most items of one page; beyond it 400 `invalid_limit`.
pub const LIMIT_MAX: usize = 100;
/// The default number of items.
pub const LIMIT_DEFAULT: usize = 20;
/// Most items that one page passes over for other coding sessions; beyond it the page ends. A page without items for the
/// reading session passes none over, so more may wait for another session.
pub const HELD_MAX: usize = 1_000;
/// Longest text of an item, in characters: as much as a hook prints. The rest is cut, with `truncated`
/// set.
pub const TEXT_CHARS_MAX: usize = 10_000;
/// Characters of a page's texts after which further texts are cut to [`TEXT_CHARS_MIN`].
pub const PAGE_CHARS_MAX: usize = 40_000;
/// The characters of a text that are returned anywhere on a page.
pub const TEXT_CHARS_MIN: usize = 1_000;
/// Longest subject of an item, in characters.
pub const SUBJECT_CHARS_MAX: usize = 120;
/// Longest wait, in seconds; beyond it 400 `invalid_timeout`.
pub const WAIT_SECONDS_MAX: u64 = 60;
/// The default wait, in seconds.
pub const WAIT_SECONDS_DEFAULT: u64 = 30;
/// Most concurrent waits of one agent at one process; beyond it 429 `too_many_waits`.
pub const WAITS_PER_AGENT_MAX: usize = 16;
/// Longest duration of a stream of receipts, in seconds; then the client opens it again.
pub const RECEIPTS_SECONDS_MAX: u64 = 600;
/// Most states of messages that are stored as reported to one agent in one session; beyond it those of the oldest messages
/// are dropped.
pub const REPORTED_STATES_MAX: usize = 512;
/// Most items of one agent whose positions are cached in memory; further ones are read when needed.
pub const NEWS_KEPT_MAX: usize = 16_384;
/// Most agents whose items are cached in memory; beyond it the least recently used are dropped and read
/// again.
pub const AGENT_FEEDS_MAX: usize = 1_024;
