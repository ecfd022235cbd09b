//! Atomic replacement of a file.
//! Must not know: its content.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

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
        .prefix(".plenary-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    if let Ok(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(directory)?.sync_all()
}
