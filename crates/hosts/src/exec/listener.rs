//! A program's standard output, passed on line by line until its RunCompleted.
//! Must not know: processes.

use plenary_runs::{EmitError, Event, Output, ProgramMessage, RunEnd, RunRequest};
use tokio::io::AsyncRead;

use crate::{
    program::lines::{LINE_BYTES_MAX, Line, Lines},
    protocol::{self, InvalidLines, LineFault},
};

/// Reads the output of one program for one run.
pub(super) struct Listener<R> {
    lines: Lines<R>,
    output: Output,
    run_id: String,
    invalid_lines: InvalidLines,
}

impl<R: AsyncRead + Unpin> Listener<R> {
    pub(super) fn new(lines: Lines<R>, output: Output, request: &RunRequest) -> Self {
        Self {
            lines,
            output,
            run_id: request.run_id.to_string(),
            invalid_lines: InvalidLines::new(request.agent.clone(), format!("run {}", request.run_id)),
        }
    }

    /// Passes events on until the run's end; `None` if the output ended without one.
    pub(super) async fn listen(&mut self) -> Option<RunEnd> {
        while let Some(line) = self.lines.next().await {
            if let Some(run_end) = self.handle_line(line).await {
                return Some(run_end);
            }
        }
        None
    }

    /// A summary of the lines that were not events, for people.
    pub(super) fn invalid_lines(&self) -> String {
        self.invalid_lines.summary()
    }

    /// The rest of the output.
    pub(super) fn into_lines(self) -> Lines<R> {
        self.lines
    }

    async fn handle_line(&mut self, line: Line) -> Option<RunEnd> {
        let Line::Whole(line) = line else {
            self.invalid_lines.note("it is longer than an event can be", &[]);
            // It may have been an event, so the run shows that something is missing.
            let mib = LINE_BYTES_MAX >> 20;
            let error =
                format!("a line of the agent over {mib} MiB was dropped; a larger artifact needs a `url`");
            return self.emit(Event::tool_error(&error)).await;
        };
        if line.trim_ascii().is_empty() {
            return None;
        }
        match self.read(&line) {
            Ok(ProgramMessage::Event(event)) => self.emit(event).await,
            Ok(ProgramMessage::Ended(run_end)) => Some(run_end),
            Ok(ProgramMessage::Started) => None,
            Err(LineFault::TooLarge(error)) => Some(RunEnd::error(error)),
            Err(LineFault::NoEvent(error)) => {
                self.invalid_lines.note(&error, &line);
                None
            }
        }
    }

    async fn emit(&mut self, event: Event) -> Option<RunEnd> {
        match self.output.emit(event).await {
            Ok(()) => None,
            // If the event were skipped, the output of the run would be incomplete.
            Err(fault @ EmitError::TooLarge) => Some(RunEnd::error(fault.to_string())),
            // The room decides how this run ends.
            Err(EmitError::Over) => Some(RunEnd::canceled()),
        }
    }

    fn read(&self, line: &[u8]) -> Result<ProgramMessage, LineFault> {
        if protocol::line_run(line)?.is_some_and(|run_id| run_id.as_deref() != Some(self.run_id.as_str())) {
            return Err(LineFault::NoEvent("it names another run".into()));
        }
        protocol::read(line)
    }
}
