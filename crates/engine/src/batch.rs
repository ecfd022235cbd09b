//! The writes of a decision: its events, side events on other streams, index rows, the idempotency key.
//! Must not know: its conditions, or an owner's quota.

use bytes::Bytes;
use plenary_kernel::{OwnerName, Stamp, Version};
use plenary_log::{Batch, Charge, Fault, KeyClaim, NewEvent, StreamName, Usage, account_of};

use crate::{Command, Decision, KeyUse, Room, SideEvents};

/// The storage use of an event, including the events that follow from it. `own` is its own size.
pub(crate) fn usage<R: Room>(event: &R::Event, own: Usage, follows: &[(StreamName, NewEvent)]) -> Usage {
    R::fixed_usage(event).unwrap_or_else(|| {
        let content = Usage { bytes: R::content_bytes(event), events: 0 };
        follows.iter().map(|(_, event)| Usage::of(event)).fold(own.plus(content), Usage::plus)
    })
}

/// The parts of a decision that its batch needs.
pub(crate) struct Decided<'a, E> {
    pub(crate) events: &'a [E],
    pub(crate) side_events: SideEvents,
    pub(crate) claim: Option<KeyClaim>,
}

/// Encodes a decision, without the types of the command.
pub(crate) fn decided<'a, R: Room, C: Command<R>>(
    command: &C,
    key: Option<&KeyUse>,
    decision: &'a Decision<R::Event, C::Reply>,
    stamp: &Stamp,
) -> Result<Decided<'a, R::Event>, Fault> {
    let claim = match key {
        Some(key) => Some(claim(key, serde_json::to_vec(&decision.reply))?),
        None => None,
    };
    Ok(Decided { events: &decision.events, side_events: command.side_events(decision, stamp), claim })
}

fn claim(key: &KeyUse, outcome: serde_json::Result<Vec<u8>>) -> Result<KeyClaim, Fault> {
    let outcome = outcome.map_err(|error| Fault::Corrupt(format!("a reply can't be written: {error}")))?;
    let KeyUse { scope, key, digest } = key.clone();
    Ok(KeyClaim { scope, key, digest, outcome: Bytes::from(outcome) })
}

/// The batch of a decision on the stream `id` at version `at`, without conditions.
pub(crate) fn of<R: Room>(
    (id, at): (&str, Version),
    (stream, state): (&StreamName, &R::State),
    decided: Decided<'_, R::Event>,
    stamp: &Stamp,
) -> Batch {
    let mut batch = Batch { at: stamp.now, ..Batch::default() };
    let (mut version, mut follows) = (at, Vec::new());
    let mut charge = None::<Charge>;
    for event in decided.events {
        version = version.next();
        let encoded = R::encode(event);
        let followed = R::follow(id, version, event);
        // All events of a command that have a payer have the same one.
        if let Some(owner) = R::payer(id, state, event) {
            let usage = usage::<R>(event, Usage::of(&encoded), &followed);
            let account = || Charge::of_owner(&owner, Usage::default());
            let charge = charge.get_or_insert_with(account);
            charge.usage = charge.usage.plus(usage);
        }
        if let Some((owner, bytes)) = R::frees(event) {
            batch.charges.push(freed(&owner, bytes));
        }
        follows.extend(followed);
        batch.index.extend(R::index(id, event));
        batch.events.push((stream.clone(), encoded));
    }
    let Decided { events, side_events, claim } = decided;
    let is_fixed = events.iter().any(|event| R::fixed_usage(event).is_some());
    if let Some(charge) = charge.as_mut().filter(|_| !is_fixed) {
        charge.usage =
            side_events.events.iter().map(|(_, event)| Usage::of(event)).fold(charge.usage, Usage::plus);
    }
    batch.events.extend(side_events.events);
    batch.events.extend(follows);
    batch.index.extend(side_events.index);
    batch.rows.extend(side_events.rows);
    if let Some((charge, claim)) = charge.as_mut().zip(claim.as_ref()) {
        charge.usage = charge.usage.plus(Usage::of_key(claim));
    }
    batch.key = claim;
    // The pledged charge comes first.
    if let Some(charge) = charge {
        batch.charges.insert(0, charge);
    }
    batch
}

pub(crate) fn freed(owner: &OwnerName, bytes: u64) -> Charge {
    let freed = Usage { bytes, events: 0 };
    Charge { account: account_of(owner), usage: Usage::default(), freed }
}
