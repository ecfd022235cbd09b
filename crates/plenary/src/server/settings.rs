//! Settings: flag over environment over the configuration file over default (wire.md D.1).

mod files;
mod issuers;
mod links;
mod notify;
mod quota;
mod source;

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail};
use plenary_blobs::Location;
use plenary_edge::{Origin, TlsFiles, TrustedNet};
use plenary_hosts::{AttachPoint, HostContext, Launcher, time_text};
use plenary_kernel::AgentHandle;
use serde::Deserialize;

pub(crate) use self::quota::Quota;
use self::{
    files::{Files, FilesTable},
    issuers::{ConfiguredIssuers, IssuerTable},
    links::LinksTable,
    notify::NotifyTable,
};
use super::{
    OwnTools,
    agents::{AgentTable, Agents, RunsTable, agents},
    cluster::{self, Cluster, ClusterTable},
};
use crate::{
    duration::parse_duration,
    listen_address::{self, Listen, ListenSource, MEMORY},
    paths, secrets,
    serve::{DATABASE, EMBEDDINGS, RERANK, ServeArgs},
};
use source::Source;

/// The resolved settings of a server.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    /// The source of the address.
    pub(crate) listen_source: ListenSource,
    /// A notice at the start about a configuration file that is not read.
    pub(crate) ignored: Option<String>,
    /// The directory of the SQLite store; `None` keeps everything in memory, unless `database` is set.
    pub(crate) data: Option<PathBuf>,
    /// A PostgreSQL URL; wins over `data`.
    pub(crate) database: Option<String>,
    /// The NATS servers that order the log of several nodes, each with a replica in `data`.
    pub(crate) cluster: Option<Cluster>,
    /// The storage of blobs; `None` stores none.
    pub(crate) blobs: Option<Location>,
    pub(crate) seed: Option<PathBuf>,
    pub(crate) grace: Duration,
    pub(crate) quota: Quota,
    /// The maximum size of files, and their retention.
    pub(crate) files: Files,
    /// How notifications of requests are sent.
    pub(crate) notify: plenary_notify::Config,
    /// How this server connects to other networks.
    pub(crate) links: plenary_links::Config,
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) public_url: Option<String>,
    pub(crate) connections_max: Option<usize>,
    pub(crate) connections_per_address_max: Option<usize>,
    /// Whether `/metrics` is public; otherwise only this machine and the operator may read it.
    pub(crate) metrics_open: bool,
    /// Whether messages and other text are indexed, besides packages.
    pub(crate) search_everything: bool,
    /// Whether to fetch documents of OAuth clients also from private addresses and over `http`.
    pub(crate) private_clients: bool,
    /// The external issuers that authenticate people and programs.
    pub(crate) issuers: ConfiguredIssuers,
    /// The proxies whose headers about the client's address are trusted.
    pub(crate) trusted_proxies: Vec<TrustedNet>,
    pub(crate) channels: plenary_channels::Config,
    pub(crate) frames: plenary_frames::Config,
    pub(crate) a2a: plenary_a2a::Settings,
    pub(crate) context: plenary_context::Config,
    /// The embedding model for search by meaning; absent: search by words only.
    pub(crate) embeddings: Option<plenary_embeddings::Source>,
    /// The memory limit of the model's vectors, in bytes.
    pub(crate) vectors_bytes_max: usize,
    /// The model that reorders the first packages of a search; absent: no reranking.
    pub(crate) rerank: Option<plenary_embeddings::RerankSource>,
    /// The agents that this server runs.
    pub(crate) agents: Agents,
    /// The agents that attach by themselves.
    pub(crate) attaching: AttachPoint,
    /// The tools of the models among the agents.
    pub(crate) toolbox: Arc<OwnTools>,
    /// The destination of spans; `None` for none.
    pub(crate) telemetry: Option<plenary_telemetry::Settings>,
    /// Whether the Model Context Protocol server offers the conformance suite's tools.
    pub(crate) mcp_fixture: bool,
    /// How far the wall clock is ahead of the machine's, in seconds; 0 outside tests.
    pub(crate) clock_ahead_s: i64,
}

/// The configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    listen: Option<Listen>,
    data: Option<PathBuf>,
    database: Option<String>,
    cluster: ClusterTable,
    blobs: Option<String>,
    #[serde(rename = "blob_octets_max")]
    blob_bytes_max: Option<u64>,
    seed: Option<PathBuf>,
    #[serde(deserialize_with = "time_text")]
    grace: Option<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    public_url: Option<String>,
    embeddings: Option<String>,
    rerank: Option<String>,
    connections_max: Option<usize>,
    connections_per_address_max: Option<usize>,
    trusted_proxies: Vec<String>,
    quota: Quota,
    files: FilesTable,
    notify: NotifyTable,
    links: LinksTable,
    metrics: MetricsTable,
    search: SearchTable,
    oauth: OAuthTable,
    issuers: BTreeMap<String, IssuerTable>,
    channels: ChannelsTable,
    frames: FramesTable,
    a2a: A2aTable,
    context: ContextTable,
    runs: RunsTable,
    agents: BTreeMap<String, AgentTable>,
}

/// `[oauth]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OAuthTable {
    private_clients: bool,
    /// The issuer that gives access tokens in place of this server
    issuer: Option<String>,
}

/// `[metrics]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MetricsTable {
    open: bool,
}

/// `[search]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SearchTable {
    everything: bool,
    /// Maximum memory for the vectors of a model, in bytes.
    vectors_bytes_max: usize,
}

impl Default for SearchTable {
    fn default() -> Self {
        Self { everything: true, vectors_bytes_max: plenary_retrieval_vectors::VECTORS_BYTES_MAX }
    }
}

/// `[channels]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ChannelsTable {
    open: bool,
    reject_after_close: bool,
    status_cadence_seconds: Option<u64>,
}

/// `[a2a]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct A2aTable {
    agent: Option<AgentHandle>,
}

/// `[frames]` in `plenary.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FramesTable {
    /// Maximum frames per second from one sender; 0 means no limit [default: 200]
    rate_per_s: Option<u32>,
    /// Maximum burst of frames from one sender [default: twice the rate]
    burst: Option<u32>,
    /// Number of events retained per handle for resuming [default: 256]
    max_events: Option<usize>,
    /// Retention of these events in milliseconds [default: 300000]
    max_age_ms: Option<u64>,
    /// Maximum difference of `created_at` from the server's time, in milliseconds [default: no limit]
    max_skew_ms: Option<u64>,
    /// Precision of the count in the answer to a submission: `exact` or `coarse` [default: exact]
    count: Option<Count>,
    /// Maximum number of subscriptions reached by one frame in one process [default: 10000]
    expansion_max: Option<usize>,
}

/// The precision of reported counts (FO-85).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Count {
    Exact,
    Coarse,
}

impl FramesTable {
    /// The configuration of frames; the rate on the command line overrides the file's.
    fn config(&self, rate_per_s: Option<u32>) -> anyhow::Result<plenary_frames::Config> {
        let default = plenary_frames::Config::default();
        let per_s = rate_per_s.or(self.rate_per_s).unwrap_or(default.rate.per_s);
        let burst = self.burst.unwrap_or_else(|| per_s.saturating_mul(2));
        if burst == 0 && per_s > 0 || self.max_events == Some(0) {
            bail!("`burst` and `max_events` in [frames] must be at least 1");
        }
        Ok(plenary_frames::Config {
            rate: plenary_frames::Rate { per_s, burst },
            max_events: self.max_events.unwrap_or(default.max_events),
            max_age: self.max_age_ms.map_or(default.max_age, Duration::from_millis),
            max_skew: self.max_skew_ms.map(Duration::from_millis),
            coarse_counts: self.count == Some(Count::Coarse),
            expansion_max: self.expansion_max.unwrap_or(default.expansion_max),
        })
    }
}

/// `[context]` in `plenary.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ContextTable {
    /// Whether a deposit or an assertion creates a missing project [default: true]
    auto_create_projects: Option<bool>,
    /// The actors to whom a token may attribute work: `own` or `open` [default: own]
    attribution: Option<Attribution>,
}

/// The actors to whom a token may attribute work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Attribution {
    Own,
    Open,
}

impl ContextTable {
    fn config(
        &self,
        blob_bytes_max: Option<u64>,
        quotas: plenary_context::quotas::Quotas,
    ) -> plenary_context::Config {
        let default = plenary_context::Config::default();
        plenary_context::Config {
            auto_create_projects: self.auto_create_projects.unwrap_or(default.auto_create_projects),
            attribution: match self.attribution {
                Some(Attribution::Open) => plenary_context::attribution::Attribution::Open,
                Some(Attribution::Own) | None => default.attribution,
            },
            blob_bytes_max: blob_bytes_max.unwrap_or(default.blob_bytes_max),
            quotas,
        }
    }
}

impl Settings {
    /// A temporary server: a store of its own in memory, on any free port of this machine.
    pub(crate) fn ephemeral() -> Self {
        let (around, toolbox) = around(&RunsTable::default());
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            listen_source: ListenSource::Default,
            ignored: None,
            data: None,
            database: None,
            cluster: None,
            blobs: Some(Location::Memory),
            seed: None,
            grace: plenary_sessions::Config::default().grace,
            quota: Quota::default(),
            files: Files::default(),
            notify: plenary_notify::Config::default(),
            links: plenary_links::Config::default(),
            tls: None,
            public_url: None,
            connections_max: None,
            connections_per_address_max: None,
            metrics_open: false,
            search_everything: true,
            private_clients: false,
            issuers: ConfiguredIssuers::default(),
            trusted_proxies: Vec::new(),
            channels: plenary_channels::Config::default(),
            frames: plenary_frames::Config::default(),
            a2a: plenary_a2a::Settings::default(),
            context: plenary_context::Config::default(),
            embeddings: None,
            vectors_bytes_max: plenary_retrieval_vectors::VECTORS_BYTES_MAX,
            rerank: None,
            agents: agents(&RunsTable::default(), &BTreeMap::new(), &around).unwrap_or_default(),
            attaching: around.attaching,
            toolbox,
            telemetry: None,
            mcp_fixture: false,
            clock_ahead_s: 0,
        }
    }

    /// Resolves the settings from the command line (which includes the environment), then the file, then the defaults.
    pub(crate) fn resolve(args: &ServeArgs) -> anyhow::Result<Self> {
        let source = Source::read(args.config.as_deref(), &|name| std::env::var(name).ok())?;
        let file = File::parse(&source)?;
        let (listen, listen_source) = listen_on(args, file.listen, &source);
        let grace = file.grace.as_deref().map(parse_duration).transpose();
        let grace = grace.map_err(|why| anyhow::anyhow!("`grace` in the configuration file: {why}"))?;
        let data = match args.data.clone().or(file.data) {
            Some(memory) if memory.as_os_str() == MEMORY => None,
            Some(directory) => Some(directory),
            None => Some(
                paths::default_data_dir(&|name| std::env::var(name).ok())
                    .context("there is no home directory; name the data directory with --data DIR")?,
            ),
        };
        let tls = match (args.tls_cert.clone().or(file.tls_cert), args.tls_key.clone().or(file.tls_key)) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => bail!("TLS needs both a certificate (--tls-cert) and its key (--tls-key)"),
        };
        let embeddings = model_name(args.embeddings.as_ref(), EMBEDDINGS, file.embeddings);
        let rerank = model_name(args.rerank.as_ref(), RERANK, file.rerank);
        let database = args.database.clone().or_else(|| secrets::variable(DATABASE)).or(file.database);
        check_database(database.as_deref())?;
        let cluster = cluster::resolve(args, file.cluster, database.as_deref(), data.as_deref(), listen)?;
        let has_others = database.is_some() || cluster.is_some();
        let blobs = blobs(args.blobs.clone().or(file.blobs), data.as_deref(), has_others)?;
        let ((around, toolbox), quotas) = (around(&file.runs), file.quota.context());
        let public_url = checked_public_url(args.public_url.clone().or(file.public_url))?;
        let url = public_url.as_deref();
        let issuers = ConfiguredIssuers::read(file.issuers, file.oauth.issuer, url, &source)?;
        let settings = Self {
            blobs,
            listen,
            listen_source,
            ignored: std::env::current_dir().ok().and_then(|here| source.ignored_in(&here)),
            data,
            database,
            cluster,
            seed: args.seed.clone().or(file.seed),
            grace: args.grace.or(grace).unwrap_or(plenary_sessions::Config::default().grace),
            quota: file.quota.checked()?,
            files: file.files.checked()?,
            notify: file.notify.config(&source, public_url.as_deref())?,
            links: file.links.config(&source),
            tls,
            public_url,
            connections_max: file.connections_max,
            connections_per_address_max: file.connections_per_address_max,
            metrics_open: file.metrics.open,
            search_everything: file.search.everything,
            private_clients: file.oauth.private_clients,
            issuers,
            trusted_proxies: trusted(&file.trusted_proxies)?,
            channels: channels(args, &file.channels)?,
            frames: file.frames.config(args.frames_rate)?,
            a2a: plenary_a2a::Settings { agent: file.a2a.agent },
            context: file.context.config(file.blob_bytes_max, quotas),
            embeddings: embeddings.as_deref().map(super::model::parse).transpose()?,
            vectors_bytes_max: file.search.vectors_bytes_max,
            rerank: rerank.as_deref().map(super::model::parse_reranker).transpose()?,
            agents: agents(&file.runs, &file.agents, &around)?,
            attaching: around.attaching,
            toolbox,
            telemetry: telemetry(),
            mcp_fixture: args.mcp_fixture,
            clock_ahead_s: args.test_clock_ahead,
        };
        Ok(settings)
    }

    /// The configuration of sessions.
    pub(crate) fn sessions(&self) -> plenary_sessions::Config {
        plenary_sessions::Config {
            grace: self.grace,
            invitations_unanswered_max: self.quota.invitations_unanswered_max(),
            file_bytes_max: self.files.bytes_max,
            file_unnamed_ms_max: self.files.unnamed_ms_max,
            uploads_per_owner_max: self.quota.uploads_per_owner_max(),
        }
    }

    /// The configuration of the HTTP edge.
    pub(crate) fn edge(&self, tls: Option<&Arc<TlsFiles>>) -> anyhow::Result<plenary_edge::Config> {
        let mut config =
            plenary_edge::Config { drain_deadline: Duration::from_secs(6), ..Default::default() };
        if let Some(max) = self.connections_max {
            config.connections_max = max;
        }
        if let Some(max) = self.connections_per_address_max {
            config.connections_per_address_max = max;
        }
        self.quota.limit(&mut config);
        config.tls = tls.map(TlsFiles::config).transpose()?;
        Ok(config)
    }

    /// The URL and names of the server, for answers that contain them.
    pub(crate) fn origin(&self, address: SocketAddr) -> Origin {
        let listening = format!("{}://{address}", self.scheme());
        Origin::new(&listening, self.public_url.as_deref(), self.trusted_proxies.clone())
    }

    /// Whether other machines may send tokens without TLS: there is no certificate, and no public URL of a proxy.
    pub(crate) fn is_in_clear(&self) -> bool {
        !self.listen.ip().is_loopback() && self.tls.is_none() && self.public_url.is_none()
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The URL for clients on this machine: the local address, or the configured name if a certificate must match.
    pub(crate) fn near(&self, address: SocketAddr) -> String {
        match (&self.tls, &self.public_url) {
            (Some(_), Some(url)) => url.clone(),
            (Some(_), None) => format!("https://{}", reachable(address)),
            (None, _) => format!("http://{}", reachable(address)),
        }
    }

    /// The ports at which clients reach the server: its own, and the one of the public URL.
    pub(crate) fn ports(&self, address: SocketAddr) -> Vec<u16> {
        let public = self.public_url.as_deref().and_then(|url| url.parse::<http::Uri>().ok());
        let implied = |url: &http::Uri| match url.scheme_str() {
            Some("https") => Some(443),
            Some("http") => Some(80),
            Some(_) | None => None,
        };
        let public = public.and_then(|url| url.port_u16().or_else(|| implied(&url)));
        std::iter::once(address.port()).chain(public).collect()
    }

    /// The URL for clients.
    pub(crate) fn url(&self, address: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("{}://{address}", self.scheme()))
    }
}

/// A URL of another kind of database would be refused as malformed.
pub(crate) fn check_database(url: Option<&str>) -> anyhow::Result<()> {
    let is_url = |url: &str| match url.split_once("://") {
        Some((scheme, _)) => matches!(scheme, "postgres" | "postgresql"),
        // libpq's other form: `host=… dbname=…`.
        None => url.contains('='),
    };
    if !url.is_none_or(is_url) {
        bail!("the database must be a URL that begins with postgres://");
    }
    Ok(())
}

/// Clients are sent to the public URL, so it must be one.
fn checked_public_url(public_url: Option<String>) -> anyhow::Result<Option<String>> {
    let is_url = |text: &String| {
        let url = text.parse::<http::Uri>().ok();
        url.is_some_and(|url| {
            matches!(url.scheme_str(), Some("http" | "https"))
                && url.host().is_some_and(|host| !host.is_empty())
        })
    };
    if !public_url.as_ref().is_none_or(is_url) {
        bail!(
            "the public URL must begin with http:// or https:// and a host, such as https://agents.example"
        );
    }
    Ok(public_url)
}

/// A server that listens on all addresses is reached at the loopback address.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The name of a model, from the command line, its variable or the file; absent if empty.
fn model_name(flag: Option<&String>, variable: &'static str, in_file: Option<String>) -> Option<String> {
    flag.cloned().or_else(|| secrets::variable(variable)).or(in_file).filter(|text| !text.is_empty())
}

/// The spans' settings from OpenTelemetry's own variables, the only source (wire.md D.6). An error in them is logged; the
/// server runs without spans.
fn telemetry() -> Option<plenary_telemetry::Settings> {
    let configured = plenary_telemetry::Settings::read(secrets::variable);
    for warning in &configured.warnings {
        tracing::warn!("{warning}");
    }
    configured.settings
}

/// The storage of blobs: the configured one, else beside the store. A database or a cluster may have several processes
/// without a common directory: unless the operator configures a place, nothing is stored.
fn blobs(setting: Option<String>, data: Option<&Path>, has_others: bool) -> anyhow::Result<Option<Location>> {
    match (setting, data) {
        (Some(text), _) => Ok(Some(text.parse().with_context(|| format!("`blobs = {text:?}`"))?)),
        (None, _) if has_others => Ok(None),
        (None, Some(directory)) => Ok(Some(Location::Own(directory.join(super::store::BLOBS)))),
        (None, None) => Ok(Some(Location::Memory)),
    }
}

/// The context that all agents share.
fn around(runs: &RunsTable) -> (HostContext, Arc<OwnTools>) {
    let toolbox = Arc::new(OwnTools::default());
    let attaching = AttachPoint::new(runs.instances_per_owner_max());
    (
        HostContext {
            toolbox: toolbox.clone(),
            attaching,
            launcher: Launcher::this_binary(),
            variable: secrets::variable,
        },
        toolbox,
    )
}

fn trusted(proxies: &[String]) -> anyhow::Result<Vec<TrustedNet>> {
    let read = |text: &String| text.parse().map_err(|why| anyhow::anyhow!("`trusted_proxies`: {why}"));
    proxies.iter().map(read).collect()
}

fn channels(args: &ServeArgs, table: &ChannelsTable) -> anyhow::Result<plenary_channels::Config> {
    let seconds = args.channels_status_cadence_seconds.or(table.status_cadence_seconds);
    let cadence = seconds.map_or(plenary_channels::Config::default().cadence, plenary_channels::Cadence);
    if cadence.0 == 0 {
        bail!("the status cadence of channels must be at least one second");
    }
    let (open, reject_after_close) = (table.open, table.reject_after_close);
    Ok(plenary_channels::Config { open, reject_after_close, cadence })
}

/// The address and its source.
fn listen_on(args: &ServeArgs, in_file: Option<Listen>, source: &Source) -> (SocketAddr, ListenSource) {
    let from_environment =
        || std::env::var("PLENARY_LISTEN").is_ok_and(|text| text.parse().ok() == args.listen);
    match (args.listen, in_file, &source.path) {
        (Some(Listen(address)), _, _) if from_environment() => (address, ListenSource::Environment),
        (Some(Listen(address)), _, _) => (address, ListenSource::Flag),
        (None, Some(Listen(address)), Some(path)) => (address, ListenSource::File(path.clone())),
        (None, Some(_) | None, _) => (listen_address::DEFAULT, ListenSource::Default),
    }
}

impl File {
    /// Parses the file. Relative paths in it are relative to its directory.
    fn parse(source: &Source) -> anyhow::Result<Self> {
        let mut file: Self = toml::from_str(&source.text).map_err(|error| source.refused(&error))?;
        if file.connections_max == Some(0) || file.connections_per_address_max == Some(0) {
            bail!(
                "`connections_max` and `connections_per_address_max` in the configuration file must be at least 1"
            );
        }
        file.data =
            file.data.map(|data| if data.as_os_str() == MEMORY { data } else { source.resolve(data) });
        for path in [&mut file.seed, &mut file.tls_cert, &mut file.tls_key] {
            *path = path.take().map(|path| source.resolve(path));
        }
        for model in [&mut file.embeddings, &mut file.rerank] {
            *model = model.take().map(|model| match model.split_once(':') {
                Some((kind @ ("local" | "static"), directory)) => {
                    format!("{kind}:{}", source.resolve(directory.into()).display())
                }
                _ => model,
            });
        }
        if let Some(directory) = source.path.as_deref().and_then(Path::parent) {
            file.agents.values_mut().for_each(|agent| agent.run_below(directory));
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests;
