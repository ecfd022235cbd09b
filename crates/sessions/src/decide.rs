//! The deciders of the Agent Session Protocol. No I/O, clock, randomness or async. Pure.
//! Order of checks everywhere: the caller's token, participation (404), the body (400), the state (409).

mod people;

use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, MessageId, OwnerName, Refusal, SessionId, Stamp, Version};

pub(crate) use self::people::are_strangers;
pub use self::people::{FileNaming, People};

use crate::{
    PARTICIPANTS_MAX,
    command::{
        Acknowledgement as Done, Caller, CreateBody, CreateSession, Draft, EndSession, EvictAgent,
        ExpireGrace, InviteAgents, InviteReceipt, JoinSession, LeaveSession, MessageAccepted, NoteDisconnect,
        NoteReconnect, ReopenSession, SendMessage, SessionOpened, SettleInvitation,
    },
    event::{
        AgentLeft, AgentMoved, LapsedOffer, LeftReason, MessageSent, NamedFile, Names, SessionCreated,
        SessionEnded, SessionEvent, SessionReopened, sequence,
    },
    files::{SESSIONS_PER_FILE_MAX, named_too_often, unknown_file},
    state::{Participant, Phase, SessionState, Standing},
};

/// A normal "no".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The token was revoked before the append.
    Unauthenticated,
    /// The session does not exist, is not the caller's, or trust denies the contact: one answer for all (ASP-18,
    /// ASP-19).
    NotFound,
    /// The body is refused.
    Body(Refusal),
    /// The caller takes part but is not joined.
    NotJoined,
    /// The session is the copy of a peer's session, and gets no more events.
    CopyOver,
    /// A person of the caller's owner must first decide about the invitation.
    InvitationHeld,
    /// The session has ended.
    SessionEnded,
    /// The session is active.
    SessionActive,
    /// The caller was not joined when the session ended.
    NotReopenable,
    /// The session has the maximum number of participants.
    SessionFull,
    /// The caller's owner has the maximum number of unanswered invitations at an invitee that does not list the caller.
    TooManyInvitations,
    /// The session belongs to this peer, which decides.
    Elsewhere(OwnerName),
    /// The networks of these agents must first be asked whether they take an invitation.
    AskElsewhere(Vec<AgentHandle>),
    /// The peer that hosts the session can't be reached, or gives an invalid answer.
    HostUnreachable,
    /// The network of an invitee did not answer.
    InviteeUnreachable,
}

/// Rejects a command on a session that a peer hosts, unless the copy is closed.
fn check_local(state: &SessionState) -> Result<(), Rejection> {
    let host = state.host().filter(|_| !state.closed);
    host.map_or(Ok(()), |peer| Err(Rejection::Elsewhere(peer.clone())))
}

/// Whether a peer decides commands on the session.
fn is_elsewhere(state: &SessionState) -> bool {
    state.host().is_some()
}

type Answer<T> = Result<Decision<SessionEvent, T>, Rejection>;

/// Mints the ids of one decision in order.
struct Ids<'a>(&'a Stamp, u64);

impl Ids<'_> {
    fn next(&mut self) -> String {
        self.1 += 1;
        self.0.ulid(self.1).to_string()
    }
}

fn message_id(ulid: &str) -> MessageId {
    format!("msg_{ulid}").parse().expect("a ULID is upper-case letters and digits")
}

fn participant<'a>(state: &'a SessionState, caller: &Caller) -> Result<&'a Participant, Rejection> {
    state.participant(&caller.handle).ok_or(Rejection::NotFound)
}

/// The rejection of a caller that is not joined. Nobody can join a copy that has ended.
fn not_joined(state: &SessionState) -> Rejection {
    if state.closed { Rejection::CopyOver } else { Rejection::NotJoined }
}

/// Checks that the participant is joined in an active session (ASP-72, ASP-73).
fn check_joined(state: &SessionState, participant: &Participant) -> Result<(), Rejection> {
    if state.phase == Phase::Ended {
        return Err(Rejection::SessionEnded);
    }
    if participant.standing != Standing::Joined {
        return Err(not_joined(state));
    }
    Ok(())
}

/// The event of a message at a version. The message may name only files that its sender may read and that still exist.
fn message(
    ids: &mut Ids<'_>,
    people: &People,
    at: Version,
    draft: Draft,
    stamp: &Stamp,
) -> Result<MessageSent, Rejection> {
    let mut files = Vec::new();
    for id in draft.files {
        match people.files.get(&id) {
            Some(FileNaming::NamedBefore) => {}
            Some(FileNaming::First { sessions, .. }) if *sessions >= SESSIONS_PER_FILE_MAX => {
                return Err(Rejection::Body(named_too_often()));
            }
            Some(FileNaming::First { pending, .. })
                if pending.as_ref().is_none_or(|p| stamp.now.0 < p.until) =>
            {
                files.push(NamedFile { id, pending: pending.clone() });
            }
            Some(FileNaming::First { .. }) | None => return Err(Rejection::Body(unknown_file())),
        }
    }
    Ok(MessageSent {
        id: ids.next(),
        sender: people.caller.handle.clone(),
        origin: draft.origin,
        names: (!files.is_empty()).then(|| Box::new(Names { at, files, elsewhere: false })),
        trace: draft.trace,
        members: draft.members,
    })
}

fn agent_moved(ids: &mut Ids<'_>, agent: &AgentHandle) -> AgentMoved {
    AgentMoved { id: ids.next(), agent: agent.clone(), released: false, settles: None }
}

fn session_ended(
    ids: &mut Ids<'_>,
    by: Option<&AgentHandle>,
    joined: Vec<AgentHandle>,
    uncounted: Vec<LapsedOffer>,
) -> SessionEvent {
    SessionEvent::SessionEnded(SessionEnded { id: ids.next(), by: by.cloned(), joined, uncounted })
}

/// The offers that lapse because an agent of the invitee's owner ends the session. Others still count: otherwise to
/// invite and end, again and again, would have no limit.
fn uncounted_offers(state: &SessionState, ender: &AgentHandle) -> Vec<LapsedOffer> {
    let offer = |(invitee, part): (&AgentHandle, &Participant)| {
        let is_own = part.standing == Standing::Invited && invitee.owner() == ender.owner();
        let owner = part.offered_by.clone().filter(|_| is_own)?;
        Some(LapsedOffer { invitee: invitee.clone(), owner })
    };
    state.participants.iter().filter_map(offer).collect()
}

/// Creates a session (ASP-22, ASP-55, ASP-61, ASP-64). One unreachable invitee refuses the whole (2.5 row 5).
pub fn create(
    id: &SessionId,
    command: &CreateSession,
    people: &People,
    stamp: &Stamp,
) -> Answer<SessionOpened> {
    let creator = &command.caller.handle;
    people.check_caller(&command.caller)?;
    let CreateBody { invite, topic, initial_message, end_after_send } =
        command.body.clone().map_err(Rejection::Body)?;
    let invite: Vec<_> = invite.into_iter().filter(|invitee| invitee != creator).collect();
    people.check_peers_asked(invite.iter())?;
    if !invite.iter().all(|invitee| people.reaches(invitee, invite.iter())) {
        return Err(Rejection::NotFound);
    }
    let empty_state = SessionState::default();
    if invite.iter().any(|invitee| people.is_crowded(&empty_state, invitee)) {
        return Err(Rejection::TooManyInvitations);
    }
    let mut ids = Ids(stamp, 0);
    let mut events =
        vec![SessionEvent::SessionCreated(SessionCreated { creator: creator.clone(), topic, host: None })];
    let first =
        initial_message.map(|draft| message(&mut ids, people, Version(2), draft, stamp)).transpose()?;
    let has_message = first.is_some();
    events.extend(first.map(SessionEvent::MessageSent));
    let invitation = |invitee| people.invitation(&mut ids, &empty_state, invitee, end_after_send);
    events.extend(invite.iter().map(invitation));
    if end_after_send {
        let mut participants = invite;
        participants.push(creator.clone());
        participants.sort();
        events.push(session_ended(&mut ids, Some(creator), participants, Vec::new()));
    }
    Ok(Decision::new(events, SessionOpened { session_id: id.clone(), sequence: has_message.then_some(1) }))
}

/// Joins (ASP-42, ASP-58). Joining twice changes nothing.
pub fn join(state: &SessionState, command: &JoinSession, people: &People, stamp: &Stamp) -> Answer<Done> {
    people.check_caller(&command.0)?;
    let participant = participant(state, &command.0)?;
    // The decision of a person of this network applies also if a peer hosts the session.
    if !(participant.standing == Standing::Invited
        && participant.held.is_some()
        && state.phase == Phase::Active)
    {
        check_local(state)?;
    }
    if state.phase == Phase::Ended {
        return Err(Rejection::SessionEnded);
    }
    match participant.standing {
        Standing::Joined => Ok(Decision::unchanged(Done { ok: true })),
        Standing::Left => Err(not_joined(state)),
        Standing::Invited if participant.held.is_some() => Err(Rejection::InvitationHeld),
        Standing::Invited => {
            let settles = participant.offered_by.clone();
            let change = AgentMoved { settles, ..agent_moved(&mut Ids(stamp, 0), &command.0.handle) };
            Ok(Decision::new(vec![SessionEvent::AgentJoined(change)], Done { ok: true }))
        }
    }
}

/// Sends a message (ASP-32 to ASP-38).
pub fn send(
    state: &SessionState,
    at: Version,
    command: &SendMessage,
    people: &People,
    stamp: &Stamp,
) -> Answer<MessageAccepted> {
    people.check_caller(&command.caller)?;
    let participant = participant(state, &command.caller)?;
    let draft = command.draft.clone().map_err(Rejection::Body)?;
    check_local(state)?;
    check_joined(state, participant)?;
    let message = message(&mut Ids(stamp, 0), people, at.next(), draft, stamp)?;
    let reply = MessageAccepted { message_id: message_id(&message.id), sequence: sequence(at.next()) };
    Ok(Decision::new(vec![SessionEvent::MessageSent(message)], reply))
}

/// Invites (ASP-17, ASP-66, ASP-76). Each invitee is decided separately; if trust denies some and nobody is invited,
/// the answer is the common 404.
pub fn invite(
    state: &SessionState,
    command: &InviteAgents,
    people: &People,
    stamp: &Stamp,
) -> Answer<InviteReceipt> {
    let caller = &command.caller.handle;
    people.check_caller(&command.caller)?;
    let participant = participant(state, &command.caller)?;
    let candidates = command.invite.clone().map_err(Rejection::Body)?;
    check_local(state)?;
    check_joined(state, participant)?;
    // An invitation by an agent of the invitee's owner replaces one that is held. The copies of other networks know no
    // invitation of an invitee.
    let replaces =
        |part: &Participant, invitee: &AgentHandle| part.held.is_some() && invitee.owner() == caller.owner();
    let is_absent = |invitee: &&AgentHandle| {
        let part = state.participant(invitee).filter(|part| part.is_present());
        *invitee != caller && part.is_none_or(|part| replaces(part, invitee) && !state.crosses)
    };
    people.check_peers_asked(candidates.iter().filter(is_absent))?;
    let company = || candidates.iter().filter(|candidate| people.is_company(candidate));
    let (invitees, denied_invitees): (Vec<_>, Vec<_>) = candidates
        .iter()
        .filter(is_absent)
        .partition(|invitee| people.reaches(invitee, state.present().chain(company())));
    if invitees.is_empty() && !denied_invitees.is_empty() {
        return Err(Rejection::NotFound);
    }
    let (crowded_invitees, invitees): (Vec<_>, Vec<_>) =
        invitees.into_iter().partition(|invitee| people.is_crowded(state, invitee));
    if invitees.is_empty() && !crowded_invitees.is_empty() {
        return Err(Rejection::TooManyInvitations);
    }
    check_room(state, &invitees)?;
    let mut ids = Ids(stamp, 0);
    let events = invitees.iter().map(|invitee| people.invitation(&mut ids, state, invitee, false)).collect();
    Ok(Decision::new(events, InviteReceipt { invited: invitees.into_iter().cloned().collect() }))
}

fn check_room(state: &SessionState, invitees: &[&AgentHandle]) -> Result<(), Rejection> {
    let new = invitees.iter().filter(|invitee| state.participant(invitee).is_none()).count();
    if state.participants.len() + new > PARTICIPANTS_MAX { Err(Rejection::SessionFull) } else { Ok(()) }
}

/// The events of a leaving. They include the end if nobody is joined any more (ASP-23), or if a block leaves only the
/// blocker and no invitation is open (ASP-14).
fn departure(
    state: &SessionState,
    ids: &mut Ids<'_>,
    agent: &AgentHandle,
    reason: LeftReason,
    forced_by: Option<&AgentHandle>,
    forced: bool,
) -> Vec<SessionEvent> {
    let part = state.participant(agent);
    let settles = part.and_then(|part| part.offered_by.clone());
    let held = part.is_some_and(|part| part.held.is_some());
    let event = AgentLeft { id: ids.next(), agent: agent.clone(), reason, forced, held, settles };
    let mut events = vec![SessionEvent::AgentLeft(event)];
    let remaining: Vec<_> =
        state.standing(Standing::Joined).filter(|handle| *handle != agent).cloned().collect();
    let has_invited = state.standing(Standing::Invited).any(|handle| handle != agent);
    let is_blocker_alone = forced_by.is_some_and(|blocker| remaining == [blocker.clone()]) && !has_invited;
    if remaining.is_empty() || is_blocker_alone {
        events.push(session_ended(ids, None, remaining, uncounted_offers(state, forced_by.unwrap_or(agent))));
    }
    events
}

/// Leaves (ASP-60, ASP-68).
pub fn leave(state: &SessionState, command: &LeaveSession, people: &People, stamp: &Stamp) -> Answer<Done> {
    people.check_caller(&command.0)?;
    let participant = participant(state, &command.0)?;
    check_local(state)?;
    check_joined(state, participant)?;
    let events = departure(state, &mut Ids(stamp, 0), &command.0.handle, LeftReason::Left, None, false);
    Ok(Decision::new(events, Done { ok: true }))
}

/// Ends the session (ASP-60, ASP-68, ASP-75).
pub fn end(state: &SessionState, command: &EndSession, people: &People, stamp: &Stamp) -> Answer<Done> {
    people.check_caller(&command.0)?;
    let participant = participant(state, &command.0)?;
    check_local(state)?;
    check_joined(state, participant)?;
    let remaining = state.standing(Standing::Joined).cloned().collect();
    let caller = &command.0.handle;
    let event = session_ended(&mut Ids(stamp, 0), Some(caller), remaining, uncounted_offers(state, caller));
    Ok(Decision::new(vec![event], Done { ok: true }))
}

/// Reopens (ASP-24, ASP-62, ASP-69): agents that trust denies are silently left out.
pub fn reopen(
    state: &SessionState,
    at: Version,
    command: &ReopenSession,
    people: &People,
    stamp: &Stamp,
) -> Answer<Done> {
    let caller = &command.caller.handle;
    people.check_caller(&command.caller)?;
    let participant = participant(state, &command.caller)?;
    if participant.forced {
        return Err(Rejection::NotFound);
    }
    let body = command.body.clone().map_err(Rejection::Body)?;
    // The decision of a person of this network applies also if a peer hosts the session.
    let is_held = participant.may_reopen && participant.held.is_some();
    if is_held && state.phase == Phase::Ended {
        match people.consent {
            None => return Err(Rejection::InvitationHeld),
            Some(false) => return Err(Rejection::NotReopenable),
            Some(true) => {}
        }
    }
    check_local(state)?;
    if state.phase == Phase::Active {
        return Err(Rejection::SessionActive);
    }
    if !participant.may_reopen {
        return Err(Rejection::NotReopenable);
    }
    let candidates: Vec<_> = match body.invite {
        Some(invitees) => invitees,
        None => state
            .participants
            .iter()
            .filter(|(_, p)| p.may_reopen)
            .map(|(handle, _)| handle.clone())
            .collect(),
    };
    people.check_peers_asked(candidates.iter().filter(|invitee| *invitee != caller))?;
    let company = || candidates.iter().filter(|candidate| people.is_company(candidate));
    let invitees: Vec<_> = candidates
        .iter()
        .filter(|invitee| *invitee != caller && people.reaches(invitee, company()))
        .filter(|invitee| !people.is_crowded(state, invitee))
        .collect();
    check_room(state, &invitees)?;
    let mut returning: Vec<_> =
        invitees.iter().copied().filter(|invitee| state.participant(invitee).is_some()).cloned().collect();
    returning.sort();
    let mut ids = Ids(stamp, 0);
    let settles = participant.offered_by.clone();
    let event = SessionReopened { id: ids.next(), by: caller.clone(), returning, settles };
    let mut events = vec![SessionEvent::SessionReopened(event)];
    if let Some(draft) = body.initial_message {
        let message = message(&mut ids, people, at.next().next(), draft, stamp)?;
        events.push(SessionEvent::MessageSent(message));
    }
    events.extend(invitees.into_iter().map(|invitee| people.invitation(&mut ids, state, invitee, false)));
    Ok(Decision::new(events, Done { ok: true }))
}

/// The agent's participation, if it is joined in an active session of this network.
fn active<'a>(state: &'a SessionState, agent: &AgentHandle) -> Option<&'a Participant> {
    let participant = state.participant(agent)?;
    let is_joined = state.phase == Phase::Active && participant.standing == Standing::Joined;
    // In a session of a peer, local connections are not reported.
    (is_joined && !is_elsewhere(state)).then_some(participant)
}

/// The last connection dropped (ASP-49).
pub fn disconnect(
    state: &SessionState,
    command: &NoteDisconnect,
    stamp: &Stamp,
) -> Decision<SessionEvent, Done> {
    match active(state, &command.0) {
        Some(participant) if participant.away.is_none() => {
            let event = SessionEvent::AgentDisconnected(agent_moved(&mut Ids(stamp, 0), &command.0));
            Decision::new(vec![event], Done { ok: true })
        }
        _ => Decision::unchanged(Done { ok: true }),
    }
}

/// The first connection came back (ASP-50); has an effect only after a disconnect.
pub fn reconnect(
    state: &SessionState,
    command: &NoteReconnect,
    stamp: &Stamp,
) -> Decision<SessionEvent, Done> {
    match active(state, &command.0) {
        Some(participant) if participant.away.is_some() => {
            let event = SessionEvent::AgentReconnected(agent_moved(&mut Ids(stamp, 0), &command.0));
            Decision::new(vec![event], Done { ok: true })
        }
        _ => Decision::unchanged(Done { ok: true }),
    }
}

/// The grace window is over (ASP-51).
pub fn expire(state: &SessionState, command: &ExpireGrace, stamp: &Stamp) -> Decision<SessionEvent, Done> {
    match active(state, &command.agent) {
        Some(participant) if participant.away == Some(command.since) => {
            let mut ids = Ids(stamp, 0);
            let events = departure(state, &mut ids, &command.agent, LeftReason::GraceExpired, None, false);
            Decision::new(events, Done { ok: true })
        }
        _ => Decision::unchanged(Done { ok: true }),
    }
}

/// Makes an agent leave (ASP-14). The event looks like any other leaving, and ends a pending invitation. The reply is
/// not `ok` if a peer decides.
pub fn evict(state: &SessionState, command: &EvictAgent, stamp: &Stamp) -> Decision<SessionEvent, Done> {
    if is_elsewhere(state) {
        return Decision::unchanged(Done { ok: false });
    }
    let is_present = |handle| state.participant(handle).is_some_and(Participant::is_present);
    let applies = state.phase == Phase::Active
        && is_present(&command.agent)
        && command.blocker.as_ref().is_none_or(is_present);
    if !applies {
        return Decision::unchanged(Done { ok: true });
    }
    let mut ids = Ids(stamp, 0);
    let blocker = command.blocker.as_ref();
    let events = departure(state, &mut ids, &command.agent, LeftReason::Left, blocker, blocker.is_some());
    Decision::new(events, Done { ok: true })
}

/// Applies a person's decision about a held invitation: the agent joins or leaves. A second decision changes nothing.
/// The reply is not `ok` if a peer decides.
pub fn settle(
    state: &SessionState,
    command: &SettleInvitation,
    stamp: &Stamp,
) -> Decision<SessionEvent, Done> {
    if is_elsewhere(state) {
        return Decision::unchanged(Done { ok: false });
    }
    let SettleInvitation { agent, at, accepted } = command;
    let is_waiting = |part: &&Participant| part.standing == Standing::Invited && part.held == Some(*at);
    let part = state.participant(agent).filter(is_waiting).filter(|_| state.phase == Phase::Active);
    let Some(part) = part else { return Decision::unchanged(Done { ok: true }) };
    let mut ids = Ids(stamp, 0);
    let events = if *accepted {
        let settles = part.offered_by.clone();
        vec![SessionEvent::AgentJoined(AgentMoved {
            released: true,
            settles,
            ..agent_moved(&mut ids, agent)
        })]
    } else {
        departure(state, &mut ids, agent, LeftReason::Left, None, false)
    };
    Decision::new(events, Done { ok: true })
}

/// Parts with a peer: its agents leave, or in a copy of the peer's session the agents of this network.
pub fn part(
    state: &SessionState,
    peer: &OwnerName,
    reason: LeftReason,
    stamp: &Stamp,
) -> Decision<SessionEvent, Done> {
    let is_copy = state.host() == Some(peer);
    let must_leave = |(handle, part): &(&AgentHandle, &Participant)| {
        let is_of_peer = part.elsewhere && handle.of_peer().is_some_and(|(_, at)| at == *peer);
        part.is_present() && if is_copy { !part.elsewhere } else { is_of_peer }
    };
    let leaving: Vec<_> = state.participants.iter().filter(must_leave).collect();
    if leaving.is_empty() || is_elsewhere(state) && !is_copy {
        return Decision::unchanged(Done { ok: true });
    }
    let mut ids = Ids(stamp, 0);
    let departures = leaving.iter().map(|(agent, part)| {
        SessionEvent::AgentLeft(AgentLeft {
            id: ids.next(),
            agent: (*agent).clone(),
            reason,
            forced: true,
            held: part.held.is_some(),
            settles: part.offered_by.clone(),
        })
    });
    let mut events: Vec<_> = departures.collect();
    let is_leaving = |handle: &&AgentHandle| leaving.iter().any(|(agent, _)| agent == handle);
    let is_over = state.standing(Standing::Joined).all(|handle| is_leaving(&handle));
    if is_over && !is_copy && state.phase == Phase::Active {
        events.push(session_ended(&mut ids, None, Vec::new(), Vec::new()));
    }
    Decision::new(events, Done { ok: true })
}
