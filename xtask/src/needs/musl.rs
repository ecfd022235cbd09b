//! A C compiler for musl, and the standard library of Rust for it.
//! Must not know: what is built.

use std::process::Command;

use anyhow::{Context, Result};

use super::apt;
use crate::process;

/// Installs what is missing.
pub(crate) fn ensure(triple: &str) -> Result<()> {
    if !process::succeeds(Command::new("musl-gcc").arg("--version")) {
        apt::install(&["musl-tools"]).context("a static binary needs a C compiler for musl")?;
    }
    process::run(Command::new("rustup").args(["target", "add", triple]))
}
