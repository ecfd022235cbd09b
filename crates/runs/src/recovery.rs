//! Recovery after the end of a process: at the start, and on a shared store every few seconds, the runs of dead
//! processes end with an error, and the runs queued behind them start. Also the shutdown of this process.
//! Must not know: HTTP.

use std::{collections::HashSet, sync::Arc, time::Duration};

use plenary_engine::ExecuteError;
use plenary_log::{Fault, Order};

use crate::{
    Runs,
    command::TakeOver,
    id::ThreadId,
    limits::STOP_GRACE_MS,
    room::BUSY,
    state::{RunStatus, ThreadState},
};

/// Additional time after their grace in which the ends of runs are written when the server stops.
const LAST_WRITES_MS: u64 = 1_000;

impl Runs {
    /// Ends the runs that were active when the store was last served, and starts queued ones. Call it once, before
    /// the first request. On a shared store it handles only the runs of dead processes.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn resume(&self) -> Result<(), Fault> {
        self.recall_enlisted().await?;
        if self.log().shared() {
            // No other process may consider this one dead while its first runs start.
            self.0.cursors.begin_lease().await?;
        }
        let live_nodes = self.live_nodes().await?;
        self.count_queued(&live_nodes).await?;
        self.take_over_from(&live_nodes).await
    }

    /// The live processes, if several serve the store.
    async fn live_nodes(&self) -> Result<HashSet<String>, Fault> {
        if !self.log().shared() {
            return Ok(HashSet::new());
        }
        let live_nodes = self.0.cursors.alive().await?;
        Ok(live_nodes.iter().map(|node| node.as_str().to_owned()).collect())
    }

    /// Ends the runs of dead processes and starts the runs queued behind them.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn take_over(&self) -> Result<(), Fault> {
        self.take_over_from(&self.live_nodes().await?).await
    }

    /// Counts the queued runs. A run that is queued behind a run of another live process takes its share there.
    async fn count_queued(&self, live_nodes: &HashSet<String>) -> Result<(), Fault> {
        let mut rows = self.log().index_rows(BUSY, "", Order::Ascending);
        while let Some(row) = rows.next().await? {
            let is_of_other_node = live_nodes.contains(&*String::from_utf8_lossy(&row.value));
            let result = self.count_queued_of(thread(&row.key)?, is_of_other_node).await;
            Fault::skip_corrupt(result, "the queue of a damaged thread is not counted")?;
        }
        Ok(())
    }

    async fn count_queued_of(&self, thread: ThreadId, is_of_other_node: bool) -> Result<(), Fault> {
        let state = self.fresh(thread).await?;
        state.queued().filter(|run| !run.held).for_each(|_| {
            self.0.gauges.queued.inc();
        });
        if is_of_other_node || !self.count_waiting(&state) || !self.log().shared() {
            return Ok(());
        }
        // Another process may have started it meanwhile, and the event may have passed before the run was counted
        // here.
        let current_state = self.fresh(thread).await?;
        for queued in state.queued() {
            if current_state.run(queued.id).is_none_or(|run| run.status != RunStatus::Queued) {
                self.0.shares.release_queued(queued.id);
            }
        }
        Ok(())
    }

    /// Takes the shares of the queued runs; false if there are none.
    fn count_waiting(&self, thread: &ThreadState) -> bool {
        let (mut waits, counted) = (false, &self.0.shares);
        for queued in thread.queued().filter(|queued| !counted.is_waiting(queued.id)) {
            // Beyond the quota it stays queued all the same: it was accepted long ago.
            if let Ok(share) = counted.queue(&queued.payer) {
                counted.waits(queued.id, share);
                waits = true;
            }
        }
        waits
    }

    async fn take_over_from(&self, live_nodes: &HashSet<String>) -> Result<(), Fault> {
        let mut rows = self.log().index_rows(BUSY, "", Order::Ascending);
        while let Some(row) = rows.next().await? {
            let node = String::from_utf8_lossy(&row.value).into_owned();
            if live_nodes.contains(&node) {
                continue;
            }
            let thread = thread(&row.key)?;
            let command = TakeOver { dead_node: node.into(), node: Arc::clone(&self.0.node) };
            let result = ExecuteError::skip_refused(self.ask(thread, command, None).await);
            let executed = Fault::skip_corrupt(result, "the runs of a damaged thread are not ended")?;
            let Some(done) = executed.flatten() else { continue };
            let state = self.fresh(thread).await?;
            // From now on it is queued here.
            self.count_waiting(&state);
            let run = done.reply.started.and_then(|run| state.run(run));
            // It starts in any case: it was accepted long ago.
            let share = run.and_then(|run| self.0.shares.run(&run.payer).ok());
            self.follow(thread, done.reply, share);
        }
        Ok(())
    }

    /// Stops: no run starts any more, active runs are told to stop and end with an error that says why, and their
    /// followers get that end. The next start begins the queued runs.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        let time_max = Duration::from_millis(STOP_GRACE_MS + LAST_WRITES_MS);
        if tokio::time::timeout(time_max, self.0.tasks.wait()).await.is_err() {
            tracing::warn!(runs = self.active(), "runs did not end in time; the next start ends them");
        }
        self.0.watchers.close();
        self.0.deltas.close();
    }
}

fn thread(key: &str) -> Result<ThreadId, Fault> {
    key.parse().map_err(|_| Fault::Corrupt(format!("{key} in {BUSY}")))
}
