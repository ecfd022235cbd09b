//! `[links]` in `plenary.toml`: how this server connects to other networks.
//! Must not know: the other networks.

use std::path::PathBuf;

use plenary_links::Config;
use serde::Deserialize;

use super::source::Source;

/// The table; an absent value has its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LinksTable {
    /// Whether networks at private addresses and over `http` are allowed [default: false]
    private_addresses: bool,
    /// Certificate authorities instead of the system's
    ca_file: Option<PathBuf>,
}

impl LinksTable {
    /// Resolves a relative path from the directory of the file.
    pub(super) fn config(self, source: &Source) -> Config {
        let ca_file = self.ca_file.map(|path| source.resolve(path));
        Config { private_addresses: self.private_addresses, ca_file }
    }
}
