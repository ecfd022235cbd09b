//! What a stored event counts towards its owner's use: the same as when it was appended, for stores from before use was
//! counted, and for whoever checks the count. Must not know: who asks.

use plenary_log::{Charge, Fault, StoredEvent, Usage};

use crate::{Room, batch::freed};

/// The payer of an event and what it costs, with what followed from it, or what it frees; `None` where it is not of the
/// room `R`. `state` is what the room says the payer by.
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
    let Some(owner) = R::payer(state, &event) else { return Ok(None) };
    let own = Usage::of_parts(&stored.envelope, &stored.payload);
    let content = Usage { bytes: R::content_bytes(&event), events: 0 };
    let followed = R::follow(stored.stream.id(), stored.version, &event);
    let usage = followed.iter().map(|(_, event)| Usage::of(event)).fold(own.plus(content), Usage::plus);
    Ok(Some(Charge { account: owner.to_string(), usage, freed: Usage::default() }))
}
