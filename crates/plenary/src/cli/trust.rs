//! `plenary trust`: take what a directory says of agents and projects, as it is now.
//! Must not know: the server.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{
    context::Context,
    failure::Failure,
    identity::{self, Trusted},
};
use crate::out::clean_block;

/// Which directory.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Its path [default: this one]
    directory: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, args: Trust) -> Result<(), Failure> {
    let here = context.around.directory().ok_or_else(|| Failure::local("the working directory is gone"))?;
    let directory = args.directory.map_or_else(|| here.clone(), |named| here.join(named));
    let files = identity::files_of(&directory);
    let there: Vec<&PathBuf> = files.iter().filter(|file| file.is_file()).collect();
    if there.is_empty() {
        return Err(Failure::local_with(
            format!("{} has no .plenary.toml and no .plenary/clients.toml", directory.display()),
            "there is nothing to trust; `plenary use @owner.name` says who speaks in a directory",
        ));
    }
    Trusted::of(&context.around)?.take(&files)?;
    if context.out.is_json() {
        return Ok(context.out.line(&json!({ "trusted": there }).to_string())?);
    }
    for file in there {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        context.out.line(&format!("trusted as it is now: {}", file.display()))?;
        context.out.note(&clean_block(text.trim_end(), ""));
    }
    Ok(())
}
