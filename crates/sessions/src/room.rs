//! The session as a room of the engine: its streams, its indexes, and its commands with their facts.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use parking_lot::Mutex;
use plenary_accounts::{Accounts, KnownAgent, may_contact};
use plenary_engine::{Command, Conditions, Decided, Point, Room};
use plenary_kernel::{
    AgentHandle, FileId, OwnerName, SessionId, TimestampMs, Version, limits::READ_ROWS_MAX,
};
use plenary_log::{Condition, Fault, IndexOp, Log, NewEvent, Order, StreamName, Usage};

use crate::{
    Sessions,
    command::{
        Acknowledgement as Done, Caller, CreateSession, Draft, EndSession, EvictAgent, ExpireGrace,
        InviteAgents, InviteReceipt, JoinSession, LeaveSession, MessageAccepted, NoteDisconnect,
        NoteReconnect, PartWithPeer, ReopenSession, SendMessage, SessionOpened, SettleInvitation,
    },
    crossing::{Consent, Crossing},
    decide::{self, FileNaming, People, Rejection},
    event::{AgentInvited, MessageSent, NamedFile, Names, Pending, SessionEvent},
    files::{
        self, FileRoom,
        event::{FileEvent, FileNamed},
        state::FileState,
    },
    state::SessionState,
};

/// Every session in which an agent ever took part, except those in [`OFFERED`]: `<handle>/<session>`.
pub(crate) const BY_AGENT: &str = "sessions.by_agent";
/// The sessions with an unanswered invitation by a stranger: `<handle>/<session>`. A separate index, so that strangers
/// do not make the agent's own list longer.
pub(crate) const OFFERED: &str = "sessions.offered";
/// The indexes with every session of an agent, to be read in this order: an offer that is answered between the two reads appears
/// in both, not in neither.
pub(crate) const EVERY_PART: &[&str] = &[OFFERED, BY_AGENT];
/// The entries of [`OFFERED`] by the owner of the inviter: `<handle>/<owner>/<session>`.
pub(crate) const OFFERED_BY: &str = "sessions.offered_by";
/// The active sessions that an agent is joined in: `<handle>/<session>`.
pub(crate) const JOINED: &str = "sessions.joined";
/// The agents whose transport dropped and may return: `<handle>/<session>`.
pub(crate) const AWAY: &str = "sessions.away";

/// The sessions of this network in which agents of a peer take or took part: `<peer>/<session>`.
pub(crate) const BY_PEER: &str = "sessions.by_peer";
/// The copies of a peer's sessions: `<peer>/<session>`.
pub(crate) const COPIES: &str = "sessions.copies";

/// The fixed quota charge of an invitation.
const INVITATION_USAGE: Usage = Usage { bytes: 512, events: 1 };

/// Sessions as a room of the engine.
#[derive(Debug)]
pub(crate) struct SessionRoom;

impl Room for SessionRoom {
    type State = SessionState;
    type Event = SessionEvent;
    const CATEGORY: &'static str = "sessions.session";
    const SNAPSHOT_FORM: u16 = 5;
    const MOSTLY_SHORT: bool = true;

    fn folds(event: &SessionEvent) -> bool {
        !matches!(event, SessionEvent::MessageSent(_))
    }
    fn evolve(state: &mut SessionState, version: Version, at: TimestampMs, event: &SessionEvent) {
        state.evolve(version, at, event);
    }
    /// In a copy, the session's creator pays, so that no owner of this network pays for a peer's events.
    fn payer(_: &str, state: &SessionState, event: &SessionEvent) -> Option<OwnerName> {
        let actor = match event {
            SessionEvent::SessionCreated(event) => &event.creator,
            SessionEvent::MessageSent(event) => &event.sender,
            SessionEvent::AgentJoined(event) => &event.agent,
            SessionEvent::AgentInvited(event) => &event.by,
            SessionEvent::SessionReopened(event) => &event.by,
            SessionEvent::AgentDisconnected(_)
            | SessionEvent::AgentReconnected(_)
            | SessionEvent::AgentLeft(_)
            | SessionEvent::SessionEnded(_) => return None,
        };
        let copy = state.created.as_ref().filter(|created| created.host.is_some());
        Some(copy.map_or(actor, |created| &created.creator).owner_name())
    }
    /// A fixed charge: the size of an invitation would reveal whether the invitee knows the inviter.
    fn fixed_usage(event: &SessionEvent) -> Option<Usage> {
        matches!(event, SessionEvent::AgentInvited(_)).then_some(INVITATION_USAGE)
    }
    /// A side event for each file that the message is the first of its session to name.
    fn follow(id: &str, _: Version, event: &SessionEvent) -> Vec<(StreamName, NewEvent)> {
        let SessionEvent::MessageSent(MessageSent { names: Some(names), .. }) = event else {
            return Vec::new();
        };
        if names.elsewhere {
            return Vec::new();
        }
        let Ok(session) = id.parse::<SessionId>() else { return Vec::new() };
        let file_named_event = |file: &NamedFile| {
            let event = FileEvent::FileNamed(FileNamed { session: session.clone() });
            (FileRoom::stream(file.id.as_str()), FileRoom::encode(&event))
        };
        names.files.iter().map(file_named_event).collect()
    }
    fn index(id: &str, event: &SessionEvent) -> Vec<IndexOp> {
        let key = |handle: &AgentHandle| format!("{handle}/{id}");
        let put = |name, handle| IndexOp::put(name, key(handle));
        let delete = |name, handle| IndexOp::delete(name, key(handle));
        match event {
            SessionEvent::SessionCreated(event) => {
                let mut rows = vec![put(BY_AGENT, &event.creator), put(JOINED, &event.creator)];
                rows.extend(event.host.as_ref().map(|peer| peer_row(COPIES, peer, id)));
                rows
            }
            SessionEvent::MessageSent(event) => {
                event.names.iter().flat_map(|names| file_rows(id, names)).collect()
            }
            SessionEvent::AgentInvited(event) if event.denied => Vec::new(),
            SessionEvent::AgentInvited(event) if event.offered => {
                let key_of = |owner| offer_key(&event.invitee, owner, id);
                let earlier_rows = event.settles.iter();
                let earlier_rows = earlier_rows.map(|owner| IndexOp::delete(OFFERED_BY, key_of(owner)));
                let (key, value) = (key_of(event.by.owner()), Bytes::new());
                let new_rows = [put(OFFERED, &event.invitee), IndexOp::put_value(OFFERED_BY, key, value)];
                earlier_rows.chain(new_rows).collect()
            }
            SessionEvent::AgentInvited(event) => {
                answered_offer_rows(id, &event.invitee, event.settles.as_deref())
                    .into_iter()
                    .chain([put(BY_AGENT, &event.invitee)])
                    .chain(crossing_to(event).map(|(_, peer)| peer_row(BY_PEER, &peer, id)))
                    .collect()
            }
            SessionEvent::AgentJoined(event) => {
                answered_offer_rows(id, &event.agent, event.settles.as_deref())
                    .into_iter()
                    .chain([put(JOINED, &event.agent)])
                    .collect()
            }
            SessionEvent::AgentDisconnected(event) => vec![put(AWAY, &event.agent)],
            SessionEvent::AgentReconnected(event) => vec![delete(AWAY, &event.agent)],
            SessionEvent::AgentLeft(event) => answered_offer_rows(id, &event.agent, event.settles.as_deref())
                .into_iter()
                .chain([delete(JOINED, &event.agent), delete(AWAY, &event.agent)])
                .collect(),
            SessionEvent::SessionEnded(event) => {
                let lapsed_rows = event
                    .uncounted
                    .iter()
                    .map(|offer| IndexOp::delete(OFFERED_BY, offer_key(&offer.invitee, &offer.owner, id)));
                let joined_rows =
                    event.joined.iter().flat_map(|agent| [delete(JOINED, agent), delete(AWAY, agent)]);
                joined_rows.chain(lapsed_rows).collect()
            }
            SessionEvent::SessionReopened(event) => {
                answered_offer_rows(id, &event.by, event.settles.as_deref())
                    .into_iter()
                    .chain([put(JOINED, &event.by)])
                    .collect()
            }
        }
    }
}

/// The index rows for files that a message is the first of its session to name. The first message of all sessions also
/// removes a file from the unnamed ones.
fn file_rows<'a>(id: &'a str, names: &'a Names) -> impl Iterator<Item = IndexOp> + 'a {
    names.files.iter().flat_map(move |file| {
        let key = files::naming_key(&file.id, id, names.at);
        let name = if names.elsewhere { files::NAMED_ELSEWHERE } else { files::NAMED };
        let put = IndexOp::put(name, key);
        let pending = file.pending.iter().flat_map(move |pending| {
            let (by_time, by_agent) = (
                files::unnamed_key(pending.until, file.id.as_str()),
                files::unnamed_of_key(&pending.by, file.id.as_str()),
            );
            [IndexOp::delete(files::UNNAMED, by_time), IndexOp::delete(files::UNNAMED_OF, by_agent)]
        });
        [put].into_iter().chain(pending)
    })
}

fn peer_row(name: &'static str, peer: &OwnerName, id: &str) -> IndexOp {
    IndexOp::put(name, format!("{peer}/{id}"))
}

/// The invitee of an invitation to another network, by its name there, and that network.
fn crossing_to(event: &AgentInvited) -> Option<(AgentHandle, OwnerName)> {
    event.elsewhere.then(|| event.invitee.of_peer()).flatten()
}

fn offer_key(invitee: &AgentHandle, owner: &str, id: &str) -> String {
    format!("{invitee}/{owner}/{id}")
}

/// The index rows after an agent has answered a stranger's offer: the session moves to its own list.
fn answered_offer_rows(id: &str, agent: &AgentHandle, owner: Option<&str>) -> Vec<IndexOp> {
    let Some(owner) = owner else { return Vec::new() };
    let key = format!("{agent}/{id}");
    vec![
        IndexOp::put(BY_AGENT, key.clone()),
        IndexOp::delete(OFFERED, key),
        IndexOp::delete(OFFERED_BY, offer_key(agent, owner, id)),
    ]
}

/// A command of an agent.
pub(crate) trait OfAgent {
    type Reply;
    fn caller(&self) -> &Caller;
    /// Whether everyone that it named was reached, or it named nobody.
    fn reached_all(&self, reply: &Self::Reply) -> bool;
    /// The files that its message names.
    fn files(&self) -> &[FileId];
}

/// A command with the data needed to load its facts.
pub(crate) struct CommandContext<C> {
    pub(crate) accounts: Accounts,
    pub(crate) offers: Offers,
    pub(crate) id: SessionId,
    pub(crate) command: C,
    /// The agents named in the command, and whether each was read from the store when it was loaded.
    pub(crate) named_agents: Mutex<Vec<(KnownAgent, bool)>>,
    /// The sessions, for file lookups.
    pub(crate) sessions: Sessions,
    /// The files of its message that the caller may read. This permission is never lost, so it is checked once.
    pub(crate) readable_files: BTreeSet<FileId>,
    /// The peer of the caller, if the caller belongs to another network.
    pub(crate) caller_peer: Option<OwnerName>,
    /// The answers of other networks to the invitations.
    pub(crate) consents: BTreeMap<AgentHandle, Option<Consent>>,
}

/// Counts the unanswered offers of strangers to an agent.
pub(crate) struct Offers {
    pub(crate) log: Log,
    pub(crate) max: usize,
    /// Sessions older than this id no longer count.
    pub(crate) since: SessionId,
}

impl Offers {
    /// Whether an owner's agents have the maximum number of unanswered invitations at an agent.
    async fn are_full(&self, invitee: &AgentHandle, owner: &str) -> Result<bool, Fault> {
        let prefix = offer_key(invitee, owner, "");
        let (mut after, mut count) = (offer_key(invitee, owner, self.since.as_str()), 0);
        while count < self.max {
            let max = READ_ROWS_MAX.min(self.max - count);
            let rows = self.log.read_index(OFFERED_BY, &prefix, Some(&after), max, Order::Ascending).await?;
            count += rows.len();
            let is_full_page = rows.len() == max;
            match rows.into_iter().next_back() {
                Some(last) if is_full_page => after = last.key,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl<C> CommandContext<C> {
    /// Makes a denied agent cost the same as an absent one: each named agent is read from the store exactly once
    /// (ASP-18, ASP-19).
    pub(crate) async fn equalize_cost(&self) -> Result<(), Fault> {
        let named_agents = std::mem::take(&mut *self.named_agents.lock());
        for (agent, _) in named_agents.iter().filter(|(_, was_read)| !was_read) {
            self.accounts.imitate_load(agent).await?;
        }
        Ok(())
    }

    fn note(&self, agent: &KnownAgent, was_read: bool) {
        let mut named_agents = self.named_agents.lock();
        if named_agents.iter().all(|(earlier, _)| earlier.handle != agent.handle) {
            named_agents.push((agent.clone(), was_read));
        }
    }
}

impl<C: OfAgent + Sync> CommandContext<C> {
    /// The caller, everyone named, and for a contact attempt everyone present. Each version is a condition of
    /// the append, so that trust is decided inside it (ASP-17).
    async fn people<'a>(
        &self,
        caller: &Caller,
        named_agents: &'a [AgentHandle],
        present: impl Iterator<Item = &'a AgentHandle> + Send,
        conditions: &mut Conditions,
    ) -> Result<People, Fault> {
        let caller_agent = self.accounts.agent(&caller.handle).await?;
        conditions.push(caller_agent.condition());
        let (mut others, mut crowded_agents) = (BTreeMap::new(), BTreeSet::new());
        let mut crossing = self.crossing(conditions).await?;
        let everyone =
            named_agents.iter().map(|handle| (handle, true)).chain(present.map(|handle| (handle, false)));
        for (handle, is_named) in everyone {
            if *handle != caller.handle && !others.contains_key(handle) {
                let (other, was_read) = self.accounts.look_agent_up(handle).await?;
                if handle.is_elsewhere() {
                    self.add_peer_agent(&other, &mut crossing, conditions).await?;
                } else if is_named && !self.takes_part_with_caller(handle).await? {
                    crossing.nonparticipants.insert(handle.clone());
                }
                if is_named {
                    self.note(&other, was_read);
                    let is_offer =
                        may_contact(&caller_agent, &other) && decide::are_strangers(&caller_agent, &other);
                    if is_offer && self.offers.are_full(handle, caller.handle.owner()).await? {
                        crowded_agents.insert(handle.clone());
                    }
                }
                conditions.push(other.condition());
                others.insert(handle.clone(), other);
            }
        }
        let files = self.file_namings(conditions).await?;
        Ok(People { caller: caller_agent, others, crowded_agents, files, consent: None, crossing })
    }

    /// The facts about a caller of another network: whether the accord holds, and no owner here has its name.
    async fn crossing(&self, conditions: &mut Vec<Condition>) -> Result<Crossing, Fault> {
        let mut crossing = Crossing { consents: self.consents.clone(), ..Crossing::default() };
        if let Some(peer) = &self.caller_peer {
            let caller = self.command.caller().handle.owner_name();
            crossing.caller = Some(self.has_accord(peer, &caller, conditions).await?);
        }
        Ok(crossing)
    }

    /// Whether the agent's owner takes part in the accord with the caller's network; true for a caller of this network.
    async fn takes_part_with_caller(&self, handle: &AgentHandle) -> Result<bool, Fault> {
        let (Some(peer), Some(carrier)) = (&self.caller_peer, self.sessions.0.crossings.carrier()) else {
            return Ok(true);
        };
        carrier.takes_part(peer, &handle.owner_name()).await
    }

    /// Records an agent of another network whose accord holds.
    async fn add_peer_agent(
        &self,
        other: &KnownAgent,
        crossing: &mut Crossing,
        conditions: &mut Vec<Condition>,
    ) -> Result<(), Fault> {
        if let Some((_, peer)) = other.handle.of_peer()
            && self.has_accord(&peer, &other.handle.owner_name(), conditions).await?
        {
            crossing.peer_agents.insert(other.handle.clone());
        }
        Ok(())
    }

    /// Whether the accord with a peer holds, and no owner of this network has the same name.
    async fn has_accord(
        &self,
        peer: &OwnerName,
        owner: &OwnerName,
        conditions: &mut Vec<Condition>,
    ) -> Result<bool, Fault> {
        let Some(carrier) = self.sessions.0.crossings.carrier() else { return Ok(false) };
        if self.accounts.owner(owner).await?.state.exists() {
            return Ok(false);
        }
        let Some(condition) = carrier.accord_condition(peer).await? else { return Ok(false) };
        conditions.push(condition);
        Ok(true)
    }

    /// The state of the files that the message names. The version of a file that is new to the session becomes a
    /// condition, so that a named file is not removed concurrently.
    async fn file_namings(
        &self,
        conditions: &mut Vec<Condition>,
    ) -> Result<BTreeMap<FileId, FileNaming>, Fault> {
        let mut namings = BTreeMap::new();
        for id in self.command.files().iter().filter(|id| self.readable_files.contains(id)) {
            let prefix = format!("{id}/{}/", self.id);
            let rows =
                self.sessions.log().read_index(files::NAMED, &prefix, None, 1, Order::Ascending).await?;
            if !rows.is_empty() {
                namings.insert(id.clone(), FileNaming::NamedBefore);
                continue;
            }
            let file = self.sessions.0.files.streams.look_up(id.as_str()).await?;
            conditions.push(Condition {
                stream: FileRoom::stream(id.as_str()),
                expected: file.version,
                upon: file.upon,
            });
            if let FileState::Kept { by, until, sessions, .. } = &*file.state {
                let pending = (*sessions == 0).then(|| Pending { by: by.clone(), until: *until });
                namings.insert(id.clone(), FileNaming::First { pending, sessions: *sessions });
            }
        }
        Ok(namings)
    }
}

impl CommandContext<ReopenSession> {
    async fn reopening_facts<'a>(
        &self,
        state: &'a SessionState,
        invitees: &'a [AgentHandle],
        present: impl Iterator<Item = &'a AgentHandle> + Send,
        conditions: &mut Conditions,
    ) -> Result<People, Fault> {
        let caller = &self.command.caller;
        let mut facts = self.people(caller, invitees, present, conditions).await?;
        if let Some(at) = state.participant(&caller.handle).and_then(|own| own.held) {
            facts.consent = self.sessions.consent(&self.id, &caller.handle, at).await?;
        }
        Ok(facts)
    }
}

/// A command of an authenticated agent.
macro_rules! agent_command {
    ($name:literal, $command:ty => $reply:ty, |$this:ident, $state:ident, $conditions:ident| $facts:expr, |$s:ident, $at:ident, $c:ident, $id:ident, $people:ident, $stamp:ident| $decide:expr) => {
        impl Command<SessionRoom> for CommandContext<$command> {
            const NAME: &'static str = $name;
            type Reply = $reply;
            type Rejection = Rejection;
            type Facts = People;
            async fn facts(
                &self,
                $state: &SessionState,
                conditions: &mut Conditions,
            ) -> Result<People, Fault> {
                let ($this, $conditions) = (self, conditions);
                $facts.await
            }
            fn decide(&self, $s: &SessionState, $people: &People, at: &Point) -> Decided<SessionRoom, Self> {
                let $at = at.version;
                let $stamp = &at.stamp;
                let ($c, $id) = (&self.command, &self.id);
                $decide
            }
        }
    };
}

fn no_agents<'a>() -> std::iter::Empty<&'a AgentHandle> {
    std::iter::empty()
}

agent_command!("create_session", CreateSession => SessionOpened,
    |this, _state, conditions| {
        let invitees = this.command.body.as_ref().map_or(&[][..], |body| &body.invite);
        this.people(&this.command.caller, invitees, no_agents(), conditions)
    },
    |_s, _at, c, id, people, stamp| decide::create(id, c, people, stamp));
agent_command!("invite_agents", InviteAgents => InviteReceipt,
    |this, state, conditions| {
        let invitees = this.command.invite.as_ref().map_or(&[][..], |invitees| invitees);
        this.people(&this.command.caller, invitees, state.present(), conditions)
    },
    |s, _at, c, _id, people, stamp| decide::invite(s, c, people, stamp));
agent_command!("reopen_session", ReopenSession => Done,
    |this, state, conditions| {
        let invitees = this.command.body.as_ref().ok().and_then(|body| body.invite.as_deref());
        let everyone = invitees.is_none().then_some(state.participants.keys()).into_iter().flatten();
        this.reopening_facts(state, invitees.unwrap_or_default(), everyone, conditions)
    },
    |s, at, c, _id, people, stamp| decide::reopen(s, at, c, people, stamp));
agent_command!("send_message", SendMessage => MessageAccepted,
    |this, _state, conditions| this.people(&this.command.caller, &[], no_agents(), conditions),
    |s, at, c, _id, people, stamp| decide::send(s, at, c, people, stamp));
agent_command!("join_session", JoinSession => Done,
    |this, _state, conditions| this.people(&this.command.0, &[], no_agents(), conditions),
    |s, _at, c, _id, people, stamp| decide::join(s, c, people, stamp));
agent_command!("leave_session", LeaveSession => Done,
    |this, _state, conditions| this.people(&this.command.0, &[], no_agents(), conditions),
    |s, _at, c, _id, people, stamp| decide::leave(s, c, people, stamp));
agent_command!("end_session", EndSession => Done,
    |this, _state, conditions| this.people(&this.command.0, &[], no_agents(), conditions),
    |s, _at, c, _id, people, stamp| decide::end(s, c, people, stamp));

macro_rules! of_agent {
    ($command:ty => $reply:ty, $caller:tt) => {
        of_agent!($command => $reply, $caller, |_command, _reply| true);
    };
    ($command:ty => $reply:ty, $caller:tt, |$this:ident, $answer:ident| $reached:expr) => {
        of_agent!($command => $reply, $caller, |$this, $answer| $reached, |_command| None::<&Draft>);
    };
    ($command:ty => $reply:ty, $caller:tt, |$this:ident, $answer:ident| $reached:expr,
        |$that:ident| $draft:expr) => {
        impl OfAgent for $command {
            type Reply = $reply;
            fn caller(&self) -> &Caller {
                &self.$caller
            }
            fn reached_all(&self, $answer: &$reply) -> bool {
                let $this = self;
                $reached
            }
            fn files(&self) -> &[FileId] {
                let $that = self;
                $draft.map_or(&[][..], |draft: &Draft| &draft.files[..])
            }
        }
    };
}

of_agent!(CreateSession => SessionOpened, caller, |_command, _reply| true,
    |this| this.body.as_ref().ok().and_then(|body| body.initial_message.as_ref()));
of_agent!(InviteAgents => InviteReceipt, caller,
    |this, reply| this.invite.as_ref().is_ok_and(|invitees| invitees.len() == reply.invited.len()));
// Does not report which agents were left out.
of_agent!(ReopenSession => Done, caller,
    |this, _reply| this.body.as_ref().is_ok_and(|body| body.invite.is_none()),
    |this| this.body.as_ref().ok().and_then(|body| body.initial_message.as_ref()));
of_agent!(SendMessage => MessageAccepted, caller, |_command, _reply| true,
    |this| this.draft.as_ref().ok());
of_agent!(JoinSession => Done, 0);
of_agent!(LeaveSession => Done, 0);
of_agent!(EndSession => Done, 0);

/// A command of the server itself. It is never rejected; where it does not apply, it does nothing.
macro_rules! internal {
    ($name:literal, $command:ty, $decide:expr) => {
        impl Command<SessionRoom> for $command {
            const NAME: &'static str = $name;
            type Reply = Done;
            type Rejection = std::convert::Infallible;
            type Facts = ();
            async fn facts(&self, _: &SessionState, _: &mut Conditions) -> Result<(), Fault> {
                Ok(())
            }
            fn decide(&self, state: &SessionState, (): &(), at: &Point) -> Decided<SessionRoom, Self> {
                Ok($decide(state, self, &at.stamp))
            }
        }
    };
}

internal!("note_disconnect", NoteDisconnect, decide::disconnect);
internal!("note_reconnect", NoteReconnect, decide::reconnect);
internal!("expire_grace", ExpireGrace, decide::expire);
internal!("evict_agent", EvictAgent, decide::evict);
internal!("settle_invitation", SettleInvitation, decide::settle);
internal!("part_with_peer", PartWithPeer, |state, command: &PartWithPeer, stamp| {
    decide::part(state, &command.peer, command.reason, stamp)
});
