//! What an event counts towards its owner's use outside of its append: for stores from before use was counted, and for
//! what has to be counted before it is written. Must not know: who asks.

use plenary_kernel::{OwnerName, Version};
use plenary_log::{Fault, StoredEvent, Usage};

use crate::{Room, batch::usage};

/// What an event costs that comes to stand at `version` of the stream `id`, with what follows from it.
pub fn usage_of<R: Room>(id: &str, version: Version, event: &R::Event) -> Usage {
    usage::<R>(event, Usage::of(&R::encode(event)), &R::follow(id, version, event))
}

/// The payer of an event and what it costs, with what followed from it; `None` where it is not of the room `R`. `state` is
/// what the room says the payer by.
///
/// # Errors
/// The event can't be read.
pub fn recount<R: Room>(state: &R::State, stored: &StoredEvent) -> Result<Option<(OwnerName, Usage)>, Fault> {
    if stored.stream.category() != R::CATEGORY {
        return Ok(None);
    }
    let event = R::decode(stored)?;
    let id = stored.stream.id();
    let Some(owner) = R::payer(id, state, &event) else { return Ok(None) };
    let own = Usage::of_parts(&stored.envelope, &stored.payload);
    Ok(Some((owner, usage::<R>(&event, own, &R::follow(id, stored.version, &event)))))
}
