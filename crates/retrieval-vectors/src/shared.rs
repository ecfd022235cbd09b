//! Persistent storage in the shared store of all processes.
//! Must not know: models, the kind of the store.

use std::sync::Arc;

use plenary_kernel::Position;
use plenary_retrieval::{Additions, Answer, Archive, ArchivedDocument, Mark};

use crate::{
    journal_entry::JournalEntry,
    shelf::{Changes, News, Shelf},
};

/// A shelf on an archive.
pub struct SharedShelf(Arc<dyn Archive>);

impl SharedShelf {
    /// A shelf with the content of the archive.
    pub fn new(archive: Arc<dyn Archive>) -> Self {
        Self(archive)
    }
}

fn archived(entry: &JournalEntry) -> ArchivedDocument {
    let (JournalEntry::Put(crate::journal_entry::Entry { id, .. }) | JournalEntry::Delete(id)) = entry;
    let mut bytes = Vec::new();
    entry.write(&mut bytes);
    ArchivedDocument { id: id.clone(), bytes }
}

fn read(ArchivedDocument { id, bytes }: ArchivedDocument) -> JournalEntry {
    let mut from = bytes.as_slice();
    let entry = JournalEntry::read(&mut from).filter(|_| from.is_empty());
    entry.unwrap_or_else(|| {
        tracing::error!(id, "stored vectors cannot be read; their document is found only by words");
        JournalEntry::Delete(id)
    })
}

impl Shelf for SharedShelf {
    fn leads(&self) -> Answer<'_, bool> {
        self.0.leads()
    }

    fn news(&self, after: Mark) -> Answer<'_, News> {
        Box::pin(async move {
            let Additions { found, mark, cursor, anew, more } = self.0.additions(after).await?;
            Ok(News { changes: found.into_iter().map(read).collect(), mark, cursor, anew, more })
        })
    }

    fn put(&self, changes: Vec<JournalEntry>, from: Position, to: Position) -> Answer<'_, Option<Mark>> {
        self.0.put(changes.iter().map(archived).collect(), from, to)
    }

    fn clear(&self) -> Answer<'_, Mark> {
        self.0.clear()
    }

    // The archive replaces entries in place, so it is never crowded.
    fn is_crowded(&self, _bytes: usize) -> bool {
        false
    }

    fn rewrite(&self, _all: Changes, _cursor: Position) -> Answer<'_, Mark> {
        Box::pin(async { Ok(self.0.additions(Mark::default()).await?.mark) })
    }
}
