//! The per-handle stream of frames, reopened when it breaks or falls silent (FO-53 to FO-61). Duplicates are
//! dropped by `frame_id` (FO-83), stale frames by their lifetime (FO-82).
//! Must not know: the use of a frame.

use std::collections::{HashSet, VecDeque};

use plenary_kernel::SovereignHandle;

use super::{ReceivedFrame, Seat, Uuid, now};
use crate::{
    Client, Result, Signal, StreamOptions,
    client::segment,
    feed::Feed,
    query::Query,
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

/// Follows a handle's frames: each current frame that it has not returned before.
pub struct FrameStream {
    feed: Feed,
    seen: SeenFrames,
}

impl FrameStream {
    /// Waits for the next signal.
    ///
    /// # Errors
    /// See [`Signal`].
    pub async fn next(&mut self) -> Result<Signal<ReceivedFrame>> {
        let read = |event: SseEvent| {
            let number = event.id.as_ref().and_then(|id| id.parse().ok());
            ReceivedFrame::read(number, &event.data)
        };
        loop {
            let signal = self.feed.next().await?.read(read);
            if let Signal::Event(ReceivedFrame { frame, .. }) = &signal
                && (frame.is_stale(now()) || !self.seen.insert(&frame.frame_id))
            {
                continue;
            }
            return Ok(signal);
        }
    }
}

impl Subscription {
    /// The path of the stream; retained frames are requested only once.
    fn path(&self, retained: bool) -> String {
        let query = Query::of(format!("/handles/{}/stream", segment(self.handle.as_str())));
        let query = self.seat.add_to(query.with("filter", self.filter.as_ref()));
        query.with("retained", retained.then_some(true)).path()
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
        let (first, resumed) = (subscription.path(subscription.retained), subscription.path(false));
        let feed = Feed::new(self.clone(), resumed, subscription.after, EVENT_BYTES_MAX, options);
        FrameStream { feed: feed.beginning_at(first), seen: SeenFrames::default() }
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
