//! The last event that this process knows to be committed. After a failover the server may lack it: then the log is
//! another one, even if it is as long again.
//! Must not know: who reads.

use parking_lot::Mutex;
use plenary_kernel::Position;
use plenary_log::{Digest, StoredEvent};
use tokio_postgres::Row;

use crate::{
    target::{stored, unsigned},
    trouble::Trouble,
};

/// The end of the log, and the checksum of the event at a position.
pub(crate) const END: &str = "SELECT last, (SELECT sum FROM events WHERE position = $1) FROM head";

/// The last known event, which the feed and the writer share.
#[derive(Debug, Default)]
pub(crate) struct LastEvent(Mutex<Option<StoredEvent>>);

impl LastEvent {
    /// Notes committed events.
    pub(crate) fn note(&self, events: &[StoredEvent]) {
        let Some(event) = events.last() else { return };
        let mut last = self.0.lock();
        if last.as_ref().is_none_or(|last| last.position < event.position) {
            *last = Some(event.clone());
        }
    }

    /// Must be taken before [`END`] is read.
    pub(crate) fn known(&self) -> KnownEnd {
        KnownEnd(self.0.lock().clone())
    }
}

/// The last event that was known before a read.
pub(crate) struct KnownEnd(Option<StoredEvent>);

impl KnownEnd {
    /// The parameter of [`END`]; no event is at 0.
    pub(crate) fn position(&self) -> i64 {
        self.0.as_ref().map_or(0, |event| stored(event.position.0))
    }

    /// The end of the log, from the record of [`END`].
    ///
    /// # Errors
    /// [`Trouble::Broken`] if the log has not the known event.
    pub(crate) fn checked(&self, record: &Row) -> Result<Position, Trouble> {
        let head = Position(unsigned(record.try_get(0)?)?);
        let Some(event) = &self.0 else { return Ok(head) };
        let was = event.position;
        if head < was {
            return Err(Trouble::Broken(format!("the log ends at {head} and once ended at {was}")));
        }
        if !Digest::event(event).agrees(record.try_get(1)?) {
            return Err(Trouble::Broken(format!("the log once had another event at {was}")));
        }
        Ok(head)
    }
}
