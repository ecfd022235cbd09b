//! The settings of a cluster node: the NATS servers, and its network on them.
//! Must not know: the journal's content.

pub(super) mod flush_check;

use std::{net::SocketAddr, path::Path, time::Duration};

use anyhow::bail;
use plenary_journal::jetstream::Options;
use plenary_log_cluster::Keep;
use serde::Deserialize;

use crate::{
    secrets,
    serve::{CLUSTER, ServeArgs},
};

/// The name of a network's journal for its log.
pub(crate) const LOG: &str = "log";
pub(crate) const SIGNALS: &str = "signals";

/// The default name of a cluster's network.
pub(crate) const NETWORK: &str = "main";
/// Maximum length of a node's name in bytes.
const NODE_BYTES_MAX: usize = 64;
/// How long the start waits for NATS servers that are still starting.
const START_WAIT: Duration = Duration::from_secs(60);

/// The servers of a cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// `nats://a,nats://b,nats://c`; may have a password in it.
    pub(crate) servers: String,
    /// The name of the network.
    pub(crate) network: String,
    /// Whether a single server is enough.
    pub(crate) dev: bool,
    /// The operator's name for this node.
    pub(crate) node: String,
    /// The nodes that must have an append on disk before it is acknowledged.
    pub(crate) keep: Keep,
    /// The monitoring URLs of the servers, which report their configuration.
    pub(crate) monitors: Vec<String>,
}

/// Who must have an append on disk, besides the NATS servers, before it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Keepers {
    /// The node that acknowledges it
    One,
    /// A node besides the one that writes; that one alone while there is no other
    #[default]
    Two,
    /// A node besides the one that writes; without another, appends answer 503
    TwoAlways,
}

impl Keepers {
    fn keep(self) -> Keep {
        match self {
            Self::One => Keep::One,
            Self::Two => Keep::Two,
            Self::TwoAlways => Keep::TwoAlways,
        }
    }
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
    /// The connection options.
    pub(crate) fn options(&self) -> Options {
        Options { network: self.network.clone(), dev: self.dev, start_wait: START_WAIT }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClusterTable {
    servers: Option<String>,
    network: Option<String>,
    dev: bool,
    node: Option<String>,
    keepers: Option<Keepers>,
    monitor: Option<String>,
}

/// Resolves the cluster, if the settings name one.
pub(crate) fn resolve(
    args: &ServeArgs,
    table: ClusterTable,
    database: Option<&str>,
    data: Option<&Path>,
    listen: SocketAddr,
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
    let node = args.cluster_node.clone().or(table.node).unwrap_or_else(|| listen.to_string());
    if node.len() > NODE_BYTES_MAX || node.chars().any(char::is_control) {
        bail!(
            "the name of a node of a cluster has at most {NODE_BYTES_MAX} bytes, and no control characters"
        );
    }
    let keep = args.cluster_keepers.or(table.keepers).unwrap_or_default().keep();
    let monitors = args.cluster_monitor.clone().or(table.monitor).unwrap_or_default();
    let monitors = monitors.split(',').map(|url| url.trim().to_owned()).filter(|url| !url.is_empty());
    let (monitors, dev) = (monitors.collect(), args.cluster_dev || table.dev);
    Ok(Some(Cluster { servers, network, dev, node, keep, monitors }))
}
