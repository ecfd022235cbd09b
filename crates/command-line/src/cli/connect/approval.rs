//! The approval of Qwen Code, which starts a directory's MCP server only after the user has approved that very entry.
//! Must not know: where Qwen Code stores the approval.

use std::{path::Path, process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

use super::SERVER;

/// The time limit for Qwen Code; after it, Qwen Code asks the user later.
const WITHIN: Duration = Duration::from_secs(20);

/// Makes Qwen Code approve our server in a directory; returns whether it did.
pub(super) async fn approve(program: &str, directory: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(["mcp", "approve", SERVER]).current_dir(directory).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    matches!(timeout(WITHIN, command.status()).await, Ok(Ok(status)) if status.success())
}
