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

/// The pages of one session.
pub(super) struct Pages<'a> {
    sessions: &'a Sessions,
    stream: &'a StreamName,
    size: PageSize,
    ahead: Option<Ahead>,
    /// Whether the last page was the end of what is on disk.
    pub(super) ended: bool,
}

/// A page that is being read before it was asked for.
struct Ahead {
    after: Version,
    asked: usize,
    read: JoinHandle<Result<Vec<StoredEvent>, Fault>>,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.read.abort();
    }
}

impl<'a> Pages<'a> {
    pub(super) fn new(sessions: &'a Sessions, stream: &'a StreamName) -> Self {
        Self { sessions, stream, size: PageSize::default(), ahead: None, ended: false }
    }

    /// Committed events behind a version.
    pub(super) async fn after(&mut self, after: Version) -> Result<Vec<Arc<Row<EncodedEvent>>>, Fault> {
        if let Some(rows) = self.sessions.0.tail.read(self.stream, after, TAIL_PAGE) {
            return Ok(rows);
        }
        let (asked, stored) = match self.ahead.take().filter(|ahead| ahead.after == after) {
            Some(mut ahead) => {
                let read = (&mut ahead.read).await;
                let ended = |_| Fault::Unavailable("a read ended early".to_owned());
                (ahead.asked, read.map_err(ended)??)
            }
            None => {
                let asked = self.size.events();
                (asked, self.sessions.log().read_stream(self.stream, after, asked).await?)
            }
        };
        self.size.learn(&stored);
        self.ended = stored.len() < asked;
        if let Some(last) = stored.last().filter(|_| !self.ended) {
            self.ahead = Some(self.read_ahead(last.version));
        }
        Ok(stored.into_iter().map(|event| Arc::new(Row::from(event))).collect())
    }

    fn read_ahead(&self, after: Version) -> Ahead {
        let (log, stream, asked) = (self.sessions.log().clone(), self.stream.clone(), self.size.events());
        let read = tokio::spawn(async move { log.read_stream(&stream, after, asked).await });
        Ahead { after, asked, read }
    }
}
