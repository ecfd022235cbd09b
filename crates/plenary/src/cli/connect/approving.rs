//! The approval of Qwen Code: it starts the server of a directory once its person has approved this very entry.
//! Must not know: where it writes that down.

use std::{path::Path, process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

use super::SERVER;

/// A Qwen Code that has not ended by then asks its person.
const WITHIN: Duration = Duration::from_secs(20);

/// Lets it approve our server in a directory; whether it did.
pub(super) async fn approve(program: &str, directory: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(["mcp", "approve", SERVER]).current_dir(directory).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    matches!(timeout(WITHIN, command.status()).await, Ok(Ok(status)) if status.success())
}
