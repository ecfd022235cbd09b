//! Messages between the nodes that share a journal: fast, to one node or to all, without a guarantee of
//! delivery.
//! Must not know: the content or purpose of a message.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::{Answer, ReadError};

/// Most messages that wait for their reader; beyond it messages are lost.
pub const MESSAGES_WAITING_MAX: usize = 1_024;
/// Most bytes of the waiting messages; beyond it messages are lost. One message always fits.
pub const MESSAGES_BYTES_MAX: usize = 32 << 20;

/// A running node. After a restart a process has another id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u64);

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The recipient of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// Every node that listens.
    All,
    /// One node.
    One(NodeId),
}

/// The channel between the nodes.
pub trait Peers: Send + Sync + 'static {
    /// Sends a message. It may be lost, and may also reach its sender.
    fn send(&self, to: Address, body: Bytes) -> Answer<'_, ()>;
    /// The messages to `node` and to all, from now on.
    fn listen(&self, node: NodeId) -> Answer<'_, Result<Messages, ReadError>>;
}

/// The receiver of messages.
#[derive(Debug)]
pub struct Messages {
    waiting: mpsc::Receiver<Bytes>,
    bytes: Arc<AtomicUsize>,
}

#[derive(Debug, Clone)]
pub(crate) struct MessageSender {
    to: mpsc::Sender<Bytes>,
    bytes: Arc<AtomicUsize>,
}

pub(crate) fn message_channel() -> (MessageSender, Messages) {
    let (to, waiting) = mpsc::channel(MESSAGES_WAITING_MAX);
    let bytes = Arc::<AtomicUsize>::default();
    (MessageSender { to, bytes: bytes.clone() }, Messages { waiting, bytes })
}

impl MessageSender {
    /// Gives a message to the reader, or drops it if too many bytes wait; false if there is no reader.
    pub(crate) fn send(&self, body: Bytes) -> bool {
        let bytes = body.len();
        let before = self.bytes.fetch_add(bytes, Ordering::AcqRel);
        let fits = before == 0 || before + bytes <= MESSAGES_BYTES_MAX;
        let sent = if fits { self.to.try_send(body) } else { Err(mpsc::error::TrySendError::Full(body)) };
        if sent.is_err() {
            self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        }
        !matches!(sent, Err(mpsc::error::TrySendError::Closed(_)))
    }

    /// Waits until there is no reader.
    pub(crate) async fn closed(&self) {
        self.to.closed().await;
    }
}

impl Messages {
    /// The next message; `None` after the channel has closed.
    pub async fn next(&mut self) -> Option<Bytes> {
        let body = self.waiting.recv().await?;
        Some(self.uncounted(body))
    }
    /// The next message, if one waits.
    pub fn try_next(&mut self) -> Option<Bytes> {
        let body = self.waiting.try_recv().ok()?;
        Some(self.uncounted(body))
    }
    fn uncounted(&self, body: Bytes) -> Bytes {
        self.bytes.fetch_sub(body.len(), Ordering::AcqRel);
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_has_a_number_and_a_size() {
        let (to, mut messages) = message_channel();
        for _ in 0..2 * MESSAGES_WAITING_MAX {
            assert!(to.send(Bytes::from_static(b"m")));
        }
        let mut count = 0;
        while messages.try_next().is_some() {
            count += 1;
        }
        assert_eq!(count, MESSAGES_WAITING_MAX);
        let large = Bytes::from(vec![0; MESSAGES_BYTES_MAX / 2 + 1]);
        assert!(to.send(large.clone()) && to.send(large.clone()));
        assert!(messages.try_next().is_some(), "the first fits");
        assert!(messages.try_next().is_none(), "the second was lost");
        assert!(to.send(large), "there is room again");
        assert!(messages.try_next().is_some());
        drop(messages);
        assert!(!to.send(Bytes::new()), "nobody reads");
    }
}
