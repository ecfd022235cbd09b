//! `plenary log copy`: a consistent copy of a store as a store of its own, in a directory or in PostgreSQL.
//! Must not know: the content of a log.

mod location;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use plenary_log::{
    Audit,
    copy::{Until, copy},
};
use serde_json::json;

use self::location::{Location, refuse_index};
use crate::{
    logs,
    out::{Out, clean},
    secrets::{self, Flag},
};

/// The variables with the ends of a copy, which may contain a password.
const FROM: &str = "PLENARY_COPY_FROM";
const TO: &str = "PLENARY_COPY_TO";

/// There is no copy, or it is damaged.
const FAILED: u8 = 1;
/// The command line does not name two places.
const MISUSED: u8 = 2;
/// A database can't be reached.
const UNREACHABLE: u8 = 3;
/// Most findings of the check that are printed; `plenary fsck` prints all.
const FINDINGS_SHOWN_MAX: usize = 10;

/// Shown under `--help`.
const COPY_HELP: &str = "\
A copy that was interrupted is marked as unfinished, and no server starts on it; run the same command again to finish it.

Exit codes:
  0  the copy is a store, and no damage was found in it
  1  there is no copy, or damage was found in it
  2  wrong usage
  3  a database cannot be reached

Examples:
  plenary log copy --from /var/lib/plenary --to /backup/plenary
  plenary log copy --from /var/lib/plenary --to postgres://plenary@db/plenary --follow";

/// The arguments of `plenary log`.
#[derive(Args)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Copy a store to another place, from SQLite or PostgreSQL to either; a server may run on it
    Copy(CopyArgs),
}

/// The source and the destination.
#[derive(Args)]
#[command(after_help = COPY_HELP)]
struct CopyArgs {
    /// The store: the directory of a SQLite store or of a node's replica, or postgres://…
    #[arg(long, env = FROM, value_name = "DIR|URL", hide_env_values = true)]
    from: Option<String>,
    /// The copy: a directory without a store, or postgres://… without one
    #[arg(long, env = TO, value_name = "DIR|URL", hide_env_values = true)]
    to: Option<String>,
    /// Continue until no server uses the store any more, so that the copy has everything that a server acknowledged. To
    /// move a server, stop it when this command says that it follows
    #[arg(long)]
    follow: bool,
}

impl LogArgs {
    /// The flags with a URL, which may contain a password.
    pub(crate) fn secrets(&self) -> [Flag<'_>; 2] {
        let Command::Copy(args) = &self.command;
        let is_url = |text: &&str| text.contains("://");
        [
            Flag::secret("--from", FROM, args.from.as_deref().filter(is_url)),
            Flag::secret("--to", TO, args.to.as_deref().filter(is_url)),
        ]
    }
}

impl CopyArgs {
    fn ends(&self) -> anyhow::Result<(Location, Location)> {
        let end = |argument: &Option<String>, variable, flag| {
            let text = argument.clone().or_else(|| secrets::variable(variable));
            Location::parse(
                &text.with_context(|| format!("say where with {flag} DIR or {flag} postgres://…"))?,
            )
        };
        let (from, to) = (end(&self.from, FROM, "--from")?, end(&self.to, TO, "--to")?);
        if to.is_inside(&from) {
            anyhow::bail!("{} is inside {}: name another place with --to", to.shown(), from.shown());
        }
        Ok((from, to))
    }
}

/// What is printed at the end.
struct Copied {
    /// The position of the last event.
    head: u64,
    audit: Audit,
}

/// Runs the command and returns the exit code.
pub(crate) fn run(args: &LogArgs, out: &Out) -> ExitCode {
    let _logs = logs::begin("warn", None);
    let Command::Copy(args) = &args.command;
    let (from, to) = match args.ends() {
        Ok(ends) => ends,
        Err(error) => {
            out.failure(&error);
            return ExitCode::from(MISUSED);
        }
    };
    let copied = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(copied(&from, &to, args.follow, out)));
    match copied {
        Ok(copied) if copied.audit.is_sound() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(FAILED),
        Err(error) => {
            out.failure(&error);
            ExitCode::from(if is_unreachable(&error) { UNREACHABLE } else { FAILED })
        }
    }
}

fn is_unreachable(error: &anyhow::Error) -> bool {
    use plenary_log_postgres::OpenError::{Starting, Unreachable};
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(Unreachable(_) | Starting(_))))
}

async fn copied(from: &Location, to: &Location, follow: bool, out: &Out) -> anyhow::Result<Copied> {
    let head = match (from, to) {
        // The file as it is, with one statement.
        (Location::Directory(from), Location::Directory(to)) if !follow => {
            refuse_index(to)?;
            let copied = plenary_log_sqlite::copy(from, to);
            copied.with_context(|| format!("copying {} to {}", from.display(), to.display()))?.0
        }
        _ => by_records(from, to, follow, out).await?,
    };
    let shown = to.shown();
    if !out.is_json() {
        out.line(&format!(
            "the log up to event {head} is in {shown}; the contents of files and the search indexes are not copied"
        ))?;
    }
    let copied = Copied { head, audit: to.audit().await? };
    print_report(&copied, &shown, out)?;
    Ok(copied)
}

/// Copies record by record; returns the position of the last event.
async fn by_records(from: &Location, to: &Location, follow: bool, out: &Out) -> anyhow::Result<u64> {
    let mut source = from.source(follow).await?;
    let mut destination = to.destination().await?;
    let until = if follow { Until::Stopped } else { Until::Now };
    let mut following = |head: plenary_kernel::Position| {
        out.note(&format!(
            "{head} events are copied; the copy follows until no server uses {}: stop it now",
            from.shown()
        ));
    };
    let report = copy(&mut *source, &mut *destination, until, &mut following).await;
    let report = report.with_context(|| format!("copying {} to {}", from.shown(), to.shown()))?;
    Ok(report.head.0)
}

fn print_report(Copied { head, audit }: &Copied, shown: &str, out: &Out) -> std::io::Result<()> {
    if out.is_json() {
        let findings: Vec<_> = audit.findings.iter().map(|found| json!(found.text)).collect();
        let Audit { index_rows, rows, keys, .. } = audit;
        let line = json!({
            "head": head, "to": shown, "index_rows": index_rows, "rows": rows, "keys": keys,
            "ok": audit.is_sound(), "findings": findings,
        });
        return out.line(&line.to_string());
    }
    for found in audit.findings.iter().take(FINDINGS_SHOWN_MAX) {
        out.line(&format!("{}: {}", found.kind, clean(&found.text)))?;
    }
    out.line(match audit.is_sound() {
        true => "no damage was found in the copy",
        false => "the copy is damaged; `plenary fsck` lists everything",
    })
}
