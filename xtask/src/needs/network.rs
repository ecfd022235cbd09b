//! The tools that create private networks for tests, and cut them.
//! Must not know: the programs in these networks.

use std::process::Command;

use anyhow::{Context, Result};

use super::apt;
use crate::process;

/// Installs `ip` and `nft` if one of them is missing.
pub(crate) fn ensure() -> Result<()> {
    let answers = |tool: &str, flag: &str| process::succeeds(Command::new(tool).arg(flag));
    if answers("ip", "-Version") && answers("nft", "--version") {
        return Ok(());
    }
    apt::install(&["iproute2", "nftables"]).context("three nodes are tested on networks of their own")
}
