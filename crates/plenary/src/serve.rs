//! `plenary serve`: the server's settings from the command line, and its run.
//! Must not know: the command line's other commands.

mod refusal;
mod supervisor;

use std::{path::PathBuf, time::Duration};

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    cli,
    duration::parse_duration,
    listen_address::Listen,
    logs::{self, LogFormat},
    out::Out,
    program::ServerDefaults,
    secrets,
    server::{AddressFile, Keepers, OperatorToken, Server, Settings},
};

/// The variable with the URL of the database, which may contain a password.
pub(crate) const DATABASE: &str = "PLENARY_DATABASE";
/// The variable with the NATS servers of a cluster, which may contain a password.
pub(crate) const CLUSTER: &str = "PLENARY_CLUSTER";
/// The variable with the embedding model.
pub(crate) const EMBEDDINGS: &str = "PLENARY_EMBEDDINGS";
pub(crate) const RERANK: &str = "PLENARY_RERANK";

/// The settings of the server. A setting that is absent here may be in the configuration file; flags override the
/// environment, and both override the file (wire.md D.1).
#[derive(Args)]
#[command(
    after_help = "Examples:\n  plenary serve --data /var/lib/plenary\n  plenary serve --listen 0.0.0.0:443 --tls-cert chain.pem \
                        --tls-key key.pem --public-url https://agents.example"
)]
pub(crate) struct ServeArgs {
    /// Address to listen on, e.g. 0.0.0.0:7420; a port alone means this machine only [default: 127.0.0.1:7420]
    #[arg(long, env = "PLENARY_LISTEN", value_name = "ADDR")]
    pub listen: Option<Listen>,
    /// Directory of the SQLite store, or `:memory:` to keep nothing [default: the XDG data directory]
    #[arg(long, env = "PLENARY_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// PostgreSQL store, postgres://…; wins over --data
    #[arg(long, env = DATABASE, value_name = "URL", hide_env_values = true)]
    pub database: Option<String>,
    /// NATS servers that order the log of several nodes, each with a replica in --data: nats://A,nats://B,nats://C
    #[arg(long, env = CLUSTER, value_name = "URLS", hide_env_values = true, conflicts_with = "database")]
    pub cluster: Option<String>,
    /// Name of the network, if the NATS servers hold several [default: main]
    #[arg(long, env = "PLENARY_CLUSTER_NETWORK", value_name = "NAME")]
    pub cluster_network: Option<String>,
    /// Accept a single NATS server; if it is lost, the network is lost; for trials
    #[arg(long, env = "PLENARY_CLUSTER_DEV")]
    pub cluster_dev: bool,
    /// Name of this node in `plenary cluster status` [default: the address it listens on]
    #[arg(long, env = "PLENARY_CLUSTER_NODE", value_name = "NAME")]
    pub cluster_node: Option<String>,
    /// Who must have an append on disk besides the NATS servers before it is acknowledged [default: two]
    #[arg(long, env = "PLENARY_CLUSTER_KEEPERS", value_name = "WHO")]
    pub cluster_keepers: Option<Keepers>,
    /// Monitoring addresses of the NATS servers, http://A:8222,http://B:8222: servers that do not flush each write are refused
    #[arg(long, env = "PLENARY_CLUSTER_MONITOR", value_name = "URLS")]
    pub cluster_monitor: Option<String>,
    /// Where the contents of deliverables and the files of messages are stored: file:///DIR, or s3://BUCKET/PREFIX with the AWS_ variables
    /// [default: `blobs` in --data; with --database or --cluster they are not stored]
    #[arg(long, env = "PLENARY_BLOBS", value_name = "URL")]
    pub blobs: Option<String>,
    /// JSON file with the owners, agents and tokens to create at the start
    #[arg(long, env = "PLENARY_SEED", value_name = "FILE")]
    pub seed: Option<PathBuf>,
    /// How long a participant that lost its connection stays in its sessions, e.g. 30s or 5m [default: 30s]
    #[arg(long, env = "PLENARY_GRACE", value_name = "TIME", value_parser = parse_duration)]
    pub grace: Option<Duration>,
    /// Frames per second that one sender may send, with bursts of twice that; 0 means no limit [default: 200]
    #[arg(long, env = "PLENARY_FRAMES_RATE", value_name = "N", value_parser = parse_whole::<u32>)]
    pub frames_rate: Option<u32>,
    /// Embedding model for search by meaning: local:DIR, static:DIR, or openai:URL?model=NAME with the key in
    /// PLENARY_EMBEDDINGS_API_KEY [default: search by words only]
    #[arg(long, env = EMBEDDINGS, value_name = "MODEL", hide_env_values = true)]
    pub embeddings: Option<String>,
    /// Model that puts the first packages of a search in order: local:DIR, or openai:URL?model=NAME with the key in
    /// PLENARY_RERANK_API_KEY [default: none]
    #[arg(long, env = RERANK, value_name = "MODEL", hide_env_values = true)]
    pub rerank: Option<String>,
    /// PEM file with the server's certificate chain
    #[arg(long, env = "PLENARY_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// PEM file with the private key of the certificate
    #[arg(long, env = "PLENARY_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Configuration file; a file in the current directory is not read unless it is named here [default: plenary.toml in
    /// $XDG_CONFIG_HOME/plenary or ~/.config/plenary, if it exists]
    #[arg(long, env = "PLENARY_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// URL at which clients reach the server, if it differs from the address the server listens on
    #[arg(long, env = "PLENARY_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Interval, in seconds, at which an agent that holds work in a channel posts its status; after five intervals without
    /// a status it is presumed dead [default: 60]
    #[arg(
        long, env = "PLENARY_CHANNELS_STATUS_CADENCE_SECONDS", value_name = "SECONDS", value_parser = parse_whole::<u64>
    )]
    pub channels_status_cadence_seconds: Option<u64>,
    /// Format of the log on standard error: json or text [default: text on a terminal, else json]
    #[arg(long, env = "PLENARY_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// Also offer the tools, prompts and resources that the conformance suite of the Model Context Protocol expects
    #[arg(long, hide = true)]
    pub mcp_fixture: bool,
    /// Seconds that this server's wall clock is ahead of the machine's; for tests of clocks that differ
    #[arg(long, hide = true, value_name = "SECONDS", allow_hyphen_values = true, default_value_t = 0)]
    pub test_clock_ahead: i64,
}

/// The settings of a server that is started without arguments: the environment, the user's own file, the defaults.
pub(crate) fn without_arguments() -> anyhow::Result<ServerDefaults> {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: ServeArgs,
    }
    let line = cli::ignoring_empty(<Line as clap::CommandFactory>::command());
    let named = line.clone();
    let found =
        line.try_get_matches_from(["plenary"]).map_err(|error| cli::naming_variables(error, &named))?;
    let line = <Line as clap::FromArgMatches>::from_arg_matches(&found)?;
    let settings = Settings::resolve(&line.args)?;
    Ok(ServerDefaults { listen: settings.listen, listen_source: settings.listen_source, data: settings.data })
}

fn parse_whole<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "write a whole number, e.g. 60".to_owned())
}

/// How long background work may continue after the server has stopped.
const BACKGROUND_TIME: Duration = Duration::from_millis(500);

/// Runs the server until a signal stops it, or its store fails.
pub(crate) fn run(args: &ServeArgs, out: &Out) -> anyhow::Result<()> {
    let logs = logs::begin("info", args.log_format)?;
    let settings = Settings::resolve(args)?;
    if let Some(ignored) = &settings.ignored {
        logs.note(out, ignored);
    }
    let mut operator = operator(&settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let mut signals = StopSignals::listen()?;
        let (data, is_in_clear) = (settings.data.clone(), settings.is_in_clear());
        let started = tokio::select! {
            started = Server::start(settings, &mut operator.token) => started,
            () = signals.stop() => {
                tracing::info!("stopping before the start is complete");
                return Ok(());
            }
        };
        let server = match started {
            Ok(server) => server,
            Err(error) => return Err(refusal::explained(error, data.as_deref()).await),
        };
        let address_file = AddressFile::write(data.as_ref(), server.near());
        if let Some(file) = operator.token.file() {
            let prefix = if operator.token.is_new() { "a new token of the operator is made; " } else { "" };
            logs.note(out, &format!("{prefix}the operator's token is in {}", file.display()));
        }
        if let Err(error) = out.line(&format!("listening on {}", server.url())) {
            tracing::warn!(%error, "standard output cannot be written");
        }
        if is_in_clear {
            tracing::warn!(
                "other machines reach this address, and tokens cross the network in clear text: set --tls-cert and --tls-key, or \
                 listen on 127.0.0.1 behind a proxy with TLS, and set --public-url"
            );
        }
        supervisor::report_ready();
        let console = cli::console_command(data.as_deref(), server.near());
        tracing::info!("run `{console}` for a link that signs in to the console");
        signals.wait(&server).await?;
        tracing::info!("stopping");
        if let Some(address_file) = address_file {
            address_file.remove_url_file();
        }
        server.stop().await
    });
    // A pending lookup in the system's resolver must not delay the exit.
    runtime.shutdown_timeout(BACKGROUND_TIME);
    ended
}

/// The signals to a server. SIGHUP would otherwise end it without a word.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl StopSignals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal that stops the server.
    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits until a signal stops the server; SIGHUP makes it read its certificate again. The error says that the store failed.
    async fn wait(mut self, server: &Server) -> anyhow::Result<()> {
        loop {
            tokio::select! {
                fault = server.failed() => {
                    return Err(anyhow::Error::from(fault).context("the store failed; start again to recover"));
                }
                _ = self.terminate.recv() => return Ok(()),
                _ = self.interrupt.recv() => return Ok(()),
                _ = self.hang_up.recv() => server.read_certificate().await,
            }
        }
    }
}

/// The operator's token, and its temporary directory if the store is in memory.
struct Operator {
    token: OperatorToken,
    _directory: Option<tempfile::TempDir>,
}

fn operator(settings: &Settings) -> anyhow::Result<Operator> {
    let configured = secrets::variable("PLENARY_OPERATOR_TOKEN").filter(|token| !token.is_empty());
    if let Some(secret) = configured {
        return Ok(Operator { token: OperatorToken::from_secret(secret)?, _directory: None });
    }
    match &settings.data {
        Some(directory) => Ok(Operator { token: OperatorToken::of_directory(directory)?, _directory: None }),
        None => {
            let directory = tempfile::Builder::new().prefix("plenary-").tempdir()?;
            let token = OperatorToken::of_directory(directory.path())?;
            Ok(Operator { token, _directory: Some(directory) })
        }
    }
}
