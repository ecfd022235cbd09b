//! What a program says on its standard output, handed on line by line until its RunCompleted.
//! Must not know: processes.

use std::{borrow::Cow, sync::Arc};

use plenary_runs::{Ended, NotTaken, Output, RunRequest, Said};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::AsyncRead;

use super::{
    artifact,
    lines::{Line, Lines},
};

/// Most lines of one run that are no events and stand in the log each; of the others only the number does.
const FOREIGN_LINES_LOGGED_MAX: u64 = 10;

/// How much of such a line stands in the log, in characters.
const FOREIGN_LINE_CHARS_MAX: usize = 200;

/// Listens to one program for one run.
pub(super) struct Listener<R> {
    lines: Lines<R>,
    output: Output,
    run_id: String,
    foreign: Foreign,
}

/// Of a line, what says whose it is.
#[derive(Deserialize)]
struct Whose<'a> {
    #[serde(borrow, default)]
    run_id: Option<&'a RawValue>,
}

impl<R: AsyncRead + Unpin> Listener<R> {
    pub(super) fn new(lines: Lines<R>, output: Output, request: &RunRequest) -> Self {
        let run_id = request.run_id.to_string();
        let foreign = Foreign { agent: request.agent.clone(), run_id: run_id.clone(), lines: 0 };
        Self { lines, output, run_id, foreign }
    }

    /// Hands on events until the run's end; `None` when the output ended without one.
    pub(super) async fn listen(&mut self) -> Option<Ended> {
        while let Some(line) = self.lines.next().await {
            if let Some(ended) = self.heard(line).await {
                return Some(ended);
            }
        }
        None
    }

    /// What it would have said further.
    pub(super) fn into_lines(self) -> Lines<R> {
        self.lines
    }

    async fn heard(&mut self, line: Line) -> Option<Ended> {
        let Line::Whole(line) = line else {
            self.foreign.note("it is longer than an event can be", &[]);
            return None;
        };
        if line.trim_ascii().is_empty() {
            return None;
        }
        match self.read(&line) {
            Ok(Said::Event(event)) => match self.output.emit(event).await {
                Ok(()) => None,
                Err(NotTaken::TooLarge) => {
                    self.foreign.note("it is too large", &line);
                    None
                }
                // The room has its own word for this end.
                Err(NotTaken::Over) => Some(Ended::canceled()),
            },
            Ok(Said::Ended(ended)) => Some(ended),
            Ok(Said::Started) => None,
            Err(why) => {
                self.foreign.note(&why, &line);
                None
            }
        }
    }

    fn read(&self, line: &[u8]) -> Result<Said, Cow<'static, str>> {
        let whose: Whose<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let other = |named: &RawValue| serde_json::from_str(named.get()).ok() != Some(self.run_id.as_str());
        if whose.run_id.is_some_and(other) {
            return Err("it names another run".into());
        }
        if let Some(event) = artifact::read(line)? {
            return Ok(Said::Event(event));
        }
        Said::read(line).map_err(|fault| fault.to_string().into())
    }
}

/// Lines that are no events: logged and ignored (wire.md D.8).
struct Foreign {
    agent: Arc<str>,
    run_id: String,
    lines: u64,
}

impl Foreign {
    fn note(&mut self, why: &str, line: &[u8]) {
        self.lines += 1;
        if self.lines <= FOREIGN_LINES_LOGGED_MAX {
            let text = excerpt(line);
            tracing::warn!(agent = %self.agent, run = self.run_id, why, line = text, "a line of the program is no event");
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let more = self.lines.saturating_sub(FOREIGN_LINES_LOGGED_MAX);
        if more > 0 {
            tracing::warn!(agent = %self.agent, run = self.run_id, more, "further lines of the program were no events");
        }
    }
}

/// The beginning of a line, harmless in a log.
pub(super) fn excerpt(line: &[u8]) -> String {
    let head = &line[..line.len().min(4 * FOREIGN_LINE_CHARS_MAX)];
    String::from_utf8_lossy(head).chars().take(FOREIGN_LINE_CHARS_MAX).map(visible).collect()
}

fn visible(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}
