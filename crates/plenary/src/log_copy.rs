//! `plenary log copy`: a consistent copy of a store, as a store of its own.
//! Must not know: the content of a log.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::out::Out;

/// The arguments of `plenary log`.
#[derive(Args)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Copy a store or a node's replica as it is at one moment; a server may run on it
    Copy(CopyArgs),
}

/// The source and the destination.
#[derive(Args)]
struct CopyArgs {
    /// Directory of the SQLite store, or of a node's replica
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Directory of the copy, which has no store yet
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

pub(crate) fn run(args: &LogArgs, out: &Out) -> anyhow::Result<()> {
    let Command::Copy(CopyArgs { from, to }) = &args.command;
    let head = plenary_log_sqlite::copy(from, to)?.0;
    let shown = to.display();
    Ok(out.line(&if out.is_json() {
        json!({"head": head, "to": shown.to_string()}).to_string()
    } else {
        format!("{head} events are in {shown}; contents and search indexes are not copied")
    })?)
}
