//! What an import says of itself.
//! Must not know: how a record is decided.

use schemars::JsonSchema;
use serde::Serialize;

use super::decide::Outcome;
use crate::{lifecycle::words, limits::REFUSED_LISTED_MAX, refusals::Refused};

words! {
    /// What becomes of a record whose place is taken by something else.
    Mode {
        /// What is there stays.
        Skip = "skip",
        /// What is there is continued where the record only goes on from it; otherwise the record is refused.
        Overwrite = "overwrite",
        /// A package gets an id of its own; for the rest as `skip`.
        Rename = "rename",
    }
}

/// A record that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RefusedLine {
    /// From 1.
    pub(crate) line: u64,
    /// What the record is of; empty where that cannot be told.
    pub(crate) record: String,
    /// Its id, as far as it can be read.
    pub(crate) id: String,
    /// Stable, for machines.
    pub(crate) code: String,
    /// For people.
    pub(crate) message: String,
}

/// A package that got another id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Renamed {
    pub(crate) project_id: String,
    /// Its id in the import.
    pub(crate) package_id: String,
    /// Its id here.
    pub(crate) renamed_to: String,
}

/// What came of an import. Each record counts once, as imported, skipped, overwritten, renamed or refused.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Report {
    /// Records that were not there.
    pub(crate) imported: u64,
    /// Records that are there already, and those that differ from what is there and were left out.
    pub(crate) skipped: u64,
    /// How many of the skipped differ.
    pub(crate) conflicts: u64,
    /// Records by which something that was there was continued.
    pub(crate) overwritten: u64,
    /// Packages that got another id.
    pub(crate) renamed: u64,
    /// Records of kinds that are not known here.
    pub(crate) ignored: u64,
    /// How many records were refused.
    pub(crate) refused_count: u64,
    /// The first thousand of them.
    pub(crate) refused: Vec<RefusedLine>,
    /// The first thousand packages that got another id.
    pub(crate) renames: Vec<Renamed>,
    /// Whether the end of the export was there, and its counts were true; null where records came without an end.
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

    pub(crate) fn list_renamed(&mut self, renamed: Renamed) {
        if self.renames.len() < REFUSED_LISTED_MAX {
            self.renames.push(renamed);
        }
    }

    pub(crate) fn refuse(&mut self, (line, record, id): (u64, &str, &str), refused: &Refused) {
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
