//! The end of a program: of one that has said all, and of one that ended without a word.
//! Must not know: what it said before.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use plenary_runs::Ended;
use tokio::{
    process::{Child, ChildStdout},
    time::timeout,
};

use super::{lines::Lines, process::Group, stderr::LastWords};

/// How long a program may go on after its RunCompleted, with its input closed.
const EXIT_AFTER_COMPLETION: Duration = Duration::from_secs(5);

/// How long a program that closed its output may take to end.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_secs(2);

/// The run is over; its program gets a little time to end by itself, beside whatever comes next. What it writes
/// meanwhile is dropped (wire.md D.8).
pub(super) fn let_go(mut child: Child, group: Group, mut said: Lines<ChildStdout>, heard: LastWords) {
    tokio::spawn(async move {
        let ended = async {
            tokio::select! {
                _ = child.wait() => {}
                never = said.drain() => match never {},
            }
        };
        // Killed with its group either way.
        let _ = timeout(EXIT_AFTER_COMPLETION, ended).await;
        drop((group, heard));
    });
}

/// What becomes of a run whose program said no RunCompleted.
pub(super) async fn without_completion(mut child: Child, group: Group, heard: LastWords) -> Ended {
    let ended = timeout(EXIT_AFTER_OUTPUT, child.wait()).await;
    drop(group);
    let how = match ended {
        Ok(Ok(status)) => end_of(status),
        Ok(Err(error)) => format!("could not be waited for: {error}"),
        Err(_) => "closed its output and went on".into(),
    };
    let words = heard.last().await;
    let last = if words.is_empty() { String::new() } else { format!("; it last wrote: {words}") };
    Ended::error(format!("the program {how} without RunCompleted{last}"))
}

fn end_of(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".into(),
    }
}
