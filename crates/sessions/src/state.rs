//! The fold of a session: who takes part, how, and what each may read. Pure.
//! Must not know: trust, connections, time but what events carry.

use std::collections::BTreeMap;

use plenary_kernel::{AgentHandle, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use crate::event::{AgentInvited, AgentLeft, SessionEnded, SessionEvent, SessionReopened};

/// Where a participant stands (ASP: C.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Added, not yet joined.
    Invited,
    /// In the session.
    Joined,
    /// Was there, and is not any more.
    Left,
}

/// Whether a session is going on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Going on.
    #[default]
    Active,
    /// Ended; may be reopened.
    Ended,
}

/// One agent in one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    /// Where it stands.
    pub standing: Standing,
    /// When it last joined.
    pub joined_at: Option<TimestampMs>,
    /// When it last left.
    pub left_at: Option<TimestampMs>,
    /// The version at which its present stay began; it then reads everything (ASP-26, ASP-47).
    pub stay: Option<Version>,
    /// The version at which its last stay began, present or past.
    pub since: Version,
    /// It reads everything up to here, from former stays (ASP-80).
    pub frozen: Version,
    /// Single events it may read besides: its invitations, the end that overtook them, the reopening that
    /// brought it back (ASP-46).
    pub glimpses: Vec<Version>,
    /// The version of the `AgentDisconnected` that no return has followed.
    pub away: Option<Version>,
    /// Whether it was joined when the session last ended (ASP-62).
    pub may_reopen: bool,
    /// Whether a block made it leave: its reopening is then not found (wire.md D.9).
    pub forced: bool,
}

impl Participant {
    fn new() -> Self {
        Self {
            standing: Standing::Left,
            joined_at: None,
            left_at: None,
            stay: None,
            since: Version::ZERO,
            frozen: Version::ZERO,
            glimpses: Vec::new(),
            away: None,
            may_reopen: false,
            forced: false,
        }
    }

    /// Whether it is joined or invited.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.standing != Standing::Left
    }

    /// Whether it may read the event at `version`, by what it is now (ASP-71, ASP-78 to ASP-81).
    #[must_use]
    pub fn may_read(&self, version: Version) -> bool {
        self.stay.is_some() || self.has_glimpse(version)
    }

    /// The same without its present stay: what it is shown until its own joining comes along.
    #[must_use]
    pub fn has_glimpse(&self, version: Version) -> bool {
        version <= self.frozen || self.glimpses.contains(&version)
    }

    /// The next version past `after` that it may read, given that the session is at `head`.
    #[must_use]
    pub fn next_readable(&self, after: Version, head: Version) -> Option<Version> {
        let next = after.next();
        if self.may_read(next) {
            return (next <= head).then_some(next);
        }
        self.glimpses.iter().copied().filter(|glimpse| *glimpse >= next && *glimpse <= head).min()
    }

    fn join(&mut self, version: Version, at: TimestampMs) {
        self.standing = Standing::Joined;
        self.joined_at = Some(at);
        self.left_at = None;
        self.stay = Some(version);
        self.since = version;
        self.away = None;
        self.forced = false;
    }

    /// The stay ends; what stood up to `last` remains readable.
    fn leave(&mut self, last: Version, at: TimestampMs) {
        self.standing = Standing::Left;
        self.left_at = Some(at);
        self.away = None;
        if self.stay.take().is_some() {
            self.frozen = last;
            self.glimpses.retain(|glimpse| *glimpse > last);
        }
    }
}

/// The fold of a session's stream. `created` is `None` as long as nothing stands there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// Who created it and when.
    pub created: Option<Created>,
    /// Whether it is going on.
    pub phase: Phase,
    /// When it ended.
    pub ended_at: Option<TimestampMs>,
    /// The version of its last `SessionEnded`.
    pub ended: Version,
    /// Everyone who ever took part.
    pub participants: BTreeMap<AgentHandle, Participant>,
}

/// How a session began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// By whom.
    pub creator: AgentHandle,
    /// What it is about.
    pub topic: Option<String>,
    /// When.
    pub at: TimestampMs,
}

impl SessionState {
    /// The participant of this handle, current or former.
    #[must_use]
    pub fn participant(&self, handle: &AgentHandle) -> Option<&Participant> {
        self.participants.get(handle)
    }
    /// Everyone who stands there.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &AgentHandle> {
        self.participants.iter().filter(move |(_, p)| p.standing == standing).map(|(handle, _)| handle)
    }
    /// Everyone who is joined or invited.
    pub fn present(&self) -> impl Iterator<Item = &AgentHandle> {
        self.participants.iter().filter(|(_, p)| p.is_present()).map(|(handle, _)| handle)
    }

    fn entry(&mut self, handle: &AgentHandle) -> &mut Participant {
        self.participants.entry(handle.clone()).or_insert_with(Participant::new)
    }

    /// Pure: the state after an event.
    pub(crate) fn evolve(&mut self, version: Version, at: TimestampMs, event: &SessionEvent) {
        match event {
            SessionEvent::SessionCreated(event) => {
                self.entry(&event.creator).join(version, at);
                let (creator, topic) = (event.creator.clone(), event.topic.clone());
                self.created = Some(Created { creator, topic, at });
            }
            SessionEvent::MessageSent(_) => {}
            SessionEvent::AgentInvited(AgentInvited { invitee, .. }) => {
                let invited = self.entry(invitee);
                invited.standing = Standing::Invited;
                invited.left_at = None;
                invited.forced = false;
                invited.glimpses.push(version);
            }
            SessionEvent::AgentJoined(event) => self.entry(&event.agent).join(version, at),
            SessionEvent::AgentDisconnected(event) => self.entry(&event.agent).away = Some(version),
            SessionEvent::AgentReconnected(event) => self.entry(&event.agent).away = None,
            SessionEvent::AgentLeft(AgentLeft { agent, forced, .. }) => {
                let left = self.entry(agent);
                left.leave(version, at);
                left.forced = *forced;
            }
            SessionEvent::SessionEnded(event) => self.end(version, at, event),
            SessionEvent::SessionReopened(event) => self.reopen(version, at, event),
        }
    }

    /// Whoever is joined stays so, and may reopen; an invitation that is still open lapses (ASP-75), and its
    /// holder may read the end.
    fn end(&mut self, version: Version, at: TimestampMs, event: &SessionEnded) {
        (self.phase, self.ended_at, self.ended) = (Phase::Ended, Some(at), version);
        for (handle, participant) in &mut self.participants {
            participant.may_reopen = event.joined.binary_search(handle).is_ok();
            participant.away = None;
            if participant.standing == Standing::Invited {
                participant.leave(version, at);
                participant.glimpses.push(version);
            }
        }
    }

    /// The reopener is joined; everyone else who was joined is left with what stood up to the end (wire.md D.9).
    /// The invitations follow as events of their own.
    fn reopen(&mut self, version: Version, at: TimestampMs, event: &SessionReopened) {
        (self.phase, self.ended_at) = (Phase::Active, None);
        let ended = self.ended;
        for (handle, participant) in &mut self.participants {
            participant.may_reopen = false;
            if *handle != event.by && participant.standing == Standing::Joined {
                participant.leave(ended, at);
            }
            if event.returning.binary_search(handle).is_ok() {
                participant.glimpses.push(version);
            }
        }
        let reopener = self.entry(&event.by);
        if reopener.standing != Standing::Joined {
            reopener.join(version, at);
        }
    }
}
