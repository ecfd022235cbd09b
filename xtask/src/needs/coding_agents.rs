//! Coding agents from npm, and the Node that runs their tests. Every release is pinned, with its digest, in
//! `tests/coding-agents/package-lock.json`.
//! Must not know: what the tests do with them.

use std::path::PathBuf;

use anyhow::Result;

use super::npm::Packages;

/// The variable with the directory for tests.
pub(crate) const VARIABLE: &str = "PLENARY_TEST_CODING_AGENTS";

const PACKAGES: Packages = Packages {
    variable: VARIABLE,
    name: "the coding agents",
    size: "about 1.9 GB on disk, two minutes",
    directory: "coding-agents",
    manifest: include_str!("../../../tests/coding-agents/package.json"),
    lock: include_str!("../../../tests/coding-agents/package-lock.json"),
};

/// Installs missing or outdated packages; returns their directory.
pub(crate) fn ensure() -> Result<PathBuf> {
    PACKAGES.ensure()?;
    Ok(PACKAGES.start()?.url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_is_pinned_by_its_digest_and_by_no_address() {
        assert!(PACKAGES.pins(&[
            "2.1.330", "0.169.0", "0.61.0", "1.18.33", "7.7.9", "0.24.4", "2.1.0", "1.0.102", "24.21.0",
        ]));
    }
}
