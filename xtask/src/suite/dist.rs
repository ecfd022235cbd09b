//! The stage of the packages: each is made from the binary of the tests, and tested from an empty home.
//! Must not know: the content of a package, or its test.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use super::fresh;
use crate::{console, dist, needs, process, workspace};

/// The tests, in order: a script of `packaging/tests` for each.
const TESTS: &[&str] = &["installer", "sbom", "wheel", "npm", "clients", "deb", "image"];
/// The prefix of a script's message to the user.
const NOTE_PREFIX: &str = "TOLD: ";

/// Makes the packages and tries them.
pub(super) fn run(root: &Path, binary: &Path) -> Result<()> {
    let target = workspace::metadata(root)?.target_directory;
    let (packages, small) = (target.join("packages-tested"), target.join("packages-tested-binary"));
    // A test binary consists mostly of debug information.
    if !process::succeeds(Command::new("strip").arg("-o").arg(&small).arg(binary)) {
        fs::copy(binary, &small).with_context(|| format!("could not copy {}", binary.display()))?;
    }
    dist::run(&dist::Args {
        binary: Some(small.clone()),
        musl: false,
        out: Some(packages.clone()),
        url: None,
        maintainer: "Tests <tests@example.org>".into(),
        level: 1,
    })?;
    attempt(root, &packages, TESTS)?;
    fs::remove_dir_all(&packages)?;
    Ok(fs::remove_file(small)?)
}

/// Tests existing packages.
pub(crate) fn attempt(root: &Path, packages: &Path, tests: &[&str]) -> Result<()> {
    let uv = needs::uv::ensure()?;
    let network = fresh::network();
    if !network {
        console::print_line("    no network of its own can be had: port 7420 of this machine must be free");
    }
    let variables = [("PACKAGES", packages), ("PYTHON", &*uv.python), ("UVX", &*uv.uvx)];
    for test in tests {
        let script = fs::read_to_string(root.join("packaging/tests").join(format!("{test}.sh")))?;
        let output = fresh::run(test, &script, None, network, &variables)
            .with_context(|| format!("packaging/tests/{test}.sh failed"))?;
        console::print_line(&format!("    {test}: tried"));
        for line in output.lines().filter_map(|line| line.strip_prefix(NOTE_PREFIX)) {
            console::print_line(&format!("        {line}"));
        }
    }
    Ok(())
}
