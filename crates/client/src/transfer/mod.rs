//! Export and import of whole projects: files, backups, and synchronization of two servers (section 10.3 of the
//! Agentic Protocol).
//! Must not know: the server's crates, terminals.

mod backup;
mod contents;
mod export;
mod import;
mod manifest;
mod record;
mod restore;
mod sync;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

pub use contents::{ContentsIndex, FetchedContents, MissingContent, RestoredContents};
pub use manifest::{BackupCounts, Manifest};
pub use sync::{SyncReport, SyncState, sync};

use crate::Error;

plenary_kernel::words! {
    /// What to do with a record whose id exists with other content.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Conflict {
        /// The existing record stays.
        #[default]
        Skip = "skip",
        /// The existing record is continued if the imported one extends it; otherwise the record is refused.
        Overwrite = "overwrite",
        /// A package gets an id of its own.
        Rename = "rename",
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Conflict {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Invalid(format!("`{text}` is not skip, overwrite or rename"));
        Self::named(text).ok_or_else(wrong)
    }
}

/// How to import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The treatment of a record whose id exists already.
    pub conflict: Conflict,
    /// Only report the result, and write nothing.
    pub dry_run: bool,
    /// The only project of the import, `OWNER:ID`, whatever owner the records name.
    pub into: Option<String>,
}

/// The progress of a transfer.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// `export`, `import` or `contents`.
    pub step: &'static str,
    /// The project, if projects are transferred one at a time.
    pub project: Option<&'a str>,
    /// Records so far; of a file whose lines are sent as they are, its lines.
    pub records: u64,
    /// Bytes so far.
    pub bytes: u64,
}

/// Called with the progress; must return quickly.
pub type OnProgress<'a> = &'a mut (dyn FnMut(&Progress<'_>) + Send);

/// The number of records of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Projects.
    pub projects: u64,
    /// Packages.
    pub packages: u64,
    /// Facts, current and ended.
    pub facts: u64,
    /// Sessions.
    pub sessions: u64,
    /// Damaged projects, packages and sessions, which the server names and omits.
    pub damaged: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.projects += other.projects;
        self.packages += other.packages;
        self.facts += other.facts;
        self.sessions += other.sessions;
        self.damaged += other.damaged;
    }
}

/// A complete export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportSummary {
    /// The exported records in numbers.
    pub counts: Counts,
    /// The value for `since` in the next export, which then contains only later changes.
    pub since: String,
}

/// A record that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedLine {
    /// The line, from 1; 0 if it is not a line of an import.
    pub line: u64,
    /// The kind of the record.
    pub record: String,
    /// Its id.
    pub id: String,
    /// Stable, for machines.
    pub code: String,
    /// For people.
    pub message: String,
}

/// A package that was given another id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rename {
    /// The project.
    pub project_id: String,
    /// Its id in the import.
    pub package_id: String,
    /// Its id on the server.
    pub renamed_to: String,
}

/// The result of an import. Each record counts once, as imported, skipped, overwritten, renamed or refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    /// New records.
    pub imported: u64,
    /// Records that exist already, including those that differ and were left out.
    pub skipped: u64,
    /// The number of skipped records that differ.
    pub conflicts: u64,
    /// Records that continued an existing one.
    pub overwritten: u64,
    /// Packages that were given another id.
    pub renamed: u64,
    /// Records of kinds that the server does not know.
    pub ignored: u64,
    /// How many records were refused.
    pub refused_count: u64,
    /// The first thousand of them.
    pub refused: Vec<RefusedLine>,
    /// The first thousand packages that were given another id.
    pub renames: Vec<Rename>,
    /// Whether the end record was there and its counts were right; `None` for records without an end record.
    pub complete: Option<bool>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The result for the contents beside it, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<RestoredContents>,
}
