//! All processes of a network have the same operator's token: behind a load balancer the operator's commands would otherwise fail
//! at random. The log has the digest of the token; a process with another one does not start while others run.
//! Must not know: how the token was found.

use anyhow::bail;
use plenary_accounts::TokenDigest;
use plenary_journal::jetstream::Nats;
use plenary_log::{Batch, Log, Outcome, RowOp};

use super::OperatorToken;
use crate::cluster::another_node_runs;

/// The row with the digest of the token.
const ROW: &str = "cluster/operator";

/// Where the other processes of the network are found.
pub(super) enum Network<'a> {
    /// The nodes of a cluster.
    Cluster(&'a Nats),
    /// The processes on the PostgreSQL store at this URL.
    Database(&'a str),
}

impl Network<'_> {
    async fn others_run(&self) -> anyhow::Result<bool> {
        match self {
            Self::Cluster(nats) => another_node_runs(nats).await,
            Self::Database(url) => {
                Ok(plenary_log_postgres::others_run(url, &plenary_log_postgres::Options::default()).await?)
            }
        }
    }

    /// Whether a process without a token may make one if no other runs. A node without one has lost its directory; a process on
    /// a database may have none.
    fn takes_a_new_token(&self) -> bool {
        matches!(self, Self::Database(_))
    }
}

/// Checks the token of this process.
pub(super) async fn check(log: &Log, operator: &OperatorToken, network: &Network<'_>) -> anyhow::Result<()> {
    let digest = TokenDigest::of(operator.secret()).hex();
    let Some(row) = log.read_row(ROW).await? else {
        return note(log, digest, 0).await;
    };
    if *row.value == *digest.as_bytes() {
        return Ok(());
    }
    let others_run = network.others_run().await?;
    if operator.is_new() && (others_run || !network.takes_a_new_token()) {
        bail!(
            "the other nodes of this network have an operator's token, and this node has none: set PLENARY_OPERATOR_TOKEN to \
             it, or copy its file `operator-token` into the data directory"
        );
    }
    if others_run {
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
