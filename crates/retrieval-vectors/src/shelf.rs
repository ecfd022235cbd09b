//! The interface of persistent storage for codes.
//! Must not know: models, how similarity is computed.

use plenary_kernel::Position;
use plenary_retrieval::{Answer, Mark};

use crate::kept::JournalEntry;

/// What stands behind a mark.
#[derive(Debug)]
pub struct News {
    /// In their order.
    pub changes: Vec<JournalEntry>,
    /// Behind those changes.
    pub mark: Mark,
    /// How far in the log the shelf is there.
    pub cursor: Position,
    /// Whether the changes are all that there is, and not additions.
    pub anew: bool,
    /// Whether more is behind the mark.
    pub more: bool,
}

/// Changes that are made while they are written, so that they are not in memory a second time.
pub type Changes = Box<dyn Iterator<Item = JournalEntry> + Send>;

/// A keeper of codes, made by one model. Several processes may share one.
pub trait Shelf: Send + Sync + 'static {
    /// Whether this process is the one that writes.
    fn leads(&self) -> Answer<'_, bool>;
    /// What was put behind a mark, a part of it.
    fn news(&self, after: Mark) -> Answer<'_, News>;
    /// Puts changes and moves the cursor, both or neither, if the shelf stands at `from`. `None`: it does not.
    fn put(&self, changes: Vec<JournalEntry>, from: Position, to: Position) -> Answer<'_, Option<Mark>>;
    /// Empties it.
    fn clear(&self) -> Answer<'_, Mark>;
    /// Whether it holds so much that is gone that it should be written anew, where the codes that count take so many
    /// bytes.
    fn is_crowded(&self, octets: usize) -> bool;
    /// Writes it anew, with these changes only.
    fn rewrite(&self, all: Changes, cursor: Position) -> Answer<'_, Mark>;
}
