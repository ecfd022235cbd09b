//! `plenary context hook`: automatic deposits, after each commit or when a coding agent stops.
//! Must not know: the deposits; the hooks run `plenary context deposit`.

mod claude;
mod commit;

use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::{
    git::Repository,
    target::{ProjectArgs, ProjectSource, ProjectTarget, project_of},
};
use crate::cli::{connect::program_command, context::Context, failure::Failure, identity::Source, shell};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Install a hook that deposits packages automatically
    Install(Install),
    /// Remove a hook; other settings in the file stay
    Remove(Remove),
}

/// The kinds of hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum HookKind {
    /// After each commit in this Git repository
    Git,
    /// When Claude Code stops, in this directory
    Claude,
}

#[derive(Debug, Args)]
pub(crate) struct Install {
    /// `git`: after each commit; `claude`: when Claude Code stops in this directory
    #[arg(default_value = "git")]
    which: HookKind,
    /// Write .claude/settings.json; without this flag the change is only printed
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// The hook to remove: `git` or `claude`
    #[arg(default_value = "git")]
    which: HookKind,
}

pub(super) fn run(context: &Context, args: &ProjectArgs, command: &Command) -> Result<(), Failure> {
    let directory = context.directory()?;
    match command {
        Command::Install(Install { which: HookKind::Git, .. }) => {
            let top = Repository::top(directory)?;
            commit::install(context, directory, &deposit_command(context, args, &top)?)?;
            warn(context)
        }
        Command::Install(Install { which: HookKind::Claude, yes }) => {
            claude::install(context, directory, &deposit_command(context, args, directory)?, *yes)?;
            warn(context)
        }
        Command::Remove(Remove { which: HookKind::Git }) => commit::remove(context, directory),
        Command::Remove(Remove { which: HookKind::Claude }) => claude::remove(context, directory),
    }
}

/// Reports what has become of a hook and its file.
fn report(context: &Context, hook: &str, file: &Path, what: &str) -> Result<(), Failure> {
    if context.out.is_json() {
        let answer = json!({"hook": hook, "file": file, "state": what});
        return Ok(context.out.line(&answer.to_string())?);
    }
    Ok(context.out.line(&format!("{} {what}", file.display()))?)
}

/// The command line of a hook in the directory `from`. It contains every setting that only this terminal or a
/// subdirectory has, so that it finds the same project; but never a token.
fn deposit_command(context: &Context, args: &ProjectArgs, from: &Path) -> Result<String, Failure> {
    // An impossible deposit fails here, not at every commit.
    let project = ProjectTarget::of(context, args)?.project()?.to_owned();
    let is_found = |file: &Path| file.parent().is_some_and(|directory| from.starts_with(directory));
    let mut arguments = Vec::new();
    if let Some(identity) = context.identity()?
        && !matches!(&identity.source, Source::Project(file) if is_found(file))
    {
        arguments.extend(["--as".to_owned(), identity.handle.to_string()]);
    }
    arguments.extend(["context", "deposit", "--git", "--auto"].map(str::to_owned));
    match project_of(context, args)? {
        Some((_, ProjectSource::File(file))) if is_found(&file) => {}
        Some(_) | None => arguments.extend(["--project".to_owned(), project]),
    }
    let mut words = program_command(context, "", false)?.words();
    words.extend(arguments.iter().map(|argument| shell::quoted(argument)));
    Ok(words.join(" "))
}

/// Warns if only this terminal has the token: it does not reach a hook.
fn warn(context: &Context) -> Result<(), Failure> {
    if context.token_flag().is_some() || context.given_token()?.is_some() {
        context.out.note(
            "the hook does not get the token of --token or PLENARY_TOKEN; save it with `plenary token add @owner.name`",
        );
    }
    Ok(())
}
