//! An OpenID provider from npm, and a Node that runs it. Every release is pinned, with its digest, in
//! `xtask/openid-provider/package-lock.json`.
//! Must not know: what the tests do with it.

use anyhow::Result;

use super::{Running, npm::Packages};

/// The variable with the directory for tests.
pub(super) const VARIABLE: &str = "PLENARY_TEST_OPENID";

const PACKAGES: Packages = Packages {
    variable: VARIABLE,
    name: "the OpenID provider",
    size: "about 190 MB on disk, a quarter of a minute",
    directory: "openid-provider",
    manifest: include_str!("../../openid-provider/package.json"),
    lock: include_str!("../../openid-provider/package-lock.json"),
};

/// Installs it if it is missing or outdated.
pub(super) fn ensure() -> Result<()> {
    PACKAGES.ensure()
}

/// Starts no process; tests get the directory.
pub(super) fn start() -> Result<Running> {
    PACKAGES.start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_is_pinned_by_its_digest_and_by_no_address() {
        assert!(PACKAGES.pins(&["9.13.3", "24.21.0"]));
    }
}
