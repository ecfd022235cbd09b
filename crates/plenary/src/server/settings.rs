//! Settings: flag over environment over `plenary.toml` over default (wire.md D.1).

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use serde::Deserialize;

use crate::{
    paths,
    serve::{ServeArgs, parse_duration},
};

/// The default address.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7420);
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
    pub(crate) seed: Option<PathBuf>,
    pub(crate) grace: Duration,
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) public_url: Option<String>,
    pub(crate) connections_max: Option<usize>,
    pub(crate) connections_per_address_max: Option<usize>,
}

/// `plenary.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    listen: Option<SocketAddr>,
    data: Option<PathBuf>,
    database: Option<String>,
    seed: Option<PathBuf>,
    grace: Option<String>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    public_url: Option<String>,
    connections_max: Option<usize>,
    connections_per_address_max: Option<usize>,
}

impl Settings {
    /// On a store of its own that keeps nothing, at any free port of this machine.
    pub(crate) fn ephemeral() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data: None,
            database: None,
            seed: None,
            grace: plenary_sessions::Config::default().grace,
            tls: None,
            public_url: None,
            connections_max: None,
            connections_per_address_max: None,
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
        let settings = Self {
            listen: args.listen.or(file.listen).unwrap_or(LISTEN),
            data,
            database: args.database.clone().or(file.database),
            seed: args.seed.clone().or(file.seed),
            grace: args.grace.or(grace).unwrap_or(plenary_sessions::Config::default().grace),
            tls,
            public_url: args.public_url.clone().or(file.public_url),
            connections_max: file.connections_max,
            connections_per_address_max: file.connections_per_address_max,
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

    /// How clients reach the server.
    pub(crate) fn url(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.public_url.clone().unwrap_or_else(|| format!("{scheme}://{address}"))
    }
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
    fn what_is_wrong_in_the_file_is_said() {
        assert!(resolve(&[], "listne = 1").is_err(), "a setting that nobody knows");
        assert!(resolve(&[], "grace = \"soon\"").is_err());
        assert!(resolve(&[], "tls_cert = \"a.pem\"").is_err(), "a certificate without its key");
    }
}
