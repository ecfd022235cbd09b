//! The storage quota of an owner: a command that would exceed it is refused before its batch is submitted.
//! Must not know: the commands.

use plenary_kernel::{Class, Refusal};
use plenary_log::{Batch, ExceededQuota, Fault, Log, Outcome, Pledge, QuotaRule};

/// The use that is counted for a batch in progress.
#[derive(Debug)]
#[must_use]
pub(crate) struct QuotaPledge(Option<Pledge>);

/// Counts the storage of a batch, if its owner's quota allows it.
pub(crate) async fn pledge(
    log: &Log,
    batch: &Batch,
    may_exceed: bool,
) -> Result<Result<QuotaPledge, ExceededQuota>, Fault> {
    match batch.charges.first() {
        Some(charge) => Ok(log.pledge(charge, may_exceed).await?.map(|pledge| QuotaPledge(Some(pledge)))),
        None => Ok(Ok(QuotaPledge(None))),
    }
}

/// Reads the use of a batch's payer from the store, if it is not known. Call it without a lock or a slot
/// of the writer, so that it blocks no other task.
pub(crate) async fn look_up(log: &Log, batch: &Batch) -> Result<(), Fault> {
    match batch.charges.first() {
        Some(charge) => log.look_up(&charge.account).await,
        None => Ok(()),
    }
}

/// Whether [`pledge`] would have to read the store.
pub(crate) fn must_look_up(log: &Log, batch: &Batch) -> bool {
    batch.charges.first().is_some_and(|charge| log.must_look_up(&charge.account))
}

impl QuotaPledge {
    /// Settles the pledge by the outcome of the batch.
    pub(crate) fn settle(self, outcome: Result<Outcome, Fault>) -> Result<Outcome, Fault> {
        if let Some(pledge) = self.0 {
            pledge.settle(&outcome);
        }
        outcome
    }
}

/// The refusal for the caller.
pub fn refusal(exceeded: ExceededQuota) -> Refusal {
    let ExceededQuota { rule, used, max } = exceeded;
    let (who, place, operator, rule, what) = match rule {
        QuotaRule::OwnerBytes => ("owner", "here", "operator", "stored_bytes_max", "bytes"),
        QuotaRule::OwnerEvents => ("owner", "here", "operator", "stored_events_max", "events"),
        QuotaRule::PeerBytes => {
            ("network", "at the other", "other network's operator", "peer_stored_bytes_max", "bytes")
        }
        QuotaRule::PeerEvents => {
            ("network", "at the other", "other network's operator", "peer_stored_events_max", "events")
        }
    };
    let text = format!(
        "Your {who} stores {used} of at most {max} {what} {place}, and this would exceed it. \
         Reading, leaving and ending still work. The {operator} can raise `{rule}` under [quota] in plenary.toml."
    );
    Refusal::new(Class::Forbidden, "quota_exceeded", text)
}
