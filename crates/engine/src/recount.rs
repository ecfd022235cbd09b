//! What a stored event counts towards its owner's use: the same as when it was appended, for stores from before use was
//! counted. Must not know: who asks.

use plenary_kernel::OwnerName;
use plenary_log::{Fault, StoredEvent, Usage};

use crate::Room;

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
    let Some(owner) = R::payer(state, &event) else { return Ok(None) };
    let own = Usage::of_parts(&stored.envelope, &stored.payload);
    let content = Usage { bytes: R::content_bytes(&event), events: 0 };
    let followed = R::follow(stored.stream.id(), stored.version, &event);
    Ok(Some((owner, followed.iter().map(|(_, event)| Usage::of(event)).fold(own.plus(content), Usage::plus))))
}
