//! The share of each owner in this process's limits, so that no owner uses up the shares of others.
//! Must not know: HTTP, or what a run does.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use plenary_kernel::{OwnerName, Share, Shares, SharesFull};

use crate::{
    command::Caller,
    decide::Rejection,
    id::RunId,
    limits::{
        QUEUED_RUNS_PER_OWNER_MAX, QUEUED_RUNS_TOTAL_MAX, RUNS_ACTIVE_MAX, RUNS_PER_OWNER_MAX,
        STREAMS_PER_OWNER_MAX,
    },
};

/// The payer of a share: an owner, or `None` for the operator.
pub(crate) type Payer = Option<OwnerName>;

/// The owner of the caller; in a session, the owner of the sender on whose behalf the agent starts its own run.
pub(crate) fn payer_of(caller: &Caller) -> Payer {
    match &caller.on_behalf_of {
        Some(sender) => Some(sender.owner_name()),
        None => caller.authority.by.owner(),
    }
}

/// The limits per process, for all owners together and for one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Most active runs of all owners.
    pub runs_max: usize,
    /// Most active runs of one owner.
    pub runs_per_owner_max: usize,
    /// Most queued runs of one owner.
    pub queued_runs_per_owner_max: usize,
    /// Most live streams and waiting requests of one owner.
    pub streams_per_owner_max: usize,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            runs_max: RUNS_ACTIVE_MAX,
            runs_per_owner_max: RUNS_PER_OWNER_MAX,
            queued_runs_per_owner_max: QUEUED_RUNS_PER_OWNER_MAX,
            streams_per_owner_max: STREAMS_PER_OWNER_MAX,
        }
    }
}

/// The used parts of the quotas.
pub(crate) struct RunShares {
    running: Shares<Payer>,
    queued: Shares<Payer>,
    /// The share of each queued run.
    waiting: Mutex<HashMap<RunId, Share<Payer>>>,
}

impl RunShares {
    pub(crate) fn new(quotas: Quotas) -> Self {
        Self {
            running: Shares::new(quotas.runs_max, quotas.runs_per_owner_max),
            queued: Shares::new(QUEUED_RUNS_TOTAL_MAX, quotas.queued_runs_per_owner_max),
            waiting: Mutex::default(),
        }
    }

    /// Takes a share for an active run.
    pub(crate) fn run(&self, payer: &Payer) -> Result<Share<Payer>, Rejection> {
        self.running.take(payer.clone(), 1).map_err(|full| match full {
            SharesFull::Key => Rejection::TooManyRunsOfOwner,
            SharesFull::Total => Rejection::TooManyRuns,
        })
    }

    /// Takes a share for a queued run.
    pub(crate) fn queue(&self, payer: &Payer) -> Result<Share<Payer>, Rejection> {
        self.queued.take(payer.clone(), 1).map_err(|full| match full {
            SharesFull::Key => Rejection::TooManyQueuedOfOwner,
            SharesFull::Total => Rejection::TooManyRuns,
        })
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<RunId, Share<Payer>>> {
        self.waiting.lock()
    }

    /// Keeps the share while the run is queued.
    pub(crate) fn waits(&self, run: RunId, share: Share<Payer>) {
        self.waiting().insert(run, share);
    }

    pub(crate) fn is_waiting(&self, run: RunId) -> bool {
        self.waiting().contains_key(&run)
    }

    /// Releases the share of a run that is no longer queued.
    pub(crate) fn release_queued(&self, run: RunId) {
        self.waiting().remove(&run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_its_limit_leaves_the_others_theirs() {
        let quotas =
            Quotas { runs_max: 3, runs_per_owner_max: 2, queued_runs_per_owner_max: 1, ..Quotas::default() };
        let counted = RunShares::new(quotas);
        let (ann, nick, operator) = (Some("ann".parse().unwrap()), Some("nick".parse().unwrap()), None);
        let held = [counted.run(&ann), counted.run(&ann)];
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(counted.run(&ann).unwrap_err(), Rejection::TooManyRunsOfOwner);
        let last = counted.run(&nick).unwrap();
        assert_eq!(counted.run(&operator).unwrap_err(), Rejection::TooManyRuns);
        drop(last);
        assert!(counted.run(&operator).is_ok());
        let run: RunId = "00000000-0007-7000-8000-000000000000".parse().unwrap();
        counted.waits(run, counted.queue(&ann).unwrap());
        assert_eq!(counted.queue(&ann).unwrap_err(), Rejection::TooManyQueuedOfOwner);
        assert!(counted.queue(&nick).is_ok());
        counted.release_queued(run);
        assert!(counted.queue(&ann).is_ok());
    }
}
