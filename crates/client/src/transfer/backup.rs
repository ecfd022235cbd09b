//! A backup as a directory (Backup v1): written beside its destination, and renamed when it is complete and on disk.
//! Must not know: how a server exports.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use bytes::Bytes;

use super::{
    FetchedContents, OnProgress,
    contents::{NamedContents, fetch},
    export::each_line,
    manifest::{BLOBS, FILES, HASHES, MANIFEST, Manifest},
    record::{Record, SharedIds},
};
use crate::{Client, Error, Result, frames::now};

/// The error of a file.
pub(super) fn fault(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::Invalid(format!("{}: {error}", path.display()))
}

/// The open files of a backup.
struct Files {
    dir: PathBuf,
    open: HashMap<&'static str, BufWriter<File>>,
    project_ids: Vec<String>,
    /// The blobs that deliverables name, if they are included.
    named: Option<NamedContents>,
    namesakes: SharedIds,
}

impl Files {
    fn create(dir: &Path, projects: &[String], with_contents: bool) -> Result<Self> {
        fs::create_dir_all(dir.join(BLOBS)).map_err(fault(dir))?;
        let mut open = HashMap::new();
        for name in FILES.iter().map(|(_, name)| *name).chain([HASHES]) {
            let path = dir.join(name);
            open.insert(name, BufWriter::new(File::create(&path).map_err(fault(&path))?));
        }
        let named = with_contents.then(|| NamedContents::of(projects));
        let namesakes = SharedIds::of(projects);
        Ok(Self { dir: dir.to_owned(), open, project_ids: Vec::new(), named, namesakes })
    }

    fn write(&mut self, name: &'static str, line: &str) -> Result<()> {
        let Some(file) = self.open.get_mut(name) else { return Ok(()) };
        let written = file.write_all(line.as_bytes()).and_then(|()| file.write_all(b"\n"));
        written.map_err(fault(&self.dir.join(name)))
    }

    fn take(&mut self, line: &Bytes) -> Result<()> {
        let record = Record::read(line)?;
        let Some((kind, name)) = FILES.iter().find(|(kind, _)| *kind == record.record) else { return Ok(()) };
        let ids = record.ids()?;
        if self.namesakes.name(&record, &ids.project_id) == ids.project_id {
            self.write(name, record.data.get())?;
        } else {
            // The record alone does not name its project.
            self.write(name, String::from_utf8_lossy(line.trim_ascii_end()).as_ref())?;
        }
        if let Some(named) = &mut self.named {
            named.take(&record)?;
        }
        if *kind == "project" {
            self.project_ids.push(ids.project_id.clone());
        }
        if *kind == "package" {
            let mut hash = serde_json::json!({
                "project_id": ids.project_id,
                "package_id": ids.package_id,
                "content_hash": record.content_hash,
                "reviews": record.reviews,
            });
            if let Some(origin) = &record.renamed_from {
                hash["renamed_from"] = serde_json::json!(origin);
            }
            if let Some(origin) = &record.origin_hash {
                hash["origin_hash"] = serde_json::json!(origin);
            }
            self.write(HASHES, &hash.to_string())?;
        }
        Ok(())
    }

    fn finish(self) -> Result<(Vec<String>, Option<NamedContents>)> {
        for (name, file) in self.open {
            let path = self.dir.join(name);
            let file = file.into_inner().map_err(|error| fault(&path)(error.into_error()))?;
            file.sync_all().map_err(fault(&path))?;
        }
        Ok((self.project_ids, self.named))
    }
}

impl Client {
    /// Writes a backup of these projects, or of all that the token may read, on request with the contents of their
    /// deliverables. `dir` must not exist, or be empty; it appears only when it is complete.
    ///
    /// # Errors
    /// As [`Client::export`]; [`Error::Invalid`] with the path of a file that cannot be written.
    pub async fn backup(
        &self,
        projects: &[String],
        dir: &Path,
        with_contents: bool,
        progress: OnProgress<'_>,
    ) -> Result<Manifest> {
        if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(Error::Invalid(format!("{} is not empty", dir.display())));
        }
        let mut name = dir.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let part = dir.with_file_name(name);
        if part.exists() {
            fs::remove_dir_all(&part).map_err(fault(&part))?;
        }
        let mut files = Files::create(&part, projects, with_contents)?;
        let exported = each_line(self, projects, None, progress, |line| files.take(line)).await?;
        let (project_ids, named) = files.finish()?;
        let contents = match &named {
            Some(named) => fetch(self, named, &part.join(BLOBS), progress).await?,
            None => FetchedContents::default(),
        };
        let manifest = Manifest::new(project_ids, &exported.counts, &contents, now().rfc3339());
        let (path, text) = (part.join(MANIFEST), serde_json::to_vec_pretty(&manifest));
        let text = text.map_err(|error| Error::Invalid(format!("{MANIFEST}: {error}")))?;
        let mut file = File::create(&path).map_err(fault(&path))?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(fault(&path))?;
        let synced = File::open(&part).and_then(|dir| dir.sync_all());
        synced.and_then(|()| fs::rename(&part, dir)).map_err(fault(dir))?;
        Ok(manifest)
    }
}
