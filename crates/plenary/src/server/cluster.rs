//! The settings of a cluster node: the NATS servers, and its network on them.
//! Must not know: the journal's content.

use std::{path::Path, time::Duration};

use anyhow::bail;
use plenary_journal::jetstream::Options;
use serde::Deserialize;

use crate::{
    secrets,
    serve::{CLUSTER, ServeArgs},
};

/// The names of the journals of a network.
pub(crate) const LOG: &str = "log";
pub(crate) const SIGNALS: &str = "signals";

/// The network of a cluster that names none.
pub(crate) const NETWORK: &str = "main";
/// How long a start waits for servers that start.
const START_WAIT: Duration = Duration::from_secs(60);

/// The servers of a cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// `nats://a,nats://b,nats://c`; may have a password in it.
    pub(crate) servers: String,
    /// The name of the network.
    pub(crate) network: String,
    /// Whether a single server will do.
    pub(crate) dev: bool,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("network", &self.network)
            .field("dev", &self.dev)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// How the servers are used.
    pub(crate) fn options(&self) -> Options {
        Options { network: self.network.clone(), dev: self.dev, start_wait: START_WAIT }
    }
}

/// `[cluster]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClusterTable {
    servers: Option<String>,
    network: Option<String>,
    dev: bool,
}

/// The cluster that is named, if one is.
pub(crate) fn resolve(
    args: &ServeArgs,
    table: ClusterTable,
    database: Option<&str>,
    data: Option<&Path>,
) -> anyhow::Result<Option<Cluster>> {
    let named = args.cluster.clone().or_else(|| secrets::variable(CLUSTER)).or(table.servers);
    let Some(servers) = named.filter(|servers| !servers.is_empty()) else { return Ok(None) };
    if database.is_some() {
        bail!("a node of a cluster keeps its log in its data directory: say either --cluster or --database");
    }
    if data.is_none() {
        bail!("a node of a cluster needs a directory for its replica: --data DIR");
    }
    let network = args.cluster_network.clone().or(table.network).unwrap_or_else(|| NETWORK.to_owned());
    Ok(Some(Cluster { servers, network, dev: args.cluster_dev || table.dev }))
}
