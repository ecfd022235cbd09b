//! Opens the user's browser.
//! Must not know: the target of a link.

use std::{
    io,
    process::{Command, Stdio},
};

/// The program that opens links.
pub const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens a link. Other users can see it for a moment in the program's arguments; a link of the console is worthless once
/// the browser has used it.
///
/// # Errors
/// The program cannot be started.
pub fn open(url: &str) -> io::Result<()> {
    let mut opener = Command::new(OPENER);
    opener.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    opener.spawn().map(drop)
}
