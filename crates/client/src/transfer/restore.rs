//! Restores a backup: its files as one import, in the order of their references.
//! Must not know: the server's treatment of it.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Counts, ExportSummary, ImportOptions, ImportReport, OnProgress, Progress,
    backup::fault,
    import::{Pieces, send},
    manifest::{BLOBS, FILES, HASHES, MANIFEST, Manifest},
    record::{Record, end_line, enveloped, with_member},
};
use crate::{Client, Error, Result};

/// The data beside a package.
#[derive(Debug, Deserialize)]
struct PackageSidecar {
    project_id: String,
    package_id: String,
    content_hash: Option<String>,
    reviews: Option<Box<RawValue>>,
    renamed_from: Option<String>,
    origin_hash: Option<String>,
}

/// The lines of a file that may be absent.
struct Lines {
    path: PathBuf,
    file: Option<BufReader<File>>,
}

impl Lines {
    fn open(path: PathBuf) -> Result<Self> {
        match File::open(&path) {
            Ok(file) => Ok(Self { path, file: Some(BufReader::new(file)) }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self { path, file: None }),
            Err(error) => Err(fault(&path)(error)),
        }
    }

    /// The next line that is not blank.
    fn next(&mut self) -> Result<Option<String>> {
        let Some(file) = &mut self.file else { return Ok(None) };
        let mut line = String::new();
        loop {
            line.clear();
            if file.read_line(&mut line).map_err(fault(&self.path))? == 0 {
                return Ok(None);
            }
            if !line.trim().is_empty() {
                return Ok(Some(line.trim().to_owned()));
            }
        }
    }
}

/// A backup as the lines of an export.
struct Backup {
    files: Vec<(&'static str, Lines)>,
    nth: usize,
    hashes: Lines,
    end: Option<Bytes>,
}

impl Backup {
    fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(MANIFEST);
        let manifest = Manifest::read(&fs::read(&path).map_err(fault(&path))?)?;
        let files = FILES.iter().map(|(kind, name)| Ok((*kind, Lines::open(dir.join(name))?)));
        let counts = manifest.counts;
        let counts = Counts {
            projects: counts.projects,
            packages: counts.packages,
            facts: counts.facts,
            sessions: counts.sessions,
            damaged: 0,
        };
        let end = end_line(&ExportSummary { counts, since: String::new() })?;
        let hashes = Lines::open(dir.join(HASHES))?;
        Ok(Self { files: files.collect::<Result<_>>()?, nth: 0, hashes, end: Some(end) })
    }

    fn line(&mut self) -> Result<Option<Bytes>> {
        while let Some((kind, lines)) = self.files.get_mut(self.nth) {
            let kind = *kind;
            match lines.next()? {
                None => self.nth += 1,
                Some(data) if kind == "package" => return self.package(&data).map(Some),
                Some(line) if is_enveloped(&line) => return Ok(Some(Bytes::from(line + "\n"))),
                Some(data) => return Ok(Some(enveloped(kind, &data, None, None))),
            }
        }
        Ok(self.end.take())
    }

    fn package(&mut self, data: &str) -> Result<Bytes> {
        let Some(line) = self.hashes.next()? else { return Ok(enveloped("package", data, None, None)) };
        let wrong = |problem: String| Error::Invalid(format!("{}: {problem}", self.hashes.path.display()));
        let beside: PackageSidecar = serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
        if is_enveloped(data) {
            return Ok(Bytes::from(format!("{data}\n")));
        }
        let ids: super::record::Ids = serde_json::from_str(data).map_err(|error| wrong(error.to_string()))?;
        if (&ids.project_id, &ids.package_id) != (&beside.project_id, &beside.package_id) {
            return Err(wrong(format!("it does not stand beside the package `{}`", ids.package_id)));
        }
        let reviews = beside.reviews.as_deref().map(RawValue::get).filter(|reviews| *reviews != "null");
        let line = enveloped("package", data, beside.content_hash.as_deref(), reviews);
        let members = [("renamed_from", &beside.renamed_from), ("origin_hash", &beside.origin_hash)];
        let members = members.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        Ok(members.fold(line, |line, (name, value)| with_member(&line, name, value)))
    }
}

/// Whether a line is in the form of an export, which names the project of its record.
fn is_enveloped(line: &str) -> bool {
    Record::read(line.as_bytes()).is_ok_and(|record| record.project.is_some())
}

impl Pieces for Backup {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        self.line()
    }
}

impl Client {
    /// Imports a backup, of this or of another implementation, with its contents. May be repeated.
    ///
    /// # Errors
    /// As [`Client::import`]; [`Error::Invalid`] for a directory that is not a backup of format 1 and protocol 0.x.
    pub async fn restore(
        &self,
        dir: &Path,
        options: &ImportOptions,
        progress: OnProgress<'_>,
    ) -> Result<ImportReport> {
        let mut backup = Backup::open(dir)?;
        let contents = self.contents_index(&dir.join(BLOBS)).await?;
        let (mut records, mut bytes) = (0, 0);
        let on_piece = |piece: &Bytes| {
            records += 1;
            bytes += piece.len() as u64;
            progress(&Progress { step: "import", project: None, records, bytes });
        };
        let mut report = send(self, options, &mut backup, on_piece).await?.value;
        if let Some(contents) = contents {
            report.contents = Some(self.restore_contents(&contents, options.dry_run, progress).await?);
        }
        Ok(report)
    }
}
