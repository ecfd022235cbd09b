//! The messages between the server and an agent: JSON objects, one per line or frame (wire.md D.8).
//! Must not know: the transport.

mod artifact;
pub(crate) mod frames;

use std::{borrow::Cow, sync::Arc};

use plenary_kernel::json::{JsonFault, check};
use plenary_runs::{NotAnEvent, ProgramMessage, RunRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

/// Most lines of one run that are no events and stand in the log each; of the others only the number does.
const FOREIGN_LINES_LOGGED_MAX: u64 = 10;

/// How much of such a line stands in the log, in characters.
const FOREIGN_LINE_CHARS_MAX: usize = 200;

/// For the agent, about a run that goes on.
#[derive(Serialize)]
struct AgentNotice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_keys: Option<&'a Map<String, Value>>,
    run_id: String,
    thread_id: String,
}

/// The caller's answer.
pub(crate) fn resume(request_keys: &Map<String, Value>, request: &RunRequest) -> String {
    notice("ResumeWithInput", Some(request_keys), request)
}

/// That the run is to stop.
pub(crate) fn cancel(request: &RunRequest) -> String {
    notice("CancelRequest", None, request)
}

fn notice(kind: &'static str, request_keys: Option<&Map<String, Value>>, request: &RunRequest) -> String {
    let (run_id, thread_id) = (request.run_id.to_string(), request.thread_id.to_string());
    let told = AgentNotice { kind, request_keys, run_id, thread_id };
    serde_json::to_string(&told).expect("names of members are text")
}

/// Of a line, what says whose it is.
#[derive(Deserialize)]
struct LineRun<'a> {
    #[serde(borrow, default)]
    run_id: Option<&'a RawValue>,
}

/// Which run a line names; `Some(None)` when that is not a text.
pub(crate) fn whose(line: &[u8]) -> Result<Option<Option<String>>, Cow<'static, str>> {
    match check(line) {
        Ok(()) => {}
        // Large integers and NUL a program may say, since every reader of JSON reads them; nothing else that is odd,
        // which may stand behind them.
        Err(JsonFault::IntegerTooLarge { .. } | JsonFault::Nul { .. }) => {
            serde_json::from_slice::<Value>(line).map_err(|error| error.to_string())?;
        }
        Err(fault) => return Err(fault.to_string().into()),
    }
    let whose: LineRun<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    Ok(whose.run_id.map(|named| serde_json::from_str(named.get()).ok()))
}

/// Why a line is not handed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotSaid {
    /// It is no event.
    NoEvent(Cow<'static, str>),
    /// It is one that is larger than an event may be: left out, it would be missing in what the run came to.
    TooLarge(String),
}

impl From<Cow<'static, str>> for NotSaid {
    fn from(why: Cow<'static, str>) -> Self {
        Self::NoEvent(why)
    }
}

/// What a line says.
pub(crate) fn read(line: &[u8]) -> Result<ProgramMessage, NotSaid> {
    if let Some(event) = artifact::read(line)? {
        return Ok(ProgramMessage::Event(event));
    }
    ProgramMessage::read(line).map_err(|fault| match fault {
        NotAnEvent::TooLarge(_) => {
            NotSaid::TooLarge(format!("The agent said more at once than it may: {fault}."))
        }
        NotAnEvent::NotAnObject | NotAnEvent::UnknownType | NotAnEvent::Member(_) => {
            NotSaid::NoEvent(fault.to_string().into())
        }
    })
}

/// Lines that are no events: logged and ignored (wire.md D.8).
#[derive(Debug)]
pub(crate) struct Foreign {
    agent: Arc<str>,
    of: String,
    lines: u64,
    /// Why the last one was none.
    last: String,
}

impl Foreign {
    /// Of an agent, and of one of its runs or instances.
    pub(crate) fn new(agent: Arc<str>, of: String) -> Self {
        Self { agent, of, lines: 0, last: String::new() }
    }

    /// Of one run.
    pub(crate) fn of_run(request: &RunRequest) -> Self {
        Self::new(request.agent.clone(), format!("run {}", request.run_id))
    }

    /// What is to be said of them at the end of a run, for people; empty when there were none.
    pub(crate) fn in_words(&self) -> String {
        match self.lines {
            0 => String::new(),
            1 => format!("; a line of it was no event: {}", self.last),
            lines => format!("; {lines} lines of it were no events, the last: {}", self.last),
        }
    }

    /// Notes one.
    pub(crate) fn note(&mut self, why: &str, line: &[u8]) {
        self.lines += 1;
        self.last = why.to_owned();
        if self.lines <= FOREIGN_LINES_LOGGED_MAX {
            let text = excerpt(line);
            tracing::warn!(agent = %self.agent, of = self.of, why, line = text, "a line of an agent is not an event");
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let more = self.lines.saturating_sub(FOREIGN_LINES_LOGGED_MAX);
        if more > 0 {
            tracing::warn!(agent = %self.agent, of = self.of, more, "further lines of an agent were not events");
        }
    }
}

/// The beginning of a line, harmless in a log.
pub(crate) fn excerpt(line: &[u8]) -> String {
    let head = &line[..line.len().min(4 * FOREIGN_LINE_CHARS_MAX)];
    String::from_utf8_lossy(head).chars().take(FOREIGN_LINE_CHARS_MAX).map(visible).collect()
}

fn visible(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}
