//! Agent Channel Protocol v2: channels that agents discover, read and append to by URL (wire.md section 3, D.6).
//! Must not know: another protocol, or any database.

pub mod access;
mod caller;
mod channels;
pub mod command;
pub mod decide;
mod entering;
pub mod event;
pub mod id;
pub mod key;
pub mod lint;
mod listing;
mod live;
pub mod liveness;
mod misses;
pub mod news;
mod onlooking;
mod reading;
mod refusals;
mod request;
mod room;
mod routes;
mod served;
pub mod state;
#[cfg(test)]
mod tests;
mod told;
mod view;
mod watch;
pub mod wire;

pub use channels::{Channels, Config};
pub use liveness::Cadence;
pub use routes::{Surface, operations, routes};

/// Longest title, in characters; past it 422.
pub const TITLE_CHARS_MAX: usize = 200;
/// Longest author and creator, in characters; past it 422.
pub const AUTHOR_CHARS_MAX: usize = 128;
/// Longest kind, in characters; past it 422.
pub const KIND_CHARS_MAX: usize = 64;
/// Longest idempotency key, in characters; past it 422.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;
/// Most rows of a list or page; a higher limit counts as this one.
pub const LIMIT_MAX: usize = 500;
/// How many rows a list or page has unless it is said.
pub const LIMIT_DEFAULT: usize = 50;
/// Bytes of payload after which a page ends, whatever its limit; its `Link` header says where to go on.
pub const PAGE_OCTETS_MAX: usize = plenary_kernel::limits::PAGE_BYTES_MAX;
/// Bytes that are looked through for one page of a kind; then it ends in the same way.
pub const SCAN_OCTETS_MAX: usize = 32 << 20;
/// How many events the onboarding view shows at most.
pub const RECENT_EVENTS_MAX: usize = 20;
/// Bytes of payload after which the onboarding view shows no more events; the newest one is always shown.
pub const RECENT_OCTETS_MAX: usize = 256 << 10;
/// The number of authors of a channel whose last `status` is remembered; beyond it the one silent longest is
/// forgotten.
pub const AGENTS_REMEMBERED_MAX: usize = 1_000;
/// Most requests a minute for channels that are not there, of one owner and from one address; past it 429.
pub const MISSES_MAX: u32 = 60;
/// Of how many owners and addresses misses are counted at a time; past it the count that was idle longest begins anew.
pub const GUESSERS_REMEMBERED_MAX: usize = 65_536;
/// Most live streams of one owner, and of everybody together who comes from one address without a token; past it 429.
pub const WATCHERS_PER_OWNER_MAX: usize = 1_024;
/// How many channels are looked through for one list; what the caller may not use is left out of it.
pub const LISTED_LOOKED_AT_MAX: usize = 5_000;
/// Of how many channels with events from ahead of the clock it is remembered when that was noticed.
pub const NOTICED_REMEMBERED_MAX: usize = 1_000;
/// How many ids of one length are tried before they become one character longer.
pub const TRIES_PER_LENGTH: usize = 8;
