//! The shared storage of an index by meaning for all processes on one store: bytes for each document, which only the
//! index reads.
//! Must not know: the content of the bytes.

use plenary_kernel::Position;

use crate::Answer;

/// A place in what is kept; what was put later is behind it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// Changes when everything is emptied or put in order; places of different generations do not compare.
    pub generation: u64,
    /// Rises with what is put.
    pub place: u64,
}

/// What is kept of a document. What is put later under its id takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedDocument {
    /// Its id.
    pub id: String,
    /// What the index knows of it.
    pub octets: Vec<u8>,
}

/// What stands behind a mark.
#[derive(Debug, PartialEq, Eq)]
pub struct Additions {
    /// In the order in which they were put; of a document only the last.
    pub found: Vec<ArchivedDocument>,
    /// Behind those.
    pub mark: Mark,
    /// How far in the log the index is there; holds once nothing more is behind the mark.
    pub cursor: Position,
    /// Whether this is all that there is from the beginning, and not additions.
    pub anew: bool,
    /// Whether more is behind the mark.
    pub more: bool,
}

/// Vectors of one model. Those of other models are none of its business.
pub trait Archive: Send + Sync + 'static {
    /// Whether this process is the one that writes. A process that is gone loses the lead.
    fn leads(&self) -> Answer<'_, bool>;
    /// What was put behind a mark, a part of it.
    fn additions(&self, after: Mark) -> Answer<'_, Additions>;
    /// Puts documents and moves the cursor, both or neither, if it stands at `from`. `None`: it does not.
    fn put(&self, documents: Vec<ArchivedDocument>, from: Position, to: Position)
    -> Answer<'_, Option<Mark>>;
    /// Empties it.
    fn clear(&self) -> Answer<'_, Mark>;
}
