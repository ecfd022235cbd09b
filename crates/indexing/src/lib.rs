//! Indexing: follows the log into a search index from the index's own cursor, outside every append. An index contains
//! nothing that the log does not have, and may be deleted.
//! Must not know: the content of the events, how an index is stored, or who searches.

mod follower;
mod recent;

use std::time::Duration;

pub use follower::{Follower, Source, unavailable};

/// Bytes of events that one write takes together; the one that goes past it is the last.
pub const BATCH_BYTES_MAX: usize = 16 << 20;
/// Bytes of events that are kept for an index; older ones are read from the log again.
pub const RECENT_BYTES_MAX: usize = 16 << 20;
/// Changes that one write of an index of words takes together; the rest goes into the next one.
pub const CHANGES_MAX: usize = 4_096;
/// How long a search waits for what was committed before it; past it the search answers with what the index has.
pub const FRESH_WITHIN: Duration = Duration::from_secs(1);
