//! Indexing: follows the log into a search index from the index's own cursor, outside every append. An index is
//! derived
//! from the log and may be deleted.
//! Must not know: the content of the events, how an index is stored, or who searches.

mod follower;
mod recent;

use std::time::Duration;

pub use follower::{Follower, Source, unavailable};

/// Bytes of events in one write; the event that exceeds them is the last.
pub const BATCH_BYTES_MAX: usize = 16 << 20;
/// Bytes of recent events in memory for one index; older ones are read from the log again.
pub const RECENT_BYTES_MAX: usize = 16 << 20;
/// Most changes of one write to a word index; the rest waits for the next write.
pub const CHANGES_MAX: usize = 4_096;
/// How long a search waits for the events that were committed before it; then it answers with the current
/// index.
pub const FRESH_WITHIN: Duration = Duration::from_secs(1);
