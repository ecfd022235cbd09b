//! `[links]` in `plenary.toml`: how other networks are asked.
//! Must not know: which.

use std::path::PathBuf;

use plenary_links::Config;
use serde::Deserialize;

use super::source::Source;

/// The table; what is absent has its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LinksTable {
    /// Whether networks at addresses that are not public are asked too, and over `http` [default: false]
    private_addresses: bool,
    /// Certificate authorities in place of the system's
    ca_file: Option<PathBuf>,
}

impl LinksTable {
    /// A relative path in it is meant from where the file lies.
    pub(super) fn config(self, source: &Source) -> Config {
        let ca_file = self.ca_file.map(|path| source.resolve(path));
        Config { private_addresses: self.private_addresses, ca_file }
    }
}
