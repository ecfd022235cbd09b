//! The checks before the database is opened: the library, the file system, and that no other process uses it. The
//! database file itself is never opened here: closing it would drop the database's own locks.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::{FlockOperation, flock};

use crate::{LOCK_FILE, OpenError};

/// The first release without the WAL reset bug, which could corrupt a file that one connection checkpoints while
/// another writes.
const LIBRARY_MIN: (i32, &str) = (3_051_003, "3.51.3");
/// Directories are private to their owner.
const DIRECTORY_MODE: u32 = 0o700;
/// Files are private to their owner.
pub(crate) const FILE_MODE: u32 = 0o600;
/// Longest note in the lock file that is read.
const HOLDER_BYTES_MAX: u64 = 32;

/// Refuses an unsafe version of SQLite.
pub(crate) fn library() -> Result<(), OpenError> {
    let (number, needed) = LIBRARY_MIN;
    if rusqlite::version_number() < number {
        return Err(OpenError::UnsafeLibrary { found: rusqlite::version().to_owned(), needed });
    }
    Ok(())
}

/// Creates the directory if necessary, checks its file system, and locks it. The lock lasts as long as
/// the file is open.
pub(crate) fn directory(directory: &Path) -> Result<File, OpenError> {
    if !directory.is_dir() {
        make(directory).map_err(OpenError::Io)?;
    }
    local(directory)?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true).mode(FILE_MODE);
    let mut lock = options.open(directory.join(LOCK_FILE)).map_err(OpenError::Io)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let holder = holder(&mut lock);
            return Err(OpenError::Locked { directory: directory.to_owned(), holder });
        }
        Err(error) => return Err(OpenError::Io(error.into())),
    }
    sign(&mut lock).map_err(OpenError::Io)?;
    Ok(lock)
}

/// The parent is flushed, so that the directory's entry is durable too.
fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(directory)?;
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

fn sign(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}

fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    match lock.take(HOLDER_BYTES_MAX).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => format!("process {}", text.trim()),
        _ => "unknown".to_owned(),
    }
}

#[cfg(target_os = "linux")]
fn local(directory: &Path) -> Result<(), OpenError> {
    let found = rustix::fs::statfs(directory).map_err(|error| OpenError::Io(error.into()))?;
    // The magic numbers of statfs(2) fit 32 bits, whatever the field's width and sign.
    match network(found.f_type & 0xffff_ffff) {
        Some(kind) => Err(OpenError::NetworkFileSystem { directory: directory.to_owned(), kind }),
        None => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn local(_: &Path) -> Result<(), OpenError> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn network(magic: rustix::fs::FsWord) -> Option<&'static str> {
    match magic {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("SMB"),
        0x0102_1997 => Some("9p"),
        0x5346_414f => Some("AFS"),
        0x7375_7245 => Some("Coda"),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_distinguished_from_local_ones() {
        for (magic, kind) in
            [(0x6969, Some("NFS")), (0xff53_4d42, Some("SMB")), (0x0102_1997, Some("9p")), (0xef53, None)]
        {
            assert_eq!(network(magic), kind, "{magic:x}");
        }
    }

    #[test]
    fn the_bundled_library_is_safe() {
        library().expect("the bundled library is new enough");
    }
}
