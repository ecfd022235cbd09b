//! `plenary trust`: trust the agent and project settings of a directory as they are now.
//! Must not know: the server.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{
    context::Context,
    failure::Failure,
    identity::{self, TrustList},
};
use crate::out::clean_block;

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Path of the directory [default: the current directory]
    directory: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, args: Trust) -> Result<(), Failure> {
    let current = context.directory()?;
    let directory = args.directory.map_or_else(|| current.clone(), |path| current.join(path));
    let files = identity::files_of(&directory);
    let present: Vec<&PathBuf> = files.iter().filter(|file| file.is_file()).collect();
    if present.is_empty() {
        return Err(Failure::local_with(
            format!("{} has no .plenary.toml and no .plenary/clients.toml", directory.display()),
            "there is nothing to trust; set the agent of a directory with `plenary use @owner.name`",
        ));
    }
    identity::check_files(&files)?;
    TrustList::of(&context.environment)?.record(&files)?;
    if context.out.is_json() {
        return Ok(context.out.line(&json!({ "trusted": present }).to_string())?);
    }
    for file in present {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        context.out.line(&format!("trusted in its present form: {}", file.display()))?;
        context.out.note(&clean_block(text.trim_end(), ""));
    }
    Ok(())
}
