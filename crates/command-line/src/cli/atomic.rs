//! Atomic replacement of a file.
//! Must not know: its content.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

/// The name of a temporary file: `.plenary-`, random characters, `.tmp`.
const PREFIX: &str = ".plenary-";
const SUFFIX: &str = ".tmp";
const RANDOM_CHARS: usize = 12;

/// Replaces the content of a file. An existing file keeps its permissions; a new file gets `mode`, less the umask.
/// The new content is written to a temporary file with an unpredictable name beside it, so that a link planted in the
/// directory cannot redirect it. A crash at any point leaves the old content or the new one.
///
/// # Errors
/// The error of the file system.
pub(crate) fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let directory = path.parent().filter(|parent| *parent != "").unwrap_or(Path::new("."));
    let permissions = fs::metadata(path).map(|metadata| metadata.permissions());
    let mut file = tempfile::Builder::new()
        .prefix(PREFIX)
        .suffix(SUFFIX)
        .rand_bytes(RANDOM_CHARS)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    // Where files cannot be locked, nothing is removed either.
    let _held = file.as_file().lock();
    if let Ok(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(directory)?.sync_all()
}

/// Removes the temporary files that killed processes left in a directory. A process that still writes holds a lock.
pub(crate) fn remove_abandoned(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
        let is_temporary = random.is_some_and(|random| {
            random.len() == RANDOM_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }) && entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_temporary && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _gone_already = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_temporary_files_are_removed_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let names = [
            ".plenary-backup",
            ".plenary-backup.tmp",
            ".plenary-abcdefghijkl.tmp",
            ".plenary-ABCDEFGHIJK0.tmp",
        ];
        names.iter().for_each(|name| fs::write(at(name), "").unwrap());
        let written = File::open(at(names[3])).unwrap();
        written.lock().unwrap();
        remove_abandoned(root.path());
        assert_eq!(names.map(|name| at(name).exists()), [true, true, false, true]);
        drop(written);
        replace(&at("a"), b"x", 0o600).unwrap();
        remove_abandoned(root.path());
        assert_eq!(fs::read(at("a")).unwrap(), b"x");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3);
    }
}
