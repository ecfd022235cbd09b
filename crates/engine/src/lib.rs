//! From a command to events on disk: stamp, load, facts, decide, append. One lock per stream, bounded optimistic
//! retries for writers in other processes, idempotency in the append.
//! Must not know: any protocol, any database, HTTP.

mod batch;
mod clock;
mod entry;
mod first_command;
pub mod golden;
mod once;
mod quota;
mod recount;
mod refusal_check;
mod room;
mod sealed;
mod snapshot;
pub mod stored;
mod streams;
#[cfg(test)]
mod tests;

pub use clock::SystemClock;
pub use entry::LookedUp;
pub use once::{IdempotentRequest, of_request, secret_of_request};
pub use quota::refusal as quota_refusal;
pub use recount::{Recount, recount, recount_event, recount_in, usage_of};
pub use room::{
    Command, Conditions, Decided, Decision, ExecuteError, Executed, KeyUse, Point, Room, SideEvents,
};
pub use sealed::{Sealed, seal};
pub use streams::Streams;

/// Most attempts to decide a command while other writers win; then it is refused as overloaded, with
/// nothing written.
pub const ATTEMPTS_MAX: usize = 32;
/// Most streams whose state is kept in memory; beyond it the least recently used one is dropped and
/// loaded again if needed.
pub const STATES_CACHED_MAX: usize = 65_536;
/// The number of events after which a new snapshot is stored.
pub const SNAPSHOT_EVERY: u64 = 1_024;
