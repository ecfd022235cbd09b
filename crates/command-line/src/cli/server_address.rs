//! The server of a command, and the source of its address.
//! Must not know: the requests.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use plenary_client::BaseUrl;
use plenary_kernel::AgentHandle;

use super::{
    environment::Environment,
    failure::Failure,
    identity::{self, MovedServer, RecordedServer},
    shell,
};
use crate::paths;

/// The default URL of the server (wire.md D.1).
const DEFAULT_URL: &str = "http://127.0.0.1:7420";

/// An address at which no program can listen, for a caller that waits until its server runs.
const NOWHERE: &str = "http://127.0.0.1:0";

/// A server's URL and its source.
#[derive(Debug, Clone)]
pub(crate) struct ServerAddress {
    pub url: BaseUrl,
    pub source: UrlSource,
}

impl ServerAddress {
    /// The address of a server that is still to be started.
    pub(crate) fn nowhere() -> Result<Self, Failure> {
        let url = NOWHERE.parse().map_err(|error| Failure::local(format!("{NOWHERE}: {error}")))?;
        Ok(Self { url, source: UrlSource::Default })
    }

    /// The server of the default data directory on this machine, if it is not at the default address.
    pub(crate) fn moved(&self, environment: &Environment) -> Option<MovedServer> {
        let is_default_dir =
            matches!(self.source, UrlSource::DataDir(_)) && environment.var("PLENARY_DATA").is_none();
        let usual: BaseUrl = DEFAULT_URL.parse().ok()?;
        let is_moved = is_default_dir && self.url.is_loopback() && self.url != usual;
        is_moved.then(|| MovedServer { usual, present: self.url.clone() })
    }
}

/// The source of a server's URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UrlSource {
    /// `--url`
    Flag,
    /// `PLENARY_URL`
    Environment,
    /// The file that a running server keeps in its data directory.
    DataDir(PathBuf),
    /// The user's record of the server at which the directory was connected.
    Connected(PathBuf),
    /// An argument that names a server, e.g. a channel's URL.
    Argument,
    Default,
}

impl fmt::Display for UrlSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("--url"),
            Self::Environment => f.write_str("PLENARY_URL"),
            Self::DataDir(path) | Self::Connected(path) => write!(f, "{}", path.display()),
            Self::Argument => f.write_str("the argument"),
            Self::Default => f.write_str("the default"),
        }
    }
}

impl UrlSource {
    /// Whether the server was given by its URL, now or when the directory was connected.
    pub(crate) fn is_given(&self) -> bool {
        match self {
            Self::Flag | Self::Environment | Self::Connected(_) => true,
            Self::DataDir(_) | Self::Argument | Self::Default => false,
        }
    }
}

/// `--url`, else `PLENARY_URL`, else the server of the data directory in `PLENARY_DATA`, else the one at which the directory was
/// connected for this agent, else the server of this machine's data directory, else the default address.
pub(crate) fn resolve(
    flag: Option<&BaseUrl>,
    agent: Option<&AgentHandle>,
    environment: &Environment,
) -> Result<ServerAddress, Failure> {
    if let Some(url) = flag {
        return Ok(ServerAddress { url: url.clone(), source: UrlSource::Flag });
    }
    if let Some(text) = environment.var("PLENARY_URL") {
        let url = text
            .parse()
            .map_err(|e| Failure::usage(format!("PLENARY_URL: {e}"), "correct it, or use --url"))?;
        return Ok(ServerAddress { url, source: UrlSource::Environment });
    }
    if environment.var("PLENARY_DATA").is_none()
        && let Some(RecordedServer { url, file, .. }) = recorded(agent, environment)
    {
        return Ok(ServerAddress { url, source: UrlSource::Connected(file) });
    }
    if let Some(address) = of_data_dir(environment)? {
        return Ok(address);
    }
    let url = DEFAULT_URL.parse().map_err(|e| Failure::local(format!("the default URL: {e}")))?;
    Ok(ServerAddress { url, source: UrlSource::Default })
}

/// The server at which the directory was connected, for this agent or the one in `PLENARY_AS`.
pub(crate) fn recorded(agent: Option<&AgentHandle>, environment: &Environment) -> Option<RecordedServer> {
    let named = environment.var("PLENARY_AS").and_then(|text| AgentHandle::of_recipient(&text).ok());
    let directory = environment.directory()?;
    identity::recorded_server(environment, directory, agent.or(named.as_ref()))
}

/// The URL in this machine's data directory. A directory that `PLENARY_DATA` names must have one: a command for its
/// server never goes to another. In the default directory a missing file and an unreadable one are the same: another
/// user's server is not a default.
pub(crate) fn of_data_dir(environment: &Environment) -> Result<Option<ServerAddress>, Failure> {
    let Some(directory) = paths::data_dir(&|name| environment.var(name)) else { return Ok(None) };
    let file = directory.join(paths::SERVER_URL_FILE);
    let is_named = environment.var("PLENARY_DATA").is_some();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if is_named => return Err(unread(&directory, &file, &error)),
        Err(_) => return Ok(None),
    };
    let url = text.trim().parse().map_err(|e| {
        Failure::local_with(
            format!("{}: {e}", file.display()),
            "remove it, and use --url until the server writes it again at its next start",
        )
    })?;
    Ok(Some(ServerAddress { url, source: UrlSource::DataDir(file) }))
}

/// Why a named data directory leads to no server.
fn unread(directory: &Path, file: &Path, error: &io::Error) -> Failure {
    let kind = error.kind();
    if kind == io::ErrorKind::NotFound {
        return Failure::unreachable(
            format!("no server runs on {}", directory.display()),
            format!(
                "start it with `plenary serve --data {}`, or name another server with --url",
                shell::quoted(&directory.to_string_lossy())
            ),
        );
    }
    let next = if kind == io::ErrorKind::PermissionDenied {
        "run this as the server's user, or name the server with --url"
    } else {
        "name the server's data directory with PLENARY_DATA, or the server with --url"
    };
    Failure::local_with(format!("{} cannot be read: {kind}", file.display()), next)
}
