//! The per-handle stream of frames, reopened when it breaks or falls silent (FO-53 to FO-61). Duplicates are
//! dropped by `frame_id` (FO-83), stale frames by their lifetime (FO-82).
//! Must not know: the use of a frame.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use plenary_kernel::SovereignHandle;

use super::{ReceivedFrame, Seat, Uuid, now};
use crate::{
    Client, Error, Result,
    client::segment,
    feed::{Feed, FeedItem, Paths, StreamOptions},
    sse::{EVENT_BYTES_MAX, SseEvent},
};

/// Maximum number of remembered frame ids for dropping duplicates; several times the default retention.
const SEEN_MAX: usize = 4_096;

/// The frames to listen to, and the listening session.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// The principal of the token.
    pub handle: SovereignHandle,
    /// A filter: `axis:value` clauses, separated by commas (FO-64).
    pub filter: Option<String>,
    /// The listening session.
    pub seat: Seat,
    /// Start after this event, if the server still retains the following ones (FO-60).
    pub after: Option<String>,
    /// Start with all retained frames.
    pub retained: bool,
}

impl Subscription {
    /// All new frames for this principal.
    pub fn of(handle: SovereignHandle, seat: Seat) -> Self {
        Self { handle, filter: None, seat, after: None, retained: false }
    }
}

/// An item returned by [`FrameStream::next`].
#[derive(Debug)]
pub enum Signal {
    /// The stream is open: it receives frames submitted from now on.
    Opened,
    /// A current frame that this stream has not returned before.
    Frame(Box<ReceivedFrame>),
    /// A comment: the server is reachable, and has no more frames for now.
    Keepalive,
    /// An event that could not be parsed; the stream continues.
    Unreadable(Error),
    /// The stream is lost; it is reopened automatically. Frames emitted meanwhile may be lost (FO-61).
    Lost {
        /// The reason, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// Follows a handle's frames. There is no background task: it works only while [`FrameStream::next`] is awaited.
pub struct FrameStream {
    feed: Feed,
    seen: SeenFrames,
}

impl FrameStream {
    /// Waits for the next signal. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// Fatal errors only: [`Error::Refused`] when the server refuses the stream, [`Error::Network`] when it was never
    /// reached, [`Error::Unreadable`] when the response is not an event stream.
    pub async fn next(&mut self) -> Result<Signal> {
        loop {
            match self.feed.next().await? {
                FeedItem::Opened => return Ok(Signal::Opened),
                FeedItem::Keepalive => return Ok(Signal::Keepalive),
                FeedItem::Lost { reason, retry_in } => return Ok(Signal::Lost { reason, retry_in }),
                FeedItem::Event(event) => {
                    if let Some(signal) = self.take(&event) {
                        return Ok(signal);
                    }
                }
            }
        }
    }

    fn take(&mut self, event: &SseEvent) -> Option<Signal> {
        let number = event.id.as_ref().and_then(|id| id.parse().ok());
        match ReceivedFrame::read(number, &event.data) {
            Err(error) => Some(Signal::Unreadable(error)),
            Ok(received) if received.frame.is_stale(now()) => None,
            Ok(received) if !self.seen.insert(&received.frame.frame_id) => None,
            Ok(received) => Some(Signal::Frame(Box::new(received))),
        }
    }
}

impl Subscription {
    /// The path of the stream; retained frames are requested only once.
    fn path(&self, retained: bool) -> String {
        let filter =
            self.filter.as_ref().map(|filter| format!("&filter={}", segment(filter))).unwrap_or_default();
        let retained = if retained { "&retained=true" } else { "" };
        let query = format!("{filter}{}{retained}", self.seat.query());
        let query = query.strip_prefix('&').map(|query| format!("?{query}")).unwrap_or_default();
        format!("/handles/{}/stream{query}", segment(self.handle.as_str()))
    }
}

/// The ids of returned frames; beyond the limit the oldest is dropped, which can only let a duplicate through.
#[derive(Default)]
struct SeenFrames {
    ids: HashSet<Uuid>,
    order: VecDeque<Uuid>,
}

impl SeenFrames {
    /// Adds an id; returns false if it was there already.
    fn insert(&mut self, id: &Uuid) -> bool {
        if !self.ids.insert(id.clone()) {
            return false;
        }
        self.order.push_back(id.clone());
        if self.order.len() > SEEN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

impl Client {
    /// Follows the frames of a handle, and reconnects after every failure. Connects when first awaited.
    pub fn frames(&self, subscription: Subscription, options: StreamOptions) -> FrameStream {
        let paths =
            Paths { first: subscription.path(subscription.retained), resumed: subscription.path(false) };
        let feed = Feed::new(self.clone(), paths, subscription.after, EVENT_BYTES_MAX, options);
        FrameStream { feed, seen: SeenFrames::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fo_83_memory_of_repeats_is_bounded() {
        let mut seen = SeenFrames::default();
        let first = Uuid::random();
        assert!(seen.insert(&first) && !seen.insert(&first));
        assert!(!seen.insert(&first.as_str().to_uppercase().parse().unwrap()));
        for _ in 0..SEEN_MAX {
            assert!(seen.insert(&Uuid::random()));
        }
        assert_eq!((seen.ids.len(), seen.order.len()), (SEEN_MAX, SEEN_MAX));
        assert!(seen.insert(&first), "forgotten");
    }
}
