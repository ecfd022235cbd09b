//! What a decision writes: its events, what goes with them onto other streams, index rows, the key.
//! Must not know: what it is held to, or how much an owner may store.

use bytes::Bytes;
use plenary_kernel::{OwnerName, Stamp, Version};
use plenary_log::{Batch, Charge, Fault, KeyClaim, NewEvent, StreamName, Usage};

use crate::{Command, Decision, KeyUse, Room};

/// What a batch costs its payer, once there is one. All events of a command that have a payer have the same one.
#[derive(Default)]
struct Bill(Option<Charge>);

impl Bill {
    fn add(&mut self, account: impl FnOnce() -> String, more: Usage) {
        let charge = self.0.get_or_insert_with(|| Charge {
            account: account(),
            usage: Usage::default(),
            freed: Usage::default(),
        });
        charge.usage = charge.usage.plus(more);
    }
    fn add_events<'a>(&mut self, events: impl Iterator<Item = &'a NewEvent>) {
        if let Some(charge) = &mut self.0 {
            charge.usage = events.map(Usage::of).fold(charge.usage, Usage::plus);
        }
    }
}

/// The batch of a decision on the stream `id` at version `at`, without conditions.
pub(crate) fn of<R: Room, C: Command<R>>(
    (id, at): (&str, Version),
    (stream, state): (&StreamName, &R::State),
    command: &C,
    key: Option<&KeyUse>,
    decision: &Decision<R::Event, C::Reply>,
    stamp: &Stamp,
) -> Result<Batch, Fault> {
    let mut batch = Batch { at: stamp.now, ..Batch::default() };
    let (mut version, mut follows) = (at, Vec::new());
    let mut bill = Bill::default();
    for event in &decision.events {
        version = version.next();
        let encoded = R::encode(event);
        let followed = R::follow(id, version, event);
        if let Some(owner) = R::payer(state, event) {
            let content = Usage { bytes: R::content_bytes(event), events: 0 };
            bill.add(|| owner.to_string(), content);
            bill.add_events([&encoded].into_iter().chain(followed.iter().map(|(_, event)| event)));
        }
        if let Some((owner, bytes)) = R::frees(event) {
            batch.charges.push(freed(&owner, bytes));
        }
        follows.extend(followed);
        batch.index.extend(R::index(id, event));
        batch.events.push((stream.clone(), encoded));
    }
    let beside = command.beside(decision, stamp);
    bill.add_events(beside.events.iter().map(|(_, event)| event));
    // What is pledged comes first.
    if let Some(charge) = bill.0 {
        batch.charges.insert(0, charge);
    }
    batch.events.extend(beside.events);
    batch.events.extend(follows);
    batch.index.extend(beside.index);
    batch.rows.extend(beside.rows);
    if let Some(key) = key {
        let outcome = serde_json::to_vec(&decision.reply)
            .map_err(|error| Fault::Corrupt(format!("a reply can't be written: {error}")))?;
        batch.key = Some(KeyClaim {
            scope: key.scope.clone(),
            key: key.key.clone(),
            digest: key.digest,
            outcome: Bytes::from(outcome),
        });
    }
    Ok(batch)
}

/// What its owner uses less.
pub(crate) fn freed(owner: &OwnerName, bytes: u64) -> Charge {
    let freed = Usage { bytes, events: 0 };
    Charge { account: owner.to_string(), usage: Usage::default(), freed }
}
