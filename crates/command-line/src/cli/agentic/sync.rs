//! `plenary context sync`: copies new records between two servers, both ways, or from a linked network. A token of this
//! server is never sent to the other one.
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
use plenary_kernel::{OwnerName, json::digest};
use serde_json::json;

use super::{
    target::{ProjectArgs, ProjectTarget, governing_client},
    transfer::{projects, refused},
};
use crate::{
    cli::{
        atomic,
        context::Context,
        failure::{Exit, Failure},
        identity::{self, Realm},
    },
    out::{Progress, counted},
    paths,
};

const HELP: &str = "\
The token for the other server is PLENARY_REMOTE_TOKEN, or one saved for it with `plenary --url URL token add OWNER`. \
It must be an owner's or the operator's: only they may import. Progress is remembered: an interrupted sync continues \
where it stopped, and a repeated one copies only new data.

With --peer, the projects are those of a linked network that the agent may read there. They are copied to projects of \
--into here, which needs the operator's token, because the packages name actors of the other network.

Example:
  plenary context sync --peer acme --project nick:prices --into ida --as @ida.bot";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Sync {
    /// URL of the other server; none with --peer
    remote: Option<BaseUrl>,
    /// Every project that the caller may read
    #[arg(long)]
    all: bool,
    /// Only copy from the other server to this one
    #[arg(long, conflicts_with = "push")]
    pull: bool,
    /// Only copy from this server to the other one
    #[arg(long)]
    push: bool,
    /// With --peer: the owner of the copied projects here
    #[arg(long, value_name = "OWNER")]
    into: Option<OwnerName>,
}

pub(super) async fn run(context: &Context, args: &ProjectArgs, sync: Sync) -> Result<(), Failure> {
    let Sync { remote, all, pull, push, into } = sync;
    let target = ProjectTarget::of(context, args)?;
    if let Some(peer) = context.peer() {
        let (None, false, false, Some(into)) = (&remote, all, push, &into) else {
            let what = "--peer copies one project of a linked network";
            return Err(Failure::usage(what, "give --project OWNER:ID and --into OWNER, and no URL"));
        };
        let local = context.configuring_client(Realm::Everything)?;
        let from = (format!("{}/peers/{peer}", target.server), context.agent_client()?);
        let projects = projects(context, args, &target, false)?;
        let pulled = one_way(context, (&from.0, &from.1), (&local, Some(into)), &projects).await?;
        return report(context, Some(&pulled), None);
    }
    let (Some(remote), None) = (remote, into) else {
        return Err(Failure::usage(
            "a sync is with one other server or with one linked network",
            "give the URL of the server, or --peer with --into OWNER",
        ));
    };
    if target.server == remote {
        return Err(Failure::usage("the URL is that of this server", "name another server"));
    }
    let projects = projects(context, args, &target, all)?;
    let local = governing_client(context)?;
    let remote_client = other(context, &remote)?;
    let pulled = match push {
        true => None,
        false => {
            Some(one_way(context, (&remote.to_string(), &remote_client), (&local, None), &projects).await?)
        }
    };
    let pushed = match pull {
        true => None,
        false => {
            let from = local.base().to_string();
            Some(one_way(context, (&from, &local), (&remote_client, None), &projects).await?)
        }
    };
    report(context, pulled.as_ref(), pushed.as_ref())
}

fn report(
    context: &Context,
    pulled: Option<&SyncReport>,
    pushed: Option<&SyncReport>,
) -> Result<(), Failure> {
    if context.out.is_json() {
        context.out.line(&json!({"pulled": pulled, "pushed": pushed}).to_string())?;
    }
    let is_refused = |report: Option<&SyncReport>| report.is_some_and(|report| report.refused_count > 0);
    for (report, way) in [(pulled, "from there"), (pushed, "to there")] {
        let Some(report) = report else { continue };
        let SyncReport { projects, imported, skipped, overwritten, refused_count, .. } = report;
        if !context.out.is_json() {
            context.out.line(&format!(
                "{way}: {}, {} new, {overwritten} continued, {skipped} there already, {refused_count} refused",
                counted(*projects, "project"),
                counted(*imported, "record"),
            ))?;
        }
        refused(context.out, &report.refused, *refused_count);
    }
    if is_refused(pulled) || is_refused(pushed) { Err(Failure::Reported(Exit::Refused)) } else { Ok(()) }
}

/// A client of the other server, with a token that was given or saved for that server.
fn other(context: &Context, remote: &BaseUrl) -> Result<Client, Failure> {
    let owner = context.identity()?.map(|identity| identity.handle.owner_name());
    let file = context.tokens_file();
    let credential =
        identity::remote_credential(remote, owner.as_ref(), file.as_ref(), &context.environment)?;
    context.client_speaking(remote.clone(), &credential)
}

async fn one_way(
    context: &Context,
    (source, from): (&str, &Client),
    (to, into): (&Client, Option<&OwnerName>),
    projects: &[String],
) -> Result<SyncReport, Failure> {
    let target = into.map_or_else(|| to.base().to_string(), |into| format!("{} {into}", to.base()));
    let file = state_file(context, source, &target);
    let mut state = file.as_deref().map(load).unwrap_or_default();
    let mut progress = Progress::new(&context.out);
    let direction = format!("{source} to {}", to.base());
    let mut report_progress =
        |state: &transfer::Progress<'_>| progress.report(&direction, state.records, state.bytes);
    let report = transfer::sync(from, (to, into), projects, &mut state, &mut report_progress).await;
    drop(progress);
    if let Some(Err(error)) = file.map(|file| store(&file, &state)) {
        context.out.note(&format!(
            "the progress cannot be saved, so the next sync compares everything again: {error}"
        ));
    }
    report.map_err(|error| {
        if error.is_transient() {
            Failure::Refused {
                error,
                next: "run the same command again: the sync continues where it stopped".into(),
            }
        } else {
            error.into()
        }
    })
}

/// The file with the state of one direction between two servers.
fn state_file(context: &Context, from: &str, to: &str) -> Option<PathBuf> {
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
