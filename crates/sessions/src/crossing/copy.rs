//! The copy of a peer's session: decides which events of the host are added. Each event is added once, in order, under
//! its number at the host. Events that are impossible in the session's present state are refused as a whole. Pure.
//! Must not know: how events arrive.

use std::collections::{BTreeMap, BTreeSet};

use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, MessageId, OwnerName, Stamp, Version};
use serde::{Deserialize, Serialize};

use super::{names::Naming, wire::CrossingEvent};
use crate::{
    PARTICIPANTS_MAX, TOPIC_CHARS_MAX,
    event::{
        AgentInvited, AgentLeft, AgentMoved, MessageSent, NamedFile, Names, Origin, SessionCreated,
        SessionEnded, SessionEvent, SessionReopened,
    },
    request::Fields,
    state::{Participant, Phase, SessionState, Standing},
};

/// Events of a peer's session, to be added to its copy.
#[derive(Debug, Clone)]
pub struct CopyEvents {
    /// The peer.
    pub peer: OwnerName,
    /// The version of the first event.
    pub first: Version,
    /// The events, in the names of this network.
    pub events: Vec<SessionEvent>,
    /// Whether this network took an invitation into the session. Otherwise a copy begins only with one that it would take.
    pub is_offered: bool,
}

/// An act of an agent of this network in a peer's session. The host alone cannot claim it: it counts only if this network has
/// forwarded a command of the agent for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnAct {
    /// The agent.
    pub agent: AgentHandle,
    /// What it does.
    pub deed: Deed,
}

/// What an agent does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// It joins.
    Join,
    /// It reopens the session.
    Reopen,
    /// It invites another agent of this network.
    Invite(AgentHandle),
    /// It reopens the session for whoever took part.
    InviteReturning,
}

/// The facts about the agents that the events name.
#[derive(Debug, Clone, Default)]
pub struct CopyFacts {
    /// Whether the accord holds.
    pub has_accord: bool,
    /// The acts of agents of this network that were forwarded to the host.
    pub forwarded: BTreeSet<OwnAct>,
    /// The agents of this network that the accord admits.
    pub admitting: BTreeMap<AgentHandle, Admission>,
}

/// An agent of this network that may be invited.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    /// The inviters that it admits.
    pub from: BTreeSet<AgentHandle>,
    /// Whether a person of its owner must accept first.
    pub needs_consent: bool,
}

/// The progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyReceipt {
    /// The version of its last event.
    pub version: Version,
}

/// The reason why events are not added to a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyRefusal {
    /// The accord does not hold.
    Ended,
    /// The id belongs to something other than a copy of a session of this peer, or the copy is closed.
    Taken,
    /// Earlier events are missing.
    Gap,
    /// The next event is an act of an agent of this network that this network has not forwarded. The events before it are
    /// added, so that the agent can repeat its command.
    NotForwarded,
    /// The copy would begin without an invitation for an agent of this network.
    Uninvited,
    /// The events are impossible in a session.
    Impossible(&'static str),
}

/// Decides which of the events are new, and adds them.
pub fn copy(
    state: &SessionState,
    at: Version,
    command: &CopyEvents,
    facts: &CopyFacts,
    _: &Stamp,
) -> Result<Decision<SessionEvent, CopyReceipt>, CopyRefusal> {
    if !facts.has_accord {
        return Err(CopyRefusal::Ended);
    }
    let is_new = at == Version::ZERO;
    if state.closed || !is_new && state.host() != Some(&command.peer) {
        return Err(CopyRefusal::Taken);
    }
    if command.first > at.next() {
        return Err(CopyRefusal::Gap);
    }
    let copied_count = usize::try_from(at.next().0 - command.first.0).unwrap_or(usize::MAX);
    let (mut state, mut version) = (state.clone(), at);
    let mut events = Vec::new();
    for event in command.events.iter().skip(copied_count) {
        let mut event = admit(&state, event.clone(), facts)?;
        if !is_forwarded(&state, &event, facts) {
            if events.is_empty() {
                return Err(CopyRefusal::NotForwarded);
            }
            break;
        }
        version = version.next();
        if let SessionEvent::MessageSent(MessageSent { names: Some(names), .. }) = &mut event {
            names.at = version;
        }
        state.evolve(version, plenary_kernel::TimestampMs(0), &event);
        events.push(event);
    }
    if is_new && !command.is_offered && !events.iter().any(is_taken_invitation) {
        return Err(CopyRefusal::Uninvited);
    }
    Ok(Decision::new(events, CopyReceipt { version }))
}

/// Whether this is an invitation of an agent of this network, which it takes.
fn is_taken_invitation(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::AgentInvited(invited) if !invited.invitee.is_elsewhere() && !invited.denied)
}

/// The invitation of an agent of this network by another one.
fn own_invitation(event: &SessionEvent) -> Option<&AgentInvited> {
    let SessionEvent::AgentInvited(invited) = event else { return None };
    (!invited.invitee.is_elsewhere() && !invited.by.is_elsewhere()).then_some(invited)
}

/// The acts, one of which this network must have forwarded before the event counts; none if no agent of this network acts, or
/// not on others.
pub(super) fn acts_behind(event: &SessionEvent) -> Vec<OwnAct> {
    let (agent, deeds) = if let SessionEvent::AgentJoined(change) = event {
        (&change.agent, vec![Deed::Join])
    } else if let SessionEvent::SessionReopened(reopening) = event {
        (&reopening.by, vec![Deed::Reopen])
    } else if let Some(invited) = own_invitation(event) {
        (&invited.by, vec![Deed::Invite(invited.invitee.clone()), Deed::InviteReturning])
    } else {
        return Vec::new();
    };
    let act = |deed| OwnAct { agent: agent.clone(), deed };
    if agent.is_elsewhere() { Vec::new() } else { deeds.into_iter().map(act).collect() }
}

/// Whether this network has forwarded what the event says of an agent of it.
fn is_forwarded(state: &SessionState, event: &SessionEvent, facts: &CopyFacts) -> bool {
    let is_returning =
        || own_invitation(event).is_some_and(|invited| state.participant(&invited.invitee).is_some());
    let acts = acts_behind(event);
    let counts =
        |act: &OwnAct| facts.forwarded.contains(act) && (act.deed != Deed::InviteReturning || is_returning());
    acts.is_empty() || acts.iter().any(counts)
}

/// The event as it is added to the copy, if it is possible in the session's present state.
fn admit(
    state: &SessionState,
    mut event: SessionEvent,
    facts: &CopyFacts,
) -> Result<SessionEvent, CopyRefusal> {
    let ensure =
        |condition: bool, problem| if condition { Ok(()) } else { Err(CopyRefusal::Impossible(problem)) };
    let has_standing = |handle: &AgentHandle, standing| {
        state.participant(handle).is_some_and(|part| part.standing == standing)
    };
    let is_joined = |handle: &AgentHandle| has_standing(handle, Standing::Joined);
    let is_invited = |handle: &AgentHandle| has_standing(handle, Standing::Invited);
    let is_present = |handle: &AgentHandle| state.participant(handle).is_some_and(Participant::is_present);
    ensure(
        state.created.is_none() == matches!(event, SessionEvent::SessionCreated(_)),
        "a second beginning, or none",
    )?;
    let is_active = state.phase == Phase::Active;
    match &mut event {
        SessionEvent::SessionCreated(_) => {}
        SessionEvent::MessageSent(message) => {
            ensure(is_active && is_joined(&message.sender), "a message of nobody who is joined")?;
        }
        SessionEvent::AgentInvited(invitation) => {
            ensure(is_active && !is_present(&invitation.invitee), "an invitation of a participant")?;
            ensure(is_joined(&invitation.by), "an invitation by nobody who is joined")?;
            ensure(state.participants.len() < PARTICIPANTS_MAX, "too many participants")?;
            if !invitation.invitee.is_elsewhere() {
                let admission = facts.admitting.get(&invitation.invitee);
                let part = state.participant(&invitation.invitee);
                let is_new = part.is_none_or(|part| part.since == Version::ZERO);
                let is_own = invitation.invitee.owner() == invitation.by.owner();
                invitation.denied =
                    !admission.is_some_and(|admission| admission.from.contains(&invitation.by));
                invitation.held |=
                    is_new && !is_own && admission.is_some_and(|admission| admission.needs_consent);
            }
        }
        SessionEvent::AgentJoined(change) => {
            ensure(is_active && is_invited(&change.agent), "a joining without an invitation")?;
        }
        SessionEvent::AgentDisconnected(change) | SessionEvent::AgentReconnected(change) => {
            ensure(is_active && is_joined(&change.agent), "a connection of nobody who is joined")?;
            ensure(change.agent.is_elsewhere(), "a connection of an agent of this network")?;
        }
        // The host also reports the leaving of agents that were never invited here.
        SessionEvent::AgentLeft(leaving) => {
            // This network itself decides that a copy ends.
            let is_end = leaving.reason.ends_copy() && !leaving.agent.is_elsewhere();
            ensure(!is_end, "the end of an accord that holds")?;
            let fits = state.participants.len() < PARTICIPANTS_MAX;
            ensure(fits || state.participant(&leaving.agent).is_some(), "too many participants")?;
        }
        SessionEvent::SessionEnded(end) => {
            ensure(is_active, "a second end")?;
            // Only agents that joined in the copy, or that have the message with their invitation.
            let has_inline =
                |handle: &AgentHandle| state.participant(handle).is_some_and(|part| part.inline.is_some());
            let was_invited = |handle: &AgentHandle| is_invited(handle) && has_inline(handle);
            end.joined.retain(|handle| is_joined(handle) || was_invited(handle));
            end.joined.sort();
        }
        SessionEvent::SessionReopened(reopening) => {
            // As for a session of this network: only an agent that was joined at the end may reopen it.
            let may_reopen =
                state.participant(&reopening.by).is_some_and(|part| part.may_reopen && !part.forced);
            ensure(!is_active && may_reopen, "a reopening by nobody who was joined")?;
            reopening.returning.retain(|handle| state.participant(handle).is_some());
            reopening.returning.sort();
        }
    }
    Ok(event)
}

/// Whether a text is a valid event id: it becomes part of JSON.
fn is_id(id: &str) -> bool {
    id.len() == 26 && format!("msg_{id}").parse::<MessageId>().is_ok()
}

/// A peer's event in the names of this network; `None` if it is invalid.
pub fn local_event(event: CrossingEvent, naming: &Naming) -> Option<SessionEvent> {
    let to_local = |handle: &AgentHandle| naming.local_name(handle);
    let change = |id: String, agent: &AgentHandle| {
        Some(AgentMoved { id, agent: to_local(agent)?, released: false, settles: None })
    };
    let event = match event {
        CrossingEvent::Created { creator, topic } => {
            let fits = topic.as_ref().is_none_or(|topic| {
                topic.chars().count() <= TOPIC_CHARS_MAX && plenary_kernel::text::check_line(topic).is_ok()
            });
            let (creator, host) = (to_local(&creator)?, Some(naming.peer.clone()));
            let fits = fits && creator.is_elsewhere();
            return fits.then_some(SessionEvent::SessionCreated(SessionCreated { creator, topic, host }));
        }
        CrossingEvent::Message { id, sender, message, hops, notice } => {
            let draft = message_of(message.get())?;
            let origin = hops.map(|hops| Origin { hops, notice });
            let (sender, members) = (to_local(&sender)?, draft.members);
            let files: Vec<_> = draft.files.into_iter().map(|id| NamedFile { id, pending: None }).collect();
            // The version is known when the event is added.
            let names = Names { at: Version::ZERO, files, elsewhere: true };
            let names = (!names.files.is_empty()).then(|| Box::new(names));
            SessionEvent::MessageSent(MessageSent { id, sender, origin, names, trace: None, members })
        }
        CrossingEvent::Invited { id, invitee, by, inline, held } => {
            SessionEvent::AgentInvited(AgentInvited {
                id,
                invitee: to_local(&invitee)?,
                by: to_local(&by)?,
                inline,
                offered: false,
                held,
                settles: None,
                denied: false,
                elsewhere: false,
            })
        }
        CrossingEvent::Joined { id, agent } => SessionEvent::AgentJoined(change(id, &agent)?),
        CrossingEvent::Disconnected { id, agent } => SessionEvent::AgentDisconnected(change(id, &agent)?),
        CrossingEvent::Reconnected { id, agent } => SessionEvent::AgentReconnected(change(id, &agent)?),
        CrossingEvent::Left { id, agent, reason } => SessionEvent::AgentLeft(AgentLeft {
            id,
            agent: to_local(&agent)?,
            reason,
            forced: false,
            held: false,
            settles: None,
        }),
        CrossingEvent::Ended { id, by, joined } => {
            let by = match by {
                Some(by) => Some(to_local(&by)?),
                None => None,
            };
            let joined = naming.local_names(&joined)?;
            SessionEvent::SessionEnded(SessionEnded { id, by, joined, uncounted: Vec::new() })
        }
        CrossingEvent::Reopened { id, by, returning } => SessionEvent::SessionReopened(SessionReopened {
            id,
            by: to_local(&by)?,
            returning: naming.local_names(&returning)?,
            settles: None,
        }),
    };
    event.id().is_some_and(is_id).then_some(event)
}

/// A peer's message as a draft, with the same checks as a local one.
pub(crate) fn message_of(text: &str) -> Option<crate::command::Draft> {
    plenary_kernel::json::check(text.as_bytes()).ok()?;
    let fields = Fields::read(text.as_bytes()).ok()?;
    let key = fields.key(None).ok()?;
    fields.message(key.as_deref()).ok()
}
