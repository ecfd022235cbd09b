//! A program's standard error: drained, so that it never blocks the program; logged, within limits; and its last part
//! kept to explain the program's end. It is never an event (wire.md D.8).
//! Must not know: how the program ends.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{io::AsyncRead, task::JoinHandle, time::timeout};

use super::lines::{Line, Lines};
use crate::protocol::excerpt;

/// Longest line that is kept, in bytes; a longer one is skipped.
const LINE_BYTES_MAX: usize = 8 << 10;

/// Most lines of one process in the log.
const LINES_LOGGED_MAX: u64 = 1_000;

/// How long to wait for the end of the stream after the program ended.
const END_OF_STREAM_TIME: Duration = Duration::from_millis(200);

/// The last part of a program's standard error.
#[derive(Debug)]
pub(crate) struct StderrTail {
    line: Arc<Mutex<String>>,
    draining: JoinHandle<()>,
}

/// Drains a stream in the background. `of` is the run or the thread that the process serves, for the log.
pub(crate) fn drain(
    stream: impl AsyncRead + Unpin + Send + 'static,
    agent: Arc<str>,
    context: String,
) -> StderrTail {
    let line = Arc::new(Mutex::new(String::new()));
    let last_line = line.clone();
    let draining = tokio::spawn(async move {
        let mut lines = Lines::bounded(stream, LINE_BYTES_MAX);
        let mut logged = 0;
        while let Some(line) = lines.next().await {
            let Line::Whole(line) = line else { continue };
            let text = excerpt(&line);
            if text.trim().is_empty() {
                continue;
            }
            if logged < LINES_LOGGED_MAX {
                logged += 1;
                tracing::info!(agent = %agent, of = context, line = text, "the program says");
            }
            *last_line.lock() = text;
        }
    });
    StderrTail { line, draining }
}

impl StderrTail {
    /// The last non-empty line, cut; empty if there is none.
    pub(crate) async fn last(mut self) -> String {
        // Child processes may hold the stream open.
        let _ = timeout(END_OF_STREAM_TIME, &mut self.draining).await;
        self.line.lock().clone()
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        // Nothing reads any more; a program that still runs may find its pipe closed.
        self.draining.abort();
    }
}
