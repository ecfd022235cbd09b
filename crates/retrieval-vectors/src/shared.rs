//! A shelf in the store that all processes share.
//! Must not know: models, which store that is.

use std::sync::Arc;

use plenary_kernel::Position;
use plenary_retrieval::{Additions, Answer, Archive, Archived, Mark};

use crate::{
    kept::Kept,
    shelf::{News, Shelf},
};

/// A shelf in an archive.
pub struct SharedShelf(Arc<dyn Archive>);

impl SharedShelf {
    /// What the archive has is on the shelf.
    #[must_use]
    pub fn new(archive: Arc<dyn Archive>) -> Self {
        Self(archive)
    }
}

fn archived(kept: &Kept) -> Archived {
    let (Kept::Put(crate::kept::Entry { id, .. }) | Kept::Delete(id)) = kept;
    let mut octets = Vec::new();
    kept.write(&mut octets);
    Archived { id: id.clone(), octets }
}

fn read(Archived { id, octets }: Archived) -> Kept {
    let mut from = octets.as_slice();
    let kept = Kept::read(&mut from).filter(|_| from.is_empty());
    kept.unwrap_or_else(|| {
        tracing::error!(id, "what the store keeps of its vectors can't be read; it is found by words alone");
        Kept::Delete(id)
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

    fn put(&self, changes: Vec<Kept>, from: Position, to: Position) -> Answer<'_, Option<Mark>> {
        self.0.put(changes.iter().map(archived).collect(), from, to)
    }

    fn clear(&self) -> Answer<'_, Mark> {
        self.0.clear()
    }

    // What takes the place of something else takes its room as well.
    fn is_crowded(&self, _octets: usize) -> bool {
        false
    }

    fn rewrite(&self, _all: Vec<Kept>, _cursor: Position) -> Answer<'_, Mark> {
        Box::pin(async { Ok(self.0.additions(Mark::default()).await?.mark) })
    }
}
