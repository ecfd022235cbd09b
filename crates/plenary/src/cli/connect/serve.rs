//! A server for this machine, started where none answers, which goes on when the command has ended.
//! Must not know: coding agents.

use std::{
    fs::{DirBuilder, OpenOptions},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use plenary_client::Error;

use crate::{
    cli::{context::Context, failure::Failure, whereabouts::UrlSource},
    paths,
};

/// A server that has not answered by then has failed.
const STARTED_WITHIN: Duration = Duration::from_secs(30);
/// How long until it is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// Makes sure that a server answers.
pub(super) async fn answering(context: &Context, start: bool) -> Result<(), Failure> {
    match context.client()?.health().await {
        Ok(_) => return Ok(()),
        Err(Error::Network(_)) if start => {}
        Err(error) => return Err(error.into()),
    }
    let found = context.whereabouts()?;
    if matches!(found.source, UrlSource::Flag | UrlSource::Environment) {
        return Err(Failure::usage(
            format!("no server answers at {}, which {} names", found.url, found.source),
            "start it there, or leave the URL out: --serve starts the one of this machine",
        ));
    }
    let log = log(context)?;
    let mut child = spawn(&log)?;
    let begun = Instant::now();
    while begun.elapsed() < STARTED_WITHIN {
        if context.client()?.health().await.is_ok() {
            let url = context.server()?;
            context.out.note(&format!("a server runs now at {url}; what it says is in {}", log.display()));
            return Ok(());
        }
        if let Ok(Some(status)) = child.try_wait() {
            return Err(failed(&log, &format!("it ended with {status}")));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(failed(&log, &format!("it does not answer within {} s", STARTED_WITHIN.as_secs())))
}

fn failed(log: &std::path::Path, why: &str) -> Failure {
    Failure::local_with(
        format!("the server does not start: {why}"),
        format!("run `plenary serve` to see why; what it said is in {}", log.display()),
    )
}

fn log(context: &Context) -> Result<PathBuf, Failure> {
    let state = paths::state_dir(&|name| context.around.var(name))
        .ok_or_else(|| Failure::local_with("there is no home directory", "set HOME"))?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&state)
        .map_err(|error| Failure::local(format!("{}: {error}", state.display())))?;
    Ok(state.join("serve.log"))
}

/// In a group of its own: what ends this command does not end it.
fn spawn(log: &PathBuf) -> Result<std::process::Child, Failure> {
    let failed = |error: std::io::Error| Failure::local(format!("the server cannot be started: {error}"));
    let out = OpenOptions::new().append(true).create(true).mode(0o600).open(log).map_err(failed)?;
    let err = out.try_clone().map_err(failed)?;
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("serve").stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
    command.spawn().map_err(failed)
}
