//! The messages between the server and an agent: JSON objects, one per line or frame (wire.md D.8).
//! Must not know: the transport.

mod artifact;
pub(crate) mod frames;

use std::{borrow::Cow, sync::Arc};

use plenary_kernel::json::{JsonFault, check};
use plenary_runs::{InvalidEvent, ProgramMessage, RunRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// Most invalid lines of one run that are logged in full; the others are only counted.
const FOREIGN_LINES_LOGGED_MAX: u64 = 10;

/// Longest part of such a line in the log, in characters.
const FOREIGN_LINE_CHARS_MAX: usize = 200;

/// A message to the agent about an active run.
#[derive(Serialize)]
struct AgentNotice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_keys: Option<&'a RawValue>,
    run_id: String,
    thread_id: String,
}

/// The message with the caller's answer.
pub(crate) fn resume(request_keys: &RawValue, request: &RunRequest) -> String {
    notice("ResumeWithInput", Some(request_keys), request)
}

/// The message that the run is to stop.
pub(crate) fn cancel(request: &RunRequest) -> String {
    notice("CancelRequest", None, request)
}

fn notice(kind: &'static str, request_keys: Option<&RawValue>, request: &RunRequest) -> String {
    let (run_id, thread_id) = (request.run_id.to_string(), request.thread_id.to_string());
    let notice = AgentNotice { kind, request_keys, run_id, thread_id };
    serde_json::to_string(&notice).expect("names of members are text")
}

/// The part of a line that identifies its run.
#[derive(Deserialize)]
struct LineRun<'a> {
    #[serde(borrow, default)]
    run_id: Option<&'a RawValue>,
}

/// The run that a line names; `Some(None)` if its id is not text.
pub(crate) fn line_run(line: &[u8]) -> Result<Option<Option<String>>, Cow<'static, str>> {
    match check(line) {
        Ok(()) => {}
        // Large integers and NUL are accepted, since all JSON readers accept them; other faults are not, even after
        // one of these.
        Err(JsonFault::IntegerTooLarge { .. } | JsonFault::Nul { .. }) => {
            serde_json::from_slice::<Value>(line).map_err(|error| error.to_string())?;
        }
        Err(fault) => return Err(fault.to_string().into()),
    }
    let line_run: LineRun<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    Ok(line_run.run_id.map(|run_id| serde_json::from_str(run_id.get()).ok()))
}

/// Why a line is not passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineFault {
    /// It is not an event.
    NoEvent(Cow<'static, str>),
    /// It is an event beyond the size limit: if it were skipped, the output of the run would be incomplete.
    TooLarge(String),
}

impl From<Cow<'static, str>> for LineFault {
    fn from(error: Cow<'static, str>) -> Self {
        Self::NoEvent(error)
    }
}

/// Parses a line.
pub(crate) fn read(line: &[u8]) -> Result<ProgramMessage, LineFault> {
    if let Some(event) = artifact::read(line)? {
        return Ok(ProgramMessage::Event(event));
    }
    ProgramMessage::read(line).map_err(|fault| match fault {
        InvalidEvent::TooLarge(_) => {
            LineFault::TooLarge(format!("The agent said more at once than it may: {fault}."))
        }
        InvalidEvent::NotAnObject | InvalidEvent::UnknownType | InvalidEvent::Member(_) => {
            LineFault::NoEvent(fault.to_string().into())
        }
    })
}

/// Lines that are not events: logged and ignored (wire.md D.8).
#[derive(Debug)]
pub(crate) struct InvalidLines {
    agent: Arc<str>,
    context: String,
    lines: u64,
    last_fault: String,
}

impl InvalidLines {
    /// For an agent and one of its runs, threads or instances.
    pub(crate) fn new(agent: Arc<str>, context: String) -> Self {
        Self { agent, context, lines: 0, last_fault: String::new() }
    }

    /// A summary for the end of a run, for people; empty if there were no such lines.
    pub(crate) fn summary(&self) -> String {
        match self.lines {
            0 => String::new(),
            1 => format!("; a line of it was no event: {}", self.last_fault),
            lines => format!("; {lines} lines of it were no events, the last: {}", self.last_fault),
        }
    }

    /// Counts and logs an invalid line.
    pub(crate) fn note(&mut self, error: &str, line: &[u8]) {
        self.lines += 1;
        self.last_fault = error.to_owned();
        if self.lines <= FOREIGN_LINES_LOGGED_MAX {
            let text = excerpt(line);
            tracing::warn!(agent = %self.agent, of = self.context, why = error, line = text, "a line of an agent is not an event");
        }
    }
}

impl Drop for InvalidLines {
    fn drop(&mut self) {
        let more = self.lines.saturating_sub(FOREIGN_LINES_LOGGED_MAX);
        if more > 0 {
            tracing::warn!(agent = %self.agent, of = self.context, more, "further lines of an agent were not events");
        }
    }
}

/// The beginning of a line, escaped for the log.
pub(crate) fn excerpt(line: &[u8]) -> String {
    let head = &line[..line.len().min(4 * FOREIGN_LINE_CHARS_MAX)];
    String::from_utf8_lossy(head).chars().take(FOREIGN_LINE_CHARS_MAX).map(visible).collect()
}

fn visible(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}
