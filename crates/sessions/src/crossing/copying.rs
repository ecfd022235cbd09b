//! The copy of a peer's session: decides which events of the host are added. Each event is added once, in order, under
//! its number at the host. Events that are impossible in the session's present state are refused as a whole. Pure.
//! Must not know: how events arrive.

use std::collections::{BTreeMap, BTreeSet};

use plenary_engine::Decision;
use plenary_kernel::{AgentHandle, MessageId, OwnerName, Stamp, Version};
use serde::{Deserialize, Serialize};

use super::{naming::Naming, wire::CrossingEvent};
use crate::{
    PARTICIPANTS_MAX, TOPIC_CHARS_MAX,
    event::{
        AgentInvited, AgentLeft, AgentMoved, LeftReason, MessageSent, NamedFile, Names, Origin,
        SessionCreated, SessionEnded, SessionEvent, SessionReopened,
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
}

/// The facts about the agents that the events name.
#[derive(Debug, Clone, Default)]
pub struct CopyFacts {
    /// Whether the accord holds.
    pub holds: bool,
    /// The agents of this network that the accord admits.
    pub admitting: BTreeMap<AgentHandle, Admission>,
}

/// An agent of this network that may be invited.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    /// The inviters that it admits.
    pub from: BTreeSet<AgentHandle>,
    /// Whether a person of its owner must accept first.
    pub holds: bool,
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
    if !facts.holds {
        return Err(CopyRefusal::Ended);
    }
    let is_new = at == Version::ZERO;
    if state.closed || !is_new && state.host() != Some(&command.peer) {
        return Err(CopyRefusal::Taken);
    }
    if command.first > at.next() {
        return Err(CopyRefusal::Gap);
    }
    let known = usize::try_from(at.next().0 - command.first.0).unwrap_or(usize::MAX);
    let (mut state, mut version) = (state.clone(), at);
    let mut events = Vec::new();
    for event in command.events.iter().skip(known) {
        let mut event = admitted(&state, event.clone(), facts)?;
        version = version.next();
        if let SessionEvent::MessageSent(MessageSent { names: Some(names), .. }) = &mut event {
            names.at = version;
        }
        state.evolve(version, plenary_kernel::TimestampMs(0), &event);
        events.push(event);
    }
    Ok(Decision::new(events, CopyReceipt { version }))
}

/// The event as it is added to the copy, if it is possible in the session's present state.
fn admitted(
    state: &SessionState,
    mut event: SessionEvent,
    facts: &CopyFacts,
) -> Result<SessionEvent, CopyRefusal> {
    let is = |holds: bool, what| if holds { Ok(()) } else { Err(CopyRefusal::Impossible(what)) };
    let stands = |handle: &AgentHandle, standing| {
        state.participant(handle).is_some_and(|part| part.standing == standing)
    };
    let is_present = |handle: &AgentHandle| state.participant(handle).is_some_and(Participant::is_present);
    is(
        state.created.is_none() == matches!(event, SessionEvent::SessionCreated(_)),
        "a second beginning, or none",
    )?;
    let is_active = state.phase == Phase::Active;
    match &mut event {
        SessionEvent::SessionCreated(_) => {}
        SessionEvent::MessageSent(sent) => {
            is(is_active && stands(&sent.sender, Standing::Joined), "a message of nobody who is joined")?;
        }
        SessionEvent::AgentInvited(invited) => {
            is(is_active && !is_present(&invited.invitee), "an invitation of a participant")?;
            is(stands(&invited.by, Standing::Joined), "an invitation by nobody who is joined")?;
            is(state.participants.len() < PARTICIPANTS_MAX, "too many participants")?;
            if !invited.invitee.is_elsewhere() {
                let known = facts.admitting.get(&invited.invitee);
                let part = state.participant(&invited.invitee);
                let is_new = part.is_none_or(|part| part.since == Version::ZERO);
                let is_own = invited.invitee.owner() == invited.by.owner();
                invited.denied = !known.is_some_and(|known| known.from.contains(&invited.by));
                invited.held |= is_new && !is_own && known.is_some_and(|known| known.holds);
            }
        }
        SessionEvent::AgentJoined(moved) => {
            is(is_active && stands(&moved.agent, Standing::Invited), "a joining without an invitation")?;
        }
        SessionEvent::AgentDisconnected(moved) | SessionEvent::AgentReconnected(moved) => {
            is(is_active && stands(&moved.agent, Standing::Joined), "a connection of nobody who is joined")?;
            is(moved.agent.is_elsewhere(), "a connection of an agent of this network")?;
        }
        // The host also reports the leaving of agents that were never invited here.
        SessionEvent::AgentLeft(left) => {
            // This network knows itself that an accord has ended, and closes the copy.
            let is_end = left.reason == LeftReason::AccordRevoked && !left.agent.is_elsewhere();
            is(!is_end, "the end of an accord that holds")?;
            let fits = state.participants.len() < PARTICIPANTS_MAX;
            is(fits || state.participant(&left.agent).is_some(), "too many participants")?;
        }
        SessionEvent::SessionEnded(ended) => {
            is(is_active, "a second end")?;
            // Only agents that joined in the copy, or that have the message with their invitation.
            let has_inline =
                |handle: &AgentHandle| state.participant(handle).is_some_and(|part| part.inline.is_some());
            let invited = |handle: &AgentHandle| stands(handle, Standing::Invited) && has_inline(handle);
            ended.joined.retain(|handle| stands(handle, Standing::Joined) || invited(handle));
            ended.joined.sort();
        }
        SessionEvent::SessionReopened(reopened) => {
            // As for a session of this network: only an agent that was joined at the end may reopen it.
            let may = state.participant(&reopened.by).is_some_and(|part| part.may_reopen && !part.forced);
            is(!is_active && may, "a reopening by nobody who was joined")?;
            reopened.returning.retain(|handle| state.participant(handle).is_some());
            reopened.returning.sort();
        }
    }
    Ok(event)
}

/// Whether a text is a valid event id: it becomes part of JSON.
fn is_id(id: &str) -> bool {
    id.len() == 26 && format!("msg_{id}").parse::<MessageId>().is_ok()
}

/// A peer's event in the names of this network; `None` if it is invalid.
#[must_use]
pub fn arrived(event: CrossingEvent, naming: &Naming) -> Option<SessionEvent> {
    let here = |handle: &AgentHandle| naming.here(handle);
    let moved = |id: String, agent: &AgentHandle| {
        Some(AgentMoved { id, agent: here(agent)?, released: false, settles: None })
    };
    let read = match event {
        CrossingEvent::Created { creator, topic } => {
            let fits = topic.as_ref().is_none_or(|topic| {
                topic.chars().count() <= TOPIC_CHARS_MAX && plenary_kernel::text::check_line(topic).is_ok()
            });
            let (creator, host) = (here(&creator)?, Some(naming.peer.clone()));
            let fits = fits && creator.is_elsewhere();
            return fits.then_some(SessionEvent::SessionCreated(SessionCreated { creator, topic, host }));
        }
        CrossingEvent::Message { id, sender, message, hops, notice } => {
            let draft = message_of(message.get())?;
            let origin = hops.map(|hops| Origin { hops, notice });
            let (sender, members) = (here(&sender)?, draft.members);
            let files: Vec<_> = draft.files.into_iter().map(|id| NamedFile { id, pending: None }).collect();
            // The version is known when the event is added.
            let names = Names { at: Version::ZERO, files, elsewhere: true };
            let names = (!names.files.is_empty()).then(|| Box::new(names));
            SessionEvent::MessageSent(MessageSent { id, sender, origin, names, trace: None, members })
        }
        CrossingEvent::Invited { id, invitee, by, inline, held } => {
            SessionEvent::AgentInvited(AgentInvited {
                id,
                invitee: here(&invitee)?,
                by: here(&by)?,
                inline,
                offered: false,
                held,
                settles: None,
                denied: false,
                elsewhere: false,
            })
        }
        CrossingEvent::Joined { id, agent } => SessionEvent::AgentJoined(moved(id, &agent)?),
        CrossingEvent::Disconnected { id, agent } => SessionEvent::AgentDisconnected(moved(id, &agent)?),
        CrossingEvent::Reconnected { id, agent } => SessionEvent::AgentReconnected(moved(id, &agent)?),
        CrossingEvent::Left { id, agent, reason } => SessionEvent::AgentLeft(AgentLeft {
            id,
            agent: here(&agent)?,
            reason,
            forced: false,
            held: false,
            settles: None,
        }),
        CrossingEvent::Ended { id, by, joined } => {
            let by = match by {
                Some(by) => Some(here(&by)?),
                None => None,
            };
            let joined = naming.all_here(&joined)?;
            SessionEvent::SessionEnded(SessionEnded { id, by, joined, uncounted: Vec::new() })
        }
        CrossingEvent::Reopened { id, by, returning } => SessionEvent::SessionReopened(SessionReopened {
            id,
            by: here(&by)?,
            returning: naming.all_here(&returning)?,
            settles: None,
        }),
    };
    read.id().is_some_and(is_id).then_some(read)
}

/// A peer's message as a draft, with the same checks as a local one.
pub(crate) fn message_of(text: &str) -> Option<crate::command::Draft> {
    plenary_kernel::json::check(text.as_bytes()).ok()?;
    let fields = Fields::read(text.as_bytes()).ok()?;
    let key = fields.key(None).ok()?;
    fields.message(key.as_deref()).ok()
}
