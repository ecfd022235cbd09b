//! The Rust tools beside the compiler: rustfmt, Clippy, cargo-deny.
//! Must not know: what they are run on.

use std::{path::Path, process::Command};

use anyhow::{Context, Result};

use crate::process;

/// The release of cargo-deny that is installed if it is missing; `deny.toml` was written for it.
const DENY_VERSION: &str = "0.20.2";

/// Makes sure that `cargo fmt` and `cargo clippy` run.
pub(crate) fn ensure_components(root: &Path) -> Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if process::succeeds(&mut process::cargo(root, &[subcommand, "--version"])) {
            continue;
        }
        process::run(Command::new("rustup").args(["component", "add", component])).with_context(|| {
            format!("`cargo {subcommand}` is absent: install {component} beside the Rust toolchain, then try again")
        })?;
    }
    Ok(())
}

/// Makes sure that `cargo deny` runs. It is built without optimization: an optimized build takes longer
/// than all its checks.
pub(crate) fn ensure_deny(root: &Path) -> Result<()> {
    if process::succeeds(&mut process::cargo(root, &["deny", "--version"])) {
        return Ok(());
    }
    let args = ["install", "--debug", "--locked", "cargo-deny", "--version", DENY_VERSION];
    process::run(process::cargo(root, &args).env("CARGO_PROFILE_DEV_DEBUG", "0"))
}
