//! The effects of a block or a deletion in other rooms. A row records the pending eviction from the append until it
//! is finished, so that after a crash the sweep completes it.
//! Must not know: what the other rooms do.

use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, limits::READ_ROWS_MAX};
use plenary_log::{Batch, Fault, RowOp};
use plenary_room::async_trait;

use crate::{Accounts, agent::command::Eviction};

/// The actions of other rooms when two agents may no longer share anything. Each method may be called again for the same
/// agents; it then does only the remaining work.
#[async_trait]
pub trait Consequences: Send + Sync {
    /// The blocker's block is on disk: the blocked agent leaves every session the two share (ASP-14). The block is
    /// acknowledged only afterwards.
    async fn on_block(&self, blocker: &AgentHandle, blocked: &AgentHandle) -> Result<(), Fault>;
    /// The agent is gone: it leaves every session.
    async fn on_removal(&self, agent: &AgentHandle) -> Result<(), Fault>;
}

const ROWS: &str = "evict/";

impl Eviction {
    /// The row that exists until the eviction has happened.
    pub(crate) fn row(&self) -> String {
        match self {
            Self::Pair { blocker, blocked, id } => format!("{ROWS}pair/{blocker}/{blocked}/{id}"),
            Self::Agent { agent, id } => format!("{ROWS}agent/{agent}/{id}"),
        }
    }

    /// The eviction of a row.
    fn read(row: &str) -> Option<Self> {
        let mut parts = row.strip_prefix(ROWS)?.split('/');
        let eviction = match parts.next()? {
            "pair" => Self::Pair {
                blocker: parts.next()?.parse().ok()?,
                blocked: parts.next()?.parse().ok()?,
                id: parts.next()?.to_owned(),
            },
            "agent" => Self::Agent { agent: parts.next()?.parse().ok()?, id: parts.next()?.to_owned() },
            _ => return None,
        };
        parts.next().is_none().then_some(eviction)
    }
}

impl Accounts {
    /// Executes the eviction, then removes its row.
    pub(crate) async fn evict(&self, eviction: &Eviction) -> Result<(), Fault> {
        let Some(consequences) = self.consequences() else { return Ok(()) };
        match eviction {
            Eviction::Pair { blocker, blocked, .. } => consequences.on_block(blocker, blocked).await?,
            Eviction::Agent { agent, .. } => consequences.on_removal(agent).await?,
        }
        let removal = RowOp { name: eviction.row(), expected: None, value: None };
        self.log().append(Batch { rows: vec![removal], ..Batch::default() }).await?;
        Ok(())
    }

    /// Finishes evictions that a crash or a fault interrupted, and returns their number. Called at the start and every few
    /// seconds. One that fails is retried in the next call and does not prevent the others.
    pub fn sweep(&self) -> Sealed<'_, Result<usize, Fault>> {
        seal(async move {
            if self.consequences().is_none() {
                return Ok(0);
            }
            let (mut after, mut finished, mut failed) = (None::<String>, 0, None);
            loop {
                let rows = self.log().read_rows(ROWS, after.as_deref(), READ_ROWS_MAX).await?;
                for (name, _) in &rows {
                    let outcome = match Eviction::read(name) {
                        Some(eviction) => self.evict(&eviction).await,
                        None => Err(Fault::Corrupt(format!("{name} is no eviction"))),
                    };
                    match outcome {
                        Ok(()) => finished += 1,
                        Err(fault) => {
                            tracing::warn!(%fault, row = %name, "an eviction waits for the next sweep");
                            // A damaged row stays damaged, and must not prevent the start.
                            if !matches!(fault, Fault::Corrupt(_)) {
                                failed = Some(fault);
                            }
                        }
                    }
                }
                match rows.last() {
                    Some((last, _)) if rows.len() == READ_ROWS_MAX => after = Some(last.clone()),
                    _ => return failed.map_or(Ok(finished), Err),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_who_leaves() {
        let (blocker, blocked) = ("@a.b".parse().unwrap(), "@c.d".parse().unwrap());
        let pair = Eviction::Pair { blocker, blocked, id: "01".into() };
        assert_eq!(pair.row(), "evict/pair/@a.b/@c.d/01");
        assert_eq!(Eviction::read(&pair.row()), Some(pair));
        let agent = Eviction::Agent { agent: "@a.b".parse().unwrap(), id: "01".into() };
        assert_eq!(agent.row(), "evict/agent/@a.b/01");
        assert_eq!(Eviction::read(&agent.row()), Some(agent));
        for bad in ["evict/", "evict/pair/@a.b/01", "evict/agent/@a.b/01/02", "evict/x/@a.b", "other/"] {
            assert_eq!(Eviction::read(bad), None, "{bad}");
        }
    }
}
