//! A subscription as its reader sees it: a cursor into the ring of its key.
//! Must not know: the reader's output.

use std::{
    fmt,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use super::{Lane, clock::lane_now, member::Member, ring::Ring};

/// A message that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<M> {
    /// Its number among the messages of its key.
    pub number: u64,
    /// The message.
    pub message: M,
}

/// Why a subscription ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndReason {
    /// The ring dropped a message that it had not read, or it took nothing for
    /// [`super::LaneLimits::stall_max`] while messages waited.
    #[error("the subscription stalled")]
    Stalled,
    /// [`Lane::expel`] ended it.
    #[error("the subscription was ended")]
    Expelled,
    /// The lane was closed.
    #[error("the lane was closed")]
    Closed,
}

/// One subscription; dropping it ends it.
pub struct Subscription<F: Send + Sync + 'static, M: Clone + Send + Sync + 'static> {
    lane: Lane<F, M>,
    ring: Arc<Ring<F, M>>,
    member: Arc<Member<F>>,
    /// The offset of the next message to look at.
    cursor: u64,
    /// The offset of the first message that was emitted after it subscribed.
    since: u64,
}

impl<F: Send + Sync + 'static, M: Clone + Send + Sync + 'static> fmt::Debug for Subscription<F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

impl<F: Send + Sync + 'static, M: Clone + Send + Sync + 'static> Subscription<F, M> {
    pub(super) fn new(
        lane: Lane<F, M>,
        ring: Arc<Ring<F, M>>,
        member: Arc<Member<F>>,
        cursor: u64,
        since: u64,
    ) -> Self {
        Self { lane, ring, member, cursor, since }
    }

    /// Its facts.
    pub fn facts(&self) -> &F {
        &self.member.facts
    }

    /// Waits for messages, and appends all waiting ones to `into`, in order, up to the limits of a turn.
    /// Cancel-safe: nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// The subscription ended; each later call gives the same error.
    pub async fn next(&mut self, into: &mut Vec<Delivery<M>>) -> Result<(), EndReason> {
        poll_fn(|cx| self.poll_next(cx, into)).await
    }

    /// Polls for messages as [`Self::next`] waits for them. Only the task that polled last is woken.
    ///
    /// # Errors
    /// The subscription ended; each later call gives the same error.
    pub fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<Delivery<M>>,
    ) -> Poll<Result<(), EndReason>> {
        for first_look in [true, false] {
            match self.try_next(into) {
                Ok(false) if first_look => self.member.set_waker(cx.waker()),
                Ok(false) => return Poll::Pending,
                Ok(true) => return Poll::Ready(Ok(())),
                Err(why) => return Poll::Ready(Err(why)),
            }
        }
        Poll::Pending
    }

    /// Appends the waiting messages to `into`; false if no message waits.
    ///
    /// # Errors
    /// The subscription ended; each later call gives the same error.
    pub fn try_next(&mut self, into: &mut Vec<Delivery<M>>) -> Result<bool, EndReason> {
        if let Some(why) = self.member.ended() {
            return Err(why);
        }
        if self.member.waiting().is_none() {
            return Ok(false);
        }
        let now = lane_now();
        let limits = self.lane.limits();
        self.ring.prune_if_old(&self.lane.0.bytes, now, limits);
        // No message may leave the ring between here and the note of what is left for the next turn.
        let entries = self.ring.entries();
        let Some(waiting) = self.member.take() else { return Ok(false) };
        // A offset that was read already says nothing about later messages: then the cursor counts.
        if waiting.max(self.cursor) < entries.lost() {
            drop(entries);
            self.lane.0.end(&self.ring, &self.member, EndReason::Stalled);
            return Err(EndReason::Stalled);
        }
        self.cursor = self.cursor.max(entries.first());
        let (mut count, mut bytes) = (0, 0);
        for entry in entries.from(self.cursor) {
            let was_there = self.cursor >= self.since;
            if let Some((number, message)) = entry.message_for(&self.member.facts, now, was_there) {
                if count >= limits.turn_count_max.max(1) || bytes >= limits.turn_bytes_max.max(1) {
                    self.member.defer_from(self.cursor);
                    break;
                }
                into.push(Delivery { number, message: message.clone() });
                count += 1;
                bytes += entry.size();
            }
            self.cursor += 1;
        }
        drop(entries);
        self.member.took(now);
        Ok(count > 0)
    }
}

impl<F: Send + Sync + 'static, M: Clone + Send + Sync + 'static> Drop for Subscription<F, M> {
    fn drop(&mut self) {
        self.lane.0.end(&self.ring, &self.member, EndReason::Closed);
    }
}
