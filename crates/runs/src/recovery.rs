//! What processes leave when they go: at the start, and on a shared store every few seconds, the runs of those that are
//! gone end with an error that says so, and what waits behind them begins. And the end of this process.
//! Must not know: HTTP.

use std::{collections::HashSet, sync::Arc, time::Duration};

use plenary_engine::ExecuteError;
use plenary_kernel::limits::READ_ROWS_MAX;
use plenary_log::{Fault, Order};

use crate::{Runs, command::TakeOver, id::ThreadId, limits::STOP_GRACE_MS, room::BUSY, shares::payer};

/// How much longer than their grace runs may take to be written as ended when the server stops.
const LAST_WRITES_MS: u64 = 1_000;

impl Runs {
    /// Ends what was going on when this store was last served, and begins what waits. To be called once, before
    /// anything is asked; on a shared store only what belongs to processes that are gone.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume(&self) -> Result<(), Fault> {
        self.recall_enlisted().await?;
        self.count_queued().await?;
        if self.log().shared() {
            // Nobody may take this process for gone while its first runs begin.
            self.0.cursors.beat().await?;
            return self.take_over().await;
        }
        self.take_over_from(&HashSet::new()).await
    }

    /// Takes over what belongs to processes that are gone.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take_over(&self) -> Result<(), Fault> {
        let alive = self.0.cursors.alive().await?;
        let alive = alive.iter().map(|node| node.as_str().to_owned()).collect();
        self.take_over_from(&alive).await
    }

    async fn count_queued(&self) -> Result<(), Fault> {
        let mut after = None::<String>;
        loop {
            let rows =
                self.log().read_index(BUSY, "", after.as_deref(), READ_ROWS_MAX, Order::Ascending).await?;
            for row in &rows {
                let found = self.fresh(thread(&row.key)?).await;
                let found = Fault::past_damage(found, "the queue of a damaged thread is not counted")?;
                let Some(found) = found else { continue };
                let payer = found.opened.as_ref().and_then(|opened| payer(&opened.by));
                for queued in found.queued() {
                    self.0.gauges.queued.inc();
                    // Past the limit it stays queued all the same: it was accepted long ago.
                    if let Ok(share) = self.0.counted.queue(&payer) {
                        self.0.counted.waits(queued.id, share);
                    }
                }
            }
            if rows.len() < READ_ROWS_MAX {
                return Ok(());
            }
            after = rows.into_iter().next_back().map(|row| row.key);
        }
    }

    async fn take_over_from(&self, alive: &HashSet<String>) -> Result<(), Fault> {
        let mut after = None::<String>;
        loop {
            let rows =
                self.log().read_index(BUSY, "", after.as_deref(), READ_ROWS_MAX, Order::Ascending).await?;
            for row in &rows {
                let node = String::from_utf8_lossy(&row.value).into_owned();
                if alive.contains(&node) {
                    continue;
                }
                let thread = thread(&row.key)?;
                let command = TakeOver { gone: node.into(), node: Arc::clone(&self.0.node) };
                match self.ask(thread, command, None).await {
                    Ok(done) => {
                        let state = self.fresh(thread).await?;
                        let payer = state.opened.as_ref().and_then(|opened| payer(&opened.by));
                        // It goes on in any case: it was accepted long ago.
                        let share = self.0.counted.run(&payer).ok();
                        self.follow(thread, done.reply, share);
                    }
                    Err(ExecuteError::Fault(fault)) => {
                        Fault::past_damage::<()>(Err(fault), "the runs of a damaged thread are not ended")?;
                    }
                    // The room refuses itself nothing.
                    Err(ExecuteError::Rejected(_) | ExecuteError::KeyReused | ExecuteError::OverQuota(_)) => {
                    }
                }
            }
            if rows.len() < READ_ROWS_MAX {
                return Ok(());
            }
            after = rows.into_iter().next_back().map(|row| row.key);
        }
    }

    /// Stops: nothing more is begun, what goes on is told to end and ends with an error that says why, and whoever
    /// follows it hears of that. What is queued is begun by the next start.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        let most = Duration::from_millis(STOP_GRACE_MS + LAST_WRITES_MS);
        if tokio::time::timeout(most, self.0.tasks.wait()).await.is_err() {
            tracing::warn!(runs = self.active(), "runs did not end in time; the next start ends them");
        }
        self.0.watchers.close();
        self.0.deltas.close();
    }
}

fn thread(key: &str) -> Result<ThreadId, Fault> {
    key.parse().map_err(|_| Fault::Corrupt(format!("{key} in {BUSY}")))
}
