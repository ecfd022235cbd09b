//! Access to the server's files: only its own user can read them, even if another user created the directory or it is
//! open: its directories are created and kept 0700, its files 0600.
//! Must not know: their content.

use std::{
    env,
    fs::{self, DirBuilder, Permissions},
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::Path,
};

use anyhow::{Context as _, bail};

/// The permission bits of group and others.
const FOR_OTHERS: u32 = 0o077;
const READABLE_BY_GROUP: u32 = 0o040;
const READABLE_BY_OTHERS: u32 = 0o004;
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// Creates missing directories with private permissions, and removes others' permissions from these directories and files.
pub(super) fn close(data: &Path, directories: &[&str], files: &[&str]) -> anyhow::Result<()> {
    if !data.is_dir() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data)
            .with_context(|| format!("cannot make the directory {}", data.display()))?;
    }
    if let Some(owner) = other_owner(data, rustix::process::geteuid().as_raw()) {
        tracing::warn!(
            data = %data.display(),
            "the data directory belongs to another user (uid {owner}), whose server will not be able to open the files that this \
             one creates; start the server as that user, or give all files back with chown"
        );
    }
    for name in directories {
        let path = data.join(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => tighten(&path, 0o700)?,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make the directory {}", path.display()));
            }
        }
    }
    files.iter().try_for_each(|name| tighten(&data.join(name), 0o600))
}

/// Rejects a file with a secret that others can read.
pub(super) fn secret(file: &Path) -> anyhow::Result<()> {
    check_secret(file, env::var_os("CREDENTIALS_DIRECTORY").as_deref().map(Path::new))
}

/// `credentials` is the directory of systemd's credentials: there the bits of the group are those of an access list with
/// the server's user alone.
fn check_secret(file: &Path, credentials: Option<&Path>) -> anyhow::Result<()> {
    let mode =
        fs::metadata(file).with_context(|| format!("reading {}", file.display()))?.permissions().mode();
    let is_credential = credentials.is_some_and(|directory| file.parent() == Some(directory));
    let refused = if is_credential { FOR_OTHERS & !READABLE_BY_GROUP } else { FOR_OTHERS };
    if mode & refused != 0 {
        bail!("other users can read {}; run: chmod 600 {0}", file.display());
    }
    Ok(())
}

/// Rejects a file that others can write.
pub(super) fn refuse_writable_by_others(file: &Path) -> anyhow::Result<()> {
    if is_open(file, WRITABLE_BY_OTHERS) {
        bail!("other users can write {}; run: chmod o-w {0}", file.display());
    }
    Ok(())
}

/// Whether others can read a file.
pub(super) fn is_readable_by_others(file: &Path) -> bool {
    is_open(file, READABLE_BY_OTHERS)
}

fn is_open(file: &Path, bits: u32) -> bool {
    fs::metadata(file).is_ok_and(|found| found.permissions().mode() & bits != 0)
}

/// The owner of a directory, if it is not this user.
fn other_owner(directory: &Path, user: u32) -> Option<u32> {
    fs::metadata(directory).ok().map(|found| found.uid()).filter(|owner| *owner != user)
}

fn tighten(path: &Path, mode: u32) -> anyhow::Result<()> {
    let found = match fs::metadata(path) {
        Ok(metadata) => metadata.permissions().mode(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("looking at {}", path.display())),
    };
    if found & FOR_OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).with_context(|| {
        format!(
            "{0} can be read by others and its permissions cannot be changed; own it, then run: chmod {mode:o} {0}",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_open_is_closed_and_what_is_missing_is_made_closed() {
        let root = tempfile::tempdir().unwrap();
        let data = root.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(data.join("blobs")).unwrap();
        fs::write(data.join("vectors"), "x").unwrap();
        for name in ["blobs", "vectors"] {
            fs::set_permissions(data.join(name), Permissions::from_mode(0o755)).unwrap();
        }
        close(&data, &["blobs", "search"], &["vectors", "absent"]).unwrap();
        assert_eq!(mode(&data), 0o755, "it may hold what is not the server's");
        assert_eq!((mode(&data.join("blobs")), mode(&data.join("search"))), (0o700, 0o700));
        assert_eq!(mode(&data.join("vectors")), 0o600);
        assert!(!data.join("absent").exists());
    }

    #[test]
    fn a_directory_of_another_user_is_told_from_an_own_one() {
        let root = tempfile::tempdir().unwrap();
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(other_owner(root.path(), user), None);
        assert_eq!(other_owner(root.path(), user + 1), Some(user));
        assert_eq!(other_owner(&root.path().join("absent"), user + 1), None);
    }

    #[test]
    fn a_secret_that_others_can_read_is_refused_with_the_remedy() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("key.pem");
        fs::write(&file, "x").unwrap();
        for open in [0o640, 0o604, 0o644, 0o620] {
            fs::set_permissions(&file, Permissions::from_mode(open)).unwrap();
            assert!(secret(&file).unwrap_err().to_string().contains("chmod 600"), "{open:o}");
        }
        fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        secret(&file).unwrap();
    }

    #[test]
    fn a_credential_of_systemd_may_have_the_bits_of_an_access_list() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("server.key");
        fs::write(&file, "x").unwrap();
        for (mode, is_accepted) in [(0o440, true), (0o400, true), (0o444, false), (0o660, false)] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_secret(&file, Some(root.path())).is_ok(), is_accepted, "{mode:o}");
        }
        fs::set_permissions(&file, Permissions::from_mode(0o440)).unwrap();
        check_secret(&file, Some(Path::new("/run/credentials/other"))).unwrap_err();
    }
}
