//! What a decision writes: its events, what goes with them onto other streams, index rows, the key.
//! Must not know: what it is held to.

use bytes::Bytes;
use plenary_kernel::{Stamp, Version};
use plenary_log::{Batch, Fault, KeyClaim, StreamName};

use crate::{Command, Decision, KeyUse, Room};

/// The batch of a decision on the stream `id` at version `at`, without conditions.
pub(crate) fn of<R: Room, C: Command<R>>(
    (id, at): (&str, Version),
    stream: &StreamName,
    command: &C,
    key: Option<&KeyUse>,
    decision: &Decision<R::Event, C::Reply>,
    stamp: &Stamp,
) -> Result<Batch, Fault> {
    let mut batch = Batch { at: stamp.now, ..Batch::default() };
    let (mut version, mut follows) = (at, Vec::new());
    for event in &decision.events {
        version = version.next();
        follows.extend(R::follow(id, version, event));
        batch.index.extend(R::index(id, event));
        batch.events.push((stream.clone(), R::encode(event)));
    }
    let beside = command.beside(decision, stamp);
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
