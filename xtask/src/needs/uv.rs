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

/// What is there once it is installed.
pub(crate) struct Tools {
    /// Can make virtual environments.
    pub(crate) python: PathBuf,
    /// Runs a program of a package that is not installed.
    pub(crate) uvx: PathBuf,
}

/// Installs it when it is absent, or another release than the one wanted.
pub(crate) fn ensure() -> Result<Tools> {
    PACKAGES.ensure()?;
    let python = PathBuf::from(PACKAGES.installed()?.url);
    let uvx = python.parent().context("a Python in no directory")?.join("uvx");
    Ok(Tools { python, uvx })
}
