//! The end of a program: after its RunCompleted, or without one.
//! Must not know: its earlier output.

use std::time::Duration;

use plenary_runs::RunEnd;
use tokio::{
    process::{Child, ChildStdout},
    time::timeout,
};

use crate::program::{exit_report, lines::Lines, process::Group, stderr::StderrTail};

/// How long a program may run after its RunCompleted, with its input closed.
const EXIT_AFTER_COMPLETION: Duration = Duration::from_secs(5);

/// The run is over: the program gets a short time to end by itself, in the background. Its further output is dropped
/// (wire.md D.8).
pub(super) fn finish_in_background(
    mut child: Child,
    group: Group,
    mut stdout: Lines<ChildStdout>,
    stderr: StderrTail,
) {
    tokio::spawn(async move {
        let exit = async {
            tokio::select! {
                _ = child.wait() => {}
                never = stdout.drain() => match never {},
            }
        };
        // Killed with its group in any case.
        let _ = timeout(EXIT_AFTER_COMPLETION, exit).await;
        drop((group, stderr));
    });
}

/// The end of a run whose program ended without a RunCompleted.
pub(super) async fn without_completion(
    mut child: Child,
    group: Group,
    stderr: StderrTail,
    invalid_lines: &str,
) -> RunEnd {
    let ending = exit_report::describe(&mut child, &group, stderr, "RunCompleted").await;
    RunEnd::error(format!("{ending}{invalid_lines}"))
}
