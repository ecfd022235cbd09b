//! The fold of a session: its participants, their standing, and what each may read. Pure.
//! Must not know: trust, connections, or any time except that of events.

use std::collections::BTreeMap;

use plenary_kernel::{AgentHandle, OwnerName, TimestampMs, Version};
use serde::{Deserialize, Serialize};

use crate::event::{
    AgentInvited, AgentLeft, FIRST_MESSAGE, LeftReason, SessionEnded, SessionEvent, SessionReopened,
    event_time,
};

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

/// The shown standing of a participant from one version on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingChange {
    /// The version of the change.
    pub from: Version,
    /// The standing from then on.
    pub standing: Standing,
    /// Its last joining time at that version.
    pub joined_at: Option<TimestampMs>,
    /// Its last leaving time at that version.
    pub left_at: Option<TimestampMs>,
}

/// The phase of a session from one version on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseChange {
    /// The version of the change.
    pub from: Version,
    /// The phase from then on.
    pub phase: Phase,
    /// The time of the end, if it had ended.
    pub ended_at: Option<TimestampMs>,
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
    /// The history of its shown standing: a former member sees everyone's standing at the end of its view.
    pub stood: Vec<StandingChange>,
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
            inline: None,
            glimpses: Vec::new(),
            away: None,
            may_reopen: false,
            forced: false,
            offered_by: None,
            held: None,
            elsewhere: false,
            stood: Vec::new(),
        }
    }

    /// Records its present standing, if that changed.
    fn note(&mut self, from: Version) {
        let Self { standing, joined_at, left_at, .. } = *self;
        let change = StandingChange { from, standing, joined_at, left_at };
        let is_same = |last: &StandingChange| StandingChange { from, ..*last } == change;
        if !self.stood.last().is_some_and(is_same) {
            self.stood.push(change);
        }
    }

    /// The participant as shown at a version; `None` if it did not take part yet.
    fn at(&self, version: Version) -> Option<Self> {
        let count = self.stood.partition_point(|change| change.from <= version);
        let StandingChange { standing, joined_at, left_at, .. } = *self.stood[..count].last()?;
        Some(Self { standing, joined_at, left_at, ..Self::new() })
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
        self.standing = Standing::Joined;
        self.joined_at = Some(at);
        self.left_at = None;
        self.stay = Some(version);
        self.since = version;
        self.away = None;
        self.forced = false;
        self.offered_by = None;
        self.held = None;
    }

    /// Ends the stay; events up to `last` remain readable.
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
    /// The times at which it ended and was reopened.
    pub turned: Vec<PhaseChange>,
    /// Every agent that ever participated.
    pub participants: BTreeMap<AgentHandle, Participant>,
    /// Whether an agent of another network ever participated.
    #[serde(default)]
    pub crosses: bool,
    /// Whether a copy gets no more events, because the accord behind it was revoked.
    #[serde(default)]
    pub closed: bool,
}

/// The part of a session that an agent may see: the state at the end of its stay, and the later single events that it
/// may read. Applying these events gives its view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleSession {
    /// The state at the end of the agent's stay.
    pub base: SessionState,
    /// The versions of the later events that it may read, in order.
    pub later_versions: Vec<Version>,
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

    fn entry(&mut self, handle: &AgentHandle) -> &mut Participant {
        self.participants.entry(handle.clone()).or_insert_with(Participant::new)
    }

    /// The visible part for a participant without a present stay; `None` for one that reads everything, or that never
    /// took part.
    pub fn visible_to(&self, handle: &AgentHandle) -> Option<VisibleSession> {
        let participant = self.participant(handle).filter(|participant| participant.stay.is_none())?;
        // Everyone may see the creation: the invitation names the topic.
        let end = participant.frozen.max(Version(1));
        let mut later_versions: Vec<_> =
            participant.glimpses.iter().copied().filter(|glimpse| *glimpse > end).collect();
        later_versions.sort_unstable();
        later_versions.dedup();
        Some(VisibleSession { base: self.at(end), later_versions })
    }

    /// The state as shown at a version.
    fn at(&self, version: Version) -> Self {
        let phase_change = self.turned.iter().rfind(|phase_change| phase_change.from <= version);
        let participants = self.participants.iter();
        let participants = participants.filter_map(|(handle, p)| Some((handle.clone(), p.at(version)?)));
        Self {
            created: self.created.clone(),
            phase: phase_change.map_or(Phase::Active, |phase_change| phase_change.phase),
            ended_at: phase_change.and_then(|phase_change| phase_change.ended_at),
            participants: participants.collect(),
            ..Self::default()
        }
    }

    /// Pure: the view after one more event that the viewer may read.
    pub(crate) fn glimpse(&mut self, version: Version, at: TimestampMs, event: &SessionEvent) {
        self.evolve(version, at, event);
        // Only a joined agent invites, so the inviter is joined.
        if let SessionEvent::AgentInvited(AgentInvited { by, .. }) = event {
            let inviter = self.entry(by);
            (inviter.standing, inviter.left_at) = (Standing::Joined, None);
        }
    }

    /// Pure: the final view. A session without joined agents has ended (ASP-23), also for a viewer that may not read
    /// the end.
    pub(crate) fn conclude(&mut self) {
        if self.phase == Phase::Active && self.standing(Standing::Joined).next().is_none() {
            self.phase = Phase::Ended;
            self.ended_at = self.participants.values().filter_map(|participant| participant.left_at).max();
        }
    }

    /// Pure: the state after an event.
    pub(crate) fn evolve(&mut self, version: Version, at: TimestampMs, event: &SessionEvent) {
        self.apply(version, at, event);
        for participant in self.participants.values_mut() {
            participant.note(version);
        }
    }

    fn apply(&mut self, version: Version, at: TimestampMs, event: &SessionEvent) {
        let at = event.id().map_or(at, |id| event_time(id, at));
        match event {
            SessionEvent::SessionCreated(event) => {
                self.entry(&event.creator).join(version, at);
                let (creator, topic) = (event.creator.clone(), event.topic.clone());
                self.created = Some(Creation { creator, topic, at, host: event.host.clone() });
                if event.host.is_some() {
                    self.crosses = true;
                    self.entry(&event.creator).elsewhere = true;
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
                let participant = self.entry(invitee);
                participant.elsewhere = is_elsewhere;
                participant.standing = Standing::Invited;
                participant.left_at = None;
                participant.forced = false;
                participant.glimpses.push(version);
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
            SessionEvent::AgentJoined(event) => self.entry(&event.agent).join(version, at),
            SessionEvent::AgentDisconnected(event) => self.entry(&event.agent).away = Some(version),
            SessionEvent::AgentReconnected(event) => self.entry(&event.agent).away = None,
            SessionEvent::AgentLeft(AgentLeft { agent, forced, reason, .. }) => {
                let is_own = self.host().is_some() && !agent.is_elsewhere();
                self.closed |= is_own && *reason == LeftReason::AccordRevoked;
                let participant = self.entry(agent);
                participant.leave(version, at);
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
        self.turned.push(PhaseChange { from: version, phase: Phase::Ended, ended_at: Some(at) });
        for (handle, participant) in &mut self.participants {
            participant.may_reopen = event.joined.binary_search(handle).is_ok();
            participant.away = None;
            if participant.standing == Standing::Invited {
                participant.leave(version, at);
                participant.glimpses.push(version);
            }
        }
    }

    /// Reopens the session: the reopener is joined, and everyone else who was joined keeps access up to the end only
    /// (wire.md D.9). The invitations are separate events.
    fn reopen(&mut self, version: Version, at: TimestampMs, event: &SessionReopened) {
        (self.phase, self.ended_at) = (Phase::Active, None);
        self.turned.push(PhaseChange { from: version, phase: Phase::Active, ended_at: None });
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
