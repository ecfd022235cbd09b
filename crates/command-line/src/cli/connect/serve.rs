//! Starts a server on this machine if none answers; it keeps running after the command.
//! Must not know: coding agents.

use std::{
    fs::{DirBuilder, OpenOptions},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use plenary_client::{BaseUrl, Error, FaultKind};
use serde_json::{Value, json};

use crate::{
    cli::{
        context::Context,
        failure::Failure,
        hook::Program,
        identity::Realm,
        server_address::{ServerAddress, UrlSource},
    },
    listen_address::{Listen, ListenSource, MEMORY},
    paths,
};

/// How long a server may take to start.
const STARTED_WITHIN: Duration = Duration::from_secs(30);
/// The pause between two health checks.
const PAUSE: Duration = Duration::from_millis(50);

/// Variables that name files and directories: a server that is started elsewhere must find the same ones.
const PATHS: [&str; 5] =
    ["PLENARY_DATA", "PLENARY_CONFIG", "PLENARY_SEED", "PLENARY_TLS_CERT", "PLENARY_TLS_KEY"];

/// Ensures that a server answers; if none does and `start` is set, starts one, at `listen` if given.
pub(super) async fn ensure_server(
    context: &Context,
    start: bool,
    listen: Option<Listen>,
) -> Result<(), Failure> {
    let address = match context.server_address() {
        Err(Failure::Unreachable { .. }) if start => return start_server(context, listen, None).await,
        address => address?,
    };
    let (mut listen, mut foreign) = (listen, None);
    match context.client()?.health().await {
        Ok(_) if !is_foreign(context, &address).await? => return Ok(()),
        Ok(_) if start => {
            listen = listen.or(Some(ANY_FREE_PORT));
            foreign = Some(address.url.clone());
        }
        Ok(_) => {
            return Err(Failure::auth(
                format!("the server at {} is not yours: no token for it is saved here", address.url),
                "start your own, which takes a free port: `plenary serve`; or save a token: `plenary token add`",
            ));
        }
        Err(Error::Network(_)) if start => {}
        Err(error) => return Err(error.into()),
    }
    if address.source.is_given() {
        return Err(Failure::usage(
            format!("no server answers at {}, which {} names", address.url, address.source),
            "start it there, or leave out the URL: --serve starts a server on this machine",
        ));
    }
    start_server(context, listen, foreign).await
}

/// Starts a server, and waits until it answers in place of one of another user.
async fn start_server(
    context: &Context,
    listen: Option<Listen>,
    foreign: Option<BaseUrl>,
) -> Result<(), Failure> {
    let log = log(context)?;
    let started = ServerStart::of(context, listen)?;
    let mut child = started.spawn(context, &log)?;
    let started_at = Instant::now();
    while started_at.elapsed() < STARTED_WITHIN {
        let url = match context.server() {
            Err(Failure::Unreachable { .. }) => None,
            server => Some(server?),
        };
        let has_ended = child.try_wait().ok().flatten();
        // Until the new server has published its URL, the other one answers.
        if let Some(url) = url.filter(|url| foreign.as_ref() != Some(url))
            && context.client()?.health().await.is_ok()
        {
            // Another process has started a server meanwhile, on the same data directory.
            if has_ended.is_some() {
                return Ok(());
            }
            note(context, child.id())?;
            context.out.note(&format!(
                "a server now runs at {url} ({}), with its data in {} and its log in {}",
                match &foreign {
                    Some(_) => "a free port, as the server of another user has the usual one".to_owned(),
                    None => format!("address from {}", started.source),
                },
                started.directory.display(),
                log.display()
            ));
            return Ok(());
        }
        if let Some(status) = has_ended {
            return Err(failed(&log, &format!("it ended with {status}")));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(failed(&log, &format!("it does not answer within {} s", STARTED_WITHIN.as_secs())))
}

/// Any free port of this machine.
const ANY_FREE_PORT: Listen = Listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0));

/// Whether an unnamed server belongs to another user of this machine: no token for it is saved here, and it does not
/// know the operator's token of this user's data directory.
async fn is_foreign(context: &Context, address: &ServerAddress) -> Result<bool, Failure> {
    if address.source.is_given() || address.source == UrlSource::Argument || context.given_token()?.is_some()
    {
        return Ok(false);
    }
    let saved = context.tokens_file().map(|file| file.load()).transpose()?;
    // Not those for the usual address of this user's server: it may be another server that listens here.
    if saved.is_some_and(|saved| saved.servers().any(|(url, _)| url == address.url.to_string())) {
        return Ok(false);
    }
    let client = match context.configuring_client(Realm::Server) {
        Ok(client) => client,
        Err(Failure::Auth { .. }) => return Ok(true),
        Err(failure) => return Err(failure),
    };
    match client.owners(None).await {
        Err(Error::Network(fault)) if fault.kind == FaultKind::Unproved => Ok(true),
        Err(Error::Refused(refused)) if refused.status == 401 => Ok(true),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(false),
    }
}

/// The file that records the started server.
const SERVE_RECORD: &str = "serve.json";
/// How long a server may take to stop; it finishes requests in progress.
const ENDED_WITHIN: Duration = Duration::from_secs(60);

/// Records the started process: its id and its start time, since ids are reused.
fn note(context: &Context, pid: u32) -> Result<(), Failure> {
    let path = state(context)?.join(SERVE_RECORD);
    let text = json!({"pid": pid, "since": Program::of(pid).since}).to_string();
    std::fs::write(&path, text).map_err(|error| Failure::local(format!("{}: {error}", path.display())))
}

/// `plenary stop`: stops the server that `connect --serve` started on this machine, and no other.
pub(crate) async fn stop(context: &Context) -> Result<(), Failure> {
    let path = state(context)?.join(SERVE_RECORD);
    let text = std::fs::read(&path).unwrap_or_default();
    let record: Value = serde_json::from_slice(&text).unwrap_or_default();
    let pid = record["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    let program = pid.map(|pid| Program { pid, since: record["since"].as_u64() });
    let Some(program) = program.filter(|program| program.is_running()) else {
        let _absent = std::fs::remove_file(&path);
        return Err(Failure::local_with(
            "no server that `plenary connect --serve` started is running",
            "stop a server started with `plenary serve` with Ctrl-C, or with its service manager",
        ));
    };
    program.request_end().map_err(|error| Failure::local(format!("it cannot be stopped: {error}")))?;
    let requested_at = Instant::now();
    while program.is_running() {
        if requested_at.elapsed() > ENDED_WITHIN {
            return Err(Failure::local(format!("the server (process {}) does not stop", program.pid)));
        }
        tokio::time::sleep(PAUSE).await;
    }
    let _absent = std::fs::remove_file(&path);
    if context.out.is_json() {
        return Ok(context.out.line(&json!({"stopped": program.pid}).to_string())?);
    }
    Ok(context.out.line("the server has stopped")?)
}

fn failed(log: &Path, why: &str) -> Failure {
    Failure::local_with(
        format!("the server does not start: {why}"),
        format!("run `plenary serve` to see why; its log is in {}", log.display()),
    )
}

fn log(context: &Context) -> Result<PathBuf, Failure> {
    let state = state(context)?;
    make(&state)?;
    Ok(state.join("serve.log"))
}

fn state(context: &Context) -> Result<PathBuf, Failure> {
    paths::state_dir(&|name| context.environment.var(name))
        .ok_or_else(|| Failure::local_with("there is no home directory", "set HOME"))
}

fn make(directory: &Path) -> Result<(), Failure> {
    let result = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    result.map_err(|error| Failure::local(format!("{}: {error}", directory.display())))
}

struct ServerStart {
    listen: SocketAddr,
    source: ListenSource,
    directory: PathBuf,
}

impl ServerStart {
    /// Its settings from the environment and the user's own configuration; none from the working directory.
    fn of(context: &Context, listen: Option<Listen>) -> Result<Self, Failure> {
        let settings = (context.program.server_defaults)().map_err(|error| {
            Failure::local_with(format!("the server's configuration: {error:#}"), "correct it, and try again")
        })?;
        let (listen, source) = match listen {
            Some(Listen(address)) => (address, ListenSource::Flag),
            None => (settings.listen, settings.listen_source),
        };
        if !listen.ip().is_loopback() && source != ListenSource::Flag {
            return Err(Failure::usage(
                format!("the server would listen on {listen} (from {source}), where other machines reach it"),
                format!("if you want that, add `--listen {listen}`"),
            ));
        }
        let directory = match settings.data {
            Some(data) => data,
            None => state(context)?,
        };
        make(&directory)?;
        Ok(Self { listen, source, directory })
    }

    /// Starts it in its own directory and process group, so that the end of this command does not stop it.
    fn spawn(&self, context: &Context, log: &PathBuf) -> Result<std::process::Child, Failure> {
        let failed = |error: std::io::Error| Failure::local(format!("the server cannot be started: {error}"));
        let out = OpenOptions::new().append(true).create(true).mode(0o600).open(log).map_err(failed)?;
        let err = out.try_clone().map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        for name in PATHS {
            if let Some(path) = context.environment.var(name).filter(|path| path != MEMORY) {
                command.env(name, std::path::absolute(path).map_err(failed)?);
            }
        }
        command.args(["serve", "--listen", &self.listen.to_string()]).current_dir(&self.directory);
        command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
        command.spawn().map_err(failed)
    }
}
