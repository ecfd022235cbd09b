//! A store on PostgreSQL as the source of a copy, and as a place that becomes one.
//! Must not know: the other end of the copy.

mod destination;
mod servers;
mod source;
mod written;

pub use self::{destination::Destination, servers::others_run, source::Source};
use crate::trouble::Trouble;

/// Longest wait for one page, or for a statement that reads or empties a whole table.
const STEP_MS_MAX: u64 = 600_000;

/// Text that a copy can't carry.
fn broken(text: impl Into<String>) -> Trouble {
    Trouble::Broken(text.into())
}
