//! `plenary cluster`: commands for the operator of several nodes: a configuration for the NATS servers, the state of
//! their journals, and a comparison of a node's replica with the journal. Nothing here changes anything.
//! Must not know: the content of a log.

mod nats_conf;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use plenary_journal::jetstream::{Health, Nats, Options, Retention};
use serde_json::json;

use self::nats_conf::NatsConfArgs;
use crate::{
    logs,
    out::{Out, clean},
    paths, secrets,
    serve::CLUSTER,
    server::{LOG, NETWORK, SIGNALS},
};

/// How long servers that do not answer are waited for.
const WAIT: Duration = Duration::from_secs(5);
/// Something is wrong.
const AMISS: u8 = 1;

/// What is asked.
#[derive(Args)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print a configuration for one of three NATS servers
    NatsConf(NatsConfArgs),
    /// Show the state of the journals on the NATS servers; exits with 1 if a replica lags or is unreachable
    Status(Servers),
    /// Read the whole journal and compare this node's replica with it; exits with 1 if they differ
    Verify(VerifyArgs),
}

/// Which servers.
#[derive(Args)]
pub(crate) struct Servers {
    /// NATS servers: nats://A,nats://B,nats://C
    #[arg(long, env = CLUSTER, value_name = "URLS", hide_env_values = true)]
    pub(crate) cluster: Option<String>,
    /// Name of the network, if the NATS servers hold several [default: main]
    #[arg(long, env = "PLENARY_CLUSTER_NETWORK", value_name = "NAME")]
    cluster_network: Option<String>,
}

/// What is held against the journal.
#[derive(Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Directory of the node's replica; a server may run on it [default: the XDG data directory]
    #[arg(long, env = "PLENARY_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
}

impl ClusterArgs {
    /// The servers' URLs as they were given, which may have a password in them.
    pub(crate) fn servers(&self) -> &Option<String> {
        match &self.command {
            Command::NatsConf(_) => &None,
            Command::Status(servers) => &servers.cluster,
            Command::Verify(args) => &args.servers.cluster,
        }
    }
}

/// Answers, and gives the exit code.
pub(crate) fn run(args: &ClusterArgs, out: &Out) -> ExitCode {
    let _logs = logs::begin("warn", None);
    let answered = match &args.command {
        Command::NatsConf(args) => nats_conf::print(args, out).map(|()| true),
        Command::Status(servers) => block_on(status(servers, out)),
        Command::Verify(args) => block_on(verify(args, out)),
    };
    match answered {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(AMISS),
        Err(error) => {
            out.error(&format!("{error:#}"), None);
            ExitCode::from(2)
        }
    }
}

fn block_on(work: impl Future<Output = anyhow::Result<bool>>) -> anyhow::Result<bool> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

async fn connect(servers: &Servers) -> anyhow::Result<Nats> {
    let named = servers.cluster.clone().or_else(|| secrets::variable(CLUSTER));
    let named = named.context("say which NATS servers with --cluster nats://A,nats://B,nats://C")?;
    let network = servers.cluster_network.clone().unwrap_or_else(|| NETWORK.to_owned());
    // What is only looked at may have one replica.
    Ok(Nats::connect(&named, Options { network, dev: true, start_wait: WAIT }).await?)
}

async fn status(servers: &Servers, out: &Out) -> anyhow::Result<bool> {
    let nats = connect(servers).await?;
    let mut is_well = true;
    for (name, keeping) in [(LOG, Retention::Forever), (SIGNALS, Retention::Shortly)] {
        let Some(health) = nats.health(name, keeping).await? else {
            is_well = false;
            out.line(&if out.is_json() {
                json!({"journal": name, "exists": false}).to_string()
            } else {
                format!("{name}: there is no such journal yet; the first node makes it")
            })?;
            continue;
        };
        is_well &= health.leader.is_some() && health.others.iter().all(|(_, is_current)| *is_current);
        out.line(&if out.is_json() { as_json(name, &health).to_string() } else { in_words(name, &health) })?;
    }
    Ok(is_well)
}

fn as_json(name: &str, health: &Health) -> serde_json::Value {
    let replicas = health.others.iter().map(|(name, current)| json!({"server": name, "current": current}));
    json!({
        "journal": name,
        "exists": true,
        "stream": health.stream,
        "first": health.extent.first,
        "last": health.extent.last,
        "bytes": health.octets,
        "leader": health.leader,
        "replicas": replicas.collect::<Vec<_>>(),
    })
}

fn in_words(name: &str, health: &Health) -> String {
    let leader = health.leader.as_deref().unwrap_or("nobody");
    let other = |(name, is_current): &(String, bool)| {
        format!(", {} {}", clean(name), if *is_current { "follows" } else { "LAGS OR IS AWAY" })
    };
    let others: String = health.others.iter().map(other).collect();
    let (last, bytes) = (health.extent.last, health.octets);
    format!("{name}: {last} records, {bytes} bytes; {} leads{others}", clean(leader))
}

async fn verify(args: &VerifyArgs, out: &Out) -> anyhow::Result<bool> {
    let directory = match &args.data {
        Some(directory) => directory.clone(),
        None => paths::default_data_dir(&|name| std::env::var(name).ok())
            .context("there is no home directory; say where the replica is with --data DIR")?,
    };
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
    out.line(&format!("{records} records in the journal, {replicated} of them the same in the replica"))?;
    Ok(is_sound)
}
