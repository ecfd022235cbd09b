//! Debian packages, installed if a program is missing.
//! Must not know: their purpose.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Installs packages with `apt-get`, as root or through `sudo` if that requires no password.
pub(super) fn install(packages: &[&str]) -> Result<()> {
    if !process::succeeds(Command::new("apt-get").arg("--version")) {
        bail!("this system has no apt-get; install {} by its own means", packages.join(", "));
    }
    let prefix =
        prefix().with_context(|| format!("install it by hand: apt-get install {}", packages.join(" ")))?;
    let apt = |args: &[&str]| {
        let mut parts = prefix.iter().copied().chain(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        let mut command = Command::new(parts.next().unwrap_or("env"));
        command.args(parts).args(args);
        process::run(&mut command)
    };
    apt(&["-q", "update"])?;
    let mut args = vec!["-q", "install", "-y", "--no-install-recommends"];
    args.extend(packages);
    apt(&args)
}

/// The prefix that runs a command as root.
fn prefix() -> Result<&'static [&'static str]> {
    if super::postgres::user_id(None)? == 0 {
        return Ok(&[]);
    }
    if process::succeeds(Command::new("sudo").args(["-n", "true"])) {
        return Ok(&["sudo", "-n"]);
    }
    bail!("neither root nor a sudo that asks for no password")
}
