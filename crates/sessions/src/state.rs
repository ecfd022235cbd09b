//! The fold of a session: its participants, their standing, and what each may read. Pure.
//! Must not know: trust, connections, or any time except that of events.

use std::collections::{BTreeMap, BTreeSet};

use plenary_kernel::{AgentHandle, OwnerName, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use crate::event::{
    AgentInvited, AgentLeft, FIRST_MESSAGE, SessionEnded, SessionEvent, SessionReopened, event_time,
};

/// Beyond every version.
pub(crate) const EVERY_VERSION: Version = Version(u64::MAX);

/// The standing of a participant (ASP: C.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Added, not yet joined.
    Invited,
    /// In the session.
    Joined,
    /// Was a participant, and is no longer.
    Left,
}

/// Whether a session is active.
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
    /// Its standing.
    pub standing: Standing,
    /// When it last joined.
    pub joined_at: Option<TimestampMs>,
    /// When it last left.
    pub left_at: Option<TimestampMs>,
    /// The version that began its present stay. With a present stay it reads everything (ASP-26, ASP-47).
    pub stay: Option<Version>,
    /// The version that began its last stay, present or past.
    pub since: Version,
    /// It may read every event up to this version, from former stays (ASP-80).
    pub frozen: Version,
    /// The invitation that carried the session's first message to it (ASP-29).
    #[serde(default)]
    pub inline: Option<Version>,
    /// Single further events that it may read: its invitations, the end that came before it could join, the reopening
    /// that invited it again (ASP-46).
    pub glimpses: Vec<Version>,
    /// The version of an `AgentDisconnected` without a later return.
    pub away: Option<Version>,
    /// Whether it was joined when the session last ended (ASP-62).
    pub may_reopen: bool,
    /// Whether a block made it leave: a reopening by it is then "not found" (wire.md D.9).
    pub forced: bool,
    /// The owner of the stranger that invited it, until it answers.
    pub offered_by: Option<String>,
    /// The version of its invitation, until a person of its owner accepts it.
    #[serde(default)]
    pub held: Option<Version>,
    /// Whether it is an agent of another network.
    #[serde(default)]
    pub elsewhere: bool,
    /// The version since which it is a participant. Agents whose events ended before do not see it.
    pub first: Version,
    /// The version of the last change of its standing.
    pub changed: Version,
    /// The agents that it saw act in single events: who invited it, and who reopened the session for it.
    pub met: BTreeSet<AgentHandle>,
}

impl Participant {
    fn new(first: Version) -> Self {
        Self {
            standing: Standing::Left,
            joined_at: None,
            left_at: None,
            stay: None,
            since: Version::ZERO,
            frozen: Version::ZERO,
            inline: None,
            glimpses: Vec::new(),
            away: None,
            may_reopen: false,
            forced: false,
            offered_by: None,
            held: None,
            elsewhere: false,
            first,
            changed: first,
            met: BTreeSet::new(),
        }
    }

    /// Whether it is joined or invited.
    pub fn is_present(&self) -> bool {
        self.standing != Standing::Left
    }

    /// Whether it may read the event at `version`, by its present standing (ASP-71, ASP-78 to ASP-81).
    pub fn may_read(&self, version: Version) -> bool {
        self.stay.is_some() || self.has_glimpse(version)
    }

    /// Whether it may read the event without its present stay. It sees only such events until the read reaches its own
    /// joining.
    pub fn has_glimpse(&self, version: Version) -> bool {
        version <= self.frozen || self.glimpses.contains(&version)
    }

    /// Whether its invitation carried the message at `version` (ASP-29).
    pub fn has_inline(&self, version: Version) -> bool {
        self.inline.is_some() && version == FIRST_MESSAGE
    }

    /// The version up to which it may read messages.
    pub fn last_message(&self) -> Version {
        match (self.stay, self.inline) {
            (Some(_), _) => EVERY_VERSION,
            (None, Some(_)) => self.frozen.max(FIRST_MESSAGE),
            (None, None) => self.frozen,
        }
    }

    /// The next version past `after` that it may read, given that the session is at `head`.
    pub fn next_readable(&self, after: Version, head: Version) -> Option<Version> {
        let next = after.next();
        if self.may_read(next) {
            return (next <= head).then_some(next);
        }
        self.glimpses.iter().copied().filter(|glimpse| *glimpse >= next && *glimpse <= head).min()
    }

    /// Its last invitation, while it can join by it without a person: not one by a stranger, or one that is held.
    pub fn open_invitation(&self) -> Option<Version> {
        let is_open = self.standing == Standing::Invited && self.offered_by.is_none() && self.held.is_none();
        self.glimpses.iter().copied().max().filter(|_| is_open)
    }

    /// The last version that it may read, given that the session is at `head`. Everyone may read the creation.
    pub fn last_readable(&self, head: Version) -> Version {
        if self.stay.is_some() {
            return head;
        }
        self.glimpses.iter().copied().fold(self.frozen.max(Version(1)), Version::max)
    }

    fn join(&mut self, version: Version, at: TimestampMs) {
        (self.standing, self.changed) = (Standing::Joined, version);
        self.joined_at = Some(at);
        self.left_at = None;
        self.stay = Some(version);
        self.since = version;
        self.away = None;
        self.forced = false;
        self.offered_by = None;
        self.held = None;
    }

    /// Ends the stay at a version; events up to `last` remain readable.
    fn leave(&mut self, version: Version, at: TimestampMs, last: Version) {
        (self.standing, self.changed) = (Standing::Left, version);
        self.left_at = Some(at);
        self.away = None;
        if self.stay.take().is_some() {
            self.frozen = last;
            self.glimpses.retain(|glimpse| *glimpse > last);
        }
    }
}

/// The fold of a session's stream. `created` is `None` while the stream is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// The creator, the topic and the time.
    pub created: Option<Creation>,
    /// Whether it is active.
    pub phase: Phase,
    /// When it ended.
    pub ended_at: Option<TimestampMs>,
    /// The version of its last `SessionEnded`.
    pub ended: Version,
    /// Every agent that ever participated.
    pub participants: BTreeMap<AgentHandle, Participant>,
    /// Whether an agent of another network ever participated.
    #[serde(default)]
    pub crosses: bool,
    /// Whether a copy gets no more events, because the accord behind it was revoked or its host was restored.
    #[serde(default)]
    pub closed: bool,
}

/// The creation of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Creation {
    /// The actor.
    pub creator: AgentHandle,
    /// The topic.
    pub topic: Option<String>,
    /// The time of the creation.
    pub at: TimestampMs,
    /// The host, if the session is a copy.
    #[serde(default)]
    pub host: Option<OwnerName>,
}

impl SessionState {
    /// The participant of this handle, current or former.
    pub fn participant(&self, handle: &AgentHandle) -> Option<&Participant> {
        self.participants.get(handle)
    }
    /// The host, if the session is a copy.
    pub fn host(&self) -> Option<&OwnerName> {
        self.created.as_ref()?.host.as_ref()
    }
    /// Everyone with this standing.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &AgentHandle> {
        self.participants.iter().filter(move |(_, p)| p.standing == standing).map(|(handle, _)| handle)
    }
    /// Everyone who is joined or invited.
    pub fn present(&self) -> impl Iterator<Item = &AgentHandle> {
        self.participants.iter().filter(|(_, p)| p.is_present()).map(|(handle, _)| handle)
    }

    /// Whether an agent still has to leave because somebody present blocks it. From an ended session nobody leaves.
    pub(crate) fn awaits_ejection(&self, agent: &AgentHandle, blockers: &[AgentHandle]) -> bool {
        let is_present = |handle| self.participant(handle).is_some_and(Participant::is_present);
        self.phase == Phase::Active && is_present(agent) && blockers.iter().any(is_present)
    }

    fn entry(&mut self, handle: &AgentHandle, version: Version) -> &mut Participant {
        self.participants.entry(handle.clone()).or_insert_with(|| Participant::new(version))
    }

    /// Whether an agent that ever took part knows of a participant: of itself, of everyone who came before its own events
    /// ended, and of whoever invited it. Everyone knows the creator.
    pub fn knows(&self, viewer: &AgentHandle, handle: &AgentHandle) -> bool {
        let (Some(own_part), Some(part)) = (self.participant(viewer), self.participant(handle)) else {
            return false;
        };
        let last = own_part.frozen.max(Version(1));
        own_part.stay.is_some() || viewer == handle || part.first <= last || own_part.met.contains(handle)
    }

    /// The time of the end, if it has ended. The copy of a peer's session may lack the end that followed the leaving of
    /// its last agent: a session in which nobody is joined has ended (ASP-23).
    pub fn shown_end(&self) -> Option<TimestampMs> {
        let is_over = self.phase == Phase::Active && self.standing(Standing::Joined).next().is_none();
        let last_leaving = || self.participants.values().filter_map(|participant| participant.left_at).max();
        self.ended_at.or_else(|| last_leaving().filter(|_| is_over))
    }

    /// Pure: the state after an event.
    pub(crate) fn evolve(&mut self, version: Version, at: TimestampMs, event: &SessionEvent) {
        let at = event.id().map_or(at, |id| event_time(id, at));
        match event {
            SessionEvent::SessionCreated(event) => {
                self.entry(&event.creator, version).join(version, at);
                let (creator, topic) = (event.creator.clone(), event.topic.clone());
                self.created = Some(Creation { creator, topic, at, host: event.host.clone() });
                if event.host.is_some() {
                    self.crosses = true;
                    self.entry(&event.creator, version).elsewhere = true;
                }
            }
            SessionEvent::MessageSent(_) => {}
            SessionEvent::AgentInvited(AgentInvited { denied: true, .. }) => {}
            SessionEvent::AgentInvited(AgentInvited {
                invitee,
                by,
                inline,
                offered,
                held,
                settles,
                elsewhere,
                ..
            }) => {
                let is_elsewhere = *elsewhere || self.host().is_some() && invitee.is_elsewhere();
                self.crosses |= is_elsewhere;
                let participant = self.entry(invitee, version);
                participant.elsewhere = is_elsewhere;
                (participant.standing, participant.changed) = (Standing::Invited, version);
                participant.left_at = None;
                participant.forced = false;
                participant.glimpses.push(version);
                participant.met.insert(by.clone());
                participant.held = held.then_some(version);
                if *inline {
                    participant.inline = Some(version);
                }
                if *offered {
                    participant.offered_by = Some(by.owner().to_owned());
                } else if settles.is_some() {
                    participant.offered_by = None;
                }
            }
            SessionEvent::AgentJoined(event) => self.entry(&event.agent, version).join(version, at),
            SessionEvent::AgentDisconnected(event) => self.entry(&event.agent, version).away = Some(version),
            SessionEvent::AgentReconnected(event) => self.entry(&event.agent, version).away = None,
            SessionEvent::AgentLeft(AgentLeft { agent, forced, reason, .. }) => {
                let is_own = self.host().is_some() && !agent.is_elsewhere();
                self.closed |= is_own && reason.ends_copy();
                let participant = self.entry(agent, version);
                participant.leave(version, at, version);
                participant.forced = *forced;
                participant.offered_by = None;
                participant.held = None;
            }
            SessionEvent::SessionEnded(event) => self.end(version, at, event),
            SessionEvent::SessionReopened(event) => self.reopen(version, at, event),
        }
    }

    /// Ends the session. Joined agents stay joined and may reopen it. Open invitations lapse (ASP-75), and their
    /// holders may read the end.
    fn end(&mut self, version: Version, at: TimestampMs, event: &SessionEnded) {
        (self.phase, self.ended_at, self.ended) = (Phase::Ended, Some(at), version);
        for (handle, participant) in &mut self.participants {
            participant.may_reopen = event.joined.binary_search(handle).is_ok();
            participant.away = None;
            if participant.standing == Standing::Invited {
                participant.leave(version, at, version);
                participant.glimpses.push(version);
            }
        }
    }

    /// Reopens the session: the reopener is joined, and everyone else who was joined keeps access up to the end only
    /// (wire.md D.9). The invitations are separate events.
    fn reopen(&mut self, version: Version, at: TimestampMs, event: &SessionReopened) {
        (self.phase, self.ended_at) = (Phase::Active, None);
        let ended = self.ended;
        for (handle, participant) in &mut self.participants {
            participant.may_reopen = false;
            if *handle != event.by && participant.standing == Standing::Joined {
                participant.leave(version, at, ended);
            }
            if event.returning.binary_search(handle).is_ok() {
                participant.glimpses.push(version);
                participant.met.insert(event.by.clone());
            }
        }
        let reopener = self.entry(&event.by, version);
        if reopener.standing != Standing::Joined {
            reopener.join(version, at);
        }
    }
}
