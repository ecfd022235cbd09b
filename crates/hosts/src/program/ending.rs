//! The description of a program's unexpected end, for people.
//! Must not know: the expected end.

use std::time::Duration;

use tokio::{process::Child, time::timeout};

use super::{process::Group, stderr::StderrTail};

/// How long a program that closed its output may take to end.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_secs(2);

/// How a program that closed its output ended, with the last line of its standard error.
pub(crate) async fn describe(child: &mut Child, group: &Group, stderr: StderrTail, without: &str) -> String {
    let ended = timeout(EXIT_AFTER_OUTPUT, child.wait()).await;
    if matches!(ended, Ok(Ok(_))) {
        group.ended()
    } else {
        group.kill()
    }
    let last_line = stderr.last().await;
    let how = match ended {
        Ok(Ok(status)) if group.could_not_start(status) && !last_line.is_empty() => return last_line,
        Ok(Ok(status)) => group.end_of(status),
        Ok(Err(error)) => format!("could not be waited for: {error}"),
        Err(_) => "closed its output and went on".into(),
    };
    let last = if last_line.is_empty() { String::new() } else { format!("; it last wrote: {last_line}") };
    format!("the program {how} without {without}{last}")
}
