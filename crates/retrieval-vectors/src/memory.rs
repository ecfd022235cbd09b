//! Storage without persistence, for a server with `:memory:`.
//! Must not know: models.

use parking_lot::Mutex;
use plenary_kernel::Position;
use plenary_retrieval::{Answer, Mark};

use crate::{
    journal_entry::JournalEntry,
    shelf::{Changes, News, Shelf},
};

/// Mark and cursor only; the codes are in the index.
#[derive(Debug, Default)]
pub struct MemoryShelf(Mutex<(Mark, Position)>);

impl MemoryShelf {
    fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut (Mark, Position)) -> T) -> Answer<'_, T> {
        let done = work(&mut self.0.lock());
        Box::pin(std::future::ready(Ok(done)))
    }
}

impl Shelf for MemoryShelf {
    fn leads(&self) -> Answer<'_, bool> {
        Box::pin(std::future::ready(Ok(true)))
    }

    fn news(&self, _after: Mark) -> Answer<'_, News> {
        self.with(|(mark, cursor)| News {
            changes: Vec::new(),
            mark: *mark,
            cursor: *cursor,
            anew: false,
            more: false,
        })
    }

    fn put(&self, _changes: Vec<JournalEntry>, from: Position, to: Position) -> Answer<'_, Option<Mark>> {
        self.with(|(mark, cursor)| {
            if *cursor != from {
                return None;
            }
            mark.sequence += 1;
            *cursor = to;
            Some(*mark)
        })
    }

    fn clear(&self) -> Answer<'_, Mark> {
        self.with(|(mark, cursor)| {
            *cursor = Position::ZERO;
            mark.generation += 1;
            *mark
        })
    }

    fn is_crowded(&self, _bytes: usize) -> bool {
        false
    }

    fn rewrite(&self, _all: Changes, _cursor: Position) -> Answer<'_, Mark> {
        self.with(|(mark, _)| *mark)
    }
}
