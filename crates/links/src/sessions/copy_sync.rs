//! Keeps the copies of peers' sessions up to date. One task for each peer asks it for news, and beside that reads new events
//! from the end of each copy that is due. A lost or unusable response is requested again.
//! Must not know: the rules of a session.

use std::{collections::HashMap, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use http::StatusCode;
use plenary_kernel::{AccordId, OwnerName, SessionId, TimestampMs, Version, limits::READ_ROWS_MAX};
use plenary_log::Fault;
use plenary_sessions::crossing::{
    COPIES_PER_PEER_MAX, CopyError, CopyProgress,
    copy::{CopyEvents, CopyRefusal, local_event},
    names::Naming,
    wire::{CrossingAsk, CrossingEvents, CrossingNewsAsk, CrossingNewsPage},
};
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::{sync::CancellationToken, task::JoinMap};

use super::{LinkedPeer, due::Attempt, offers};
use crate::{
    Links,
    limits::{
        ANSWER_WITHIN, COPIED_BYTES_PER_MINUTE_MAX, EVENTS_ANSWER_BYTES_MAX, NEWS_ANSWER_BYTES_MAX,
        NEWS_APART, NEWS_WAIT_MS_MAX, PULL_PAUSE, PULL_PAUSE_MAX, UNKNOWN_PAUSE,
    },
    peer_calls::{AnswerLimits, CallFailure},
};

/// How often the server looks for invitations that another process took.
const OFFERS_CHECKED_EVERY: Duration = Duration::from_secs(5);

/// Why a copy is not up to date.
#[derive(Debug)]
pub(super) enum NotPulled {
    /// The peer was not reached, or the store of this network failed.
    Unanswered(String),
    /// The peer sent invalid events, or it has no such session for this network.
    Refused(String),
}

impl From<Fault> for NotPulled {
    fn from(fault: Fault) -> Self {
        Self::Unanswered(fault.to_string())
    }
}

impl From<CallFailure> for NotPulled {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::Refused(StatusCode::NOT_FOUND, _) => {
                Self::Refused("there is no such session".into())
            }
            CallFailure::Refused(..) | CallFailure::Unreachable(_) => Self::Unanswered(failure.to_string()),
        }
    }
}

impl From<CopyError> for NotPulled {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Fault(fault) => fault.into(),
            CopyError::OverQuota => Self::Unanswered("the peer stores as much here as it may".into()),
            CopyError::Refused(CopyRefusal::Ended) => Self::Unanswered("the accord ended".into()),
            CopyError::Refused(CopyRefusal::NotForwarded) => Self::Refused(
                "an agent of this network joined, invited or reopened there, which this network did not forward".into(),
            ),
            CopyError::Refused(refusal) => Self::Refused(format!("{refusal:?}")),
        }
    }
}

/// The tasks of this process.
#[derive(Default)]
struct PullTasks {
    tasks: JoinMap<AccordId, ()>,
    /// Since when the accords are over whose participations are ended. An accord has the id of its invitation, so the id does not
    /// tell them apart.
    parted: HashMap<OwnerName, TimestampMs>,
    /// The active accords of the last round.
    active: HashMap<OwnerName, AccordId>,
}

impl Links {
    /// Keeps copies up to date until `stop`, and ends the participations under revoked accords.
    pub(crate) async fn maintain_copies(self, stop: CancellationToken) {
        let (mut pulling, mut changes) = (PullTasks::default(), self.0.changed.subscribe());
        let mut expecting = self.0.expecting.subscribe();
        loop {
            let pause = match self.begin_pulling(&mut pulling).await {
                Ok(()) => OFFERS_CHECKED_EVERY,
                Err(fault) => {
                    tracing::warn!(%fault, "what crosses to peers cannot be looked after now");
                    PULL_PAUSE
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                Ok(()) = changes.changed() => {}
                Ok(()) = expecting.changed() => {}
                // A task ends with its accord, or by a bug; the next round starts it again if the accord is active.
                Some(_ended) = pulling.tasks.join_next() => {}
                () = sleep(pause) => {}
            }
        }
    }

    async fn begin_pulling(&self, pulling: &mut PullTasks) -> Result<(), Fault> {
        let peers = self.peers().await?;
        for (name, peer) in &peers.all {
            if peer.active().is_none() {
                pulling.active.remove(name);
                self.0.full.forget(&peer.accord);
                self.0.outages.end(&peer.accord);
                self.0.due.forget(name);
                let is_over = peer.was_linked && pulling.parted.get(name) != Some(&peer.since);
                if is_over {
                    self.0.sessions.part_with(name).await?;
                    pulling.parted.insert(name.clone(), peer.since);
                }
                continue;
            }
            // A new accord does not continue the participations under the previous one.
            if pulling.active.get(name).is_some_and(|accord| *accord != peer.accord) {
                self.0.sessions.part_with(name).await?;
            }
            pulling.active.insert(name.clone(), peer.accord.clone());
            if pulling.tasks.contains_key(&peer.accord) || !offers::has_any(self.log(), name).await? {
                continue;
            }
            let linked =
                LinkedPeer { peer: name.clone(), network: peer.network.clone(), accord: peer.accord.clone() };
            let links = self.clone();
            pulling.tasks.spawn(peer.accord.clone(), async move {
                let changes = links.0.changed.subscribe();
                tokio::select! {
                    () = links.follow(&linked) => {}
                    () = links.accord_end(changes, &linked.accord) => {}
                }
            });
        }
        Ok(())
    }

    /// Follows a peer while its accord is active.
    async fn follow(&self, linked: &LinkedPeer) {
        tokio::select! {
            () = self.hear_news(linked) => {}
            () = self.catch_up(linked) => {}
        }
    }

    /// Notes which copies are due, by the news of the peer.
    async fn hear_news(&self, linked: &LinkedPeer) {
        let (mut after, mut mark, mut pause, mut is_first) = (0, None, PULL_PAUSE, true);
        let limits = AnswerLimits {
            bytes: NEWS_ANSWER_BYTES_MAX,
            within: Duration::from_millis(NEWS_WAIT_MS_MAX) + ANSWER_WITHIN,
        };
        loop {
            if !matches!(self.linked(&linked.peer).await, Ok(Some(current)) if current.accord == linked.accord)
            {
                return;
            }
            let ask = CrossingNewsAsk { after, mark: mark.clone(), wait_ms: NEWS_WAIT_MS_MAX };
            let started_at = Instant::now();
            let page: Result<CrossingNewsPage, _> = self.ask_linked(linked, "news", &ask, limits).await;
            let page = match page {
                Ok(page) => page,
                Err(failure) => {
                    self.begin_outage(linked, &failure);
                    sleep(jittered(pause)).await;
                    pause = (pause * 2).min(PULL_PAUSE_MAX);
                    continue;
                }
            };
            pause = PULL_PAUSE;
            if self.0.outages.end(&linked.accord) {
                tracing::info!(peer = %linked.peer, "a peer tells news of sessions again");
                self.0.due.hasten(&linked.peer, Instant::now());
                self.note_leaving(linked).await;
            }
            let mut unknown = 0;
            for id in page.sessions.iter().take(COPIES_PER_PEER_MAX) {
                // At first also those that a backup of this network does not know: their events show who was invited.
                if is_first || self.is_known(linked, id).await.unwrap_or(true) {
                    self.0.due.add(&linked.peer, id, Instant::now());
                } else {
                    unknown += 1;
                }
            }
            (after, mark, is_first) = (page.at, page.mark, false);
            // A peer that names what it never offered is asked less often.
            sleep_until(started_at + NEWS_APART + UNKNOWN_PAUSE * unknown).await;
        }
    }

    /// Whether this network took an invitation into a session of a peer, or has a copy of it.
    async fn is_known(&self, linked: &LinkedPeer, id: &SessionId) -> Result<bool, Fault> {
        Ok(offers::has(self.log(), &linked.peer, id).await?
            || self.0.sessions.has_copy(&linked.peer, id).await?)
    }

    /// Updates the copies that are due.
    async fn catch_up(&self, linked: &LinkedPeer) {
        let LinkedPeer { peer, accord, .. } = linked;
        let (due, mut changes, mut running) = (&self.0.due, self.0.due.subscribe(), FuturesUnordered::new());
        due.restart(peer);
        loop {
            changes.mark_unchanged();
            while let Some(id) = due.begin(peer, Instant::now()) {
                running.push(async move {
                    let updated = self.update(linked, &id).await;
                    (id, updated)
                });
            }
            let next_retry = due.next_retry(peer);
            tokio::select! {
                Some((id, updated)) = running.next() => {
                    let attempt = match updated {
                        Ok(()) => Attempt::Done,
                        Err(NotPulled::Unanswered(reason)) => {
                            tracing::debug!(%peer, session = %id, why = %reason, "a copy is behind");
                            Attempt::Unanswered
                        }
                        Err(NotPulled::Refused(reason)) => {
                            self.0.full.clear(accord, &id);
                            self.say_refused(linked, &id, &reason);
                            Attempt::Refused
                        }
                    };
                    due.end(peer, &id, attempt, Instant::now());
                }
                Ok(()) = changes.changed() => {}
                () = sleep_until(next_retry.unwrap_or_else(Instant::now)), if next_retry.is_some() => {}
            }
        }
    }

    /// Says in the log that events of a peer are refused: once an hour, because a peer may send any number of them.
    fn say_refused(&self, linked: &LinkedPeer, id: &SessionId, reason: &str) {
        if self.0.due.is_to_warn(&linked.peer, Instant::now()) {
            tracing::warn!(
                peer = %linked.peer, session = %id, why = %reason,
                "events of a peer are refused, so the copy of a session is behind; for an hour the log says this of no other session \
                 of the peer, and `plenary peer list` counts them"
            );
        } else {
            tracing::debug!(peer = %linked.peer, session = %id, why = %reason, "events of a peer are refused");
        }
    }

    /// Updates a copy, and asks the host to remove who may no longer share the session.
    async fn update(&self, linked: &LinkedPeer, id: &SessionId) -> Result<(), NotPulled> {
        let pulled = self.pull(linked, id, None).await;
        let has_decided = self.0.sessions.settle_copy(id).await?;
        match pulled {
            Err(NotPulled::Refused(reason)) if !self.is_known(linked, id).await? => {
                tracing::debug!(peer = %linked.peer, session = %id, why = %reason, "there is no invitation into a session");
                Ok(())
            }
            Ok(()) if !has_decided => {
                Err(NotPulled::Unanswered("its host has not decided about an agent that has to leave".into()))
            }
            pulled => pulled,
        }
    }

    /// Notes that a peer tells no news. The log says it once an outage.
    fn begin_outage(&self, linked: &LinkedPeer, failure: &CallFailure) {
        let why = failure.of_accord();
        if self.0.outages.begin(&linked.accord, self.now(), &why) {
            tracing::warn!(peer = %linked.peer, %why, "a peer tells no news of sessions, so the copies here get no events");
        }
    }

    /// After an outage of a peer, notes the copies with participants that were blocked or deleted meanwhile.
    async fn note_leaving(&self, linked: &LinkedPeer) {
        let mut after = None::<String>;
        loop {
            let ids = match self.0.sessions.copies_of(&linked.peer, after.as_deref()).await {
                Ok(ids) => ids,
                Err(fault) => {
                    return tracing::warn!(%fault, "the copies of a peer's sessions cannot be listed");
                }
            };
            for id in &ids {
                if self.0.sessions.has_to_settle(id).await.unwrap_or(true) {
                    self.0.due.add(&linked.peer, id, Instant::now());
                }
            }
            let Some(last) = ids.last().filter(|_| ids.len() == READ_ROWS_MAX) else { return };
            after = Some(last.as_str().to_owned());
        }
    }

    /// Updates a copy to the end of the session, or to a version.
    pub(super) async fn pull(
        &self,
        linked: &LinkedPeer,
        id: &SessionId,
        until: Option<Version>,
    ) -> Result<(), NotPulled> {
        let limits = AnswerLimits { bytes: EVENTS_ANSWER_BYTES_MAX, within: ANSWER_WITHIN };
        let is_offered = offers::has(self.log(), &linked.peer, id).await?;
        loop {
            let (version, last) = match self.0.sessions.copy_progress(&linked.peer, id).await? {
                CopyProgress::Open { version, last } => (version, last),
                // The session goes on at the host without this network.
                CopyProgress::Over => return Ok(()),
                CopyProgress::Impossible => {
                    return Err(NotPulled::Refused(
                        "its id is taken, or the peer has too many copies here".into(),
                    ));
                }
            };
            if until.is_some_and(|until| version >= until) {
                return Ok(());
            }
            self.wait_for_share(linked).await;
            let ask = CrossingAsk { session_id: id.clone(), after: version.0, last };
            let answer: Box<RawValue> = self.ask_linked(linked, "events", &ask, limits).await?;
            let unreadable = || NotPulled::Refused("an event is not what it should be".into());
            let page: CrossingEvents = serde_json::from_str(answer.get()).map_err(|_| unreadable())?;
            if page.diverged {
                return Ok(self.end_diverged(linked, id).await?);
            }
            if page.events.is_empty() {
                return Ok(());
            }
            self.0.copied_bytes.add(&linked.accord, answer.get().len(), self.now());
            let mut has_more = page.more;
            let naming = Naming { peer: linked.peer.clone(), us: page.you };
            if !naming.us.may_name_peer() {
                return Err(unreadable());
            }
            let events: Option<Vec<_>> =
                page.events.into_iter().map(|event| local_event(event, &naming)).collect();
            let events = events.ok_or_else(unreadable)?;
            let peer = linked.peer.clone();
            let mut command = CopyEvents { peer, first: version.next(), events, is_offered };
            let mut appended = self.0.sessions.append_to_copy(id, command.clone()).await;
            // Where not all events fit into the room that is left, fewer may.
            while matches!(appended, Err(CopyError::OverQuota)) && command.events.len() > 1 {
                command.events.truncate(command.events.len() / 2);
                has_more = true;
                appended = self.0.sessions.append_to_copy(id, command.clone()).await;
            }
            self.note_full(linked, id, matches!(appended, Err(CopyError::OverQuota)));
            // Where the copy took only the first events, the answer to the next one says why.
            has_more |= appended?.0 < version.0 + command.events.len() as u64;
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Notes whether a copy waits for room. The log says it once an hour: the copy is retried every few seconds.
    fn note_full(&self, linked: &LinkedPeer, id: &SessionId, is_full: bool) {
        if !is_full {
            return self.0.full.clear(&linked.accord, id);
        }
        if self.0.full.wait(&linked.accord, id, self.now()) {
            tracing::warn!(
                peer = %linked.peer,
                "a peer stores as much here as it may, so new messages of its sessions wait: see `plenary peer list`, and raise \
                 `peer_stored_bytes_max` or `peer_stored_events_max` under [quota] in plenary.toml"
            );
        }
    }

    /// Waits while a peer has reached its share of bytes per minute.
    async fn wait_for_share(&self, linked: &LinkedPeer) {
        while self.0.copied_bytes.of(&linked.accord, self.now()) >= COPIED_BYTES_PER_MINUTE_MAX {
            sleep(PULL_PAUSE).await;
        }
    }
}

/// Varies a pause by up to a quarter, so that retries do not coincide.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [0; 1];
    getrandom::fill(&mut byte).expect("the system has randomness");
    pause.mul_f64(0.75 + f64::from(byte[0]) / 512.0)
}
