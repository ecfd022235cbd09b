//! `plenary fsck`: checks a whole store, and changes nothing except, on request, missing checksums and wrong
//! counters.
//! Must not know: the checks of logs and contents.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use plenary_blobs::{BlobCheck, Blobs, Location};
use plenary_log::{Audit, Change, Finding, Usage};
use serde_json::{Value, json};

use crate::{
    logs,
    out::{Out, clean, counted},
    paths, secrets,
    serve::DATABASE,
    server::{Miscount, Recount, check_database},
};

/// No damage was found.
const SOUND: u8 = 0;
/// Damage was found.
const DAMAGED: u8 = 1;
/// The store could not be checked.
const NOT_LOOKED: u8 = 2;

/// Shown under `--help`.
const EXIT_CODES_HELP: &str = "\
Exit codes:
  0  nothing is wrong
  1  something is damaged, missing or out of place
  2  the store could not be checked";

/// The arguments of `plenary fsck`.
#[derive(Args)]
#[command(after_help = EXIT_CODES_HELP)]
pub(crate) struct FsckArgs {
    /// Directory of the SQLite store [default: the XDG data directory]
    #[arg(long, env = "PLENARY_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// PostgreSQL store, postgres://…; wins over --data
    #[arg(long, env = DATABASE, value_name = "URL", hide_env_values = true)]
    pub(crate) database: Option<String>,
    /// Where the contents of deliverables and the files of messages are stored: file:///DIR, or s3://BUCKET/PREFIX [default: `blobs` in --data; with
    /// --database they are not checked]
    #[arg(long, env = "PLENARY_BLOBS", value_name = "URL")]
    blobs: Option<Location>,
    /// Add checksums to records that were stored without one, if nothing is damaged; stop a server that runs on --data
    /// first
    #[arg(long)]
    add_digests: bool,
    /// Correct each owner's count of stored bytes, if nothing is damaged; stop a server that runs on --data first
    #[arg(long)]
    recount: bool,
}

/// The findings.
struct Report {
    audit: Audit,
    blobs: Option<BlobCheck>,
    /// The stored files of messages whose contents were not checked, as their place is not known.
    unchecked_files: usize,
    /// Wrong counters of owners.
    miscounts: Vec<Miscount>,
    /// Whether they were corrected.
    is_recounted: bool,
    added: Option<u64>,
}

impl Report {
    fn is_sound(&self) -> bool {
        let is_counted = self.miscounts.is_empty() || self.is_recounted;
        let are_whole = self.blobs.as_ref().is_none_or(|blobs| blobs.damaged.is_empty());
        self.audit.is_sound() && is_counted && are_whole
    }

    /// Whether only counters are wrong.
    fn is_only_miscounted(&self) -> bool {
        self.audit.is_sound() && self.blobs.as_ref().is_none_or(|blobs| blobs.damaged.is_empty())
    }
}

/// Checks the store, prints the report, and returns the exit code.
pub(crate) fn run(args: &FsckArgs, out: &Out) -> ExitCode {
    let _logs = logs::begin("warn", None);
    let looked = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(look(args)));
    let code = looked.and_then(|looked| {
        let code = if looked.is_sound() { SOUND } else { DAMAGED };
        print_report(&looked, out)?;
        Ok(code)
    });
    ExitCode::from(code.unwrap_or_else(|error| {
        out.failure(&error);
        NOT_LOOKED
    }))
}

async fn look(args: &FsckArgs) -> anyhow::Result<Report> {
    let database = args.database.clone().or_else(|| secrets::variable(DATABASE));
    let directory = match (&database, &args.data) {
        (Some(_), data) => data.clone(),
        (None, Some(data)) => Some(data.clone()),
        (None, None) => Some(
            paths::default_data_dir(&|name| std::env::var(name).ok())
                .context("there is no home directory; name the store with --data DIR")?,
        ),
    };
    check_database(database.as_deref())?;
    if let Some(Location::Directory(path)) = &args.blobs
        && !path.is_dir()
    {
        anyhow::bail!("{} does not exist; --blobs names the place of the contents", path.display());
    }
    let blobs = match (&args.blobs, &database, &directory) {
        (Some(location), _, _) => Blobs::look_at(location, secrets::variable)?,
        (None, None, Some(directory)) => {
            Blobs::look_at(&Location::Own(directory.join("blobs")), secrets::variable)?
        }
        (None, _, _) => None,
    };
    let mut checked = match &blobs {
        Some(blobs) => Some(blobs.check().await.context("checking the contents of deliverables")?),
        None => None,
    };
    let (audit, recount, added) = match (&database, &directory) {
        (Some(url), _) => in_postgres(url, args.add_digests).await?,
        (None, Some(directory)) => {
            let (add, directory) = (args.add_digests, directory.clone());
            tokio::task::spawn_blocking(move || in_sqlite(&directory, add)).await??
        }
        (None, None) => anyhow::bail!("name the store with --data DIR"),
    };
    if let (Some(blobs), Some(checked)) = (&blobs, &mut checked) {
        recount.check_files(blobs, checked).await.context("checking the files of messages")?;
    }
    let unchecked_files = if blobs.is_none() { recount.files() } else { 0 };
    let miscounts = recount.miscounts();
    let is_recounted = args.recount && audit.is_sound();
    if is_recounted && !miscounts.is_empty() {
        let changes = miscounts.iter().map(|one| (one.account.clone(), one.change())).collect();
        set_counts(database, directory, changes).await.context("correcting the counts")?;
    }
    Ok(Report { audit, blobs: checked, unchecked_files, miscounts, is_recounted, added })
}

async fn set_counts(
    database: Option<String>,
    directory: Option<PathBuf>,
    changes: Vec<(String, Change)>,
) -> anyhow::Result<()> {
    match (database, directory) {
        (Some(url), _) => {
            Ok(plenary_log_postgres::recount(&url, &plenary_log_postgres::Options::default(), &changes)
                .await?)
        }
        (None, Some(directory)) => {
            let recount = move || plenary_log_sqlite::recount(&directory, &changes);
            Ok(tokio::task::spawn_blocking(recount).await??)
        }
        (None, None) => anyhow::bail!("name the store with --data DIR"),
    }
}

/// The findings, what each owner stores, and the number of added checksums.
type StoreReport = (Audit, Recount, Option<u64>);

async fn in_postgres(url: &str, add: bool) -> anyhow::Result<StoreReport> {
    let options = plenary_log_postgres::Options::default();
    let mut recount = Recount::default();
    let (audit, _) = plenary_log_postgres::audit_with(url, &options, false, &mut recount).await?;
    if !add || !audit.is_sound() {
        return Ok((audit, recount, None));
    }
    let (_, added) = plenary_log_postgres::audit(url, &options, true).await.context("adding checksums")?;
    Ok((audit, recount, Some(added)))
}

fn in_sqlite(directory: &std::path::Path, add: bool) -> anyhow::Result<StoreReport> {
    let mut recount = Recount::default();
    let audit = plenary_log_sqlite::audit_with(directory, &mut recount)
        .with_context(|| format!("checking the store in {}", directory.display()))?;
    if !add || !audit.is_sound() {
        return Ok((audit, recount, None));
    }
    let added = plenary_log_sqlite::add_digests(directory).context("adding checksums")?;
    Ok((audit, recount, Some(added)))
}

fn print_report(looked: &Report, out: &Out) -> std::io::Result<()> {
    if out.is_json() {
        return out.line(&as_json(looked).to_string());
    }
    let Report { audit, blobs, unchecked_files, miscounts, is_recounted, added } = looked;
    for Finding { kind, text, .. } in &audit.findings {
        let text = text.strip_suffix(&format!(" is {kind}")).unwrap_or(text);
        out.line(&format!("{kind}: {}", clean(text)))?;
    }
    if audit.more > 0 {
        out.line(&format!("… and {} more", audit.more))?;
    }
    for text in blobs.iter().flat_map(|blobs| &blobs.damaged) {
        out.line(&format!("damaged: content {}", clean(text)))?;
    }
    for Miscount { account, counted, stored } in miscounts {
        out.line(&format!(
            "miscounted: {} stores {} bytes in {} events; its count is {} bytes in {} events",
            clean(account),
            stored.bytes,
            stored.events,
            counted.bytes,
            counted.events
        ))?;
    }
    if !miscounts.is_empty() {
        out.line(if *is_recounted {
            "these counts were corrected"
        } else {
            "`plenary fsck --recount` corrects these counts, if nothing is damaged"
        })?;
    }
    let Audit { events, index_rows, rows, keys, unchecked, .. } = audit;
    let counts = [(events, "event"), (index_rows, "index row"), (rows, "row"), (keys, "key")];
    out.line(&counts.map(|(number, noun)| counted(*number, noun)).join(", "))?;
    if let Some(blobs) = blobs {
        let (contents, bytes) = (counted(blobs.contents, "stored content"), counted(blobs.bytes, "byte"));
        out.line(&format!("{contents}, {bytes}"))?;
    }
    if *unchecked_files > 0 {
        out.line(&format!(
            "not checked: {}; name their place with --blobs (a copy of the store does not contain them)",
            counted(*unchecked_files as u64, "file")
        ))?;
    }
    match added {
        Some(added) => out.line(&format!("{added} checksums added"))?,
        None if *unchecked > 0 => {
            out.line(&format!("{unchecked} of these have no checksum and were not compared"))?;
        }
        None => {}
    }
    out.line(match looked.is_sound() {
        true if *unchecked_files > 0 => "no damage was found in the log",
        true => "no damage was found",
        false if looked.is_only_miscounted() => "only the counts are wrong",
        false => "the store is damaged; restore a backup, as docs/operations.md describes",
    })
}

fn as_json(looked: &Report) -> Value {
    let Report { audit, blobs, unchecked_files, miscounts, is_recounted, added } = looked;
    let finding = |found: &Finding| {
        let position = found.position.map(|position| position.0);
        json!({"kind": found.kind, "position": position, "text": found.text})
    };
    let blobs = blobs
        .as_ref()
        .map(|blobs| json!({"contents": blobs.contents, "bytes": blobs.bytes, "damaged": blobs.damaged}));
    let usage = |usage: &Usage| json!({"bytes": usage.bytes, "events": usage.events});
    let miscount = |one: &Miscount| json!({"owner": one.account, "counted": usage(&one.counted), "stored": usage(&one.stored)});
    json!({
        "ok": looked.is_sound(),
        "events": audit.events,
        "index_rows": audit.index_rows,
        "rows": audit.rows,
        "keys": audit.keys,
        "unchecked": audit.unchecked,
        "added": added,
        "findings": audit.findings.iter().map(finding).collect::<Vec<_>>(),
        "more": audit.more,
        "blobs": blobs,
        "unchecked_files": unchecked_files,
        "miscounts": miscounts.iter().map(miscount).collect::<Vec<_>>(),
        "recounted": is_recounted,
    })
}
