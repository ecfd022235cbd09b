//! Settings: flag over environment over `plenary.toml` over default (wire.md D.1).

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, bail};
use plenary_blobs::Place;
use plenary_edge::{Origin, TrustedNet};
use plenary_hosts::{Around, Attaching, NoTools};
use serde::Deserialize;

use super::agents::{AgentTable, Agents, RunsTable, agents};
use crate::{
    paths,
    serve::{ServeArgs, parse_duration},
};

/// The default address.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7420);
/// The file that is read from the working directory when none is named.
const FILE: &str = "plenary.toml";

/// What a server runs with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    /// The directory of the SQLite store; `None` keeps everything in memory, unless `database` is set.
    pub(crate) data: Option<PathBuf>,
    /// A PostgreSQL URL; wins over `data`.
    pub(crate) database: Option<String>,
    /// Where contents are kept; nowhere when absent.
    pub(crate) blobs: Option<Place>,
    pub(crate) seed: Option<PathBuf>,
    pub(crate) grace: Duration,
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) public_url: Option<String>,
    pub(crate) connections_max: Option<usize>,
    pub(crate) connections_per_address_max: Option<usize>,
    /// Who is believed what it says about its clients.
    pub(crate) trusted_proxies: Vec<TrustedNet>,
    pub(crate) channels: plenary_channels::Config,
    pub(crate) frames: plenary_frames::Config,
    pub(crate) context: plenary_context::Config,
    /// The model that packages are found by in their meaning; absent for words alone.
    pub(crate) embeddings: Option<plenary_embeddings::Source>,
    /// The agents that it runs.
    pub(crate) agents: Agents,
    /// Who of them attaches itself.
    pub(crate) attaching: Attaching,
    /// Where spans go; absent when nowhere.
    pub(crate) telemetry: Option<plenary_telemetry::Settings>,
}

/// `plenary.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    listen: Option<SocketAddr>,
    data: Option<PathBuf>,
    database: Option<String>,
    blobs: Option<String>,
    blob_octets_max: Option<u64>,
    seed: Option<PathBuf>,
    grace: Option<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    public_url: Option<String>,
    embeddings: Option<String>,
    connections_max: Option<usize>,
    connections_per_address_max: Option<usize>,
    trusted_proxies: Vec<String>,
    channels: ChannelsTable,
    frames: FramesTable,
    context: ContextTable,
    runs: RunsTable,
    agents: BTreeMap<String, AgentTable>,
}

/// `[channels]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ChannelsTable {
    open: bool,
    reject_after_close: bool,
    status_cadence_seconds: Option<u64>,
}

/// `[frames]` in `plenary.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FramesTable {
    /// Frames a second of one sender, 0 for any number [default: 200]
    rate_per_s: Option<u32>,
    /// Frames of one sender at once [default: twice the rate]
    burst: Option<u32>,
    /// Events of one handle that are kept for resumption [default: 256]
    max_events: Option<usize>,
    /// How long they are kept [default: 300000]
    max_age_ms: Option<u64>,
    /// How far `created_at` may be from the server's time [default: any]
    max_skew_ms: Option<u64>,
    /// What a submission is told of its count: `exact` or `coarse` [default: exact]
    count: Option<Count>,
    /// Subscriptions that the scope of one frame may reach in one process [default: 10000]
    expansion_max: Option<usize>,
}

/// How exactly counts are told (FO-85).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Count {
    Exact,
    Coarse,
}

impl FramesTable {
    /// The rate on the command line wins.
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
    /// Whether a deposit or an assertion makes a project that there is not [default: true]
    auto_create_projects: Option<bool>,
    /// Whose acts a token may attribute: `own` or `open` [default: own]
    attribution: Option<Attribution>,
}

/// Whose acts a token may attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Attribution {
    Own,
    Open,
}

impl ContextTable {
    fn config(&self, blob_octets_max: Option<u64>) -> plenary_context::Config {
        let default = plenary_context::Config::default();
        plenary_context::Config {
            auto_create_projects: self.auto_create_projects.unwrap_or(default.auto_create_projects),
            attribution: match self.attribution {
                Some(Attribution::Open) => plenary_context::attribution::Attribution::Open,
                Some(Attribution::Own) | None => default.attribution,
            },
            blob_octets_max: blob_octets_max.unwrap_or(default.blob_octets_max),
        }
    }
}

impl Settings {
    /// On a store of its own that keeps nothing, at any free port of this machine.
    pub(crate) fn ephemeral() -> Self {
        let around = around();
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data: None,
            database: None,
            blobs: Some(Place::Memory),
            seed: None,
            grace: plenary_sessions::Config::default().grace,
            tls: None,
            public_url: None,
            connections_max: None,
            connections_per_address_max: None,
            trusted_proxies: Vec::new(),
            channels: plenary_channels::Config::default(),
            frames: plenary_frames::Config::default(),
            context: plenary_context::Config::default(),
            embeddings: None,
            agents: agents(&RunsTable::default(), &BTreeMap::new(), &around).unwrap_or_default(),
            attaching: around.attaching,
            telemetry: None,
        }
    }

    /// From the command line (which has read the environment), then the file, then the defaults.
    pub(crate) fn resolve(args: &ServeArgs) -> anyhow::Result<Self> {
        let file = File::read(args.config.as_deref())?;
        let grace = file.grace.as_deref().map(parse_duration).transpose();
        let grace = grace.map_err(|why| anyhow::anyhow!("`grace` in the configuration file: {why}"))?;
        let data = match args.data.clone().or(file.data) {
            Some(memory) if memory.as_os_str() == ":memory:" => None,
            Some(directory) => Some(directory),
            None => Some(
                paths::default_data_dir(&|name| std::env::var(name).ok())
                    .context("there is no home directory; say where the data goes with --data DIR")?,
            ),
        };
        let tls = match (args.tls_cert.clone().or(file.tls_cert), args.tls_key.clone().or(file.tls_key)) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => bail!("TLS needs both a certificate (--tls-cert) and its key (--tls-key)"),
        };
        let named = args.embeddings.clone().or(file.embeddings).filter(|text| !text.is_empty());
        let database = args.database.clone().or(file.database);
        let blobs = blobs(args.blobs.clone().or(file.blobs), data.as_deref(), database.is_some())?;
        let around = around();
        let settings = Self {
            blobs,
            listen: args.listen.or(file.listen).unwrap_or(LISTEN),
            data,
            database,
            seed: args.seed.clone().or(file.seed),
            grace: args.grace.or(grace).unwrap_or(plenary_sessions::Config::default().grace),
            tls,
            public_url: args.public_url.clone().or(file.public_url),
            connections_max: file.connections_max,
            connections_per_address_max: file.connections_per_address_max,
            trusted_proxies: trusted(&file.trusted_proxies)?,
            channels: channels(args, &file.channels)?,
            frames: file.frames.config(args.frames_rate)?,
            context: file.context.config(file.blob_octets_max),
            embeddings: named.as_deref().map(super::model::parse).transpose()?,
            agents: agents(&file.runs, &file.agents, &around)?,
            attaching: around.attaching,
            telemetry: telemetry(),
        };
        Ok(settings)
    }

    /// How the edge treats connections.
    pub(crate) fn edge(&self) -> anyhow::Result<plenary_edge::Config> {
        let mut config =
            plenary_edge::Config { drain_deadline: Duration::from_secs(6), ..Default::default() };
        if let Some(max) = self.connections_max {
            config.connections_max = max;
        }
        if let Some(max) = self.connections_per_address_max {
            config.connections_per_address_max = max;
        }
        if let Some((certificate, key)) = &self.tls {
            config.tls = Some(plenary_edge::tls_config(certificate, key)?);
        }
        Ok(config)
    }

    /// How clients reach the server, for answers that say so.
    pub(crate) fn origin(&self, address: SocketAddr) -> Origin {
        let listening = format!("{}://{address}", self.scheme());
        Origin::new(&listening, self.public_url.as_deref(), self.trusted_proxies.clone())
    }

    fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// How clients on this machine reach the server: at its address, and where a certificate has to fit, by the
    /// name that it was given.
    pub(crate) fn near(&self, address: SocketAddr) -> String {
        match (&self.tls, &self.public_url) {
            (Some(_), Some(url)) => url.clone(),
            (Some(_), None) => format!("https://{}", reachable(address)),
            (None, _) => format!("http://{}", reachable(address)),
        }
    }

    /// How clients reach the server.
    pub(crate) fn url(&self, address: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| format!("{}://{address}", self.scheme()))
    }
}

/// All addresses of this machine are reached at the loopback address.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// OpenTelemetry has variables of its own, and they are the only ones (wire.md D.6). What is wrong in them is said;
/// spans are no reason not to serve.
fn telemetry() -> Option<plenary_telemetry::Settings> {
    let configured = plenary_telemetry::Settings::read(|name| std::env::var(name).ok());
    for warning in &configured.warnings {
        tracing::warn!("{warning}");
    }
    configured.settings
}

/// Where contents are kept: where it was said, else beside the store. A database may have several processes, which have
/// no directory together: without a word from the operator nothing is kept then.
fn blobs(said: Option<String>, data: Option<&Path>, has_database: bool) -> anyhow::Result<Option<Place>> {
    match (said, data) {
        (Some(text), _) => Ok(Some(text.parse().with_context(|| format!("`blobs = {text:?}`"))?)),
        (None, _) if has_database => Ok(None),
        (None, Some(directory)) => Ok(Some(Place::Directory(directory.join("blobs")))),
        (None, None) => Ok(Some(Place::Memory)),
    }
}

/// What the agents share.
fn around() -> Around {
    Around { toolbox: Arc::new(NoTools), attaching: Attaching::default() }
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

impl File {
    fn read(named: Option<&Path>) -> anyhow::Result<Self> {
        let path = named.unwrap_or(Path::new(FILE));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
        };
        toml::from_str(&text).with_context(|| format!("reading {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ServeArgs,
    }

    fn resolve(line: &[&str], file: &str) -> anyhow::Result<Settings> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("plenary.toml");
        std::fs::write(&path, file)?;
        let config = path.to_str().unwrap_or_default();
        let mut words = vec!["plenary", "--config", config];
        words.extend(line);
        Settings::resolve(&Line::parse_from(words).args)
    }

    #[test]
    fn a_flag_wins_over_the_file_and_the_file_over_the_default() {
        let file = "listen = \"127.0.0.1:1\"\ngrace = \"5s\"\ndata = \":memory:\"";
        let settings = resolve(&["--listen", "127.0.0.1:2"], file).unwrap();
        assert_eq!(settings.listen.port(), 2);
        assert_eq!((settings.grace, settings.data), (Duration::from_secs(5), None));
        assert_eq!(resolve(&[], "").unwrap().listen, LISTEN);
    }

    #[test]
    fn contents_are_kept_beside_the_store_unless_it_is_said_where() {
        let place = |line: &[&str], file: &str| resolve(line, file).unwrap().blobs;
        assert_eq!(place(&["--data", "/d"], ""), Some(Place::Directory("/d/blobs".into())));
        assert_eq!(place(&["--data", ":memory:"], ""), Some(Place::Memory));
        assert_eq!(place(&["--data", "/d", "--database", "postgres://h/d"], ""), None);
        let bucket = Some(Place::Bucket { bucket: "b".into(), prefix: "p".into() });
        assert_eq!(place(&["--database", "postgres://h/d", "--blobs", "s3://b/p"], ""), bucket);
        assert_eq!(place(&["--data", "/d"], "blobs = \"s3://b/p\""), bucket);
        assert_eq!(
            place(&["--blobs", "file:///e"], "blobs = \"s3://b/p\""),
            Some(Place::Directory("/e".into()))
        );
        assert!(resolve(&["--blobs", "blobs"], "").is_err());
        assert_eq!(resolve(&[], "blob_octets_max = 9").unwrap().context.blob_octets_max, 9);
        assert_eq!(resolve(&[], "").unwrap().context.blob_octets_max, 64 << 20);
    }

    #[test]
    fn ap_57_the_context_table_is_heeded() {
        let context = |file: &str| resolve(&[], file).unwrap().context;
        let default = plenary_context::Config::default();
        assert!(context("").auto_create_projects && context("").attribution == default.attribution);
        let set = context("[context]\nauto_create_projects = false\nattribution = \"open\"");
        assert!(!set.auto_create_projects);
        assert_eq!(set.attribution, plenary_context::attribution::Attribution::Open);
        assert!(resolve(&[], "[context]\nattribution = \"any\"").is_err());
        assert!(resolve(&[], "[context]\nauto_create = true").is_err(), "a setting that nobody knows");
    }

    #[test]
    fn a_neighbour_is_told_an_address_that_it_can_reach() {
        let near = |line: &[&str], address: &str| resolve(line, "").unwrap().near(address.parse().unwrap());
        assert_eq!(near(&[], "0.0.0.0:7"), "http://127.0.0.1:7");
        assert_eq!(near(&[], "[::]:7"), "http://[::1]:7");
        assert_eq!(near(&["--public-url", "http://far.example"], "10.0.0.1:7"), "http://10.0.0.1:7");
        let tls = ["--tls-cert", "c", "--tls-key", "k"];
        assert_eq!(near(&tls, "127.0.0.1:7"), "https://127.0.0.1:7");
        let named = [&tls[..], &["--public-url", "https://far.example"]].concat();
        assert_eq!(near(&named, "0.0.0.0:7"), "https://far.example");
    }

    #[test]
    fn what_is_wrong_in_the_file_is_said() {
        assert!(resolve(&[], "listne = 1").is_err(), "a setting that nobody knows");
        assert!(resolve(&[], "grace = \"soon\"").is_err());
        assert!(resolve(&[], "trusted_proxies = [\"proxy\"]").is_err());
        assert!(resolve(&[], "[channels]\nstatus_cadence_seconds = 0").is_err());
        assert!(resolve(&[], "tls_cert = \"a.pem\"").is_err(), "a certificate without its key");
        assert!(resolve(&["--embeddings", "nothing"], "").is_err(), "no model");
    }

    #[test]
    fn a_model_is_named_by_a_flag_or_in_the_file() {
        let named = |line: &[&str], file| resolve(line, file).unwrap().embeddings;
        assert_eq!(named(&[], ""), None);
        let file = "embeddings = \"local:there\"";
        assert_eq!(named(&[], file), "local:there".parse().ok());
        assert_eq!(named(&["--embeddings", "local:here"], file), "local:here".parse().ok());
    }

    #[test]
    fn ch_8_answers_name_the_public_url_or_the_address() {
        let base = |line: &[&str]| {
            let origin = resolve(line, "").unwrap().origin("127.0.0.1:7420".parse().unwrap());
            origin.base_url("127.0.0.1:9".parse().unwrap(), &http::HeaderMap::new())
        };
        assert_eq!(base(&[]), "http://127.0.0.1:7420");
        assert_eq!(base(&["--public-url", "https://agents.example/base/"]), "https://agents.example/base");
    }

    #[test]
    fn ch_3_the_cadence_has_one_knob() {
        let cadence = |line: &[&str], file| resolve(line, file).unwrap().channels.cadence.0;
        assert_eq!(cadence(&[], ""), 60);
        assert_eq!(cadence(&[], "[channels]\nstatus_cadence_seconds = 5"), 5);
        let flag = ["--channels-status-cadence-seconds", "7"];
        assert_eq!(cadence(&flag, "[channels]\nstatus_cadence_seconds = 5"), 7);
        let table = "[channels]\nopen = true\nreject_after_close = true";
        let channels = resolve(&[], table).unwrap().channels;
        assert!(channels.open && channels.reject_after_close);
    }
}
