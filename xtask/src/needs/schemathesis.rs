//! schemathesis, which asks a server everything that its description allows and forbids, and a validator of such
//! descriptions; both from PyPI.
//! Must not know: what the tests do with them.

use anyhow::Result;

use super::{Running, python::Packages};

/// Where tests find its Python. When it is set already, nothing is installed.
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
