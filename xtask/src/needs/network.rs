//! The tools that make networks of the tests' own, and cut them.
//! Must not know: what is cut.

use std::process::Command;

use anyhow::{Context, Result};

use super::apt;
use crate::process;

/// Installs `ip` and `nft` where one of them is absent.
pub(crate) fn ensure() -> Result<()> {
    let answers = |tool: &str, flag: &str| process::succeeds(Command::new(tool).arg(flag));
    if answers("ip", "-Version") && answers("nft", "--version") {
        return Ok(());
    }
    apt::install(&["iproute2", "nftables"]).context("three nodes are tested on networks of their own")
}
