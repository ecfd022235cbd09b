//! Agent Channel Protocol v2: channels that agents discover, read and append to by URL (wire.md section 3, D.6).
//! Must not know: another protocol, or any database.

pub mod access;
mod caller;
mod channel_list;
mod channels;
pub mod command;
pub mod decide;
pub mod event;
mod event_pages;
mod findable;
pub mod id;
pub mod key;
pub mod lint;
mod live;
pub mod liveness;
mod lookup;
mod misses;
pub mod news;
mod refusals;
mod request;
mod room;
mod routes;
mod served;
mod spans;
pub mod state;
#[cfg(test)]
mod tests;
mod view;
mod watch;
mod watch_events;
pub mod wire;

pub use channels::{Channels, Config};
pub use liveness::Cadence;
pub use routes::{Surface, operations, routes};

/// Maximum length of a title, in characters; a longer one gets 422.
pub const TITLE_CHARS_MAX: usize = 200;
/// Maximum length of an author or creator, in characters; a longer one gets 422.
pub const AUTHOR_CHARS_MAX: usize = 128;
/// Maximum length of a kind, in characters; a longer one gets 422.
pub const KIND_CHARS_MAX: usize = 64;
/// Maximum number of rows of a list or page; a higher limit is clamped to it.
pub const LIMIT_MAX: usize = 500;
/// Number of rows of a list or page without a `limit`.
pub const LIMIT_DEFAULT: usize = 50;
/// Payload bytes after which a page ends; its `Link` header leads to the next page.
pub const PAGE_BYTES_MAX: usize = plenary_kernel::limits::PAGE_BYTES_MAX;
/// Bytes that are scanned for one page of a kind; after them the page ends in the same way.
pub const SCAN_BYTES_MAX: usize = 32 << 20;
/// Maximum number of recent events in the onboarding view.
pub const RECENT_EVENTS_MAX: usize = 20;
/// Maximum payload bytes of recent events in the onboarding view; the newest event is always shown.
pub const RECENT_BYTES_MAX: usize = 256 << 10;
/// Number of authors per channel whose last `status` is in the state; beyond it, the author with the oldest one is dropped.
pub const AGENTS_REMEMBERED_MAX: usize = 1_000;
/// Maximum number of misses per minute, for one owner and for one address; further requests get 429.
pub const MISSES_MAX: u32 = 60;
/// Number of owners and addresses whose misses are counted at a time; beyond it, an old count is dropped.
pub const GUESSERS_REMEMBERED_MAX: usize = 65_536;
/// Maximum number of live streams of one owner, or of all clients without a token from one address; beyond it, 429.
pub const WATCHERS_PER_OWNER_MAX: usize = 1_024;
/// Maximum number of channels that one list examines; it leaves out those that the caller may not use.
pub const LISTED_LOOKED_AT_MAX: usize = 5_000;
/// Number of channels for which the server remembers when it noticed events with a time in the future.
pub const NOTICED_REMEMBERED_MAX: usize = 1_000;
/// Number of attempts to find an unused id of one length, before ids get one character more.
pub const TRIES_PER_LENGTH: usize = 8;
