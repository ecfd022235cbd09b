//! `[files]` in `plenary.toml`: the maximum size of message files, and the retention of files that no message names.
//! Must not know: where they are stored.

use anyhow::bail;
use plenary_hosts::time_text;
use plenary_sessions::files::{FILE_BYTES_MAX, FILE_UNNAMED_MS_MAX};
use serde::Deserialize;

use crate::duration::parse_duration;

/// The table; an absent value has its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FilesTable {
    /// Maximum size of a file in bytes [default: 64 MiB]
    bytes_max: Option<u64>,
    /// How long a file is kept that no message references [default: 720h]
    #[serde(deserialize_with = "time_text")]
    unnamed_max: Option<String>,
}

/// The limits of files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Files {
    pub(super) bytes_max: u64,
    pub(super) unnamed_ms_max: u64,
}

impl Default for Files {
    fn default() -> Self {
        Self { bytes_max: FILE_BYTES_MAX, unnamed_ms_max: FILE_UNNAMED_MS_MAX }
    }
}

impl FilesTable {
    pub(super) fn checked(&self) -> anyhow::Result<Files> {
        let default = Files::default();
        let unnamed = self.unnamed_max.as_deref().map(parse_duration).transpose();
        let unnamed = unnamed.map_err(|why| anyhow::anyhow!("`unnamed_max` in [files]: {why}"))?;
        let unnamed_ms_max = match unnamed {
            None => default.unnamed_ms_max,
            Some(time) => u64::try_from(time.as_millis())?,
        };
        if unnamed_ms_max == 0 || self.bytes_max == Some(0) {
            bail!("`unnamed_max` and `bytes_max` in [files] must be more than 0");
        }
        Ok(Files { bytes_max: self.bytes_max.unwrap_or(default.bytes_max), unnamed_ms_max })
    }
}
