//! How far agents have read their sessions by asking for events: a run of sequence numbers per agent and session,
//! kept lazily and in batches. It only grows: what a fault leaves unwritten was read all the same, and is claimed later
//! or never.
//! Must not know: what follows from having read.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use plenary_kernel::{AgentHandle, SessionId, limits::READ_ROWS_MAX};
use plenary_log::{Batch, Fault, Log, Outcome, RowOp};
use serde::{Deserialize, Serialize};

use crate::Sessions;

/// The sequence numbers that were read without a gap: those behind `after`, up to `to`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Nothing up to here.
    pub after: u64,
    /// Everything up to here.
    pub to: u64,
}

impl Run {
    /// Whether a number is among them.
    #[must_use]
    pub const fn has(self, sequence: u64) -> bool {
        self.after < sequence && sequence <= self.to
    }

    /// The two as one where they touch; else the one that was there.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        if self.after == self.to {
            return other;
        }
        if other.after > self.to || other.to < self.after {
            return self;
        }
        Self { after: self.after.min(other.after), to: self.to.max(other.to) }
    }
}

type Part = (AgentHandle, SessionId);

/// What was read and is not written yet.
#[derive(Debug, Default)]
pub(crate) struct Reads(Mutex<HashMap<Part, Run>>);

impl Reads {
    fn lock(&self) -> MutexGuard<'_, HashMap<Part, Run>> {
        self.0.lock()
    }

    /// The agent has got these.
    pub(crate) fn note(&self, me: &AgentHandle, id: &SessionId, run: Run) {
        let mut unwritten = self.lock();
        let known = unwritten.entry((me.clone(), id.clone())).or_default();
        *known = known.joined(run);
    }
}

fn row((me, id): &Part) -> String {
    format!("session_read/{me}/{id}")
}

async fn written(log: &Log, part: &Part) -> Result<(Run, u64), Fault> {
    let name = row(part);
    let Some(row) = log.read_row(&name).await? else { return Ok((Run::default(), 0)) };
    let run = serde_json::from_slice(&row.value)
        .map_err(|error| Fault::Corrupt(format!("the row {name} can't be read: {error}")))?;
    Ok((run, row.revision))
}

impl Sessions {
    /// What an agent has read of a session by asking for its events.
    pub async fn has_read(&self, me: &AgentHandle, id: &SessionId) -> Result<Run, Fault> {
        let part = (me.clone(), id.clone());
        let (run, _) = written(self.log(), &part).await?;
        let unwritten = self.0.reads.lock().get(&part).copied();
        Ok(unwritten.map_or(run, |unwritten| run.joined(unwritten)))
    }

    /// Writes what was read. Called every so often, and at the end.
    pub async fn flush_reads(&self) -> Result<(), Fault> {
        let noted: Vec<(Part, Run)> =
            self.0.reads.lock().iter().take(READ_ROWS_MAX).map(|(part, run)| (part.clone(), *run)).collect();
        let mut rows = Vec::with_capacity(noted.len());
        for (part, run) in &noted {
            let (known, revision) = written(self.log(), part).await?;
            let joined = known.joined(*run);
            if joined != known {
                let value = serde_json::to_vec(&joined).map_err(|error| Fault::Corrupt(error.to_string()))?;
                let value = Some(Bytes::from(value));
                rows.push(RowOp { name: row(part), expected: Some(revision), value });
            }
        }
        if !rows.is_empty() {
            match self.log().append(Batch { rows, ..Batch::default() }).await? {
                Outcome::Appended(_) => {}
                // Another process has written one of them: the next turn reads it first.
                Outcome::RowConflict { .. }
                | Outcome::Conflict { .. }
                | Outcome::AlreadyDone { .. }
                | Outcome::KeyReused => return Ok(()),
            }
        }
        let mut unwritten = self.0.reads.lock();
        for (part, run) in noted {
            // What was read meanwhile stays.
            if unwritten.get(&part) == Some(&run) {
                unwritten.remove(&part);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_where_they_touch_and_nothing_is_claimed_that_was_not_read() {
        let run = |after, to| Run { after, to };
        for (known, read, joined) in [
            (run(0, 0), run(4, 9), run(4, 9)),
            (run(0, 5), run(5, 9), run(0, 9)),
            (run(4, 9), run(0, 4), run(0, 9)),
            (run(4, 9), run(2, 20), run(2, 20)),
            (run(0, 5), run(6, 9), run(0, 5)),
        ] {
            assert_eq!(known.joined(read), joined, "{known:?} {read:?}");
        }
        assert!(run(4, 9).has(5) && run(4, 9).has(9) && !run(4, 9).has(4) && !run(4, 9).has(10));
    }

    #[test]
    fn the_stored_form_is_frozen() {
        let run = Run { after: 3, to: 7 };
        assert_eq!(serde_json::to_string(&run).unwrap(), r#"{"after":3,"to":7}"#);
    }
}
