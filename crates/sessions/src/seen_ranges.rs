//! The events of sessions that models have seen, as reported by tools and acknowledgements: ranges of sequence numbers
//! per agent and session, stored lazily and in batches. The ranges only grow; a range that a fault loses is reported
//! later or never. A plain read of a session does not count.
//! Must not know: the effects.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::Mutex;
use plenary_kernel::{AgentHandle, SessionId, limits::READ_ROWS_MAX};
use plenary_log::{Batch, Fault, Log, Outcome, RowOp};
use serde::{Deserialize, Serialize};

use crate::{
    Sessions,
    event::{sequence, version},
};

/// Most ranges per agent and session; beyond it the lowest are dropped, so fewer events count as seen. Equal to the
/// number of cut messages that the inbox keeps: a reader that fetches the rest of each has a range for each.
const RUNS_MAX: usize = 512;

/// A gap-free range of seen sequence numbers: those after `after`, up to and including `to`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The number before the first.
    pub after: u64,
    /// The last number.
    pub to: u64,
}

impl Run {
    /// Whether the range contains a number.
    pub const fn has(self, sequence: u64) -> bool {
        self.after < sequence && sequence <= self.to
    }
}

/// All ranges of one agent in one session, disjoint and ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredRuns", into = "StoredRuns")]
pub struct Runs(Vec<Run>);

/// A single range is stored as an object, as in the older form that had no lists.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredRuns {
    One(Run),
    Several(Vec<Run>),
}

impl From<StoredRuns> for Runs {
    fn from(stored: StoredRuns) -> Self {
        match stored {
            StoredRuns::One(run) => Self::default().with_range(run),
            StoredRuns::Several(runs) => runs.into_iter().fold(Self::default(), Self::with_range),
        }
    }
}

impl From<Runs> for StoredRuns {
    fn from(Runs(runs): Runs) -> Self {
        match *runs {
            [run] => Self::One(run),
            _ => Self::Several(runs),
        }
    }
}

impl Runs {
    /// Whether a range contains a number.
    pub fn has(&self, sequence: u64) -> bool {
        self.0.iter().any(|run| run.has(sequence))
    }

    /// Adds a range.
    fn with_range(mut self, mut run: Run) -> Self {
        if run.to <= run.after {
            return self;
        }
        self.0.retain(|existing| {
            let overlaps = existing.after <= run.to && run.after <= existing.to;
            if overlaps {
                run = Run { after: run.after.min(existing.after), to: run.to.max(existing.to) };
            }
            !overlaps
        });
        let index = self.0.partition_point(|existing| existing.to < run.after);
        self.0.insert(index, run);
        let excess = self.0.len().saturating_sub(RUNS_MAX);
        self.0.drain(..excess);
        self
    }

    /// Adds the ranges of another value.
    fn merged_with(self, other: &Self) -> Self {
        other.0.iter().fold(self, |runs, run| runs.with_range(*run))
    }
}

type Part = (AgentHandle, SessionId);

/// Ranges that are not stored yet.
#[derive(Debug, Default)]
pub(crate) struct Reads(Mutex<HashMap<Part, Runs>>);

impl Reads {
    /// Notes a range that the agent's model has seen.
    pub(crate) fn note(&self, agent: &AgentHandle, id: &SessionId, run: Run) {
        let mut unwritten = self.0.lock();
        let runs = unwritten.entry((agent.clone(), id.clone())).or_default();
        *runs = std::mem::take(runs).with_range(run);
    }
}

fn row((agent, id): &Part) -> String {
    format!("session_read/{agent}/{id}")
}

async fn stored_runs(log: &Log, part: &Part) -> Result<(Runs, u64), Fault> {
    let name = row(part);
    let Some(row) = log.read_row(&name).await? else { return Ok((Runs::default(), 0)) };
    let run = serde_json::from_slice(&row.value)
        .map_err(|error| Fault::Corrupt(format!("the row {name} can't be read: {error}")))?;
    Ok((run, row.revision))
}

impl Sessions {
    /// The ranges of a session that an agent's model has seen.
    pub async fn has_read(&self, agent: &AgentHandle, id: &SessionId) -> Result<Runs, Fault> {
        let part = (agent.clone(), id.clone());
        // The memory first: between the two reads a flush may move ranges to the row, and never back.
        let unwritten = self.0.reads.0.lock().get(&part).cloned().unwrap_or_default();
        let (runs, _) = stored_runs(self.log(), &part).await?;
        Ok(runs.merged_with(&unwritten))
    }

    /// Notes events of a session that an agent's model has seen; false if the agent takes no part in it. Events that a
    /// former member may not see are left out.
    pub async fn note_seen(&self, agent: &AgentHandle, id: &SessionId, run: Run) -> Result<bool, Fault> {
        if run.to > i64::MAX.unsigned_abs() || !self.takes_part(agent, id).await? {
            return Ok(false);
        }
        let (state, head) = self.0.streams.fresh(id.as_str()).await?;
        let Some(participant) = state.participant(agent) else { return Ok(false) };
        if participant.stay.is_some() {
            let to = version(run.to).min(head);
            self.0.reads.note(agent, id, Run { after: run.after, to: sequence(to) });
        }
        Ok(true)
    }

    /// Stores noted ranges, as many as fit one batch. Called periodically.
    pub async fn flush_reads(&self) -> Result<(), Fault> {
        let pending_runs: Vec<(Part, Runs)> = {
            let unwritten = self.0.reads.0.lock();
            unwritten.iter().take(READ_ROWS_MAX).map(|(part, runs)| (part.clone(), runs.clone())).collect()
        };
        if !self.write_runs(&pending_runs).await? {
            // Another process has written one of the rows. One by one, that row does not stop the others.
            for one in &pending_runs {
                self.write_runs(std::slice::from_ref(one)).await?;
            }
        }
        Ok(())
    }

    /// Stores all noted ranges, when the server stops.
    pub(crate) async fn flush_all_reads(&self) -> Result<(), Fault> {
        // One more than they need, for a row that another process writes at the same time.
        let batches = self.0.reads.0.lock().len().div_ceil(READ_ROWS_MAX) + 1;
        for _ in 0..batches {
            self.flush_reads().await?;
        }
        Ok(())
    }

    /// Stores ranges in one batch and removes them from the noted ones; false if another process has written a row
    /// meanwhile.
    async fn write_runs(&self, pending_runs: &[(Part, Runs)]) -> Result<bool, Fault> {
        let mut rows = Vec::with_capacity(pending_runs.len());
        for (part, runs) in pending_runs {
            let result = stored_runs(self.log(), part).await;
            let Some((stored_runs, revision)) =
                Fault::skip_corrupt(result, "damaged read ranges are not written")?
            else {
                continue;
            };
            let merged = stored_runs.clone().merged_with(runs);
            if merged != stored_runs {
                let value = serde_json::to_vec(&merged).map_err(|error| Fault::Corrupt(error.to_string()))?;
                let value = Some(Bytes::from(value));
                rows.push(RowOp { name: row(part), expected: Some(revision), value });
            }
        }
        if !rows.is_empty() {
            match self.log().append(Batch { rows, ..Batch::default() }).await? {
                Outcome::Appended(_) => {}
                Outcome::RowConflict { .. }
                | Outcome::Conflict { .. }
                | Outcome::AlreadyDone { .. }
                | Outcome::KeyReused => return Ok(false),
            }
        }
        let mut unwritten = self.0.reads.0.lock();
        for (part, runs) in pending_runs {
            // Ranges noted meanwhile stay for the next turn.
            if unwritten.get(part) == Some(runs) {
                unwritten.remove(part);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plenary_accounts::{Accounts, TokenDigest};
    use plenary_hub::{Cursors, Presence};
    use plenary_kernel::{Clock, Stamp, TimestampMs};
    use plenary_log::rigged::{FaultControl, Process, Store};
    use plenary_room::ServedRoom;

    use super::*;
    use crate::Config;

    struct StandingClock;

    impl Clock for StandingClock {
        fn now(&self) -> TimestampMs {
            TimestampMs(1_000_000)
        }
        fn stamp(&self) -> Stamp {
            Stamp::new(self.now(), [0; 10])
        }
    }

    fn process(store: &Store) -> (Sessions, FaultControl) {
        let Process { log, rigging, .. } = store.process(true);
        let clock: Arc<dyn Clock> = Arc::new(StandingClock);
        let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of("plo"));
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        let presence = Arc::new(Presence::default());
        (Sessions::new(log, clock, accounts, presence, cursors, Config::default()), rigging)
    }

    fn session(number: usize) -> SessionId {
        format!("sess_{number}").parse().unwrap()
    }

    #[tokio::test]
    async fn a_stopping_server_stores_more_ranges_than_fit_one_batch() {
        let store = Store::new();
        let (sessions, _) = process(&store);
        let bob: AgentHandle = "@bob.cli".parse().unwrap();
        for number in 0..=READ_ROWS_MAX {
            sessions.0.reads.note(&bob, &session(number), run(0, 1));
        }
        sessions.last_writes().await.unwrap();
        assert!(sessions.0.reads.0.lock().is_empty());
        let (after, _) = process(&store);
        for number in 0..=READ_ROWS_MAX {
            assert!(after.has_read(&bob, &session(number)).await.unwrap().has(1), "{number}");
        }
    }

    #[tokio::test]
    async fn a_row_that_another_process_writes_keeps_back_no_range() {
        let store = Store::new();
        let ((sessions, rigging), (other, _)) = (process(&store), process(&store));
        let bob: AgentHandle = "@bob.cli".parse().unwrap();
        for number in 0..2 {
            sessions.0.reads.note(&bob, &session(number), run(0, 1));
        }
        other.0.reads.note(&bob, &session(0), run(1, 2));
        rigging.hold();
        let flushing = tokio::spawn({
            let sessions = sessions.clone();
            async move { sessions.flush_reads().await }
        });
        let mut reads = 0;
        while reads < 2 {
            tokio::task::yield_now().await;
            reads += rigging.counted().reads;
        }
        other.flush_reads().await.unwrap();
        rigging.release();
        flushing.await.unwrap().unwrap();
        assert!(sessions.0.reads.0.lock().is_empty());
        assert_eq!(other.has_read(&bob, &session(0)).await.unwrap(), runs(&[(0, 2)]));
        assert_eq!(other.has_read(&bob, &session(1)).await.unwrap(), runs(&[(0, 1)]));
    }

    fn run(after: u64, to: u64) -> Run {
        Run { after, to }
    }

    fn runs(all: &[(u64, u64)]) -> Runs {
        all.iter().fold(Runs::default(), |runs, (after, to)| runs.with_range(run(*after, *to)))
    }

    #[test]
    fn runs_grow_where_they_touch_and_nothing_is_claimed_that_was_not_read() {
        for (before, added, merged) in [
            (vec![], (4, 9), vec![(4, 9)]),
            (vec![(0, 5)], (5, 9), vec![(0, 9)]),
            (vec![(4, 9)], (0, 4), vec![(0, 9)]),
            (vec![(4, 9)], (2, 20), vec![(2, 20)]),
            (vec![(0, 5)], (6, 9), vec![(0, 5), (6, 9)]),
            (vec![(6, 9)], (0, 5), vec![(0, 5), (6, 9)]),
            (vec![(0, 5), (6, 9)], (5, 6), vec![(0, 9)]),
            (vec![(0, 5)], (7, 7), vec![(0, 5)]),
        ] {
            let actual = runs(&before).with_range(run(added.0, added.1));
            let expected: Vec<Run> = merged.iter().map(|(after, to)| run(*after, *to)).collect();
            assert_eq!(actual.0, expected, "{before:?} {added:?}");
        }
        let ranges = runs(&[(4, 9), (11, 12)]);
        let numbers: Vec<u64> = (0..15).filter(|number| ranges.has(*number)).collect();
        assert_eq!(numbers, [5, 6, 7, 8, 9, 12]);
    }

    #[test]
    fn past_their_number_the_lowest_are_forgotten() {
        let many: Vec<(u64, u64)> = (0..RUNS_MAX as u64 + 1).map(|n| (3 * n, 3 * n + 1)).collect();
        let ranges = runs(&many);
        assert!(ranges.0.len() == RUNS_MAX && !ranges.has(1) && ranges.has(4));
    }

    #[test]
    fn the_stored_form_is_frozen() {
        for (runs, form) in [
            (runs(&[(3, 7)]), r#"{"after":3,"to":7}"#),
            (runs(&[(3, 7), (9, 10)]), r#"[{"after":3,"to":7},{"after":9,"to":10}]"#),
        ] {
            assert_eq!(serde_json::to_string(&runs).unwrap(), form);
            assert_eq!(serde_json::from_str::<Runs>(form).unwrap(), runs);
        }
    }
}
