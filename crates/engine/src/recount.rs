//! The storage of an event, computed outside its append: for stores from before use was counted, for checks before a
//! write, and for checks of the counters.
//! Must not know: the caller.

use plenary_kernel::Version;
use plenary_log::{Charge, Fault, StoredEvent, Usage};

use crate::{
    Room,
    batch::{freed, usage},
};

/// The storage use of an event at `version` of the stream `id`, including the events that follow from
/// it.
pub fn usage_of<R: Room>(id: &str, version: Version, event: &R::Event) -> Usage {
    usage::<R>(event, Usage::of(&R::encode(event)), &R::follow(id, version, event))
}

/// The payer of an event, with the use that it and its follow-ups add, or the use that it frees; `None`
/// for an event of another room. `state` is the state from which the room names the payer.
///
/// # Errors
/// The event can't be read.
pub fn recount<R: Room>(state: &R::State, stored: &StoredEvent) -> Result<Option<Charge>, Fault> {
    if stored.stream.category() != R::CATEGORY {
        return Ok(None);
    }
    let event = R::decode(stored)?;
    if let Some((owner, bytes)) = R::frees(&event) {
        return Ok(Some(freed(&owner, bytes)));
    }
    let id = stored.stream.id();
    let Some(owner) = R::payer(id, state, &event) else { return Ok(None) };
    let own = Usage::of_parts(&stored.envelope, &stored.payload);
    let usage = usage::<R>(&event, own, &R::follow(id, stored.version, &event));
    Ok(Some(Charge::of_owner(&owner, usage)))
}

/// [`recount`] in the only room of `recounts` that has the event's stream; none of them names the payer by its state.
///
/// # Errors
/// The event can't be read.
pub fn recount_in(stored: &StoredEvent, recounts: &[Recount]) -> Result<Option<Charge>, Fault> {
    recounts.iter().find_map(|recount| recount(stored).transpose()).transpose()
}

/// [`recount`] of a room that names the payer without its state.
pub type Recount = fn(&StoredEvent) -> Result<Option<Charge>, Fault>;

/// [`recount`] of a room that names the payer without its state.
///
/// # Errors
/// The event can't be read.
pub fn recount_event<R: Room>(stored: &StoredEvent) -> Result<Option<Charge>, Fault> {
    recount::<R>(&R::State::default(), stored)
}
