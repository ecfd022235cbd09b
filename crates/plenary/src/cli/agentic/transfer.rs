//! `plenary context export`, `import` and `sync`: whole projects to a file or a directory, from one, and between servers.
//! Must not know: what is in an export.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use plenary_client::transfer::{Conflict, Counts, ImportOptions, ImportReport, RefusedLine};
use serde::Serialize;

use super::place::{Place, PlaceArgs, governing_client, project_of};
use crate::{
    cli::{
        context::Context,
        failure::{Exit, Failure},
    },
    out::{Out, Progress, clean},
};

/// Refused records that are told of one by one.
const REFUSED_SHOWN: usize = 20;

/// Where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One file of newline-delimited JSON
    Ndjson,
    /// A directory that other implementations restore too (backup format 1)
    Backup,
}

/// What to export.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// A file that is not there yet, or - for standard output; with --format backup a directory
    dest: PathBuf,
    /// Every project that one may read
    #[arg(long)]
    all: bool,
    /// In which form
    #[arg(long, default_value = "ndjson")]
    format: Format,
    /// Only what is new since an earlier export, which said this
    #[arg(long, value_name = "SINCE")]
    since: Option<String>,
}

/// What to import.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A file, a backup's directory, or - for standard input
    src: PathBuf,
    /// What becomes of a record whose place is taken by another: skip, overwrite or rename
    #[arg(long, default_value = "skip")]
    conflict: Conflict,
    /// Say what would come of it, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn export(context: &Context, args: &PlaceArgs, export: Export) -> Result<(), Failure> {
    let place = Place::of(context, args)?;
    let projects = projects(context, args, &place, export.all)?;
    let mut progress = Progress::new(&context.out);
    let mut tell =
        |at: &plenary_client::transfer::Progress<'_>| progress.tell(at.step, at.records, at.octets);
    let dest = &export.dest;
    if export.format == Format::Backup {
        if export.since.is_some() {
            return Err(Failure::usage(
                "a backup is always whole",
                "leave --since out, or use --format ndjson",
            ));
        }
        let manifest = place.client.backup(&projects, dest, &mut tell).await?;
        drop(progress);
        let said = format!("{} projects are in {}", manifest.project_ids.len(), dest.display());
        return answer(context, &manifest, &said);
    }
    let since = export.since.as_deref();
    if dest.as_os_str() == "-" {
        let mut standard = BufWriter::new(io::stdout());
        let done = place.client.export(&projects, since, &mut standard, &mut tell).await?;
        drop(progress);
        context.out.note(&counted(&done.counts));
        return Ok(());
    }
    let (mut file, part) = fresh(dest)?;
    let done = place.client.export(&projects, since, &mut file, &mut tell).await;
    drop(progress);
    let done = done.inspect_err(|_| {
        // What is cut is of no use; the server has it all still.
        let _gone = fs::remove_file(&part);
    })?;
    let kept = file.into_inner().map_err(|error| error.into_error()).and_then(|file| file.sync_all());
    kept.and_then(|()| fs::rename(&part, dest)).map_err(|error| unusable(dest, &error))?;
    context.out.note(&format!("what is new from now on: --since '{}'", clean(&done.since)));
    answer(context, &done, &format!("{} in {}", counted(&done.counts), dest.display()))
}

/// A file beside, which takes its name when it is whole.
fn fresh(dest: &Path) -> Result<(BufWriter<File>, PathBuf), Failure> {
    if dest.exists() {
        return Err(Failure::usage(
            format!("{} is there already", dest.display()),
            "name another file, or move it away",
        ));
    }
    let mut part = dest.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let file = File::create(&part).map_err(|error| unusable(&part, &error))?;
    Ok((BufWriter::new(file), part))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::local(format!("{} cannot be used: {error}", path.display()))
}

pub(super) async fn import(context: &Context, import: Import) -> Result<(), Failure> {
    let Import { src, conflict, dry_run } = import;
    let client = governing_client(context)?;
    let options = ImportOptions { conflict, dry_run };
    let mut progress = Progress::new(&context.out);
    let mut tell =
        |at: &plenary_client::transfer::Progress<'_>| progress.tell(at.step, at.records, at.octets);
    let report = if src.is_dir() {
        client.restore(&src, &options, &mut tell).await?
    } else {
        let source: Box<dyn BufRead + Send> = if src.as_os_str() == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(File::open(&src).map_err(|error| unusable(&src, &error))?))
        };
        client.import(source, &options, &mut tell).await?
    };
    drop(progress);
    if context.out.is_json() {
        context.out.line(&text(&report)?)?;
    } else {
        told(context.out, &report)?;
    }
    let whole = report.complete != Some(false) && report.refused_count == 0;
    if whole { Ok(()) } else { Err(Failure::Said(Exit::Refused)) }
}

fn told(out: Out, report: &ImportReport) -> Result<(), Failure> {
    let ImportReport { imported, skipped, conflicts, overwritten, renamed, refused_count, .. } = report;
    let would = if report.dry_run { "would be " } else { "" };
    out.line(&format!("{imported} records {would}imported, {skipped} skipped, {refused_count} refused"))?;
    if *conflicts > 0 {
        out.note(&format!("{conflicts} of the skipped differ from what is there: see --conflict"));
    }
    if *overwritten + *renamed > 0 {
        out.line(&format!("{overwritten} continued, {renamed} packages got ids of their own"))?;
    }
    for rename in &report.renames {
        out.line(&format!("  {} is now {}", clean(&rename.package_id), clean(&rename.renamed_to)))?;
    }
    refused(out, &report.refused, *refused_count);
    if report.complete == Some(false) {
        out.note("the export was cut: its end is missing, or its counts are not true");
    }
    Ok(())
}

/// Records that were not taken.
pub(super) fn refused(out: Out, refused: &[RefusedLine], count: u64) {
    for line in refused.iter().take(REFUSED_SHOWN) {
        let RefusedLine { record, id, code, message, .. } = line;
        out.note(&format!("refused: {} {}: {} ({})", clean(record), clean(id), clean(message), clean(code)));
    }
    let left = count.saturating_sub(refused.len().min(REFUSED_SHOWN) as u64);
    if left > 0 {
        out.note(&format!("and {left} more"));
    }
}

/// The projects that are meant; none stands for all.
pub(super) fn projects(
    context: &Context,
    args: &PlaceArgs,
    place: &Place,
    all: bool,
) -> Result<Vec<String>, Failure> {
    if !all {
        return Ok(vec![place.project()?.to_owned()]);
    }
    if args.project_flag().is_some() && project_of(context, args)?.is_some() {
        return Err(Failure::usage("--all and --project contradict each other", "give one of them"));
    }
    Ok(Vec::new())
}

fn counted(counts: &Counts) -> String {
    let Counts { projects, packages, facts, sessions, damaged } = counts;
    let damaged = if *damaged > 0 { format!(", {damaged} damaged left out") } else { String::new() };
    format!("{projects} projects, {packages} packages, {facts} facts, {sessions} sessions{damaged}")
}

/// A report under `--json`, else a line.
pub(super) fn answer(context: &Context, report: &impl Serialize, said: &str) -> Result<(), Failure> {
    let line = if context.out.is_json() { text(report)? } else { said.to_owned() };
    Ok(context.out.line(&line)?)
}

fn text(report: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(report)
        .map_err(|error| Failure::local(format!("the report cannot be written: {error}")))
}
