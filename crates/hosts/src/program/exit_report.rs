//! The description of a program's unexpected end, for people.
//! Must not know: the expected end.

use std::time::Duration;

use tokio::{process::Child, time::timeout};

use super::{process::Group, stderr::StderrTail};

/// How long a program that closed its output may take to end.
const EXIT_AFTER_OUTPUT: Duration = Duration::from_secs(2);

/// How a program that closed its output ended, with the last line of its standard error.
pub(crate) async fn describe(
    child: &mut Child,
    group: &Group,
    stderr: StderrTail,
    missing_output: &str,
) -> String {
    let exit = timeout(EXIT_AFTER_OUTPUT, child.wait()).await;
    if matches!(exit, Ok(Ok(_))) {
        group.note_exit()
    } else {
        group.kill()
    }
    let last_line = stderr.last().await;
    let ending = match exit {
        Ok(Ok(status)) if group.could_not_start(status) && !last_line.is_empty() => return last_line,
        Ok(Ok(status)) => group.end_of(status),
        Ok(Err(error)) => format!("could not be waited for: {error}"),
        Err(_) => "closed its output and went on".into(),
    };
    let last_words =
        if last_line.is_empty() { String::new() } else { format!("; it last wrote: {last_line}") };
    format!("the program {ending} without {missing_output}{last_words}")
}
