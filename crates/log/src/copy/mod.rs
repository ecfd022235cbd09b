//! A copy of a whole store into another place: its records, the store that they come from, the place where they go, and
//! the order of the work. A backend implements one or both of the traits.
//! Must not know: any database; neither end knows the other.

mod records;
mod run;
#[cfg(test)]
mod tests;

use std::{future::Future, pin::Pin};

use plenary_kernel::Position;

pub use self::{
    records::{IndexEntry, Records, Summed},
    run::{CopyReport, Until, copy},
};
use crate::StoredEvent;

/// About how many bytes one page of records has; a larger record has a page to itself.
pub const COPY_PAGE_BYTES: usize = 1 << 20;
/// Most records of one page.
pub const COPY_PAGE_RECORDS_MAX: usize = 2_048;

/// The error of a backend.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A step of one end of a copy.
pub type Step<'a, T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send + 'a>>;

/// A part of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The events after a position, in order.
    Events {
        /// The position.
        after: Position,
    },
    /// The claimed keys that this source has not given yet; some may come twice.
    Keys,
    /// The rows of indexes.
    Index,
    /// The rows.
    Rows,
    /// The use of accounts.
    Usage,
}

/// A store that is copied. A server may use it.
pub trait CopySource: Send {
    /// The name of the store, which no other store has. A copy that was interrupted continues only from the store that it
    /// was begun from.
    fn epoch(&self) -> &str;
    /// One event, if it exists.
    fn event(&mut self, at: Position) -> Step<'_, Option<(StoredEvent, Option<i32>)>>;
    /// Begins to read a part, whose pages follow.
    fn read(&mut self, part: Part) -> Step<'_, ()>;
    /// The next page of the part; `None` at its end.
    fn page(&mut self) -> Step<'_, Option<Records>>;
    /// Locks out every server, unless one uses the store: then false.
    fn lock_out(&mut self) -> Step<'_, bool>;
    /// From now on the source shows this one moment. Returns its last position.
    fn freeze(&mut self) -> Step<'_, Position>;
    /// An error if servers were not locked out all the time since [`CopySource::lock_out`].
    fn still_locked_out(&mut self) -> Step<'_, ()>;
}

/// A place that becomes a copy. Until the end it is marked as unfinished, and no server starts on it.
pub trait CopyDestination: Send {
    /// Marks the place as an unfinished copy of the store with this epoch. An unfinished copy of the same store goes on:
    /// then this returns its last event. Every other place must be empty.
    fn begin(&mut self, epoch: &str) -> Step<'_, Option<StoredEvent>>;
    /// Writes a page, whole or not at all. Keys that are there already are left out.
    fn write(&mut self, records: Records) -> Step<'_, ()>;
    /// Removes index rows, rows and use, which an interrupted copy may have left.
    fn clear(&mut self) -> Step<'_, ()>;
    /// Puts everything on disk and removes the mark: the place is a store now.
    fn finish(&mut self, head: Position) -> Step<'_, ()>;
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source can't be read.
    #[error("the source cannot be read")]
    Source(#[source] BoxError),
    /// The destination can't be written, or is not empty.
    #[error("the copy cannot be written")]
    Destination(#[source] BoxError),
    /// A record of the source has another checksum, or is not where it should be.
    #[error("{0}; `plenary fsck` checks the source")]
    Damaged(String),
    /// The unfinished copy has an event that the source has not.
    #[error("the unfinished copy has other events than the source: remove it and begin again")]
    Diverged,
}
