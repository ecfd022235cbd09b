//! The Python SDK of the Model Context Protocol, from PyPI: an independent client.
//! Must not know: what the tests do with it.

use anyhow::Result;

use super::{Running, python::Packages};

/// The variable with its Python for tests. If it is already set, nothing is installed.
pub(super) const VARIABLE: &str = "PLENARY_TEST_MCP_PYTHON";

const PACKAGES: Packages = Packages {
    name: "the Python SDK of MCP",
    variable: VARIABLE,
    directory: "mcp-python",
    requirements: &["mcp==2.3.0"],
    constraints: include_str!("../../mcp-constraints.txt"),
    bare: false,
    size: "about 70 MB on disk, some seconds",
};

/// Installs the package if it is missing or outdated.
pub(super) fn ensure() -> Result<()> {
    PACKAGES.ensure()
}

/// Starts no process; tests get the path.
pub(super) fn start() -> Result<Running> {
    PACKAGES.installed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requirements_are_among_the_constraints() {
        let pinned: Vec<&str> = PACKAGES.constraints.lines().collect();
        assert!(PACKAGES.requirements.iter().all(|required| pinned.contains(required)));
        assert!(pinned.iter().all(|line| line.contains("==")), "every release is pinned");
    }
}
