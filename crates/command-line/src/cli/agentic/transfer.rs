//! `plenary context export`, `import` and `sync`: whole projects to a file or a directory, from one, and between
//! servers.
//! Must not know: the content of an export.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use plenary_client::transfer::{
    Conflict, Counts, ExportSummary, FetchedContents, ImportOptions, ImportReport, RefusedLine,
    RestoredContents,
};
use serde::Serialize;

use super::target::{ProjectArgs, ProjectTarget, governing_client, project_of};
use crate::{
    cli::{
        context::Context,
        failure::{Exit, Failure},
    },
    out::{Out, Progress, clean, counted},
};

/// Maximum number of rejected records that are listed.
const REFUSED_SHOWN: usize = 20;

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One file of newline-delimited JSON
    Ndjson,
    /// A directory that other implementations can restore too (backup format 1)
    Backup,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plenary context export backup.ndjson --all --blobs")]
pub(crate) struct Export {
    /// A file that does not exist yet, or - for standard output; with --format backup, a directory
    dest: PathBuf,
    /// Every project that the caller may read
    #[arg(long)]
    all: bool,
    /// Format of the export
    #[arg(long, default_value = "ndjson")]
    format: Format,
    /// Only records added since an earlier export; the value is the one that export printed
    #[arg(long, value_name = "SINCE")]
    since: Option<String>,
    /// Include the contents of deliverables: in DEST.blobs beside the file, or in the backup
    #[arg(long)]
    blobs: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A file, the directory of a backup, or - for standard input; contents that were exported with it are imported too
    src: PathBuf,
    /// What to do with a record whose id exists with other content: skip, overwrite or rename
    #[arg(long, default_value = "skip")]
    conflict: Conflict,
    /// Report what the import would do, without writing anything
    #[arg(long)]
    dry_run: bool,
    /// Import into this project alone, whatever owner the records name
    #[arg(long, value_name = "OWNER:ID")]
    into: Option<String>,
}

impl Export {
    /// Whether it is about all projects.
    pub(super) fn covers_all(&self) -> bool {
        self.all
    }
}

pub(super) async fn export(context: &Context, args: &ProjectArgs, export: Export) -> Result<(), Failure> {
    let target = ProjectTarget::of(context, args)?;
    let projects = projects(context, args, &target, export.all)?;
    let mut progress = Progress::new(&context.out);
    let mut report = |state: &plenary_client::transfer::Progress<'_>| {
        progress.report(state.step, state.records, state.bytes)
    };
    let dest = &export.dest;
    if export.format == Format::Backup {
        if export.since.is_some() {
            return Err(Failure::usage(
                "a backup always contains everything",
                "leave --since out, or use --format ndjson",
            ));
        }
        let manifest = target.client.backup(&projects, dest, export.blobs, &mut report).await?;
        drop(progress);
        let projects = manifest.project_ids.len() as u64;
        let are = if projects == 1 { "is" } else { "are" };
        let mut summary = format!("{} {are} in {}", counted(projects, "project"), dest.display());
        if export.blobs {
            let counts = &manifest.counts;
            summary.push_str(&describe_contents(counts.blobs_stored, counts.blobs_attempted));
        }
        answer(context, &manifest, &summary)?;
        return complete(manifest.counts.damaged);
    }
    let since = export.since.as_deref();
    if dest.as_os_str() == "-" {
        if export.blobs {
            return Err(Failure::usage(
                "the contents of deliverables cannot be written to standard output",
                "name a file; the contents are written to a directory beside it",
            ));
        }
        let mut standard = BufWriter::new(io::stdout());
        let done = target.client.export(&projects, since, &mut standard, &mut report).await?;
        drop(progress);
        context.out.note(&contained(&done.counts));
        return complete(done.counts.damaged);
    }
    let contents = export.blobs.then(|| Contents::fresh(dest)).transpose()?;
    let (mut file, part) = fresh(dest)?;
    let contents_part = contents.as_ref().map(|contents| contents.part.as_path());
    let exporting =
        target.client.export_with_contents(&projects, since, &mut file, contents_part, &mut report);
    let done = exporting.await;
    drop(progress);
    let (exported, blobs) = done.inspect_err(|_| {
        // An incomplete file is useless; the server still has everything.
        let _removed = fs::remove_file(&part);
        let _removed = contents.as_ref().map(|contents| fs::remove_dir_all(&contents.part));
    })?;
    let synced = file.into_inner().map_err(|error| error.into_error()).and_then(|file| file.sync_all());
    // Rename the file last: once it exists, its contents exist too.
    let beside = || contents.iter().try_for_each(|contents| fs::rename(&contents.part, &contents.dir));
    let renamed = synced.and_then(|()| beside()).and_then(|()| fs::rename(&part, dest));
    renamed.map_err(|error| unusable(dest, &error))?;
    context.out.note(&format!("to export only newer records later: --since '{}'", clean(&exported.since)));
    let mut summary = format!("{} in {}", contained(&exported.counts), dest.display());
    summary.push_str(
        &blobs.as_ref().map_or_else(String::new, |blobs| describe_contents(blobs.stored, blobs.attempted)),
    );
    let damaged = exported.counts.damaged;
    answer(context, &ExportReport { exported, blobs }, &summary)?;
    complete(damaged)
}

/// An error if an export lacks damaged records, so that a backup without them does not pass for complete.
fn complete(damaged: u64) -> Result<(), Failure> {
    match damaged {
        0 => Ok(()),
        many => Err(Failure::local_with(
            format!("{} could not be exported", counted(many, "damaged record")),
            "the export has everything else; the server's log names the records, and `plenary fsck` the damage",
        )),
    }
}

/// The result of an export to a file, under `--json`.
#[derive(Serialize)]
struct ExportReport {
    #[serde(flatten)]
    exported: ExportSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    blobs: Option<FetchedContents>,
}

fn describe_contents(stored: u64, attempted: u64) -> String {
    let missing = attempted - stored;
    let missing = if missing > 0 { format!(" (not on the server: {missing} more)") } else { String::new() };
    format!(", with the contents of {}{missing}", counted(stored, "deliverable"))
}

/// The blobs' place beside a file, and their temporary place until they are complete.
struct Contents {
    dir: PathBuf,
    part: PathBuf,
}

impl Contents {
    fn fresh(dest: &Path) -> Result<Self, Failure> {
        let (dir, part) = (beside(dest, ".blobs"), beside(dest, ".blobs.part"));
        if dir.exists() {
            return Err(already_exists(&dir));
        }
        if part.exists() {
            fs::remove_dir_all(&part).map_err(|error| unusable(&part, &error))?;
        }
        Ok(Self { dir, part })
    }
}

/// The path with a suffix added to its name.
fn beside(dest: &Path, ending: &str) -> PathBuf {
    let mut name = dest.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn already_exists(path: &Path) -> Failure {
    Failure::usage(format!("{} already exists", path.display()), "name another file, or move this one")
}

/// Creates a temporary file beside the destination, which is renamed once it is complete.
fn fresh(dest: &Path) -> Result<(BufWriter<File>, PathBuf), Failure> {
    if dest.exists() {
        return Err(already_exists(dest));
    }
    let part = beside(dest, ".part");
    let file = File::create(&part).map_err(|error| unusable(&part, &error))?;
    Ok((BufWriter::new(file), part))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::local(format!("{} cannot be used: {error}", path.display()))
}

pub(super) async fn import(context: &Context, import: Import) -> Result<(), Failure> {
    let Import { src, conflict, dry_run, into } = import;
    let client = governing_client(context)?;
    let options = ImportOptions { conflict, dry_run, into };
    let mut progress = Progress::new(&context.out);
    let mut report_progress = |state: &plenary_client::transfer::Progress<'_>| {
        progress.report(state.step, state.records, state.bytes)
    };
    let report = if src.is_dir() {
        client.restore(&src, &options, &mut report_progress).await?
    } else {
        let source: Box<dyn BufRead + Send> = if src.as_os_str() == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(File::open(&src).map_err(|error| unusable(&src, &error))?))
        };
        let contents = client.contents_index(&beside(&src, ".blobs")).await?;
        let mut report = client.import(source, &options, &mut report_progress).await?;
        if let Some(contents) = contents {
            report.contents = Some(client.restore_contents(&contents, dry_run, &mut report_progress).await?);
        }
        report
    };
    drop(progress);
    if context.out.is_json() {
        context.out.line(&text(&report)?)?;
    } else {
        print_import(context.out, &report)?;
    }
    let contents_refused = report.contents.as_ref().map_or(0, |contents| contents.refused_count);
    let whole = report.complete != Some(false) && report.refused_count + contents_refused == 0;
    if whole { Ok(()) } else { Err(Failure::Reported(Exit::Refused)) }
}

fn print_import(out: Out, report: &ImportReport) -> Result<(), Failure> {
    let ImportReport { imported, skipped, conflicts, overwritten, renamed, refused_count, .. } = report;
    let would = if report.dry_run { "would be " } else { "" };
    out.line(&format!(
        "{} {would}imported, {skipped} skipped, {refused_count} refused",
        counted(*imported, "record")
    ))?;
    if *conflicts > 0 {
        out.note(&format!(
            "{conflicts} of the skipped records differ from those on the server: see --conflict"
        ));
    }
    if *overwritten + *renamed > 0 {
        out.line(&format!("{overwritten} continued, {} renamed", counted(*renamed, "package")))?;
    }
    for rename in &report.renames {
        out.line(&format!("  {} is now {}", clean(&rename.package_id), clean(&rename.renamed_to)))?;
    }
    refused(out, &report.refused, *refused_count);
    if let Some(RestoredContents { restored, known, refused_count, refused: lines }) = &report.contents {
        out.line(&format!("{restored} contents {would}restored, {known} known, {refused_count} refused"))?;
        refused(out, lines, *refused_count);
    }
    if report.complete == Some(false) {
        out.note("the export is incomplete: its last line is missing, or its counts do not match");
    }
    Ok(())
}

/// Lists the rejected records.
pub(super) fn refused(out: Out, refused: &[RefusedLine], count: u64) {
    for line in refused.iter().take(REFUSED_SHOWN) {
        let RefusedLine { line, record, id, code, message } = line;
        // What cannot be read has no names, and contents have no line.
        let which = match id.is_empty() {
            true => format!("line {line}"),
            false => format!("{} {}", clean(record), clean(id)),
        };
        out.note(&format!("refused: {which}: {} ({})", clean(message), clean(code)));
    }
    let omitted = count.saturating_sub(refused.len().min(REFUSED_SHOWN) as u64);
    if omitted > 0 {
        out.note(&format!("and {omitted} more"));
    }
}

/// The selected projects; an empty list stands for all.
pub(super) fn projects(
    context: &Context,
    args: &ProjectArgs,
    target: &ProjectTarget,
    all: bool,
) -> Result<Vec<String>, Failure> {
    if !all {
        return Ok(vec![target.project()?.to_owned()]);
    }
    if args.project_flag().is_some() && project_of(context, args)?.is_some() {
        return Err(Failure::usage("--all and --project exclude each other", "give one of them"));
    }
    Ok(Vec::new())
}

fn contained(counts: &Counts) -> String {
    let Counts { projects, packages, facts, sessions, damaged } = counts;
    let damaged = if *damaged > 0 {
        format!(", {} left out", counted(*damaged, "damaged record"))
    } else {
        String::new()
    };
    let [projects, packages, facts, sessions] =
        [(projects, "project"), (packages, "package"), (facts, "fact"), (sessions, "session")]
            .map(|(count, noun)| counted(*count, noun));
    format!("{projects}, {packages}, {facts}, {sessions}{damaged}")
}

/// A report under `--json`, else a line.
pub(super) fn answer(context: &Context, report: &impl Serialize, summary: &str) -> Result<(), Failure> {
    let line = if context.out.is_json() { text(report)? } else { summary.to_owned() };
    Ok(context.out.line(&line)?)
}

fn text(report: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(report)
        .map_err(|error| Failure::local(format!("the report cannot be written: {error}")))
}
