//! The requirements of the tests of the console's pages: Debian's Chromium, its driver, and a Node.
//! Must not know: the tests.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{apt, mcp_node, npm};
use crate::process;

const LOCK: &str = include_str!("../../../tests/console/package-lock.json");
/// The variable that names another browser than Debian's.
const VARIABLE: &str = "CHROMIUM";
const CHROMIUM: &str = "/usr/bin/chromium";

/// Installs missing parts; returns the Node that runs the tests.
pub(crate) fn ensure(directory: &Path) -> Result<PathBuf> {
    mcp_node::ensure()?;
    npm::ensure_in(directory, LOCK, "what drives a browser (about 60 MB on disk)")?;
    let chromium = std::env::var(VARIABLE).unwrap_or_else(|_| CHROMIUM.to_owned());
    if !process::succeeds(Command::new(&chromium).arg("--version")) {
        apt::install(&["chromium"]).context("the console's pages are tested in it")?;
    }
    Ok(Path::new(&mcp_node::start()?.url).join("node"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_of_npm_is_pinned_by_its_digest_and_by_no_address() {
        assert!(LOCK.contains("\"integrity\": \"sha512-") && !LOCK.contains("\"resolved\""));
    }
}
