//! All nodes of a cluster have the same operator's token: behind a load balancer the operator's commands would otherwise fail at
//! random. The log has the digest of the token; a node with another one does not start while others run.
//! Must not know: how the token was found.

use anyhow::bail;
use plenary_accounts::TokenDigest;
use plenary_journal::jetstream::Nats;
use plenary_log::{Batch, Log, Outcome, RowOp};

use super::OperatorToken;
use crate::cluster::another_node_runs;

/// The row with the digest of the token.
const ROW: &str = "cluster/operator";

/// Checks the token of this node.
pub(super) async fn check(log: &Log, operator: &OperatorToken, nats: &Nats) -> anyhow::Result<()> {
    let digest = TokenDigest::of(operator.secret()).hex();
    let Some(row) = log.read_row(ROW).await? else {
        return note(log, digest, 0).await;
    };
    if *row.value == *digest.as_bytes() {
        return Ok(());
    }
    if operator.is_new() {
        bail!(
            "the other nodes of this network have an operator's token, and this node has none: set PLENARY_OPERATOR_TOKEN to \
             it, or copy its file `operator-token` into the data directory"
        );
    }
    if another_node_runs(nats).await? {
        bail!(
            "the other nodes of this network have another operator's token: set PLENARY_OPERATOR_TOKEN to theirs; to change the \
             token of the network, stop all nodes first"
        );
    }
    tracing::warn!(
        "no other node runs: the operator's token of this node is from now on that of the network"
    );
    note(log, digest, row.revision).await
}

/// Stores the digest, unless another node was faster.
async fn note(log: &Log, digest: String, expected: u64) -> anyhow::Result<()> {
    let row = RowOp { name: ROW.to_owned(), expected: Some(expected), value: Some(digest.clone().into()) };
    match log.append(Batch { rows: vec![row], ..Batch::default() }).await {
        Ok(Outcome::Appended(_)) => Ok(()),
        Ok(_) if log.read_row(ROW).await?.is_some_and(|row| *row.value == *digest.as_bytes()) => Ok(()),
        Ok(_) => {
            bail!("another node has just started with another operator's token; all nodes need the same")
        }
        Err(fault) => {
            tracing::warn!(%fault, "it is not recorded yet which operator's token the network has");
            Ok(())
        }
    }
}
