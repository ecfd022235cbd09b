//! The copies of peers' sessions that are to be brought up to date. After a failed attempt each has a pause of its own, so one
//! that keeps failing delays no other.
//! Must not know: requests, or clocks; callers pass the time.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::Duration,
};

use parking_lot::Mutex;
use plenary_kernel::{OwnerName, SessionId};
use plenary_sessions::crossing::COPIES_PER_PEER_MAX;
use tokio::{sync::watch, time::Instant};

use crate::limits::{
    PULL_PAUSE, PULL_PAUSE_MAX, PULLS_AT_ONCE_MAX, REFUSALS_MAX, REFUSED_PAUSE, REFUSED_PAUSE_MAX,
    REFUSED_WARNED_EVERY, RETRIES_AT_ONCE_MAX,
};

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The copy is up to date.
    Done,
    /// The peer was not reached, or the store failed. It is retried soon.
    Unanswered,
    /// The answer is not usable. It is retried more and more seldom, and after many attempts no more.
    Refused,
}

/// The copies, by peer.
#[derive(Debug)]
pub(crate) struct DueCopies {
    peers: Mutex<HashMap<OwnerName, DuePeer>>,
    changed: watch::Sender<()>,
}

/// The copies of one peer's sessions. Each is in one of `fresh`, `failing` and `running`; one that fails may be in `running`,
/// too.
#[derive(Debug, Default)]
struct DuePeer {
    /// Those whose last attempt, if there was one, did not fail.
    fresh: BTreeSet<SessionId>,
    /// Those whose last attempt failed.
    failing: HashMap<SessionId, FailureRecord>,
    /// When those are retried.
    retries: BTreeSet<(Instant, SessionId)>,
    running: HashSet<SessionId>,
    /// Those that became due while they were running.
    again: HashSet<SessionId>,
    /// When the log last warned of a refusal.
    warned: Option<Instant>,
}

/// The failures of a copy since its last success.
#[derive(Debug, Clone, Copy, Default)]
struct FailureRecord {
    unanswered: u32,
    refused: u32,
    /// When it is retried; `None` while it is running or given up.
    at: Option<Instant>,
}

/// A pause that doubles after each failure.
fn pause(first: Duration, max: Duration, failures: u32) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(max)
}

impl FailureRecord {
    fn next_pause(&mut self, attempt: Attempt) -> Option<Duration> {
        if attempt == Attempt::Refused {
            self.refused = self.refused.saturating_add(1);
            let next = pause(REFUSED_PAUSE, REFUSED_PAUSE_MAX, self.refused);
            return (self.refused < REFUSALS_MAX).then_some(next);
        }
        self.unanswered = self.unanswered.saturating_add(1);
        Some(pause(PULL_PAUSE, PULL_PAUSE_MAX, self.unanswered))
    }
}

impl DuePeer {
    fn len(&self) -> usize {
        self.fresh.len() + self.failing.len() + self.running.len()
    }

    /// Retries a failing copy at a time, or earlier.
    fn retry(&mut self, session: &SessionId, at: Instant) {
        let Some(failing) = self.failing.get_mut(session) else { return };
        if let Some(earlier) = failing.at.replace(failing.at.map_or(at, |earlier| earlier.min(at))) {
            self.retries.remove(&(earlier, session.clone()));
        }
        self.retries.extend(failing.at.map(|at| (at, session.clone())));
    }

    fn may_retry(&self) -> bool {
        let retries_running = self.running.iter().filter(|session| self.failing.contains_key(*session));
        self.running.len() < PULLS_AT_ONCE_MAX && retries_running.count() < RETRIES_AT_ONCE_MAX
    }

    fn begin(&mut self, now: Instant) -> Option<SessionId> {
        let is_due = self.retries.first().is_some_and(|(at, _)| *at <= now);
        let session = if is_due && self.may_retry() {
            let (_, session) = self.retries.pop_first()?;
            self.failing.get_mut(&session)?.at = None;
            session
        } else if self.running.len() < PULLS_AT_ONCE_MAX {
            self.fresh.pop_first()?
        } else {
            return None;
        };
        self.running.insert(session.clone());
        Some(session)
    }
}

impl Default for DueCopies {
    fn default() -> Self {
        Self { peers: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl DueCopies {
    /// Changes when a copy is due.
    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The copy of a peer's session is due. One that keeps failing is retried after a short pause at least.
    pub(super) fn add(&self, peer: &OwnerName, session: &SessionId, now: Instant) {
        let mut peers = self.peers.lock();
        let due = peers.entry(peer.clone()).or_default();
        if due.running.contains(session) {
            due.again.insert(session.clone());
        } else if due.failing.contains_key(session) {
            due.retry(session, now + REFUSED_PAUSE);
        } else if due.len() < COPIES_PER_PEER_MAX {
            due.fresh.insert(session.clone());
        }
        drop(peers);
        self.changed.send_replace(());
    }

    /// Begins the attempts of a peer anew: nothing is running.
    pub(super) fn restart(&self, peer: &OwnerName) {
        let mut peers = self.peers.lock();
        let due = peers.entry(peer.clone()).or_default();
        due.fresh.extend(due.running.drain());
        due.again.clear();
    }

    /// The next copy that is due; it counts as running.
    pub(super) fn begin(&self, peer: &OwnerName, now: Instant) -> Option<SessionId> {
        self.peers.lock().get_mut(peer)?.begin(now)
    }

    /// When the next failing copy can be retried.
    pub(super) fn next_retry(&self, peer: &OwnerName) -> Option<Instant> {
        let peers = self.peers.lock();
        let due = peers.get(peer).filter(|due| due.may_retry())?;
        due.retries.first().map(|(at, _)| *at)
    }

    pub(super) fn end(&self, peer: &OwnerName, session: &SessionId, attempt: Attempt, now: Instant) {
        let mut peers = self.peers.lock();
        let Some(due) = peers.get_mut(peer).filter(|due| due.running.contains(session)) else { return };
        due.running.remove(session);
        let is_due_again = due.again.remove(session);
        if attempt == Attempt::Done {
            due.failing.remove(session);
            if is_due_again {
                due.fresh.insert(session.clone());
            }
            return;
        }
        let pause = due.failing.entry(session.clone()).or_default().next_pause(attempt);
        let soon = is_due_again.then_some(REFUSED_PAUSE);
        for pause in pause.into_iter().chain(soon) {
            due.retry(session, now + pause);
        }
    }

    /// Retries all failing copies of a peer now: it is in contact again.
    pub(super) fn hasten(&self, peer: &OwnerName, now: Instant) {
        let mut peers = self.peers.lock();
        let Some(due) = peers.get_mut(peer) else { return };
        let waiting: Vec<_> = due.retries.iter().map(|(_, session)| session.clone()).collect();
        for session in waiting {
            due.retry(&session, now);
        }
        drop(peers);
        self.changed.send_replace(());
    }

    /// Whether the log is to warn of a refusal now.
    pub(super) fn is_to_warn(&self, peer: &OwnerName, now: Instant) -> bool {
        let mut peers = self.peers.lock();
        let due = peers.entry(peer.clone()).or_default();
        let is_due = due.warned.is_none_or(|warned| now - warned >= REFUSED_WARNED_EVERY);
        if is_due {
            due.warned = Some(now);
        }
        is_due
    }

    /// The number of copies whose last attempt failed.
    pub(crate) fn behind(&self, peer: &OwnerName) -> usize {
        self.peers.lock().get(peer).map_or(0, |due| due.failing.len())
    }

    /// Forgets a peer whose accord is over.
    pub(super) fn forget(&self, peer: &OwnerName) {
        self.peers.lock().remove(peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(nth: usize) -> SessionId {
        format!("sess_{nth:026}").parse().unwrap()
    }

    fn acme() -> OwnerName {
        "acme".parse().unwrap()
    }

    #[test]
    fn a_copy_that_became_due_while_it_was_updated_is_updated_again() {
        let (due, now) = (DueCopies::default(), Instant::now());
        due.add(&acme(), &session(1), now);
        due.add(&acme(), &session(1), now);
        assert_eq!(due.begin(&acme(), now), Some(session(1)));
        assert_eq!(due.begin(&acme(), now), None, "once");
        due.add(&acme(), &session(1), now);
        assert_eq!(due.begin(&acme(), now), None, "not twice at a time");
        due.end(&acme(), &session(1), Attempt::Done, now);
        assert_eq!(due.begin(&acme(), now), Some(session(1)));
        due.end(&acme(), &session(1), Attempt::Done, now);
        assert_eq!((due.begin(&acme(), now), due.behind(&acme())), (None, 0));
    }

    #[test]
    fn a_refused_copy_is_retried_with_growing_pauses_and_at_last_only_after_news() {
        let (due, mut now) = (DueCopies::default(), Instant::now());
        due.add(&acme(), &session(1), now);
        let mut pauses = Vec::new();
        while due.begin(&acme(), now).is_some() {
            due.end(&acme(), &session(1), Attempt::Refused, now);
            assert_eq!(due.behind(&acme()), 1);
            let Some(next) = due.next_retry(&acme()) else { break };
            assert_eq!(due.begin(&acme(), now), None, "not before");
            pauses.push(next - now);
            now = next;
        }
        assert_eq!(pauses.len(), REFUSALS_MAX as usize - 1);
        assert_eq!((pauses[0], pauses[1]), (REFUSED_PAUSE, REFUSED_PAUSE * 2));
        assert_eq!(pauses.last(), Some(&REFUSED_PAUSE_MAX));
        due.add(&acme(), &session(1), now);
        assert_eq!(due.next_retry(&acme()), Some(now + REFUSED_PAUSE), "news");
        now += REFUSED_PAUSE;
        assert_eq!(due.begin(&acme(), now), Some(session(1)));
        due.end(&acme(), &session(1), Attempt::Done, now);
        assert_eq!(due.behind(&acme()), 0);
    }

    #[test]
    fn an_unanswered_copy_is_retried_for_ever_and_at_once_when_the_peer_is_back() {
        let (due, mut now) = (DueCopies::default(), Instant::now());
        due.add(&acme(), &session(1), now);
        for _ in 0..100 {
            assert_eq!(due.begin(&acme(), now), Some(session(1)));
            due.end(&acme(), &session(1), Attempt::Unanswered, now);
            now = due.next_retry(&acme()).unwrap();
        }
        due.begin(&acme(), now).unwrap();
        due.end(&acme(), &session(1), Attempt::Unanswered, now);
        assert_eq!(due.next_retry(&acme()), Some(now + PULL_PAUSE_MAX));
        due.hasten(&acme(), now);
        assert_eq!(due.begin(&acme(), now), Some(session(1)));
    }

    #[test]
    fn copies_that_fail_leave_room_for_others() {
        let (due, now) = (DueCopies::default(), Instant::now());
        let later = now + PULL_PAUSE_MAX;
        for nth in 0..PULLS_AT_ONCE_MAX {
            due.add(&acme(), &session(nth), now);
            assert_eq!(due.begin(&acme(), now), Some(session(nth)));
        }
        due.add(&acme(), &session(100), now);
        assert_eq!(due.begin(&acme(), later), None, "so many at a time");
        for nth in 0..PULLS_AT_ONCE_MAX {
            due.end(&acme(), &session(nth), Attempt::Unanswered, now);
        }
        let begun: Vec<_> = std::iter::from_fn(|| due.begin(&acme(), later)).collect();
        assert_eq!(begun.len(), RETRIES_AT_ONCE_MAX + 1);
        assert!(begun.contains(&session(100)) && due.next_retry(&acme()).is_none());
    }

    #[test]
    fn a_task_that_begins_anew_loses_nothing_and_an_accord_that_is_over_leaves_nothing() {
        let (due, now) = (DueCopies::default(), Instant::now());
        due.add(&acme(), &session(1), now);
        due.begin(&acme(), now).unwrap();
        due.restart(&acme());
        assert_eq!(due.begin(&acme(), now), Some(session(1)));
        due.end(&acme(), &session(1), Attempt::Refused, now);
        assert!(due.is_to_warn(&acme(), now) && !due.is_to_warn(&acme(), now), "once an hour");
        assert!(due.is_to_warn(&acme(), now + REFUSED_WARNED_EVERY));
        due.forget(&acme());
        due.end(&acme(), &session(1), Attempt::Refused, now);
        assert_eq!(due.behind(&acme()), 0);
    }
}
