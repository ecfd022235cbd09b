//! A settings file: read, copied, replaced atomically.
//! Must not know: its content.

use std::{
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use plenary_client::frames::{Frame, now};

use crate::cli::{atomic, failure::Failure};

/// Largest settings file that is read; a larger one is not settings.
const BYTES_MAX: u64 = 16 << 20;
/// Characters of a path in the name of its copy.
const NAME_CHARS_MAX: usize = 100;

/// A file, which may not exist.
#[derive(Debug, Clone)]
pub(crate) struct File {
    path: PathBuf,
}

impl File {
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its content; `None` if it does not exist.
    pub(crate) fn read(&self) -> Result<Option<String>, Failure> {
        match fs::metadata(&self.path) {
            Ok(metadata) if metadata.len() > BYTES_MAX => {
                return Err(self.unusable("it is too large for a settings file"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unusable(&error.to_string())),
        }
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unusable(&error.to_string())),
        }
    }

    /// Replaces the content; returns the path of a copy of the previous content, if any. Copies go to the directory `copies`,
    /// so that they do not clutter a project.
    pub(crate) fn write(&self, text: &str, copies: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
        let backup = self.path.exists().then(|| self.backup(copies)).transpose()?;
        self.replace(text)?;
        Ok(backup)
    }

    /// Replaces the content without a copy. Follows a link, and keeps permissions.
    pub(crate) fn replace(&self, text: &str) -> Result<(), Failure> {
        let failed = |error: std::io::Error| self.unusable(&error.to_string());
        let target = self.target();
        if let Some(directory) = target.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        atomic::replace(&target, text.as_bytes(), 0o666).map_err(failed)
    }

    pub(crate) fn remove(&self) -> Result<(), Failure> {
        fs::remove_file(&self.path).map_err(|error| self.unusable(&error.to_string()))
    }

    fn target(&self) -> PathBuf {
        fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    fn backup(&self, copies: Option<&Path>) -> Result<PathBuf, Failure> {
        let failed = |error: std::io::Error| self.unusable(&format!("a backup copy cannot be made: {error}"));
        let target = self.target();
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let time: String = Frame::time(now()).chars().filter(char::is_ascii_alphanumeric).collect();
        let copy = match copies {
            Some(directory) => {
                DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
                directory.join(format!("{}.{time}", flat(&target)))
            }
            None => target.with_file_name(format!("{name}.plenary-backup-{time}")),
        };
        fs::copy(&target, &copy).map_err(failed)?;
        Ok(copy)
    }

    pub(crate) fn unusable(&self, why: &str) -> Failure {
        Failure::local_with(
            format!("{} cannot be changed: {why}", self.path.display()),
            "the file is unchanged; correct it or move it away, and run this again",
        )
    }
}

/// A path as a file name; the end of a long path.
fn flat(path: &Path) -> String {
    let flat = path.display().to_string().replace('/', "%");
    let surplus = flat.chars().count().saturating_sub(NAME_CHARS_MAX);
    flat.chars().skip(surplus).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_link_is_followed_permissions_stay_and_a_copy_is_saved() {
        let root = tempfile::tempdir().unwrap();
        let (real, link) = (root.path().join("real.json"), root.path().join("sub/link.json"));
        fs::create_dir(root.path().join("sub")).unwrap();
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        let file = File::at(&link);
        assert_eq!(file.read().unwrap().as_deref(), Some("old"));
        let copies = root.path().join("copies");
        let backup = file.write("new", Some(&copies)).unwrap().unwrap();
        assert!(backup.starts_with(&copies), "{backup:?}");
        assert!(backup.display().to_string().contains("%real.json.20"), "{backup:?}");
        assert_eq!(fs::metadata(&copies).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_to_string(&backup).unwrap(), "old");
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3, "there is no other file");
    }

    #[test]
    fn the_name_of_a_copy_is_bounded() {
        let long = PathBuf::from(format!("/{}/settings.json", "ä".repeat(300)));
        assert!(flat(&long).chars().count() == NAME_CHARS_MAX && flat(&long).ends_with("%settings.json"));
    }

    #[test]
    fn a_missing_file_is_created_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let file = File::at(root.path().join("a/b.json"));
        assert_eq!(file.read().unwrap(), None);
        assert_eq!(file.write("{}", None).unwrap(), None);
        let backup = file.write("{ }", None).unwrap().unwrap();
        assert!(backup.display().to_string().contains("a/b.json.plenary-backup-20"), "without a home");
        file.remove().unwrap();
        assert_eq!(file.read().unwrap(), None);
        let large = File::at(root.path().join("large"));
        fs::File::create(large.path()).unwrap().set_len(BYTES_MAX + 1).unwrap();
        assert!(large.read().is_err());
    }
}
