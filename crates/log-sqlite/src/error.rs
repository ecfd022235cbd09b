//! The errors, and the mapping of the database's own errors.

use std::path::PathBuf;

use plenary_log::Fault;
use rusqlite::{Error, ErrorCode};

/// Why a store was not opened. Each text says how to solve the problem, if possible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the store open.
    #[error("{holder} has {} open; stop it, or name another data directory", .directory.display())]
    Locked {
        /// The data directory.
        directory: PathBuf,
        /// The other process, as far as known.
        holder: String,
    },
    /// The directory is on a network file system, where locks and flushes can't be trusted.
    #[error("{} is on a network file system ({kind}); put the data directory on a local disk", .directory.display())]
    NetworkFileSystem {
        /// The data directory.
        directory: PathBuf,
        /// Its kind.
        kind: &'static str,
    },
    /// The store is one of a cluster's replicas.
    #[error("{} is a replica of a cluster's log and can't be changed alone; start it with --cluster", .directory.display())]
    Replica {
        /// The data directory.
        directory: PathBuf,
    },
    /// The store has its own log, which is not in a journal.
    #[error("{} holds a log of its own and can't become a replica of a cluster's; give --data another directory", .directory.display())]
    NoReplica {
        /// The data directory.
        directory: PathBuf,
    },
    /// The directory has a copy that is not finished, and no store.
    #[error(
        "{} is an unfinished copy of a store; run the same `plenary log copy` again to finish it, or remove it",
        .file.display()
    )]
    Unfinished {
        /// The copy.
        file: PathBuf,
    },
    /// A copy would replace a store.
    #[error("{} has a store already; name a directory without one", .directory.display())]
    Occupied {
        /// The data directory.
        directory: PathBuf,
    },
    /// The store was written by a newer release.
    #[error(
        "the store has format {found}, but this release supports up to {known}; start the newer release again"
    )]
    NewerFormat {
        /// The format of the store.
        found: i64,
        /// The newest known format.
        known: i64,
    },
    /// The store was written by an older release, and a check does not migrate it.
    #[error(
        "the store has format {found}, but only format {known} can be checked; start this release on it once"
    )]
    OlderFormat {
        /// The format of the store.
        found: i64,
        /// The format of this release.
        known: usize,
    },
    /// There is no store to read.
    #[error("there is no store in {}: {why}", .file.display())]
    NoStore {
        /// The database file.
        file: PathBuf,
        /// What is there instead.
        why: &'static str,
    },
    /// The file is a database of another program.
    #[error("{} is not a store of this program: {detail}", .file.display())]
    Foreign {
        /// The database file.
        file: PathBuf,
        /// What the file has instead.
        detail: String,
    },
    /// The file is no database at all: it is of another program, or its head is damaged.
    #[error("{} is not a store of this program: no SQLite database", .file.display())]
    NoDatabase {
        /// The file.
        file: PathBuf,
    },
    /// SQLite is older than the first release that is known to be safe.
    #[error("SQLite {found} can corrupt a store under load; use {needed} or newer")]
    UnsafeLibrary {
        /// The version in use.
        found: String,
        /// The least version.
        needed: &'static str,
    },
    /// A setting that durability depends on could not be set.
    #[error("the database has {setting} = {found}, but {needed} is needed")]
    Setting {
        /// The setting.
        setting: &'static str,
        /// Its value.
        found: String,
        /// The required value.
        needed: &'static str,
    },
    /// The store contradicts itself.
    #[error("the store is corrupt: {0}")]
    Corrupt(String),
    /// The database could not be opened or read.
    #[error("the database could not be opened: {}", message(.0))]
    Database(#[from] Error),
    /// The data directory could not be made or read.
    #[error("the data directory could not be opened: {0}")]
    Io(#[source] std::io::Error),
}

/// The message of SQLite, without repetitions.
fn message(error: &Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen) => {
            "its files must exist, and this user must be allowed to read and write them".to_owned()
        }
        _ => error.to_string(),
    }
}

impl OpenError {
    /// The reason, if the file itself is damaged. A store of another program or release is not.
    pub fn damage(&self) -> Option<String> {
        let is_damaged = matches!(self, Self::Corrupt(_) | Self::NoDatabase { .. })
            || matches!(self, Self::Database(error) if is_damage(error));
        is_damaged.then(|| self.to_string())
    }
}

/// What a fault ends with if SQLite found a page damaged, or the disk did not return it.
const PAGE: &str = "a page is damaged or cannot be read; check the store with `plenary fsck`";

/// The reason, if a fault says that stored bytes are not what was written, or that the disk does not return them. A store
/// that can be built again from elsewhere should be.
pub fn damage(fault: &Fault) -> Option<&str> {
    match fault {
        Fault::Corrupt(why) => Some(why),
        Fault::Unavailable(why) | Fault::OutcomeUnknown(why) => why.ends_with(PAGE).then_some(why),
        Fault::Overloaded | Fault::Full(_) => None,
    }
}

/// Whether an error says that the file is not what was written. A missing table or column and a value of another type say it
/// too: nothing but damage of the schema or of a record causes them.
fn is_damage(error: &Error) -> bool {
    if matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) {
        return true;
    }
    if let Error::SqliteFailure(_, Some(text)) = error {
        return text.starts_with("no such table") || text.contains("has no column named");
    }
    matches!(
        error,
        Error::SqlInputError { .. }
            | Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
    )
}

/// The text of a failed write.
pub(crate) fn write_fault_text(error: &Error) -> String {
    if is_damage(error) { format!("{error}: {PAGE}") } else { error.to_string() }
}

/// Maps a failed read to a fault.
#[allow(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
pub(crate) fn fault(error: Error) -> Fault {
    if is_full(&error) {
        return Fault::Full(error.to_string());
    }
    match error.sqlite_error_code() {
        // SQLite reports this also for a page that the disk does not return now but may return later. A
        // checksum or an audit finds permanent damage.
        Some(ErrorCode::DatabaseCorrupt) => Fault::Unavailable(write_fault_text(&error)),
        Some(ErrorCode::NotADatabase) => Fault::Corrupt(error.to_string()),
        Some(_) => Fault::Unavailable(error.to_string()),
        // Not an error of the database itself: a value has the wrong type.
        None => Fault::Corrupt(error.to_string()),
    }
}

/// Whether the disk is full, so that nothing was written and a retry may work later.
pub(crate) fn is_full(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Why a read failed, within this crate.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The database's own error.
    Database(Error),
    /// The stored data contradicts itself.
    Corrupt(String),
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<rusqlite::types::FromSqlError> for ReadError {
    fn from(error: rusqlite::types::FromSqlError) -> Self {
        Self::Corrupt(error.to_string())
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Database(error) => fault(error),
            ReadError::Corrupt(what) => Self::Corrupt(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    /// SQLite's error for EIO on a read: `SQLITE_IOERR_CORRUPTFS` when it opens a file, `SQLITE_CORRUPT` in a query.
    #[test]
    fn a_disk_that_does_not_give_a_page_is_unavailable() {
        for code in
            [ffi::SQLITE_IOERR, ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR | 33 << 8, ffi::SQLITE_CORRUPT]
        {
            let fault = fault(Error::SqliteFailure(ffi::Error::new(code), None));
            assert!(matches!(fault, Fault::Unavailable(_)), "{code}: {fault:?}");
            assert_eq!(damage(&fault).is_some(), code == ffi::SQLITE_CORRUPT, "{code}: {fault:?}");
        }
        let foreign = fault(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOTADB), None));
        assert!(matches!(foreign, Fault::Corrupt(_)), "{foreign:?}");
        assert!(damage(&foreign).is_some(), "{foreign:?}");
    }
}
