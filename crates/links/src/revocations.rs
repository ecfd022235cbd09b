//! Notifies peers of revoked accords, at once and until they confirm. An unavailable peer or a crash of this server must not
//! keep an accord alive on the other side.
//! Must not know: how an accord is revoked.

use std::{collections::HashMap, time::Duration};

use http::{Method, StatusCode};
use plenary_engine::ExecuteError;
use plenary_kernel::AccordId;
use plenary_log::Fault;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tokio_util::{sync::CancellationToken, task::JoinMap};

use crate::{
    Links, NetworkUrl,
    accord::decide::AccordStep,
    limits::{TELL_FOR_MS, TELL_PAUSE, TELL_PAUSE_MAX},
    outgoing::{ACCORDS_PATH, CallFailure},
};

/// The attempts of this process.
#[derive(Default)]
struct Attempts {
    /// The result is true if the peer has confirmed.
    tasks: JoinMap<AccordId, bool>,
    /// The time of the next attempt and the pause before it, after a failed attempt.
    later: HashMap<AccordId, (Instant, Duration)>,
}

impl Attempts {
    fn end(&mut self, accord: AccordId, heard: bool) {
        let pause =
            self.later.remove(&accord).map_or(TELL_PAUSE, |(_, pause)| (pause * 2).min(TELL_PAUSE_MAX));
        if !heard {
            self.later.insert(accord, (Instant::now() + pause, pause));
        }
    }

    fn may_begin(&self, accord: &AccordId) -> bool {
        let is_due = self.later.get(accord).is_none_or(|(at, _)| *at <= Instant::now());
        is_due && !self.tasks.contains_key(accord)
    }
}

impl Links {
    /// Notifies peers until `stop`.
    pub(crate) async fn tell_revocations(self, stop: CancellationToken) {
        let (mut attempts, mut changes) = (Attempts::default(), self.0.changed.subscribe());
        loop {
            if let Err(fault) = self.begin(&mut attempts).await {
                tracing::warn!(%fault, "which peers are to be told of a revocation cannot be read");
            }
            let next = attempts.later.values().map(|(at, _)| *at).min();
            let next =
                next.unwrap_or_else(|| Instant::now() + TELL_PAUSE_MAX).max(Instant::now() + TELL_PAUSE / 4);
            tokio::select! {
                () = stop.cancelled() => return,
                Ok(()) = changes.changed() => {}
                // An attempt that a bug ended counts as failed.
                Some((accord, heard)) = attempts.tasks.join_next() => attempts.end(accord, heard.unwrap_or(false)),
                () = sleep_until(next) => {}
            }
        }
    }

    /// Starts the attempts that are due.
    async fn begin(&self, attempts: &mut Attempts) -> Result<(), Fault> {
        let peers = self.peers().await?;
        attempts.later.retain(|accord, _| peers.untold.contains_key(accord));
        for (accord, untold) in &peers.untold {
            if self.now().0 >= untold.since.0.saturating_add(TELL_FOR_MS) {
                self.told(accord.clone(), false).await?;
            } else if attempts.may_begin(accord) {
                let (links, network, told) = (self.clone(), untold.network.clone(), accord.clone());
                attempts.tasks.spawn(accord.clone(), async move { links.tell(&network, &told).await });
            }
        }
        Ok(())
    }

    /// One attempt. True if the peer has confirmed and that is recorded.
    async fn tell(&self, network: &NetworkUrl, accord: &AccordId) -> bool {
        let path = format!("{ACCORDS_PATH}/{accord}/revoke");
        let told: Result<Value, _> = self.call(network, (Method::POST, &path), None::<&Value>).await;
        match told {
            // The peer has no such accord, so there is nothing left to revoke.
            Ok(_) | Err(CallFailure::Refused(StatusCode::NOT_FOUND)) => {}
            Err(failure) => {
                tracing::info!(%network, %failure, "a peer was not told of a revocation yet");
                return false;
            }
        }
        match self.told(accord.clone(), true).await {
            Ok(()) => true,
            Err(fault) => {
                tracing::warn!(%fault, "that a peer was told of a revocation is not recorded yet");
                false
            }
        }
    }

    async fn told(&self, accord: AccordId, heard: bool) -> Result<(), Fault> {
        match self.carry_out(None, AccordStep::Told { accord, heard }).await {
            Err(ExecuteError::Fault(fault)) => Err(fault),
            Err(ExecuteError::OverQuota(exceeded)) => Err(exceeded.without_payer()),
            // Another process was faster.
            Ok(_) | Err(ExecuteError::Rejected(_) | ExecuteError::KeyReused) => Ok(()),
        }
    }
}
