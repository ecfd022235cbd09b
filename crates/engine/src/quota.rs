//! How much an owner may store: a command that would exceed that is refused before its batch is submitted.
//! Must not know: which commands store anything.

use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_log::{Batch, Exceeded, Fault, Log, Outcome, Pledge};

/// What a batch was counted for while it is under way.
#[derive(Debug)]
#[must_use]
pub(crate) struct Pledged(Option<Pledge>);

/// Counts what a batch stores, if its owner may store so much more.
pub(crate) async fn pledge(
    log: &Log,
    batch: &Batch,
    may_exceed: bool,
) -> Result<Result<Pledged, Exceeded>, Fault> {
    match batch.charges.first() {
        Some(charge) => Ok(log.pledge(charge, may_exceed).await?.map(|pledge| Pledged(Some(pledge)))),
        None => Ok(Ok(Pledged(None))),
    }
}

impl Pledged {
    /// What became of the batch.
    pub(crate) fn settle(self, outcome: Result<Outcome, Fault>) -> Result<Outcome, Fault> {
        if let Some(pledge) = self.0 {
            pledge.settle(&outcome);
        }
        outcome
    }
}

/// What whoever asked is told.
#[must_use]
pub fn refusal(exceeded: Exceeded) -> Refusal {
    let (rule, what, used, max) = match exceeded {
        Exceeded::Bytes { used, max } => ("stored_bytes_max", "bytes", used, max),
        Exceeded::Events { used, max } => ("stored_events_max", "events", used, max),
    };
    let text = format!(
        "Your owner stores {used} of {max} {what} that the rule {rule} allows, and this would exceed it. \
         Reading, leaving and ending still work. The operator can raise `{rule}` under [quota] in plenary.toml."
    );
    Refusal::new(Class::Forbidden, ErrorCode::QuotaExceeded, text)
}
