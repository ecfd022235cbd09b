//! The directory files that the user has written or trusts: `directories.toml` in the user's configuration, each with
//! a digest of its content. A repository may contain its own `.plenary.toml`; it is ignored until it is recorded
//! here.
//! Must not know: the content of the files.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, ErrorKind, Read as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use plenary_kernel::json::digest;
use serde::{Deserialize, Serialize};

use crate::{
    cli::{atomic, environment::Environment, failure::Failure},
    paths,
};

/// Maximum number of recorded files.
const FILES_MAX: usize = 10_000;
/// Largest list, and largest directory file, that is read.
const BYTES_MAX: u64 = 4 << 20;

/// The list, which may not exist.
#[derive(Debug, Clone)]
pub(crate) struct TrustList {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    /// SHA-256 of each file's text, in hex, by its path.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// The same of texts that are being written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    coming: BTreeMap<String, String>,
}

impl TrustList {
    /// The user's own list.
    pub(crate) fn of(environment: &Environment) -> Result<Self, Failure> {
        let directory = paths::config_dir(&|name| environment.var(name)).ok_or_else(|| {
            Failure::local_with(
                "there is no home directory for the list of trusted files",
                "set HOME or XDG_CONFIG_HOME",
            )
        })?;
        Ok(Self { path: directory.join("directories.toml") })
    }

    /// Rejects a directory file that is not recorded here with its current content.
    pub(crate) fn check(&self, file: &Path, text: &str) -> Result<(), Failure> {
        let (list, name, mark) = (self.load()?, name(file), mark(text));
        if [&list.files, &list.coming].into_iter().any(|known| known.get(&name) == Some(&mark)) {
            return Ok(());
        }
        let directory = file.parent().unwrap_or(file);
        let directory = if directory.file_name().is_some_and(|name| name == super::clients::DIRECTORY) {
            directory.parent()
        } else {
            None
        }
        .unwrap_or(directory);
        Err(Failure::auth(
            format!(
                "{} is not used: it has not been trusted in its present form, and it may have come with the directory",
                file.display()
            ),
            format!(
                "read it, then run `plenary trust {}`, also if you renamed or moved the directory; or use --as and --project",
                crate::cli::shell::quoted(&directory.to_string_lossy())
            ),
        ))
    }

    /// Whether the user has written or trusted a file of this name, or one with its content elsewhere: before it was changed,
    /// moved or copied.
    pub(crate) fn has_known(&self, file: &Path) -> bool {
        let Ok(Some(text)) = read(file) else { return false };
        // Of a damaged list, the user must learn.
        let Ok(list) = self.load() else { return true };
        let mark = mark(&text);
        list.files.contains_key(&name(file)) || list.files.values().any(|known| *known == mark)
    }

    /// Records files with their current content; removes those that do not exist.
    pub(crate) fn record(&self, files: &[PathBuf]) -> Result<(), Failure> {
        self.change(|list| {
            for file in files {
                match read(file)? {
                    Some(text) => drop(list.files.insert(name(file), mark(&text))),
                    None => drop(list.files.remove(&name(file))),
                }
                list.coming.remove(&name(file));
            }
            Ok(())
        })
    }

    /// Replaces a trusted file by a text. It is trusted at every moment: the process may be killed before it records the change.
    pub(crate) fn write(
        &self,
        file: &Path,
        text: &str,
        replace: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.change(|list| {
            list.coming.insert(name(file), mark(text));
            Ok(())
        })?;
        replace()?;
        self.record(&[file.to_owned()])
    }

    fn change(&self, change: impl FnOnce(&mut List) -> io::Result<()>) -> Result<(), Failure> {
        let failed = |error: io::Error| self.unusable(&error.to_string());
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        let mut private = OpenOptions::new();
        private.write(true).create(true).truncate(false).mode(0o600);
        let lock = private.open(self.path.with_extension("lock")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut list = self.load()?;
        change(&mut list).map_err(failed)?;
        for known in [&mut list.files, &mut list.coming] {
            if known.len() > FILES_MAX {
                known.retain(|file, _| Path::new(file).exists());
            }
        }
        if list.files.len() > FILES_MAX {
            return Err(self.unusable(&format!("it names more than {FILES_MAX} files")));
        }
        let text = toml::to_string(&list).map_err(|error| self.unusable(&error.to_string()))?;
        atomic::replace(&self.path, text.as_bytes(), 0o600).map_err(failed)
    }

    /// Rejects writing to an existing file that is not trusted, or to a link.
    pub(crate) fn check_writable(&self, file: &Path) -> Result<(), Failure> {
        if fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(Failure::local_with(
                format!("{} is a symbolic link, which is not followed", file.display()),
                "remove it, and run this again",
            ));
        }
        match read(file).map_err(|error| self.unusable(&error.to_string()))? {
            Some(text) => self.check(file, &text),
            None => Ok(()),
        }
    }

    fn load(&self) -> Result<List, Failure> {
        let text = read(&self.path).map_err(|error| self.unusable(&error.to_string()))?.unwrap_or_default();
        toml::from_str(&text).map_err(|error| self.unusable(error.message()))
    }

    fn unusable(&self, why: &str) -> Failure {
        Failure::local_with(
            format!("{} cannot be used: {why}", self.path.display()),
            "move it away, and run `plenary trust` again for each directory",
        )
    }
}

/// A file's text; `None` if it does not exist.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    let mut text = String::new();
    match fs::File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text)) {
        Ok(read) if read as u64 > BYTES_MAX => Err(io::Error::other("it is too large")),
        Ok(_) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The canonical name of a file: links to its directory do not matter.
fn name(file: &Path) -> String {
    let real = file.parent().and_then(|directory| directory.canonicalize().ok());
    let path = real.zip(file.file_name()).map(|(directory, name)| directory.join(name));
    path.as_deref().unwrap_or(file).display().to_string()
}

fn mark(text: &str) -> String {
    hex::encode(digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn trust_list(root: &Path) -> TrustList {
        let home = root.join("home").display().to_string();
        TrustList::of(&Environment::of_test(root, &[("HOME", &home)])).unwrap()
    }

    #[test]
    fn a_file_is_trusted_with_its_recorded_content() {
        let root = tempfile::tempdir().unwrap();
        let (trusted, file) = (trust_list(root.path()), root.path().join(".plenary.toml"));
        fs::write(&file, "a").unwrap();
        let Err(Failure::Auth { what, next, .. }) = trusted.check(&file, "a") else { panic!() };
        assert!(what.contains(".plenary.toml") && next.contains("plenary trust"), "{what} {next}");
        trusted.record(std::slice::from_ref(&file)).unwrap();
        trusted.check(&file, "a").unwrap();
        assert!(trusted.check(&file, "b").is_err(), "it was changed");
        let moved = root.path().join("moved.toml");
        fs::write(&moved, "b").unwrap();
        assert!(!trusted.has_known(&moved), "it may have come with the directory");
        fs::write(&moved, "a").unwrap();
        assert!(trusted.has_known(&moved) && trusted.check(&moved, "a").is_err());
        assert_eq!(fs::metadata(&trusted.path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_file(&file).unwrap();
        trusted.record(std::slice::from_ref(&file)).unwrap();
        assert!(trusted.check(&file, "a").is_err(), "it was forgotten");
    }

    #[test]
    fn a_file_is_trusted_before_and_after_an_interrupted_change() {
        let root = tempfile::tempdir().unwrap();
        let (trusted, file) = (trust_list(root.path()), root.path().join(".plenary.toml"));
        let interrupted = || Err(Failure::local("killed"));
        let put = |text: &str| {
            fs::write(&file, text).unwrap();
            Ok(())
        };
        trusted.write(&file, "a", || put("a")).unwrap();
        assert!(trusted.write(&file, "b", interrupted).is_err());
        trusted.check(&file, "a").unwrap();
        assert!(trusted.write(&file, "b", || put("b").and_then(|()| interrupted())).is_err());
        trusted.check(&file, "b").unwrap();
        trusted.write(&file, "c", || put("c")).unwrap();
        trusted.check(&file, "c").unwrap();
        assert!(trusted.check(&file, "a").is_err() && trusted.check(&file, "b").is_err());
    }

    #[test]
    fn nothing_is_written_through_a_link_or_into_an_untrusted_file() {
        let root = tempfile::tempdir().unwrap();
        let (trusted, file) = (trust_list(root.path()), root.path().join(".plenary.toml"));
        trusted.check_writable(&file).unwrap();
        symlink(root.path().join("elsewhere"), &file).unwrap();
        assert!(trusted.check_writable(&file).is_err());
        fs::remove_file(&file).unwrap();
        fs::write(&file, "project = \"theirs\"").unwrap();
        assert!(trusted.check_writable(&file).is_err());
        trusted.record(std::slice::from_ref(&file)).unwrap();
        trusted.check_writable(&file).unwrap();
    }
}
