//! The contents of deliverables beside an export: one file each, named by its SHA-256, and an index with the projects of
//! each. A restore gives a project only its own contents.
//! Must not know: the transport of records.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{
    Conflict, ImportOptions, OnProgress, Progress, RefusedLine,
    backup::fault,
    import::{Pieces, send},
    record::{Record, SharedIds, enveloped},
};
use crate::{Client, Error, FaultKind, Result, context::BlobId};

const INDEX: &str = "index.ndjson";
/// The directory of the files.
const SHELF: &str = "sha256";

/// A line of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    project_id: String,
    /// `sha256:<hex>`.
    hash: String,
    size_bytes: u64,
}

/// The contents named by deliverables.
#[derive(Debug, Default)]
pub(super) struct NamedContents {
    contents: BTreeSet<(String, BlobId)>,
    namesakes: SharedIds,
}

/// The members of a package that name contents.
#[derive(Deserialize)]
struct NamingRecord {
    project_id: String,
    #[serde(default)]
    deliverables: Vec<Deliverable>,
}

#[derive(Deserialize)]
struct Deliverable {
    hash: Option<String>,
}

impl NamedContents {
    /// The contents of an export of these projects, or of all.
    pub(super) fn of(projects: &[String]) -> Self {
        Self { namesakes: SharedIds::of(projects), ..Self::default() }
    }

    /// Adds the contents that a record names; servers do not store a hash of another algorithm.
    pub(super) fn take(&mut self, record: &Record<'_>) -> Result<()> {
        if record.record == "project" {
            self.namesakes.name(record, &record.ids()?.project_id);
        }
        if record.record != "package" {
            return Ok(());
        }
        let naming: NamingRecord = serde_json::from_str(record.data.get())
            .map_err(|error| Error::Unreadable(format!("a package of the export is not valid ({error})")))?;
        let hashes = naming.deliverables.into_iter().filter_map(|deliverable| deliverable.hash);
        let ids = hashes.filter(|hash| hash.starts_with("sha256:")).filter_map(|hash| hash.parse().ok());
        let project = self.namesakes.name(record, &naming.project_id);
        self.contents.extend(ids.map(|id| (project.clone(), id)));
        Ok(())
    }
}

/// A content that a deliverable names, but that could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingContent {
    /// The project.
    pub project_id: String,
    /// `sha256:<hex>`.
    pub hash: String,
    /// Stable, for machines: `blob_not_found` if it was never uploaded.
    pub code: String,
    /// For people.
    pub message: String,
}

/// The result of fetching contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchedContents {
    /// The number of contents, counted once for each project.
    pub attempted: u64,
    /// The number of fetched contents.
    pub stored: u64,
    /// The contents that could not be fetched.
    pub errors: Vec<MissingContent>,
}

/// The result of restoring contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredContents {
    /// Contents that the project did not have; in a dry run, those that match their hashes.
    pub restored: u64,
    /// Contents that the project had already.
    pub known: u64,
    /// The number of rejected contents.
    pub refused_count: u64,
    /// The rejected contents.
    pub refused: Vec<RefusedLine>,
}

/// The contents to restore, and the projects that existed before.
#[derive(Debug)]
pub struct ContentsIndex {
    dir: PathBuf,
    projects_before: BTreeSet<String>,
}

fn file_of(dir: &Path, id: BlobId) -> PathBuf {
    dir.join(SHELF).join(id.to_string())
}

/// Writes a file, and returns once it is on disk.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path).map_err(fault(path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(fault(path))
}

/// Fetches contents into a directory, and verifies each hash. Reports contents that the server does not have.
pub(super) async fn fetch(
    client: &Client,
    named: &NamedContents,
    dir: &Path,
    progress: OnProgress<'_>,
) -> Result<FetchedContents> {
    let shelf = dir.join(SHELF);
    fs::create_dir_all(&shelf).map_err(fault(&shelf))?;
    let mut fetched =
        FetchedContents { attempted: named.contents.len() as u64, ..FetchedContents::default() };
    let (mut index, mut bytes) = (String::new(), 0);
    for (project_id, id) in &named.contents {
        let hash = format!("sha256:{id}");
        let (code, message) = match client.blob(project_id, *id).await {
            Ok(content) => {
                let size_bytes = content.len() as u64;
                let path = file_of(dir, *id);
                if !path.exists() {
                    write(&path, &content)?;
                }
                let entry = Entry { project_id: project_id.clone(), hash, size_bytes };
                index.push_str(&serde_json::to_string(&entry).map_err(|e| Error::Invalid(e.to_string()))?);
                index.push('\n');
                fetched.stored += 1;
                bytes += size_bytes;
                let records = fetched.stored;
                progress(&Progress { step: "contents", project: Some(project_id), records, bytes });
                continue;
            }
            Err(Error::Refused(refused)) if matches!(refused.status, 404 | 500) => {
                (refused.code, refused.message)
            }
            // The download of a large damaged content breaks off before its end.
            Err(Error::Network(fault)) if fault.kind == FaultKind::Lost => {
                ("connection_lost".to_owned(), fault.to_string())
            }
            Err(Error::Unreadable(message)) => ("hash_mismatch".to_owned(), message),
            Err(error) => return Err(error),
        };
        fetched.errors.push(MissingContent { project_id: project_id.clone(), hash, code, message });
    }
    write(&dir.join(INDEX), index.as_bytes())?;
    let synced =
        [shelf.as_path(), dir].into_iter().try_for_each(|dir| File::open(dir).and_then(|dir| dir.sync_all()));
    synced.map_err(fault(dir))?;
    Ok(fetched)
}

/// The index of a directory, by project; `None` if there is no index.
fn read(dir: &Path) -> Result<Option<BTreeMap<String, Vec<Entry>>>> {
    let path = dir.join(INDEX);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault(&path)(error)),
    };
    let mut entries = BTreeMap::<String, Vec<Entry>>::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let entry: Entry = serde_json::from_str(line)
            .map_err(|error| Error::Invalid(format!("{}: {error}", path.display())))?;
        entries.entry(entry.project_id.clone()).or_default().push(entry);
    }
    Ok(Some(entries))
}

/// A stored content whose hash is verified; otherwise an error code and text.
fn read_verified(dir: &Path, entry: &Entry) -> std::result::Result<Bytes, (&'static str, String)> {
    let wrong = |why: String| ("hash_mismatch", why);
    let id: BlobId = entry.hash.parse().map_err(|error: Error| wrong(error.to_string()))?;
    let path = file_of(dir, id);
    let content =
        fs::read(&path).map_err(|error| ("blob_not_found", format!("{}: {error}", path.display())))?;
    match BlobId::of(&content) {
        found if found == id => Ok(Bytes::from(content)),
        found => Err(wrong(format!("{} has the hash sha256:{found}", path.display()))),
    }
}

/// One line as an import.
struct SinglePiece(Option<Bytes>);

impl Pieces for SinglePiece {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        Ok(self.0.take())
    }
}

impl Client {
    /// Reads the index of the contents beside an export, if there is one. To be called before the import.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an index that cannot be read.
    pub async fn contents_index(&self, dir: &Path) -> Result<Option<ContentsIndex>> {
        let Some(entries) = read(dir)? else { return Ok(None) };
        let mut projects_before = BTreeSet::new();
        for project_id in entries.keys() {
            match self.project(project_id).await {
                Ok(_) => drop(projects_before.insert(project_id.clone())),
                Err(Error::Refused(refused)) if refused.status == 404 => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(ContentsIndex { dir: dir.to_owned(), projects_before }))
    }

    /// Restores contents into their projects, after the import. Verifies each hash first. May be repeated.
    ///
    /// # Errors
    /// As every call. Contents restored before the error stay.
    pub async fn restore_contents(
        &self,
        beside: &ContentsIndex,
        dry_run: bool,
        progress: OnProgress<'_>,
    ) -> Result<RestoredContents> {
        let mut restored = RestoredContents::default();
        for (project_id, entries) in read(&beside.dir)?.unwrap_or_default() {
            let may_open = !beside.projects_before.contains(&project_id);
            let mut putting = Upload { client: self, dry_run, may_open, opened: None, restored };
            let outcome = putting.all(&beside.dir, &entries, progress).await;
            putting.close(&project_id).await?;
            restored = putting.restored;
            outcome?;
        }
        Ok(restored)
    }
}

/// The upload of contents into one project.
struct Upload<'a> {
    client: &'a Client,
    dry_run: bool,
    /// Whether the import created the project: then contents are accepted even if it was imported as archived.
    may_open: bool,
    /// The imported project, if it was unarchived for the upload.
    opened: Option<String>,
    restored: RestoredContents,
}

impl Upload<'_> {
    async fn all(&mut self, dir: &Path, entries: &[Entry], progress: OnProgress<'_>) -> Result<()> {
        let mut bytes = 0;
        for (nth, entry) in entries.iter().enumerate() {
            match read_verified(dir, entry) {
                Ok(_) if self.dry_run => self.restored.restored += 1,
                Ok(content) => self.one(entry, content).await?,
                Err((code, message)) => self.refused(entry, code, message),
            }
            bytes += entry.size_bytes;
            let (project, records) = (Some(entry.project_id.as_str()), nth as u64 + 1);
            progress(&Progress { step: "contents", project, records, bytes });
        }
        Ok(())
    }

    async fn one(&mut self, entry: &Entry, content: Bytes) -> Result<()> {
        let id = BlobId::of(&content);
        let mut reply = self.client.put_blob(&entry.project_id, content.clone()).await;
        if self.may_open && self.opened.is_none() && is_archived(&reply) {
            self.opened = Some(self.client.project(&entry.project_id).await?.json().to_owned());
            self.client.archive_project(&entry.project_id, false).await?;
            reply = self.client.put_blob(&entry.project_id, content).await;
        }
        if is_archived(&reply) && self.client.has_blob(&entry.project_id, id).await? {
            self.restored.known += 1;
            return Ok(());
        }
        match reply {
            Ok(reply) if reply.status == 201 => self.restored.restored += 1,
            Ok(_) => self.restored.known += 1,
            Err(Error::Refused(refused)) if matches!(refused.status, 400 | 403 | 404 | 413 | 501) => {
                self.refused(entry, &refused.code, refused.message);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn refused(&mut self, entry: &Entry, code: &str, message: String) {
        let (record, id, code) = ("blob".to_owned(), entry.hash.clone(), code.to_owned());
        self.restored.refused_count += 1;
        self.restored.refused.push(RefusedLine { line: 0, record, id, code, message });
    }

    /// Archives the project again, with its original time.
    async fn close(&mut self, project_id: &str) -> Result<()> {
        let Some(project) = self.opened.take() else { return Ok(()) };
        let options = ImportOptions { conflict: Conflict::Overwrite, ..ImportOptions::default() };
        let mut line = SinglePiece(Some(enveloped("project", &project, None, None)));
        let report = send(self.client, &options, &mut line, |_| {}).await?.value;
        if report.overwritten == 1 {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "the project `{project_id}` was opened for its contents and could not be archived again"
        )))
    }
}

fn is_archived<T>(reply: &Result<T>) -> bool {
    matches!(reply, Err(Error::Refused(refused)) if refused.code == "project_archived")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_34_deliverables_name_contents_once_for_each_project() {
        let (one, two) = (BlobId::of(b"1"), BlobId::of(b"2"));
        let package = |project: &str, hashes: &[String]| {
            let deliverables: Vec<_> = hashes
                .iter()
                .map(|hash| serde_json::json!({"path": "a", "type": "b", "hash": hash}))
                .collect();
            let data = serde_json::json!({"project_id": project, "deliverables": deliverables, "x": 1});
            enveloped("package", &data.to_string(), None, None)
        };
        let mut named = NamedContents::default();
        let first = [format!("sha256:{one}"), format!("sha256:{one}"), "md5:ab".into(), "sha256:ab".into()];
        for line in [
            package("p", &first),
            package("p", &[format!("sha256:{two}")]),
            package("q", &[format!("sha256:{one}")]),
            enveloped("package", "{\"project_id\":\"p\"}", None, None),
            enveloped("fact", "{}", None, None),
        ] {
            named.take(&Record::read(&line).unwrap()).unwrap();
        }
        let mut expected = vec![("p".to_owned(), one), ("p".to_owned(), two), ("q".to_owned(), one)];
        expected.sort();
        assert_eq!(named.contents.into_iter().collect::<Vec<_>>(), expected);
    }
}
