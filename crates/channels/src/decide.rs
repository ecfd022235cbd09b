//! The decisions on a channel. Pure.
//! Must not know: HTTP, the source of a token, the meaning of a payload.

use plenary_engine::Decision;
use plenary_kernel::{OwnerName, Refusal, Stamp, Version};

use crate::{
    access::{Access, People, access},
    command::{
        AdmitOwner, AppendEvent, AppendReceipt, Caller, ChangeKey, CloseChannel, CloseReceipt, CreateChannel,
        CreatedChannel, KeyChanged,
    },
    event::{
        self, ChannelClosed, ChannelCreated, ChannelEvent, EventAppended, FirstClosing, Joins, OwnerAdmitted,
    },
    state::{ChannelState, Creation, owner_of},
};

/// Why a command is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The token is no longer valid.
    Unauthenticated,
    /// The channel does not exist, or the caller may not use it.
    NoSuchChannel,
    /// The caller may use the channel, but the channel belongs to another owner.
    NotItsOwner,
    /// The id is taken (CH-37).
    IdTaken,
    /// The channel is closed and accepts no more events.
    ChannelClosed,
    /// The body is invalid.
    Body(Refusal),
}

pub(crate) type ChannelDecision<R> = Result<Decision<ChannelEvent, R>, Rejection>;

/// The channel, and the reason why the caller may use it.
fn entered<'a>(
    state: &'a ChannelState,
    caller: &Caller,
    people: &People,
) -> Result<(&'a Creation, Access), Rejection> {
    if !people.is_authorized {
        return Err(Rejection::Unauthenticated);
    }
    state.created.as_ref().zip(access(state, caller, people)).ok_or(Rejection::NoSuchChannel)
}

/// Decides `CreateChannel`.
pub fn create(
    state: &ChannelState,
    people: &People,
    stamp: &Stamp,
    command: &CreateChannel,
) -> ChannelDecision<CreatedChannel> {
    if !people.is_authorized {
        return Err(Rejection::Unauthenticated);
    }
    if state.created.is_some() {
        return Err(Rejection::IdTaken);
    }
    let created_by = command.created_by.clone().unwrap_or_else(|| command.caller.name());
    let (id, title, at) = (command.id.clone(), command.title.clone(), stamp.now);
    let via = command.caller.via().cloned();
    let key = Some(command.key.clone());
    let event = ChannelCreated {
        title: title.clone(),
        created_by: created_by.clone(),
        via,
        created: at,
        key: key.clone(),
    };
    let reply = CreatedChannel { id, title, created_by, at, key };
    Ok(Decision::new(vec![ChannelEvent::ChannelCreated(event)], reply))
}

/// Decides `AppendEvent` for a stream at version `head`.
pub fn append(
    state: &ChannelState,
    head: Version,
    people: &People,
    stamp: &Stamp,
    command: &AppendEvent,
) -> ChannelDecision<AppendReceipt> {
    let (created, _) = entered(state, &command.caller, people)?;
    let draft = command.draft.clone().map_err(Rejection::Body)?;
    if command.reject_after_close && state.closed_at.is_some() {
        return Err(Rejection::ChannelClosed);
    }
    let version = head.next();
    // A peer may have any number of owners; their lists of channels are not kept here.
    let is_listed = |owner: &OwnerName| !command.caller.is_guest() && !state.owners.contains(owner);
    let owner = owner_of(command.caller.via()).filter(is_listed);
    let open = state.closed_at.is_none();
    let joins = owner.map(|owner| Joins { owner, created: created.at, open });
    let run = state.first_run_of_kind(version, &draft.kind);
    let author = draft.author.unwrap_or_else(|| command.caller.name());
    let (kind, payload, via) = (draft.kind, draft.payload, command.caller.via().cloned());
    let trace = command.trace.clone();
    let event = EventAppended { kind, author, via, run, trace, joins, payload };
    Ok(Decision::new(vec![ChannelEvent::EventAppended(event)], AppendReceipt { version, at: stamp.now }))
}

/// Decides `CloseChannel`. A repeated close sets the time again (CH-27).
pub fn close(
    state: &ChannelState,
    people: &People,
    stamp: &Stamp,
    command: &CloseChannel,
) -> ChannelDecision<CloseReceipt> {
    let (created, _) = entered(state, &command.caller, people)?;
    let owners = || state.owners.iter().cloned().collect();
    let first = state.closed_at.is_none().then(|| FirstClosing { created: created.at, owners: owners() });
    let event = ChannelClosed { via: command.caller.via().cloned(), first };
    Ok(Decision::new(vec![ChannelEvent::ChannelClosed(event)], CloseReceipt { at: stamp.now }))
}

/// Decides `AdmitOwner`. An owner that is admitted already, or needs no key, is not recorded.
pub fn admit(state: &ChannelState, people: &People, command: &AdmitOwner) -> ChannelDecision<()> {
    let (_, access) = entered(state, &command.caller, people)?;
    let via = command.caller.via().cloned();
    match owner_of(via.as_ref()) {
        Some(owner) if access == Access::Key => {
            Ok(Decision::new(vec![ChannelEvent::OwnerAdmitted(OwnerAdmitted { owner, via })], ()))
        }
        _ => Ok(Decision::unchanged(())),
    }
}

/// Decides `ChangeKey`. Admitted owners stay admitted, unless it revokes their access.
pub fn change_key(state: &ChannelState, people: &People, command: &ChangeKey) -> ChannelDecision<KeyChanged> {
    let (_, access) = entered(state, &command.caller, people)?;
    if access != Access::Owner {
        return Err(Rejection::NotItsOwner);
    }
    if let Some(key) = state.key.clone().filter(|_| command.only_if_none) {
        return Ok(Decision::unchanged(KeyChanged { key }));
    }
    let (key, via) = (command.key.clone(), command.caller.via().cloned());
    let event = event::KeyChanged { key: key.clone(), via, revokes: command.revokes };
    Ok(Decision::new(vec![ChannelEvent::KeyChanged(event)], KeyChanged { key }))
}
