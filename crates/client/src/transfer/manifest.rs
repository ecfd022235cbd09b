//! The Backup v1 directory as data: its files and its manifest (wire.md 0.5).
//! Must not know: how a backup is made.

use serde::{Deserialize, Serialize};

use super::{Counts, FetchedContents};
use crate::{Error, Result};

/// The format version that is written and accepted.
pub(super) const FORMAT: &str = "1";
/// The protocol version that is written; any `0.…` is accepted.
const PROTOCOL: &str = "0.1";
/// The file of the manifest.
pub(super) const MANIFEST: &str = "manifest.json";
/// The files of bare records with their kinds, in the order of a restore.
pub(super) const FILES: [(&str, &str); 4] = [
    ("project", "projects.ndjson"),
    ("package", "packages.ndjson"),
    ("fact", "facts.ndjson"),
    ("session", "sessions.ndjson"),
];
/// Our own file beside the packages, in their order: hashes and review logs, which are not part of a package. Other
/// implementations ignore it.
pub(super) const HASHES: &str = "hashes.ndjson";
/// The directory of contents.
pub(super) const BLOBS: &str = "blobs";

/// The contents of a backup in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackupCounts {
    /// Projects.
    pub projects: u64,
    /// Packages.
    pub packages: u64,
    /// Facts, current and ended.
    pub facts: u64,
    /// Sessions.
    pub sessions: u64,
    /// Contents that are included.
    pub blobs_stored: u64,
    /// Contents that should be included.
    pub blobs_attempted: u64,
    /// Records that are damaged on the server, and missing here.
    #[serde(skip_serializing_if = "is_zero")]
    pub damaged: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The manifest of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The program that wrote it.
    pub tool_version: String,
    /// `0.1`
    pub protocol_version: String,
    /// `1`
    pub backup_format_version: String,
    /// RFC 3339 UTC.
    pub backup_generated_at: String,
    /// Its projects.
    pub project_ids: Vec<String>,
    /// Its records in numbers.
    pub counts: BackupCounts,
    /// Contents that could not be fetched.
    #[serde(default)]
    pub blob_errors: Vec<serde_json::Value>,
}

impl Manifest {
    /// The manifest of a backup made now.
    pub(super) fn new(
        project_ids: Vec<String>,
        counts: &Counts,
        contents: &FetchedContents,
        now: String,
    ) -> Self {
        let Counts { projects, packages, facts, sessions, damaged } = *counts;
        let FetchedContents { attempted, stored, errors } = contents;
        let (blobs_attempted, blobs_stored) = (*attempted, *stored);
        Self {
            tool_version: format!("plenary {}", env!("CARGO_PKG_VERSION")),
            protocol_version: PROTOCOL.to_owned(),
            backup_format_version: FORMAT.to_owned(),
            backup_generated_at: now,
            project_ids,
            counts: BackupCounts {
                projects,
                packages,
                facts,
                sessions,
                blobs_stored,
                blobs_attempted,
                damaged,
            },
            blob_errors: errors.iter().map(|error| serde_json::json!(error)).collect(),
        }
    }

    /// Parses a manifest; rejects another format or protocol.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| {
            Error::Invalid(format!("{MANIFEST} is not the manifest of a backup: {error}"))
        })?;
        if manifest.backup_format_version != FORMAT {
            let found = &manifest.backup_format_version;
            return Err(Error::Invalid(format!(
                "the backup has format {found}; this program reads format {FORMAT}"
            )));
        }
        if !manifest.protocol_version.starts_with("0.") {
            let found = &manifest.protocol_version;
            return Err(Error::Invalid(format!("the backup has protocol {found}; this program reads 0.x")));
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ap_80_another_format_is_refused() {
        let manifest = Manifest::new(
            vec!["p".into()],
            &Counts::default(),
            &FetchedContents::default(),
            "2026-04-18T20:00:00Z".into(),
        );
        let text = |format: &str, protocol: &str| {
            let manifest = Manifest {
                backup_format_version: format.into(),
                protocol_version: protocol.into(),
                ..manifest.clone()
            };
            Manifest::read(&serde_json::to_vec(&manifest).unwrap())
        };
        assert_eq!(text("1", "0.1").unwrap(), manifest);
        assert!(text("1", "0.2").is_ok());
        assert!(text("2", "0.1").is_err());
        assert!(text("1", "1.0").is_err());
        assert!(Manifest::read(b"{}").is_err());
    }
}
