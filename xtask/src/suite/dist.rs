//! The stage of the packages: each is made from the binary of the tests, and tried from an empty home.
//! Must not know: what is in a package, or what its test does.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use super::fresh;
use crate::{console, dist, needs, process, workspace};

/// What is tried, in order: a script of `packaging/tests` for each.
const TESTS: &[&str] = &["installer", "sbom", "wheel", "npm", "clients", "deb", "image"];
/// What a script says to the person who runs the tests.
const TOLD: &str = "TOLD: ";

/// Makes the packages and tries them.
pub(super) fn run(root: &Path, binary: &Path) -> Result<()> {
    let target = workspace::metadata(root)?.target_directory;
    let (packages, small) = (target.join("packages-tested"), target.join("packages-tested-binary"));
    // A binary of the tests is mostly what a debugger reads.
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

/// Tries packages that are made already.
pub(crate) fn attempt(root: &Path, packages: &Path, tests: &[&str]) -> Result<()> {
    let uv = needs::uv::ensure()?;
    let network = fresh::network();
    if !network {
        console::say("    no network of its own can be had: port 7420 of this machine must be free");
    }
    let told = [("PACKAGES", packages), ("PYTHON", &*uv.python), ("UVX", &*uv.uvx)];
    for test in tests {
        let script = fs::read_to_string(root.join("packaging/tests").join(format!("{test}.sh")))?;
        let said = fresh::run(test, &script, None, network, &told)
            .with_context(|| format!("packaging/tests/{test}.sh failed"))?;
        console::say(&format!("    {test}: tried"));
        for line in said.lines().filter_map(|line| line.strip_prefix(TOLD)) {
            console::say(&format!("        {line}"));
        }
    }
    Ok(())
}
