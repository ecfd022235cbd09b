//! The cursor of the reactor and the process that holds it, in one row. One process per store reacts. If two do by
//! mistake, the effect is the same, because every command has an idempotency key.
//! Must not know: the events.

use std::collections::BTreeSet;

use plenary_hub::Cursors;
use plenary_kernel::{AgentHandle, Position};
use plenary_log::{Batch, Fault, Log, Outcome, RowOp};
use serde::{Deserialize, Serialize};

const ROW: &str = "participation/cursor";

/// The stored value of the row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredCursor {
    /// The reacting process.
    node: String,
    /// Everything up to this position is handled.
    position: Position,
    /// The agents whose earlier invitations are handled.
    agents: BTreeSet<AgentHandle>,
}

/// The row, held by the reacting process.
#[derive(Debug)]
pub(crate) struct Cursor {
    stored: StoredCursor,
    revision: u64,
}

impl Cursor {
    /// Claims the row; `None` while another living process holds it.
    pub(crate) async fn take(log: &Log, cursors: &Cursors) -> Result<Option<Self>, Fault> {
        let me = cursors.node().as_str();
        let row = log.read_row(ROW).await?;
        let (mut stored, revision) = match row {
            Some(row) => {
                let stored: StoredCursor = serde_json::from_slice(&row.value)
                    .map_err(|error| Fault::Corrupt(format!("{ROW}: {error}")))?;
                (stored, row.revision)
            }
            // Messages from before the first start are not answered.
            None => {
                let position = log.head().await?;
                (StoredCursor { node: String::new(), position, agents: BTreeSet::new() }, 0)
            }
        };
        if stored.node != me && cursors.alive().await?.iter().any(|node| node.as_str() == stored.node) {
            return Ok(None);
        }
        stored.node = me.to_owned();
        let mut cursor = Self { stored, revision };
        Ok(cursor.store(log).await?.then_some(cursor))
    }

    /// The position up to which everything is handled.
    pub(crate) fn position(&self) -> Position {
        self.stored.position
    }

    /// The agents among these whose earlier invitations are not handled yet.
    pub(crate) fn newcomers<'a>(&self, agents: impl Iterator<Item = &'a AgentHandle>) -> Vec<AgentHandle> {
        agents.filter(|agent| !self.stored.agents.contains(*agent)).cloned().collect()
    }

    /// Records that everything up to this position is handled. [`Self::store`] stores it.
    pub(crate) fn reach(&mut self, position: Position) {
        self.stored.position = position;
    }

    /// Records that the earlier invitations of these agents are handled. [`Self::store`] stores it.
    pub(crate) fn welcome(&mut self, agents: Vec<AgentHandle>) {
        self.stored.agents.extend(agents);
    }

    /// Stores the row; false if another process has taken it.
    pub(crate) async fn store(&mut self, log: &Log) -> Result<bool, Fault> {
        let value = serde_json::to_vec(&self.stored).map_err(|error| Fault::Corrupt(error.to_string()))?;
        let row = RowOp { name: ROW.into(), expected: Some(self.revision), value: Some(value.into()) };
        match log.append(Batch { rows: vec![row], ..Batch::default() }).await? {
            Outcome::Appended(_) => {
                self.revision += 1;
                Ok(true)
            }
            Outcome::Conflict { .. }
            | Outcome::RowConflict { .. }
            | Outcome::AlreadyDone { .. }
            | Outcome::KeyReused => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_frozen() {
        let stored = StoredCursor {
            node: "0".into(),
            position: Position(7),
            agents: ["@a.b".parse().unwrap()].into(),
        };
        let golden = r#"{"node":"0","position":7,"agents":["@a.b"]}"#;
        assert_eq!(serde_json::to_string(&stored).unwrap(), golden);
        assert_eq!(serde_json::from_str::<StoredCursor>(golden).unwrap(), stored);
    }
}
