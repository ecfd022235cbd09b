//! What may become of a channel, and what follows. Pure.
//! Must not know: HTTP, where a token came from, what a payload means.

use plenary_engine::Decision;
use plenary_kernel::{Refusal, Stamp, Version};

use crate::{
    command::{AppendEvent, Appended, ChannelMade, CloseChannel, Closed, CreateChannel},
    event::{ChannelClosed, ChannelCreated, ChannelEvent, EventAppended, FirstClosing, Joins},
    state::{ChannelState, owner_of},
};

/// Why a command is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The token is not valid any more.
    Unauthenticated,
    /// There is no such channel.
    NoSuchChannel,
    /// Another channel has the id (CH-37).
    IdTaken,
    /// The channel is closed, and takes no more.
    ChannelClosed,
    /// The body is not what it should be.
    Body(Refusal),
}

type Decided<R> = Result<Decision<ChannelEvent, R>, Rejection>;

/// Decides `CreateChannel`.
pub fn create(
    state: &ChannelState,
    holds: bool,
    stamp: &Stamp,
    command: &CreateChannel,
) -> Decided<ChannelMade> {
    if !holds {
        return Err(Rejection::Unauthenticated);
    }
    if state.created.is_some() {
        return Err(Rejection::IdTaken);
    }
    let created_by = command.created_by.clone().unwrap_or_else(|| command.caller.name());
    let (id, title, at) = (command.id.clone(), command.title.clone(), stamp.now);
    let via = command.caller.via().cloned();
    let event = ChannelCreated { title: title.clone(), created_by: created_by.clone(), via, created: at };
    let made = ChannelMade { id, title, created_by, at };
    Ok(Decision::new(vec![ChannelEvent::ChannelCreated(event)], made))
}

/// Decides `AppendEvent`. The stream is at version `at`.
pub fn append(
    state: &ChannelState,
    at: Version,
    holds: bool,
    stamp: &Stamp,
    command: &AppendEvent,
) -> Decided<Appended> {
    if !holds {
        return Err(Rejection::Unauthenticated);
    }
    let Some(created) = &state.created else { return Err(Rejection::NoSuchChannel) };
    let draft = command.draft.clone().map_err(Rejection::Body)?;
    if command.reject_after_close && state.closed_at.is_some() {
        return Err(Rejection::ChannelClosed);
    }
    let version = at.next();
    let owner = owner_of(command.caller.via()).filter(|owner| !state.owners.contains(owner));
    let open = state.closed_at.is_none();
    let joins = owner.map(|owner| Joins { owner, created: created.at, open });
    let run = state.begins_a_run(version, &draft.kind);
    let author = draft.author.unwrap_or_else(|| command.caller.name());
    let (kind, payload, via) = (draft.kind, draft.payload, command.caller.via().cloned());
    let event = EventAppended { kind, author, via, run, joins, payload };
    Ok(Decision::new(vec![ChannelEvent::EventAppended(event)], Appended { version, at: stamp.now }))
}

/// Decides `CloseChannel`. A repeated closing stamps it again (CH-27).
pub fn close(state: &ChannelState, holds: bool, stamp: &Stamp, command: &CloseChannel) -> Decided<Closed> {
    if !holds {
        return Err(Rejection::Unauthenticated);
    }
    let Some(created) = &state.created else { return Err(Rejection::NoSuchChannel) };
    let owners = || state.owners.iter().cloned().collect();
    let first = state.closed_at.is_none().then(|| FirstClosing { created: created.at, owners: owners() });
    let event = ChannelClosed { via: command.caller.via().cloned(), first };
    Ok(Decision::new(vec![ChannelEvent::ChannelClosed(event)], Closed { at: stamp.now }))
}
