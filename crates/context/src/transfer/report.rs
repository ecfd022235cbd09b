//! The report of an import.
//! Must not know: how a record is decided.

use schemars::JsonSchema;
use serde::Serialize;

use super::decide::Outcome;
use crate::{lifecycle::words, limits::REFUSED_LISTED_MAX, refusals::ContextRefusal};

words! {
    /// What to do with a record whose id exists with other content.
    Mode {
        /// The existing record stays.
        Skip = "skip",
        /// The existing record is continued if the imported one extends it; otherwise the record is refused.
        Overwrite = "overwrite",
        /// A package gets a new id; other records are treated as with `skip`.
        Rename = "rename",
    }
}

/// A record that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RefusedLine {
    /// From 1.
    pub(crate) line: u64,
    /// The kind of the record; empty if it cannot be determined.
    pub(crate) record: String,
    /// Its id, as far as it can be read.
    pub(crate) id: String,
    /// Stable, for machines.
    pub(crate) code: String,
    /// For people.
    pub(crate) message: String,
}

/// A package that was given another id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RenamedPackage {
    pub(crate) project_id: String,
    /// Its id in the import.
    pub(crate) package_id: String,
    /// Its id here.
    pub(crate) renamed_to: String,
}

/// The result of an import. Each record counts once, as imported, skipped, overwritten, renamed or refused.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Report {
    /// New records.
    pub(crate) imported: u64,
    /// Records that exist already, including those that differ and were left out.
    pub(crate) skipped: u64,
    /// The number of skipped records that differ.
    pub(crate) conflicts: u64,
    /// Records that continued an existing one.
    pub(crate) overwritten: u64,
    /// Packages that were given another id.
    pub(crate) renamed: u64,
    /// Records of unknown kinds.
    pub(crate) ignored: u64,
    /// How many records were refused.
    pub(crate) refused_count: u64,
    /// The first thousand of them.
    pub(crate) refused: Vec<RefusedLine>,
    /// The first thousand packages that were given another id.
    pub(crate) renames: Vec<RenamedPackage>,
    /// Whether the last line of the export was present and its counts matched; null if records came without a last
    /// line.
    pub(crate) complete: Option<bool>,
    /// Whether nothing was written.
    pub(crate) dry_run: bool,
}

impl Report {
    pub(crate) fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::New => self.imported += 1,
            Outcome::Same => self.skipped += 1,
            Outcome::Continued => self.overwritten += 1,
            Outcome::Renamed => self.renamed += 1,
            Outcome::Differs | Outcome::Ahead => {
                self.skipped += 1;
                self.conflicts += 1;
            }
        }
    }

    pub(crate) fn list_renamed(&mut self, renamed: RenamedPackage) {
        if self.renames.len() < REFUSED_LISTED_MAX {
            self.renames.push(renamed);
        }
    }

    pub(crate) fn refuse(&mut self, (line, record, id): (u64, &str, &str), refused: &ContextRefusal) {
        self.refused_count += 1;
        if self.refused.len() < REFUSED_LISTED_MAX {
            self.refused.push(RefusedLine {
                line,
                record: record.to_owned(),
                id: id.to_owned(),
                code: refused.code().to_owned(),
                message: refused.message().to_owned(),
            });
        }
    }
}
