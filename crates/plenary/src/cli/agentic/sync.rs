//! `plenary context sync`: copies new records between two servers, both ways. A token of this server is never sent to
//! the other one.
//! Must not know: how records are compared.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use plenary_client::{
    BaseUrl, Client,
    transfer::{self, SyncReport, SyncState},
};
use plenary_kernel::json::digest;
use serde_json::json;

use super::{
    place::{Place, PlaceArgs, governing_client},
    transfer::{projects, refused},
};
use crate::{
    cli::{
        atomic,
        context::Context,
        failure::{Exit, Failure},
        identity,
    },
    out::Progress,
    paths,
};

/// Shown under `--help`.
const HELP: &str = "\
The token for the other server is PLENARY_REMOTE_TOKEN, or one saved for it with `plenary --url URL token add OWNER`. \
It must be an owner's or the operator's: only they may import. Progress is remembered: an interrupted sync continues \
where it stopped, and a repeated one copies only new data.";

/// The arguments of `context sync`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Sync {
    /// URL of the other server
    remote: BaseUrl,
    /// Every project that the caller may read
    #[arg(long)]
    all: bool,
    /// Only copy from the other server to this one
    #[arg(long, conflicts_with = "push")]
    pull: bool,
    /// Only copy from this server to the other one
    #[arg(long)]
    push: bool,
}

pub(super) async fn run(context: &Context, args: &PlaceArgs, sync: Sync) -> Result<(), Failure> {
    let Sync { remote, all, pull, push } = sync;
    let place = Place::of(context, args)?;
    if place.server == remote {
        return Err(Failure::usage("the URL is that of this server", "name another server"));
    }
    let projects = projects(context, args, &place, all)?;
    let here = governing_client(context)?;
    let there = other(context, &remote)?;
    let pulled = match push {
        true => None,
        false => Some(one_way(context, &there, &here, &projects).await?),
    };
    let pushed = match pull {
        true => None,
        false => Some(one_way(context, &here, &there, &projects).await?),
    };
    if context.out.is_json() {
        context.out.line(&json!({"pulled": pulled, "pushed": pushed}).to_string())?;
    }
    let is_refused =
        |report: &Option<SyncReport>| report.as_ref().is_some_and(|report| report.refused_count > 0);
    for (report, way) in [(&pulled, "from there"), (&pushed, "to there")] {
        let Some(report) = report else { continue };
        let SyncReport { projects, imported, skipped, overwritten, refused_count, .. } = report;
        if !context.out.is_json() {
            context.out.line(&format!(
                "{way}: {projects} projects, {imported} records new, {overwritten} continued, {skipped} there already, \
                 {refused_count} refused"
            ))?;
        }
        refused(context.out, &report.refused, *refused_count);
    }
    if is_refused(&pulled) || is_refused(&pushed) { Err(Failure::Said(Exit::Refused)) } else { Ok(()) }
}

/// A client of the other server, with a token that was given or saved for that server.
fn other(context: &Context, remote: &BaseUrl) -> Result<Client, Failure> {
    let owner = context.identity()?.map(|identity| identity.handle.owner_name());
    let file = context.tokens_file();
    let found = identity::remote_credential(remote, owner.as_ref(), file.as_ref(), &context.environment)?;
    context.client_speaking(remote.clone(), &found)
}

async fn one_way(
    context: &Context,
    from: &Client,
    to: &Client,
    projects: &[String],
) -> Result<SyncReport, Failure> {
    let file = state_file(context, from.base(), to.base());
    let mut state = file.as_deref().map(load).unwrap_or_default();
    let mut progress = Progress::new(&context.out);
    let way = format!("{} to {}", from.base(), to.base());
    let mut tell = |at: &transfer::Progress<'_>| progress.tell(&way, at.records, at.octets);
    let report = transfer::sync(from, to, projects, &mut state, &mut tell).await;
    drop(progress);
    if let Some(Err(error)) = file.map(|file| store(&file, &state)) {
        context.out.note(&format!(
            "the progress cannot be saved, so the next sync compares everything again: {error}"
        ));
    }
    Ok(report?)
}

/// The file with the state of one direction between two servers.
fn state_file(context: &Context, from: &BaseUrl, to: &BaseUrl) -> Option<PathBuf> {
    let directory = paths::state_dir(&|name| context.environment.var(name))?.join("sync");
    let name = hex::encode(&digest(format!("{from}\n{to}").as_bytes())[..16]);
    Some(directory.join(format!("{name}.json")))
}

/// An unreadable file counts as empty: everything is compared again.
fn load(file: &Path) -> SyncState {
    serde_json::from_slice(&fs::read(file).unwrap_or_default()).unwrap_or_default()
}

fn store(file: &Path, state: &SyncState) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    atomic::replace(file, &serde_json::to_vec(state)?, 0o600)
}
