//! The per-handle stream of frames, opened again when it breaks or falls silent (FO-53 to FO-61). Duplicates are
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
    sse::{EVENT_OCTETS_MAX, SseEvent},
};

/// Frames remembered to drop their repeats; several times the default retention.
const SEEN_MAX: usize = 4_096;

/// What to listen to, and as which session.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// The principal; the token's own.
    pub handle: SovereignHandle,
    /// Narrows what comes: `axis:value` clauses with commas between (FO-64).
    pub filter: Option<String>,
    /// Which session listens.
    pub seat: Seat,
    /// Begin behind this event, as far as the server still has what follows it (FO-60).
    pub after: Option<String>,
    /// Begin with everything the server still has.
    pub retained: bool,
}

impl Subscription {
    /// Everything new that reaches this principal.
    #[must_use]
    pub fn of(handle: SovereignHandle, seat: Seat) -> Self {
        Self { handle, filter: None, seat, after: None, retained: false }
    }
}

/// What [`FrameStream::next`] reports.
#[derive(Debug)]
pub enum Signal {
    /// The stream stands: frames submitted from now on come here.
    Opened,
    /// A frame, current and not seen before on this stream.
    Frame(Box<ReceivedFrame>),
    /// A comment: the server is there, and has nothing more to say for now.
    Keepalive,
    /// An event that was not understood; the following goes on.
    Unreadable(Error),
    /// The stream is gone and will be opened again by itself. What is emitted meanwhile may be lost (FO-61).
    Lost {
        /// Why, for people.
        reason: String,
        /// When the next attempt begins.
        retry_in: Duration,
    },
}

/// A following of a handle's frames. Nothing runs in the background: it works while [`FrameStream::next`] is
/// awaited.
pub struct FrameStream {
    feed: Feed,
    seen: SeenFrames,
}

impl FrameStream {
    /// The next thing to report. May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// For good: [`Error::Refused`] when the server refuses the stream, [`Error::Network`] when it was never
    /// reached, [`Error::Unreadable`] when what answers is no event stream.
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
    /// Where its stream is; what is retained is asked for only once.
    fn path(&self, retained: bool) -> String {
        let filter =
            self.filter.as_ref().map(|filter| format!("&filter={}", segment(filter))).unwrap_or_default();
        let retained = if retained { "&retained=true" } else { "" };
        let query = format!("{filter}{}{retained}", self.seat.query());
        let query = query.strip_prefix('&').map(|query| format!("?{query}")).unwrap_or_default();
        format!("/handles/{}/stream{query}", segment(self.handle.as_str()))
    }
}

/// The frames handed on, by id; past the limit the oldest is forgotten, which can only let a repeat through.
#[derive(Default)]
struct SeenFrames {
    ids: HashSet<Uuid>,
    order: VecDeque<Uuid>,
}

impl SeenFrames {
    /// Takes an id in; false when it was there.
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
    /// Follows the frames of a handle, over every break of the stream. Connects when first awaited.
    #[must_use]
    pub fn frames(&self, subscription: Subscription, options: StreamOptions) -> FrameStream {
        let paths =
            Paths { first: subscription.path(subscription.retained), resumed: subscription.path(false) };
        let feed = Feed::new(self.clone(), paths, subscription.after, EVENT_OCTETS_MAX, options);
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
