//! Notifies peers of revoked accords, at once and until they confirm. An unavailable peer or a crash of this server must not
//! keep an accord alive on the other side.
//! Must not know: how an accord is revoked.

use std::{collections::HashMap, time::Duration};

use plenary_engine::ExecuteError;
use plenary_kernel::AccordId;
use plenary_log::Fault;
use tokio::time::{Instant, sleep_until};
use tokio_util::{sync::CancellationToken, task::JoinMap};

use crate::{
    Links, NetworkUrl,
    accord::decide::AccordStep,
    limits::{TELL_FOR_MS, TELL_LATE_FOR, TELL_PAUSE, TELL_PAUSE_MAX},
    peer_calls::ACCORDS_PATH,
};

/// Where a peer hears that an accord is revoked.
pub(crate) fn revocation_path(accord: &AccordId) -> String {
    format!("{ACCORDS_PATH}/{accord}/revoke")
}

/// The attempts of this process.
#[derive(Default)]
struct Attempts {
    /// The result is true if the peer has confirmed.
    tasks: JoinMap<AccordId, bool>,
    /// The time of the next attempt and the pause before it, after a failed attempt.
    retries: HashMap<AccordId, (Instant, Duration)>,
    /// Since when this process has known that the time for attempts is over.
    late_since: HashMap<AccordId, Instant>,
}

impl Attempts {
    fn end(&mut self, accord: AccordId, is_confirmed: bool) {
        let pause =
            self.retries.remove(&accord).map_or(TELL_PAUSE, |(_, pause)| (pause * 2).min(TELL_PAUSE_MAX));
        if !is_confirmed {
            self.retries.insert(accord, (Instant::now() + pause, pause));
        }
    }

    /// Whether to give up a notification for which the time is over: not before this process has tried for a while.
    fn is_given_up(&mut self, accord: &AccordId, now: Instant) -> bool {
        let since = *self.late_since.entry(accord.clone()).or_insert(now);
        now - since >= TELL_LATE_FOR
    }

    fn may_begin(&self, accord: &AccordId) -> bool {
        let is_due = self.retries.get(accord).is_none_or(|(at, _)| *at <= Instant::now());
        is_due && !self.tasks.contains_key(accord)
    }
}

impl Links {
    /// Notifies peers until `stop`.
    pub(crate) async fn notify_revocations(self, stop: CancellationToken) {
        let (mut attempts, mut changes) = (Attempts::default(), self.0.changed.subscribe());
        loop {
            if let Err(fault) = self.begin(&mut attempts).await {
                tracing::warn!(%fault, "which peers are to be told of a revocation cannot be read");
            }
            let next_retry = attempts.retries.values().map(|(at, _)| *at).min();
            let next_retry = next_retry
                .unwrap_or_else(|| Instant::now() + TELL_PAUSE_MAX)
                .max(Instant::now() + TELL_PAUSE / 4);
            tokio::select! {
                () = stop.cancelled() => return,
                Ok(()) = changes.changed() => {}
                // An attempt that a bug ended counts as failed.
                Some((accord, is_confirmed)) = attempts.tasks.join_next() => attempts.end(accord, is_confirmed.unwrap_or(false)),
                () = sleep_until(next_retry) => {}
            }
        }
    }

    /// Starts the attempts that are due.
    async fn begin(&self, attempts: &mut Attempts) -> Result<(), Fault> {
        let peers = self.peers().await?;
        attempts.retries.retain(|accord, _| peers.untold.contains_key(accord));
        attempts.late_since.retain(|accord, _| peers.untold.contains_key(accord));
        for (accord, untold) in &peers.untold {
            let is_late = self.now().0 >= untold.since.0.saturating_add(TELL_FOR_MS);
            if is_late && attempts.is_given_up(accord, Instant::now()) {
                self.end_notification(accord.clone(), false).await?;
            } else if attempts.may_begin(accord) {
                let (links, network, accord_id) = (self.clone(), untold.network.clone(), accord.clone());
                attempts.tasks.spawn(accord.clone(), async move { links.notify(&network, &accord_id).await });
            }
        }
        Ok(())
    }

    /// One attempt. True if the peer has confirmed and that is recorded.
    async fn notify(&self, network: &NetworkUrl, accord: &AccordId) -> bool {
        // A 404 may be that of a server in front of the peer, which never hears of it then.
        if let Err(failure) = self.tell(network, &revocation_path(accord)).await {
            tracing::info!(%network, %failure, "a peer was not told of a revocation yet");
            return false;
        }
        match self.end_notification(accord.clone(), true).await {
            Ok(()) => true,
            Err(fault) => {
                tracing::warn!(%fault, "that a peer was told of a revocation is not recorded yet");
                false
            }
        }
    }

    async fn end_notification(&self, accord: AccordId, is_confirmed: bool) -> Result<(), Fault> {
        match self.execute(None, AccordStep::NotificationDone { accord, is_confirmed }).await {
            Err(ExecuteError::Fault(fault)) => Err(fault),
            Err(ExecuteError::OverQuota(exceeded)) => Err(exceeded.without_payer()),
            // Another process was faster.
            Ok(_) | Err(ExecuteError::Rejected(_) | ExecuteError::KeyReused) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Stamp, TimestampMs};

    use super::*;

    #[test]
    fn a_peer_is_told_for_a_while_although_the_time_passed_in_a_sleep() {
        let accord = AccordId::mint(&Stamp::new(TimestampMs(1), [0; 10]), 0);
        let (mut attempts, wake) = (Attempts::default(), Instant::now());
        let second = Duration::from_secs(1);
        for (now, is_over) in
            [(wake, false), (wake + TELL_LATE_FOR - second, false), (wake + TELL_LATE_FOR, true)]
        {
            assert_eq!(attempts.is_given_up(&accord, now), is_over);
        }
    }
}
