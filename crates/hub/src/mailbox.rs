//! The unread streams of one connection: a set of streams with the first unread version of each, and
//! whether the connection must close. Its size is bounded by the number of the agent's streams; each
//! stream is in it once, however many events it gets.

use hashbrown::HashMap;
use parking_lot::Mutex;
use plenary_kernel::Version;
use plenary_log::StreamName;
use tokio::sync::Notify;

/// Why a connection must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// Its token is no longer valid.
    Revoked,
    /// The server shuts down.
    Shutdown,
}

/// The marks since the last look.
#[derive(Debug, Default)]
pub struct Marks {
    /// Each stream with its first unread version.
    pub streams: HashMap<StreamName, Version>,
    /// Whether the agent's token or blocks may have changed.
    pub recheck: bool,
    /// The reason to close, if the connection must end.
    pub closing: Option<CloseReason>,
}

/// The mailbox of one connection.
#[derive(Debug, Default)]
pub struct Mailbox {
    marks: Mutex<Marks>,
    notify: Notify,
}

impl Mailbox {
    /// Marks a stream as unread from this version on.
    pub fn mark(&self, stream: &StreamName, first: Version) {
        let mut marks = self.marks.lock();
        match marks.streams.get_mut(stream) {
            Some(known) => *known = first.min(*known),
            None => {
                marks.streams.insert(stream.clone(), first);
            }
        }
        drop(marks);
        self.notify.notify_one();
    }

    /// Whether no stream is marked.
    pub fn is_empty(&self) -> bool {
        self.marks.lock().streams.is_empty()
    }

    /// Notes that the agent's token or blocks may have changed.
    pub fn recheck(&self) {
        self.marks.lock().recheck = true;
        self.notify.notify_one();
    }

    /// Orders the connection to end.
    pub fn close(&self, why: CloseReason) {
        self.marks.lock().closing = Some(why);
        self.notify.notify_one();
    }

    /// Waits for a mark. Spurious wake-ups are possible.
    pub async fn wait(&self) {
        self.notify.notified().await;
    }

    /// Takes the marks; an order to close stays.
    pub fn take(&self) -> Marks {
        let mut marks = Marks::default();
        self.take_into(&mut marks);
        marks
    }

    /// Takes the marks into `into`, and reuses its memory.
    pub fn take_into(&self, into: &mut Marks) {
        let mut marks = self.marks.lock();
        into.streams.clear();
        // The capacity of the old marks is reused.
        std::mem::swap(&mut marks.streams, &mut into.streams);
        into.recheck = std::mem::take(&mut marks.recheck);
        into.closing = marks.closing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_doubled_wake_up_reads_once_and_the_first_version_wins() {
        let (mailbox, stream) = (Mailbox::default(), StreamName::new("a.b", "c"));
        mailbox.mark(&stream, Version(5));
        mailbox.mark(&stream, Version(3));
        mailbox.mark(&stream, Version(9));
        mailbox.wait().await;
        assert_eq!(mailbox.take().streams, HashMap::from([(stream.clone(), Version(3))]));
        let mut worked_off = Marks { streams: HashMap::from([(stream, Version(3))]), ..Marks::default() };
        mailbox.take_into(&mut worked_off);
        assert!(worked_off.streams.is_empty());
    }

    #[tokio::test]
    async fn a_wake_up_before_the_wait_is_not_lost() {
        let mailbox = Mailbox::default();
        mailbox.close(CloseReason::Shutdown);
        mailbox.wait().await;
        assert_eq!(mailbox.take().closing, Some(CloseReason::Shutdown));
        assert_eq!(mailbox.take().closing, Some(CloseReason::Shutdown), "the order to close stays");
    }
}
