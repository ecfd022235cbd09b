//! Recovery after the end of a process: at the start, and on a shared store every few seconds, the runs of dead
//! processes end with an error, and runs that wait behind them start. It also handles the end of this process.
//! Must not know: HTTP.

use std::{collections::HashSet, sync::Arc, time::Duration};

use plenary_engine::ExecuteError;
use plenary_kernel::limits::READ_ROWS_MAX;
use plenary_log::{Fault, Order};

use crate::{
    Runs,
    command::TakeOver,
    id::ThreadId,
    limits::STOP_GRACE_MS,
    room::BUSY,
    state::{RunStatus, ThreadState},
};

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
        if self.log().shared() {
            // Nobody may take this process for gone while its first runs begin.
            self.0.cursors.beat().await?;
        }
        let alive = self.alive().await?;
        self.count_queued(&alive).await?;
        self.take_over_from(&alive).await
    }

    /// The processes that are there, where several serve the store.
    async fn alive(&self) -> Result<HashSet<String>, Fault> {
        if !self.log().shared() {
            return Ok(HashSet::new());
        }
        let alive = self.0.cursors.alive().await?;
        Ok(alive.iter().map(|node| node.as_str().to_owned()).collect())
    }

    /// Takes over what belongs to processes that are gone.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take_over(&self) -> Result<(), Fault> {
        self.take_over_from(&self.alive().await?).await
    }

    /// Counts what waits. What waits behind a run of a process that is there takes shares at that process.
    async fn count_queued(&self, alive: &HashSet<String>) -> Result<(), Fault> {
        let mut after = None::<String>;
        loop {
            let rows =
                self.log().read_index(BUSY, "", after.as_deref(), READ_ROWS_MAX, Order::Ascending).await?;
            for row in &rows {
                let is_elsewhere = alive.contains(&*String::from_utf8_lossy(&row.value));
                let counted = self.count_queued_of(thread(&row.key)?, is_elsewhere).await;
                Fault::past_damage(counted, "the queue of a damaged thread is not counted")?;
            }
            if rows.len() < READ_ROWS_MAX {
                return Ok(());
            }
            after = rows.into_iter().next_back().map(|row| row.key);
        }
    }

    async fn count_queued_of(&self, thread: ThreadId, is_elsewhere: bool) -> Result<(), Fault> {
        let found = self.fresh(thread).await?;
        found.queued().filter(|run| !run.held).for_each(|_| {
            self.0.gauges.queued.inc();
        });
        if is_elsewhere || !self.count_waiting(&found) || !self.log().shared() {
            return Ok(());
        }
        // Another process may have begun one meanwhile, and what says so may have passed before it was noted here.
        let now = self.fresh(thread).await?;
        for queued in found.queued() {
            if now.run(queued.id).is_none_or(|run| run.status != RunStatus::Queued) {
                self.0.counted.waits_no_more(queued.id);
            }
        }
        Ok(())
    }

    /// Takes the shares of what waits; false where nothing does.
    fn count_waiting(&self, thread: &ThreadState) -> bool {
        let (mut waits, counted) = (false, &self.0.counted);
        for queued in thread.queued().filter(|queued| !counted.is_waiting(queued.id)) {
            // Past the limit it stays queued all the same: it was accepted long ago.
            if let Ok(share) = counted.queue(&queued.payer) {
                counted.waits(queued.id, share);
                waits = true;
            }
        }
        waits
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
                        // From now on it waits here.
                        self.count_waiting(&state);
                        let run = done.reply.started.and_then(|run| state.run(run));
                        // It goes on in any case: it was accepted long ago.
                        let share = run.and_then(|run| self.0.counted.run(&run.payer).ok());
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
