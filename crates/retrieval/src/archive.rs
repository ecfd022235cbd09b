//! The storage of a vector index that all processes on one store share: bytes for each document, which only the
//! vector index can read.
//! Must not know: the content of the bytes.

use plenary_kernel::Position;

use crate::Answer;

/// A position in the archive. A later addition has a higher mark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// Changes when the archive is cleared or rewritten; marks of different generations cannot be compared.
    pub generation: u64,
    /// Rises with each addition.
    pub sequence: u64,
}

/// The archived bytes of a document. A later entry with the same id replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedDocument {
    /// The id of the document.
    pub id: String,
    /// The encoded data of the index for this document.
    pub bytes: Vec<u8>,
}

/// The additions after a mark.
#[derive(Debug, PartialEq, Eq)]
pub struct Additions {
    /// In the order of addition; only the last entry of each document.
    pub found: Vec<ArchivedDocument>,
    /// The mark after these additions.
    pub mark: Mark,
    /// The log position that the archive covers; valid once nothing more follows the mark.
    pub cursor: Position,
    /// Whether this is the whole content from the beginning, and not only additions.
    pub anew: bool,
    /// Whether more additions follow the mark.
    pub more: bool,
}

/// An archive of the vectors of one model. It does not see the vectors of other models.
pub trait Archive: Send + Sync + 'static {
    /// Whether this process is the writer. A process that ends loses this lead.
    fn leads(&self) -> Answer<'_, bool>;
    /// Some of the additions after a mark.
    fn additions(&self, after: Mark) -> Answer<'_, Additions>;
    /// Adds documents and moves the cursor in one step, if the cursor is at `from`; otherwise writes nothing
    /// and returns `None`.
    fn put(&self, documents: Vec<ArchivedDocument>, from: Position, to: Position)
    -> Answer<'_, Option<Mark>>;
    /// Removes everything.
    fn clear(&self) -> Answer<'_, Mark>;
}
