//! uv from PyPI, which runs programs from wheels.
//! Must not know: which programs.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::python::Packages;

const PACKAGES: Packages = Packages {
    name: "uv",
    variable: "PLENARY_TEST_UV_PYTHON",
    directory: "uv",
    requirements: &["uv==0.13.9"],
    constraints: "uv==0.13.9\n",
    bare: false,
    size: "about 60 MB on disk, some seconds",
};

/// The installed programs.
pub(crate) struct Tools {
    /// The Python, which can create virtual environments.
    pub(crate) python: PathBuf,
    /// Runs a program of a package without installing it.
    pub(crate) uvx: PathBuf,
}

/// Installs it if it is missing or outdated.
pub(crate) fn ensure() -> Result<Tools> {
    PACKAGES.ensure()?;
    let python = PathBuf::from(PACKAGES.installed()?.url);
    let uvx = python.parent().context("a Python in no directory")?.join("uvx");
    Ok(Tools { python, uvx })
}
