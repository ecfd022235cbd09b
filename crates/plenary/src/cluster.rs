//! `plenary cluster`: commands for the operator of several nodes: a configuration for the NATS servers, the state of
//! their journals and of the nodes, a comparison of a replica with the journal, and moving a store into or out of a cluster.
//! Must not know: the content of a log.

mod nats_conf;
mod nodes;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use plenary_journal::jetstream::{Health, Nats, Options, Retention};
use serde_json::json;

use self::{nats_conf::NatsConfArgs, nodes::Nodes};
use crate::{
    logs,
    out::{Out, clean},
    paths, secrets,
    serve::CLUSTER,
    server::{LOG, NETWORK, SIGNALS},
};

/// How long to wait for servers that do not answer.
const WAIT: Duration = Duration::from_secs(5);
/// The exit code if something is wrong.
const AMISS: u8 = 1;

/// The arguments of `plenary cluster`.
#[derive(Args)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print a configuration for one of three NATS servers
    NatsConf(NatsConfArgs),
    /// Show the state of the journals on the NATS servers, and the nodes; exits with 1 if a replica lags or is unreachable, or
    /// if only one node keeps the log
    Status(Servers),
    /// Read the whole journal and compare this node's replica with it; exits with 1 if they differ
    Verify(VerifyArgs),
    /// Have another node take the pen from this one, so that it can be stopped without a pause
    Drain(DrainArgs),
    /// Begin a cluster with the log of a stopped server, by writing its store to an empty journal
    Begin(BeginArgs),
    /// Turn the replica of a stopped node into a store for a server without --cluster
    Leave(LeaveArgs),
}

/// The NATS servers.
#[derive(Args)]
pub(crate) struct Servers {
    /// NATS servers: nats://A,nats://B,nats://C
    #[arg(long, env = CLUSTER, value_name = "URLS", hide_env_values = true)]
    pub(crate) cluster: Option<String>,
    /// Name of the network, if the NATS servers hold several [default: main]
    #[arg(long, env = "PLENARY_CLUSTER_NETWORK", value_name = "NAME")]
    cluster_network: Option<String>,
}

/// The replica that is compared with the journal.
#[derive(Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Directory of the node's replica; a server may run on it [default: the XDG data directory]
    #[arg(long, env = "PLENARY_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
}

/// The node to drain.
#[derive(Args)]
pub(crate) struct DrainArgs {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Its name, as `plenary cluster status` shows it
    #[arg(long, value_name = "NAME")]
    node: String,
}

/// The store that becomes the beginning of a cluster's log.
#[derive(Args)]
pub(crate) struct BeginArgs {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Accept a single NATS server; if it is lost, the network is lost; for trials
    #[arg(long = "cluster-dev", env = "PLENARY_CLUSTER_DEV")]
    dev: bool,
    /// Directory of the store [default: the XDG data directory]
    #[arg(long, env = "PLENARY_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
}

/// The replica that leaves the cluster.
#[derive(Args)]
pub(crate) struct LeaveArgs {
    /// Directory of the node's replica [default: the XDG data directory]
    #[arg(long, env = "PLENARY_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
}

impl ClusterArgs {
    /// The servers' URLs as given; they may contain a password.
    pub(crate) fn servers(&self) -> &Option<String> {
        match &self.command {
            Command::NatsConf(_) | Command::Leave(_) => &None,
            Command::Status(servers) => &servers.cluster,
            Command::Verify(args) => &args.servers.cluster,
            Command::Drain(args) => &args.servers.cluster,
            Command::Begin(args) => &args.servers.cluster,
        }
    }
}

/// Runs the command and returns the exit code.
pub(crate) fn run(args: &ClusterArgs, out: &Out) -> ExitCode {
    let _logs = logs::begin("warn", None);
    let answered = match &args.command {
        Command::NatsConf(args) => nats_conf::print(args, out).map(|()| true),
        Command::Status(servers) => block_on(status(servers, out)),
        Command::Verify(args) => block_on(verify(args, out)),
        Command::Drain(args) => block_on(drain(args, out)),
        Command::Begin(args) => block_on(begin(args, out)),
        Command::Leave(args) => leave(args, out).map(|()| true),
    };
    match answered {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(AMISS),
        Err(error) => {
            out.failure(&error);
            ExitCode::from(2)
        }
    }
}

fn block_on(work: impl Future<Output = anyhow::Result<bool>>) -> anyhow::Result<bool> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

async fn connect(servers: &Servers) -> anyhow::Result<Nats> {
    // For a read-only command, a single replica is enough.
    connect_as(servers, true).await
}

async fn connect_as(servers: &Servers, dev: bool) -> anyhow::Result<Nats> {
    let named = servers.cluster.clone().or_else(|| secrets::variable(CLUSTER));
    let named = named.context("say which NATS servers with --cluster nats://A,nats://B,nats://C")?;
    let network = servers.cluster_network.clone().unwrap_or_else(|| NETWORK.to_owned());
    Ok(Nats::connect(&named, Options { network, dev, start_wait: WAIT }).await?)
}

/// Whether a node runs, besides the one that these servers were connected for.
pub(crate) async fn another_node_runs(nats: &Nats) -> anyhow::Result<bool> {
    Ok(!nodes::listen(nats).await?.is_empty())
}

async fn status(servers: &Servers, out: &Out) -> anyhow::Result<bool> {
    let nats = connect(servers).await?;
    let mut is_well = true;
    for (name, retention) in [(LOG, Retention::Forever), (SIGNALS, Retention::Shortly)] {
        let Some(health) = nats.health(name, retention).await? else {
            is_well = false;
            out.line(&if out.is_json() {
                json!({"journal": name, "exists": false}).to_string()
            } else {
                format!("{name}: there is no such journal yet; the first node makes it")
            })?;
            continue;
        };
        is_well &= health.leader.is_some() && health.others.iter().all(|(_, is_current)| *is_current);
        let nodes = if name == LOG { Some(nodes::listen(&nats).await?) } else { None };
        is_well &= nodes
            .as_ref()
            .is_none_or(|nodes| !nodes.is_alone() && !nodes.has_a_full_one() && !nodes.is_empty());
        out.line(&if out.is_json() {
            as_json(name, &health, nodes.as_ref()).to_string()
        } else {
            text(name, &health, nodes.as_ref())
        })?;
    }
    Ok(is_well)
}

fn as_json(name: &str, health: &Health, nodes: Option<&Nodes>) -> serde_json::Value {
    let replicas = health.others.iter().map(|(name, current)| json!({"server": name, "current": current}));
    let mut shown = json!({
        "journal": name,
        "exists": true,
        "stream": health.stream,
        "first": health.extent.first,
        "last": health.extent.last,
        "bytes": health.bytes,
        "leader": health.leader,
        "replicas": replicas.collect::<Vec<_>>(),
    });
    if let Some(nodes) = nodes {
        shown["nodes"] = nodes.as_json();
    }
    shown
}

fn text(name: &str, health: &Health, nodes: Option<&Nodes>) -> String {
    let leader = health.leader.as_deref().unwrap_or("nobody");
    let other = |(name, is_current): &(String, bool)| {
        format!(", {} {}", clean(name), if *is_current { "follows" } else { "LAGS OR IS AWAY" })
    };
    let others: String = health.others.iter().map(other).collect();
    let (last, bytes) = (health.extent.last, health.bytes);
    let nodes = nodes.map(Nodes::text).unwrap_or_default();
    format!("{name}: {last} records, {bytes} bytes; {} leads{others}{nodes}", clean(leader))
}

fn directory_of(data: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    match data {
        Some(directory) => Ok(directory.clone()),
        None => paths::default_data_dir(&|name| std::env::var(name).ok())
            .context("there is no home directory; say where the replica is with --data DIR"),
    }
}

async fn begin(args: &BeginArgs, out: &Out) -> anyhow::Result<bool> {
    let directory = directory_of(args.data.as_ref())?;
    let nats = connect_as(&args.servers, args.dev).await?;
    let journal = nats.journal(LOG, Retention::Forever).await?;
    let report = plenary_log_cluster::begin(&journal, &directory).await?;
    let (records, head, aside) = (report.records, report.head.0, report.aside.display().to_string());
    out.line(&if out.is_json() {
        json!({"records": records, "head": head, "aside": aside}).to_string()
    } else {
        format!("{records} records with {head} events are in the journal; the store is now {aside}. Start the nodes")
    })?;
    Ok(true)
}

async fn drain(args: &DrainArgs, out: &Out) -> anyhow::Result<bool> {
    let nats = connect(&args.servers).await?;
    let name = clean(&args.node);
    let holder = nodes::drain(&nats, &args.node).await?;
    out.line(&if out.is_json() {
        json!({"node": args.node, "pen": holder}).to_string()
    } else {
        match holder {
            Some(other) => format!("{} has the pen now; {name} can be stopped", clean(&other)),
            None => format!("{name} does not have the pen; it can be stopped"),
        }
    })?;
    Ok(true)
}

fn leave(args: &LeaveArgs, out: &Out) -> anyhow::Result<()> {
    let directory = directory_of(args.data.as_ref())?;
    let link = plenary_log_sqlite::leave(&directory)?;
    anyhow::ensure!(link.sequence > 0, "{} is no replica of a cluster's log", directory.display());
    let (sequence, head) = (link.sequence, link.position.0);
    Ok(out.line(&if out.is_json() {
        json!({"record": sequence, "head": head}).to_string()
    } else {
        format!(
            "a store of its own, as of record {sequence} with {head} events; it can't become a replica again"
        )
    })?)
}

async fn verify(args: &VerifyArgs, out: &Out) -> anyhow::Result<bool> {
    let directory = directory_of(args.data.as_ref())?;
    let is_replica = !plenary_log_sqlite::replica_links(&directory, 0, 1)?.is_empty();
    anyhow::ensure!(is_replica, "{} is no replica of a cluster's log", directory.display());
    let nats = connect(&args.servers).await?;
    anyhow::ensure!(
        nats.health(LOG, Retention::Forever).await?.is_some(),
        "these servers have no journal of that network"
    );
    let journal = nats.journal(LOG, Retention::Forever).await?;
    let verified = plenary_log_cluster::verify(&journal, &directory).await?;
    let is_sound = verified.findings.is_empty();
    if out.is_json() {
        let findings = &verified.findings;
        let found =
            json!({"records": verified.records, "replicated": verified.replicated, "findings": findings});
        out.line(&found.to_string())?;
        return Ok(is_sound);
    }
    for finding in &verified.findings {
        out.line(&clean(finding))?;
    }
    let (records, replicated) = (verified.records, verified.replicated);
    let behind = match records.saturating_sub(replicated) {
        missing if missing > 0 && is_sound => format!("; it lacks the last {missing}"),
        _ => String::new(),
    };
    out.line(&format!(
        "{records} records in the journal, {replicated} of them the same in the replica{behind}"
    ))?;
    Ok(is_sound)
}
