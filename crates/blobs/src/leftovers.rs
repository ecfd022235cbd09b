//! Leftovers in a directory of uploads whose process was killed: parts under temporary names that no process will
//! finish.
//! Must not know: the existing blobs.

use std::{
    fs::{self, DirEntry},
    io,
    path::Path,
    time::Duration,
};

use crate::own::{self, OwnName};

/// The minimal age of a leftover part in a directory that other processes write to as well; no upload
/// takes nearly as long.
pub const STAGING_AGE_MIN: Duration = Duration::from_secs(3_600);

/// Removes leftover parts; returns their number. If only this process writes there, every part that
/// exists at its start is a leftover; otherwise those older than `age_min`.
pub(crate) fn sweep(directory: &Path, age_min: Option<Duration>) -> io::Result<u64> {
    Ok(sweep_shelves(&directory.join("sha256"), age_min)?
        + sweep_shelves(&directory.join(own::DIRECTORY), age_min)?)
}

fn sweep_shelves(shelves: &Path, age_min: Option<Duration>) -> io::Result<u64> {
    let shelves = match fs::read_dir(shelves) {
        Ok(shelves) => shelves,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut removed = 0;
    for shelf in shelves {
        let shelf = shelf?;
        if !shelf.file_type()?.is_dir() {
            continue;
        }
        for entry in fs::read_dir(shelf.path())? {
            let entry = entry?;
            if is_staged(&entry)? && age_min.is_none_or(|age_min| is_older(&entry, age_min)) {
                match fs::remove_file(entry.path()) {
                    Ok(()) => removed += 1,
                    // Another process has removed it already.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(removed)
}

/// Whether it is a part: the final name of its blob, `#`, and a number.
fn is_staged(entry: &DirEntry) -> io::Result<bool> {
    let name = entry.file_name();
    let parts = name.to_str().and_then(|name| name.split_once('#'));
    let is_named = parts.is_some_and(|(content, number)| {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_by_hash = content.len() == 62 && content.bytes().all(is_hex);
        (is_by_hash || content.parse::<OwnName>().is_ok())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    Ok(is_named && entry.file_type()?.is_file())
}

/// Whether the last write is at least that long ago; false if unknown.
fn is_older(entry: &DirEntry, age_min: Duration) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.ok().and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age >= age_min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_swept_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(sweep(directory.path(), None).unwrap(), 0, "there is nothing yet");
        let shelf = directory.path().join("sha256/2c");
        fs::create_dir_all(&shelf).unwrap();
        let content = "f".repeat(62);
        let retained =
            [content.clone(), format!("{content}#"), format!("{content}#x"), "no tes#1".to_owned()];
        let parts = [format!("{content}#1"), format!("{content}#2")];
        for name in retained.iter().chain(&parts) {
            fs::write(shelf.join(name), "x").unwrap();
        }
        fs::write(directory.path().join("sha256/file"), "x").unwrap();
        let own = directory.path().join("files/1A");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("file_1A"), "x").unwrap();
        assert_eq!(sweep(directory.path(), Some(STAGING_AGE_MIN)).unwrap(), 0);
        assert_eq!(sweep(directory.path(), Some(STAGING_AGE_MIN)).unwrap(), 0, "others may be writing them");
        let long_ago = fs::File::options().write(true).open(shelf.join(&parts[0])).unwrap();
        let hour = long_ago.metadata().unwrap().modified().unwrap() - STAGING_AGE_MIN;
        long_ago.set_modified(hour).unwrap();
        assert_eq!(sweep(directory.path(), Some(STAGING_AGE_MIN)).unwrap(), 1);
        fs::write(own.join("file_1A#1"), "x").unwrap();
        assert_eq!(sweep(directory.path(), None).unwrap(), 2);
        assert!(own.join("file_1A").exists() && !own.join("file_1A#1").exists());
        let mut remaining: Vec<_> =
            fs::read_dir(&shelf).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        remaining.sort();
        let mut retained = retained.map(std::ffi::OsString::from).to_vec();
        retained.sort();
        assert_eq!(remaining, retained);
    }
}
