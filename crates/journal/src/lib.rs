//! A replicated journal: numbered records without gaps, each appended only if it is the next one. Its
//! only task is to order the records of a cluster's nodes.
//! Must not know: the content of a record, or any protocol.

pub mod jetstream;
pub mod memory;
pub mod peers;
mod settle;

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::mpsc;

pub use settle::{PublicationOutcome, settle};

/// Largest record, in bytes. A server must accept messages of [`PAYLOAD_BYTES_MIN`].
pub const RECORD_BYTES_MAX: usize = 7 << 20;
/// The least `max_payload` of a server: it must fit a record, its number and headers.
pub const PAYLOAD_BYTES_MIN: usize = 8 << 20;
/// The time within which a journal answers or fails.
pub const ANSWER_MAX: Duration = Duration::from_secs(2);
/// Most records of one read.
pub const READ_RECORDS_MAX: usize = 256;
/// A read ends after this many bytes, whatever the number of records.
pub const READ_BYTES_MAX: usize = 8 << 20;
/// Most hints that wait for their reader. Beyond it hints are lost, and records are read by their
/// numbers.
pub const HINTS_WAITING_MAX: usize = 1_024;
/// Most bytes of records that wait with hints; beyond it hints come without records.
pub const HINTS_BYTES_MAX: usize = 16 << 20;

/// A boxed answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A record with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its number, without gaps from 1.
    pub sequence: u64,
    /// Its bytes.
    pub body: Bytes,
}

/// A notice that a record exists. Not every record gets one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The record's number.
    pub sequence: u64,
    /// Its bytes, if they were included.
    pub body: Option<Bytes>,
}

/// The first and last numbers of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// The number of the oldest record that is kept; above `last` if there is none.
    pub first: u64,
    /// The number of the last record, 0 in an empty journal.
    pub last: u64,
}

/// Why a record was not published, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The record would not be the next one. An earlier attempt to publish it may have taken that
    /// number.
    #[error("another record has that number")]
    Conflict,
    /// The record may or may not have been published.
    #[error("the journal did not answer: {0}")]
    Unknown(String),
    /// The record was not published, and never will be.
    #[error("a record of {0} bytes is too large")]
    TooLarge(usize),
}

/// Why a read failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The journal can't be reached, or has no leader now.
    #[error("the journal is unavailable: {0}")]
    Unavailable(String),
    /// A published record can't be read.
    #[error("the journal lacks record {0}")]
    Hole(u64),
}

/// The journal. Each call returns within about [`ANSWER_MAX`].
pub trait Journal: Send + Sync + 'static {
    /// Appends the record that follows `after`, if it is the next one.
    fn publish(&self, after: u64, body: Bytes) -> Answer<'_, Result<(), PublishError>>;
    /// The records after `after` in order: at most `max` and [`READ_RECORDS_MAX`], and no more once they
    /// have [`READ_BYTES_MAX`] bytes. Empty only at the journal's end. Includes everything published
    /// before the read began, unless the leader has just been replaced without knowing it.
    fn read(&self, after: u64, max: usize) -> Answer<'_, Result<Vec<Record>, ReadError>>;
    /// The extent of the journal, as its leader knows it.
    fn extent(&self) -> Answer<'_, Result<Extent, ReadError>>;
    /// Hints of future records, from this process or another; some may be lost or come twice.
    fn hints(&self) -> Answer<'_, Result<Hints, ReadError>>;
    /// Requests another leader, because this one lacks a published record or returns a different one. It
    /// may be that no replica is better.
    fn request_new_leader(&self) -> Answer<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The receiver of hints.
#[derive(Debug)]
pub struct Hints {
    waiting: mpsc::Receiver<Hint>,
    /// Bytes of the waiting records.
    bytes: Arc<AtomicUsize>,
}

/// The sender of hints. For a reader that does not read it keeps at most [`HINTS_WAITING_MAX`] of them.
#[derive(Debug)]
pub(crate) struct HintSender {
    to: mpsc::Sender<Hint>,
    bytes: Arc<AtomicUsize>,
}

pub(crate) fn hint_channel() -> (HintSender, Hints) {
    let (to, waiting) = mpsc::channel(HINTS_WAITING_MAX);
    let bytes = Arc::<AtomicUsize>::default();
    (HintSender { to, bytes: bytes.clone() }, Hints { waiting, bytes })
}

impl HintSender {
    /// Sends a hint to the reader, without its record if too many bytes wait; false if there is no
    /// reader.
    pub(crate) fn send(&self, mut hint: Hint) -> bool {
        let bytes = hint.body.as_ref().map_or(0, Bytes::len);
        // There is only one sender.
        if self.bytes.load(Ordering::Relaxed) + bytes > HINTS_BYTES_MAX {
            hint.body = None;
        }
        let body_bytes = hint.body.as_ref().map_or(0, Bytes::len);
        self.bytes.fetch_add(body_bytes, Ordering::Relaxed);
        match self.to.try_send(hint) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.bytes.fetch_sub(body_bytes, Ordering::Relaxed);
                true
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }

    /// Waits until there is no reader.
    pub(crate) async fn closed(&self) {
        self.to.closed().await;
    }
}

impl Hints {
    /// The next hint; `None` after the journal has closed.
    pub async fn next(&mut self) -> Option<Hint> {
        let hint = self.waiting.recv().await?;
        Some(self.uncounted(hint))
    }
    /// The next hint, if one waits.
    pub fn try_next(&mut self) -> Option<Hint> {
        let hint = self.waiting.try_recv().ok()?;
        Some(self.uncounted(hint))
    }
    fn uncounted(&self, hint: Hint) -> Hint {
        self.bytes.fetch_sub(hint.body.as_ref().map_or(0, Bytes::len), Ordering::Relaxed);
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::{memory::Memory, *};

    #[tokio::test]
    async fn what_is_read_at_once_and_what_waits_as_hints_have_a_number_of_bytes() {
        let journal = Memory::new();
        let mut hints = journal.hints().await.expect("hints");
        let record = Bytes::from(vec![7; 1 << 20]);
        let count = 40;
        for after in 0..count {
            journal.publish(after, record.clone()).await.expect("published");
        }
        let (mut read, mut last) = (0, 0);
        loop {
            let records = journal.read(last, READ_RECORDS_MAX).await.expect("read");
            let bytes: usize = records.iter().map(|record| record.body.len()).sum();
            assert!(bytes < READ_BYTES_MAX + RECORD_BYTES_MAX, "{bytes}");
            let Some(end) = records.last() else { break };
            (read, last) = (read + records.len(), end.sequence);
        }
        assert_eq!((read, last), (40, count));
        let (mut bytes, mut numbers) = (0, Vec::new());
        while let Some(hint) = hints.try_next() {
            bytes += hint.body.as_ref().map_or(0, Bytes::len);
            numbers.push(hint.sequence);
        }
        assert!(bytes <= HINTS_BYTES_MAX, "{bytes}");
        assert_eq!(numbers, (1..=count).collect::<Vec<_>>(), "the numbers all come");
        journal.publish(count, record.clone()).await.expect("published");
        assert_eq!(hints.try_next().and_then(|hint| hint.body), Some(record), "there is room again");
    }
}
