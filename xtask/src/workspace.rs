//! The location of the workspace, and Cargo's metadata.
//! Must not know: rules or stages.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The part of `cargo metadata` that the automation reads.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    /// Cargo's target directory.
    pub(crate) target_directory: PathBuf,
    /// Every package with its enabled features; absent if dependencies were left out.
    pub(crate) resolve: Option<Resolve>,
}

/// The resolved graph.
#[derive(Deserialize)]
pub(crate) struct Resolve {
    /// One node per package.
    pub(crate) nodes: Vec<Node>,
}

/// One package of the resolved graph.
#[derive(Deserialize)]
pub(crate) struct Node {
    /// A package id: `registry+https://…#serde_json@1.0.154`.
    pub(crate) id: String,
    /// The enabled features, in any build of the workspace.
    pub(crate) features: Vec<String>,
}

/// The workspace without its dependencies.
pub(crate) fn metadata(root: &Path) -> Result<Metadata> {
    read(root, &["metadata", "--format-version", "1", "--no-deps"])
}

/// The workspace with the packages of a build for this machine. Downloads those that are missing.
pub(crate) fn metadata_with_dependencies(root: &Path) -> Result<Metadata> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = process::output(std::process::Command::new(rustc).arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("`rustc -vV` does not name its host")?;
    read(root, &["metadata", "--format-version", "1", "--locked", "--filter-platform", host])
}

fn read(root: &Path, args: &[&str]) -> Result<Metadata> {
    let text = process::output(&mut process::cargo(root, args))?;
    serde_json::from_str(&text).context("`cargo metadata` printed something else than its format 1")
}
