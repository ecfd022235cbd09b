//! The Python SDK of the Model Context Protocol, from PyPI: a client that was not written here.
//! Must not know: what the tests do with it.

use anyhow::Result;

use super::{Running, python::Packages};

/// Where tests find its Python. When it is set already, nothing is installed.
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

/// Installs it when it is absent, or another release than the one wanted.
pub(super) fn ensure() -> Result<()> {
    PACKAGES.ensure()
}

/// Nothing runs; tests are told where it is.
pub(super) fn start() -> Result<Running> {
    PACKAGES.installed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requirements_are_among_the_constraints() {
        let pinned: Vec<&str> = PACKAGES.constraints.lines().collect();
        assert!(PACKAGES.requirements.iter().all(|wanted| pinned.contains(wanted)));
        assert!(pinned.iter().all(|line| line.contains("==")), "every release is pinned");
    }
}
