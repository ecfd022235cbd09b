//! schemathesis, which tests a server with the requests that its description allows and forbids, and a
//! validator of such descriptions; both from PyPI.
//! Must not know: the tests.

use anyhow::Result;

use super::{Running, python::Packages};

/// The variable with its Python for tests. If it is already set, nothing is installed.
pub(super) const VARIABLE: &str = "PLENARY_TEST_SCHEMATHESIS";

const PACKAGES: Packages = Packages {
    name: "schemathesis",
    variable: VARIABLE,
    directory: "schemathesis",
    requirements: &["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"],
    constraints: include_str!("../../schemathesis-constraints.txt"),
    bare: false,
    size: "about 110 MB on disk, some seconds",
};

/// Installs it if it is missing or outdated.
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
