//! Atomic replacement of a file.
//! Must not know: its content.

use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

/// Replaces the content of a file. The permissions of a file that is there stay; a new file gets `mode`, less the umask.
/// The new content is written beside it under a name that nobody can foresee, so that a link which came with the directory
/// leads nowhere else.
///
/// # Errors
/// What the file system says; the file is then as it was.
pub(crate) fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let permissions = fs::metadata(path).map(|metadata| metadata.permissions());
    let mut file = tempfile::Builder::new()
        .prefix(".plenary-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    if let Ok(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
