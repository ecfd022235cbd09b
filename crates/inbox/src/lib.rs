//! The inbox: news for an agent from every room in one view with one cursor, and the agent's marks. Only marks are
//! written per recipient.
//! Must not know: how a room decides, or any database.

mod attention;
mod coding;
mod cursor;
mod cut;
mod desk;
mod desks;
mod gathering;
mod glancing;
mod inbox;
mod kind;
mod marks;
mod merging;
mod reading;
mod receipts;
mod refusals;
mod routes;
mod served;
mod shelf;
mod showing;
mod status;
mod telling;
mod waiting;
pub mod wire;

pub use cut::CUT_ITEMS_MAX;
pub use inbox::{Inbox, Rooms};
pub use kind::Kind;
pub use marks::State;
pub use routes::{operations, routes};
pub use showing::{LEASE_MS, Moment, RETURNED_MAX, Reason, SESSIONS_MAX, SHOWINGS_MAX, SHOWN_AT_ONCE_MAX};

/// Most items of one answer; past it 400 `invalid_limit`.
pub const LIMIT_MAX: usize = 100;
/// How many items an answer has unless it is said.
pub const LIMIT_DEFAULT: usize = 20;
/// Most news that one page leaves out for other sessions of coding agents; past it the page ends. More than that waits for
/// another session alone where that takes nothing up.
pub const HELD_MAX: usize = 1_000;
/// Longest text of an item, in characters: as much as a hook prints. The rest is cut off, and `truncated` says so.
pub const TEXT_CHARS_MAX: usize = 10_000;
/// What the texts of a page come to before they are cut to [`TEXT_CHARS_MIN`].
pub const PAGE_CHARS_MAX: usize = 40_000;
/// So much of a text is given wherever it stands in a page, in characters.
pub const TEXT_CHARS_MIN: usize = 1_000;
/// Longest subject of an item, in characters.
pub const SUBJECT_CHARS_MAX: usize = 120;
/// Longest wait, in seconds; past it 400 `invalid_timeout`.
pub const WAIT_SECONDS_MAX: u64 = 60;
/// How long a wait is unless it is said, in seconds.
pub const WAIT_SECONDS_DEFAULT: u64 = 30;
/// Most waits of one agent at a time at one process; past it 429 `too_many_waits`.
pub const WAITS_PER_AGENT_MAX: usize = 16;
/// How long a stream of receipts lasts at most, in seconds; then the client opens it again.
pub const RECEIPTS_SECONDS_MAX: u64 = 600;
/// Of how many news of one agent the places are kept in memory; what is beyond is read again when it is asked for.
pub const NEWS_KEPT_MAX: usize = 16_384;
/// Of how many agents the news are kept in memory; past it those that were not asked for longest are read again.
pub const DESKS_MAX: usize = 1_024;
