//! The check before a refusal is answered: the state that it was decided on must be on disk and current,
//! and the key must have no answer yet.
//! Must not know: the command, or its room.

use plenary_log::{Batch, Chain, Condition, Fault, Log, Outcome, Slot};

use crate::{KeyUse, Sealed, seal, streams::Ended};

/// Confirms a refusal, unless the key has an answer or the basis of the refusal no longer holds.
pub(crate) fn refused<'a>(
    log: &'a Log,
    slot: Slot,
    (conditions, chain): (Vec<Condition>, Chain),
    ahead: bool,
    key: Option<&'a KeyUse>,
) -> Sealed<'a, Result<Ended, Fault>> {
    seal(async move {
        if let Some(earlier) = earlier_answer(log, key).await? {
            return Ok(earlier);
        }
        // The basis must be on disk, and no other process may have changed it meanwhile. The first use
        // of the key may still be in the queue.
        if ahead || log.shared() || key.is_some() {
            let holds = holds(slot, conditions, chain).await?;
            if let Some(earlier) = earlier_answer(log, key).await? {
                return Ok(earlier);
            }
            if !holds {
                return Ok(Ended::Again);
            }
        }
        Ok(Ended::Stands(None))
    })
}

/// The answer to an earlier use of the key, whatever the current state.
async fn earlier_answer(log: &Log, key: Option<&KeyUse>) -> Result<Option<Ended>, Fault> {
    let Some(key) = key else { return Ok(None) };
    Ok(match log.read_key(&key.scope, &key.key).await? {
        None => None,
        Some(record) if record.digest == key.digest => Some(Ended::Earlier(record.outcome)),
        Some(_) => Some(Ended::KeyReused),
    })
}

/// Whether the conditions hold once everything queued before is on disk.
async fn holds(slot: Slot, conditions: Vec<Condition>, chain: Chain) -> Result<bool, Fault> {
    let outcome = slot.submit(Batch { conditions, chain: Some(chain), ..Batch::default() }).await?;
    Ok(matches!(outcome, Outcome::Appended(_)))
}
