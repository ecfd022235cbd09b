//! Streams that a command follows: their end, notes on the connection, and lines on standard output.
//! Must not know: the events.

use std::{io, time::Duration};

use plenary_client::{Error, Signal};

use super::failure::Failure;
use crate::{interrupts::Interrupts, out::Out};

/// Works until Ctrl-C or SIGTERM, which is no failure.
pub(crate) async fn until_interrupted(
    work: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    let mut interrupts = Interrupts::new().map_err(|error| Failure::signals(&error))?;
    tokio::select! {
        outcome = work => outcome,
        () = interrupts.next() => Ok(()),
    }
}

/// Prints each event that `line` gives a line, until Ctrl-C. Says `opened` when the stream is open.
pub(crate) async fn follow<E>(
    out: Out,
    mut next: impl AsyncFnMut() -> Result<Signal<E>, Error>,
    opened: &str,
    line: impl Fn(&E) -> Option<String>,
) -> Result<(), Failure> {
    let following = async {
        loop {
            match next().await? {
                Signal::Opened => out.note(opened),
                Signal::Event(event) => {
                    if let Some(line) = line(&event) {
                        print(move || out.line(&line)).await?;
                    }
                }
                Signal::Keepalive => {}
                Signal::Unreadable(error) => note_unreadable(out, &error),
                Signal::Lost { reason, retry_in } => note_lost(out, &reason, retry_in),
            }
        }
    };
    until_interrupted(following).await
}

/// Notes that an event was left out.
pub(crate) fn note_unreadable(out: Out, error: &Error) {
    out.note(&format!("passed over: {error}"));
}

/// Notes that the stream was lost.
pub(crate) fn note_lost(out: Out, reason: &str, retry_in: Duration) {
    out.note(&format!("not connected: {reason}; reconnecting in {:.1} s", retry_in.as_secs_f32()));
}

/// Prints on a blocking thread: a reader that has stopped reading must not keep signals from being handled.
pub(crate) async fn print(print: impl FnOnce() -> io::Result<()> + Send + 'static) -> Result<(), Failure> {
    let printed = tokio::task::spawn_blocking(print).await;
    Ok(printed.map_err(|error| Failure::local(format!("printing failed: {error}")))??)
}
