//! Clients of the Model Context Protocol from npm, and a Node that runs them: the TypeScript SDK, the inspector, and the
//! conformance suite. Every release is pinned, with its digest, in `xtask/mcp-clients/package-lock.json`.
//! Must not know: what the tests do with them.

use anyhow::Result;

use super::{Running, npm::Packages};

/// The variable with the directory for tests.
pub(crate) const VARIABLE: &str = "PLENARY_TEST_MCP_NODE";

const PACKAGES: Packages = Packages {
    variable: VARIABLE,
    name: "the clients of MCP",
    size: "about 330 MB on disk, half a minute",
    directory: "mcp-clients",
    manifest: include_str!("../../mcp-clients/package.json"),
    lock: include_str!("../../mcp-clients/package-lock.json"),
};

/// Installs missing or outdated packages.
pub(crate) fn ensure() -> Result<()> {
    PACKAGES.ensure()
}

/// Starts no process; tests get the directory.
pub(crate) fn start() -> Result<Running> {
    PACKAGES.start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_is_pinned_by_its_digest_and_by_no_address() {
        assert!(PACKAGES.pins(&["0.2.0-alpha.11", "2.12.0", "1.32.2", "24.21.0"]));
    }
}
