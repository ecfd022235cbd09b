//! The position of the reactor, and its process: one row. One process on a store reacts; if two do by mistake, the
//! effect is the same, because every command has a key.
//! Must not know: the events.

use std::collections::BTreeSet;

use plenary_hub::Cursors;
use plenary_kernel::{AgentHandle, Position};
use plenary_log::{Batch, Fault, Log, Outcome, RowOp};
use serde::{Deserialize, Serialize};

const ROW: &str = "participation/cursor";

/// What the row says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredCursor {
    /// The process that reacts.
    node: String,
    /// Everything up to here was seen to.
    position: Position,
    /// The agents whose earlier invitations were looked for.
    agents: BTreeSet<AgentHandle>,
}

/// The row in the hands of the process that reacts.
#[derive(Debug)]
pub(crate) struct Cursor {
    kept: StoredCursor,
    revision: u64,
}

impl Cursor {
    /// Takes the row; `None` while another living process has it.
    pub(crate) async fn take(log: &Log, cursors: &Cursors) -> Result<Option<Self>, Fault> {
        let me = cursors.node().as_str();
        let row = log.read_row(ROW).await?;
        let (mut kept, revision) = match row {
            Some(row) => {
                let kept: StoredCursor = serde_json::from_slice(&row.value)
                    .map_err(|error| Fault::Corrupt(format!("{ROW}: {error}")))?;
                (kept, row.revision)
            }
            // What was said before there were agents to answer it is not answered.
            None => {
                let position = log.head().await?;
                (StoredCursor { node: String::new(), position, agents: BTreeSet::new() }, 0)
            }
        };
        if kept.node != me && cursors.alive().await?.iter().any(|node| node.as_str() == kept.node) {
            return Ok(None);
        }
        kept.node = me.to_owned();
        let mut cursor = Self { kept, revision };
        Ok(cursor.keep(log).await?.then_some(cursor))
    }

    /// How far everything was seen to.
    pub(crate) fn position(&self) -> Position {
        self.kept.position
    }

    /// Of these agents those whose earlier invitations were not looked for yet.
    pub(crate) fn newcomers<'a>(&self, agents: impl Iterator<Item = &'a AgentHandle>) -> Vec<AgentHandle> {
        agents.filter(|agent| !self.kept.agents.contains(*agent)).cloned().collect()
    }

    /// Everything up to here was seen to; to be kept.
    pub(crate) fn reach(&mut self, position: Position) {
        self.kept.position = position;
    }

    /// The invitations of these agents were looked for; to be kept.
    pub(crate) fn welcome(&mut self, agents: Vec<AgentHandle>) {
        self.kept.agents.extend(agents);
    }

    /// Writes it; false when another process has taken it.
    pub(crate) async fn keep(&mut self, log: &Log) -> Result<bool, Fault> {
        let value = serde_json::to_vec(&self.kept).map_err(|error| Fault::Corrupt(error.to_string()))?;
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
        let kept = StoredCursor {
            node: "0".into(),
            position: Position(7),
            agents: ["@a.b".parse().unwrap()].into(),
        };
        let golden = r#"{"node":"0","position":7,"agents":["@a.b"]}"#;
        assert_eq!(serde_json::to_string(&kept).unwrap(), golden);
        assert_eq!(serde_json::from_str::<StoredCursor>(golden).unwrap(), kept);
    }
}
