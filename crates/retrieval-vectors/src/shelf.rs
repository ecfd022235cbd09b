//! The interface of persistent storage for codes.
//! Must not know: models, how similarity is computed.

use plenary_kernel::Position;
use plenary_retrieval::{Answer, Mark};

use crate::journal_entry::JournalEntry;

/// The changes after a mark.
#[derive(Debug)]
pub struct News {
    /// The changes, in order.
    pub changes: Vec<JournalEntry>,
    /// The mark after these changes.
    pub mark: Mark,
    /// The log position that they reach.
    pub cursor: Position,
    /// Whether the changes are the whole content, and not only additions.
    pub anew: bool,
    /// Whether more changes follow the mark.
    pub more: bool,
}

/// Changes that are produced while they are written, so that memory does not hold them twice.
pub type Changes = Box<dyn Iterator<Item = JournalEntry> + Send>;

/// Storage for the codes of one model. Several processes may share it.
pub trait Shelf: Send + Sync + 'static {
    /// Whether this process is the writer.
    fn leads(&self) -> Answer<'_, bool>;
    /// Some of the changes after a mark.
    fn news(&self, after: Mark) -> Answer<'_, News>;
    /// Writes changes and moves the cursor in one step, if the cursor is at `from`; otherwise writes nothing
    /// and returns `None`.
    fn put(&self, changes: Vec<JournalEntry>, from: Position, to: Position) -> Answer<'_, Option<Mark>>;
    /// Removes everything.
    fn clear(&self) -> Answer<'_, Mark>;
    /// Whether it has so many obsolete entries that it should be rewritten, given the bytes of the live codes.
    fn is_crowded(&self, bytes: usize) -> bool;
    /// Replaces the whole content with these changes.
    fn rewrite(&self, all: Changes, cursor: Position) -> Answer<'_, Mark>;
}
