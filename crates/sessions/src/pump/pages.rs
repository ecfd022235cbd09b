//! The pages of one session for one reader: from the shared tail, otherwise from the store. While a page is written,
//! the next one is already being read.
//! Must not know: the reader, or the filter.

use std::sync::Arc;

use plenary_hub::Row;
use plenary_kernel::Version;
use plenary_log::{Fault, PageSize, StoredEvent, StreamName};
use tokio::task::JoinHandle;

use super::TAIL_PAGE;
use crate::{Sessions, wire::EncodedEvent};

/// An event of a page.
pub(super) enum PageRow {
    /// From the tail, encoded once for all its readers.
    Shared(Arc<Row<EncodedEvent>>),
    /// From the store, for this reader alone.
    Single(StoredEvent),
}

impl PageRow {
    pub(super) fn event(&self) -> &StoredEvent {
        match self {
            Self::Shared(row) => &row.event,
            Self::Single(event) => event,
        }
    }
}

/// The pages of one session.
pub(super) struct Pages<'a> {
    sessions: &'a Sessions,
    stream: &'a StreamName,
    size: PageSize,
    prefetched: Option<Prefetch>,
    /// Whether the last page was the end of what is on disk.
    pub(super) has_ended: bool,
}

/// A page that is read before it is requested.
struct Prefetch {
    after: Version,
    requested_count: usize,
    task: JoinHandle<Result<Vec<StoredEvent>, Fault>>,
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<'a> Pages<'a> {
    pub(super) fn new(sessions: &'a Sessions, stream: &'a StreamName) -> Self {
        Self { sessions, stream, size: PageSize::default(), prefetched: None, has_ended: false }
    }

    /// Committed events after a version.
    pub(super) async fn after(&mut self, after: Version) -> Result<Vec<PageRow>, Fault> {
        if let Some(rows) = self.sessions.0.tail.read(self.stream, after, TAIL_PAGE) {
            return Ok(rows.into_iter().map(PageRow::Shared).collect());
        }
        let (requested_count, events) = match self.prefetched.take().filter(|page| page.after == after) {
            Some(mut page) => {
                let result = (&mut page.task).await;
                let aborted = |_| Fault::Unavailable("a read ended early".to_owned());
                (page.requested_count, result.map_err(aborted)??)
            }
            None => {
                let requested_count = self.size.events();
                (requested_count, self.sessions.log().read_stream(self.stream, after, requested_count).await?)
            }
        };
        self.size.learn(&events);
        self.has_ended = events.len() < requested_count;
        if let Some(last) = events.last().filter(|_| !self.has_ended) {
            self.prefetched = Some(self.prefetch(last.version));
        }
        Ok(events.into_iter().map(PageRow::Single).collect())
    }

    fn prefetch(&self, after: Version) -> Prefetch {
        let (log, stream, requested_count) =
            (self.sessions.log().clone(), self.stream.clone(), self.size.events());
        let task = tokio::spawn(async move { log.read_stream(&stream, after, requested_count).await });
        Prefetch { after, requested_count, task }
    }
}
