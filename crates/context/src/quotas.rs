//! Limits the concurrent work of one owner, so that the shares of others remain available.
//! Must not know: the searched or exported data.

use std::{sync::Arc, thread::available_parallelism};

use plenary_accounts::Actor;
use plenary_kernel::{Share, Shares, SharesFull};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    limits::{EXPORTS_AT_ONCE_MAX, SEARCHES_WAITING_MAX},
    rejection::Rejection,
};

/// Limits for the concurrent work of one owner; the operator counts as an owner.
#[derive(Debug, Clone, Copy)]
pub struct Quotas {
    /// Most searches, including waiting ones.
    pub searches_per_owner_max: usize,
    /// Most exports.
    pub exports_per_owner_max: usize,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { searches_per_owner_max: 4, exports_per_owner_max: 4 }
    }
}

/// The running work of this process.
pub(crate) struct RunningWork {
    quotas: Quotas,
    searches: Shares<String>,
    exports: Shares<String>,
    /// Permits for running searches; other searches wait, so that cores remain free for other requests.
    turns: Arc<Semaphore>,
}

/// The right to run a search; dropping it ends that right.
pub(crate) struct SearchPermit {
    _share: Share<String>,
    _turn: Option<OwnedSemaphorePermit>,
}

fn share_key(by: &Actor) -> String {
    by.owner().map_or_else(|| Actor::Operator.to_string(), |owner| owner.to_string())
}

fn quota_rejection(rule: &'static str, code: &'static str, limit: usize) -> impl Fn(SharesFull) -> Rejection {
    move |full| match full {
        SharesFull::Key => Rejection::OverQuota { code, rule, most: limit },
        SharesFull::Total => Rejection::Busy,
    }
}

impl RunningWork {
    pub(crate) fn new(quotas: Quotas) -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self {
            quotas,
            searches: Shares::new(SEARCHES_WAITING_MAX, quotas.searches_per_owner_max),
            exports: Shares::new(EXPORTS_AT_ONCE_MAX, quotas.exports_per_owner_max),
            turns: Arc::new(Semaphore::new((processors / 2).max(1))),
        }
    }

    /// Waits until the search may run.
    pub(crate) async fn search(&self, by: &Actor) -> Result<SearchPermit, Rejection> {
        let limit = self.quotas.searches_per_owner_max;
        let full = quota_rejection("searches_per_owner_max", "too_many_searches", limit);
        let share = self.searches.take(share_key(by), 1).map_err(full)?;
        // `ok`: the semaphore is never closed.
        let turn = self.turns.clone().acquire_owned().await.ok();
        Ok(SearchPermit { _share: share, _turn: turn })
    }

    pub(crate) fn export(&self, by: &Actor) -> Result<Share<String>, Rejection> {
        let limit = self.quotas.exports_per_owner_max;
        let full = quota_rejection("exports_per_owner_max", "too_many_exports", limit);
        self.exports.take(share_key(by), 1).map_err(full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_owner_s_searches_leave_the_others_theirs() {
        let running_work = RunningWork::new(Quotas { exports_per_owner_max: 2, ..Quotas::default() });
        let by = |text: &str| text.parse::<Actor>().unwrap();
        let held: Vec<_> =
            ["@ann.a", "~ann"].iter().map(|actor| running_work.export(&by(actor)).unwrap()).collect();
        let refused = running_work.export(&by("@ann.b")).err();
        assert!(matches!(refused, Some(Rejection::OverQuota { rule: "exports_per_owner_max", most: 2, .. })));
        let others = [running_work.export(&by("@bob.a")), running_work.export(&Actor::Operator)];
        assert!(others.iter().all(Result::is_ok));
        drop(held);
        running_work.export(&by("@ann.b")).unwrap();
        let searching = running_work.search(&by("@ann.a")).await.unwrap();
        drop(searching);
        running_work.search(&by("@bob.a")).await.unwrap();
    }
}
