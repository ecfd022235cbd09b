//! A C compiler for musl, and Rust's standard library for it.
//! Must not know: the program.

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
