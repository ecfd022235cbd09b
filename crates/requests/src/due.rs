//! The timers of the room: deadlines, and the ends of undo windows. After a restart the next process continues them.
//! Must not know: the effect of an answer.

use std::sync::atomic::Ordering;

use plenary_kernel::AskId;
use plenary_log::{Fault, Order};

use crate::{
    Requests,
    room::{DUE, time},
};

impl Requests {
    /// Handles due timers. Called regularly; reads the store only if a timer may be due.
    pub(crate) async fn run_timers(&self) -> Result<(), Fault> {
        if self.0.next_due.load(Ordering::Acquire) > self.now().0 {
            return Ok(());
        }
        // Set before the search, so that a time that is noted meanwhile is not lost.
        self.0.next_due.store(u64::MAX, Ordering::Release);
        let outcome = self.handle_due_timers().await;
        if outcome.is_err() {
            self.0.next_due.store(0, Ordering::Release);
        }
        outcome
    }

    async fn handle_due_timers(&self) -> Result<(), Fault> {
        let mut rows = self.log().index_rows(DUE, "", Order::Ascending);
        while let Some(row) = rows.next().await? {
            let end = time(self.now());
            let Some((due, id)) = row.key.split_once('/') else { continue };
            if *due > *end {
                self.note_due(due.parse().ok().map(plenary_kernel::TimestampMs));
                break;
            }
            if let Ok(id) = id.parse::<AskId>() {
                let result = self.pass_time(&id).await;
                Fault::skip_corrupt(result, "the time of a damaged request does not pass")?;
            }
        }
        Ok(())
    }
}
