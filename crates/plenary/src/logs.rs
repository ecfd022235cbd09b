//! The log on standard error: JSON lines, or lines for people where a person looks at a terminal.
//! Must not know: who writes to it.

use std::io::{self, IsTerminal as _, Write};

use tracing_subscriber::{EnvFilter, fmt};

use crate::secrets;

/// A library that prints whole messages, which are nobody's business; no filter turns it on.
const SILENT: &str = "rmcp";

/// In which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object a line.
    Json,
    /// Lines for people.
    Text,
}

/// Begins the log; `PLENARY_LOG` filters it. Without a format it is text on a terminal, and JSON elsewhere.
pub(crate) fn begin(default: &str, format: Option<LogFormat>) {
    let asked = secrets::variable("PLENARY_LOG").unwrap_or_else(|| default.to_owned());
    let heard: Vec<&str> = asked.split(',').filter(|one| !one.trim().starts_with(SILENT)).collect();
    let filter = EnvFilter::try_new(heard.join(",")).unwrap_or_else(|_| default.into());
    let filter = match format!("{SILENT}=off").parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    };
    let otherwise = if io::stderr().is_terminal() { LogFormat::Text } else { LogFormat::Json };
    // Its own errors would be printed, and printing to a standard error that is closed panics.
    let logs = fmt().log_internal_errors(false).with_writer(|| Lossy(io::stderr())).with_env_filter(filter);
    let _ = match format.unwrap_or(otherwise) {
        LogFormat::Json => logs.json().with_span_list(false).try_init(),
        LogFormat::Text => logs.with_ansi(io::stderr().is_terminal()).try_init(),
    };
}

/// Takes everything, and loses what cannot be written: a full disk or a closed pipe is no reason to end.
struct Lossy<W>(W);

impl<W: Write> Write for Lossy<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _lost = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _lost = self.0.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn what_cannot_be_written_is_lost_and_nobody_hears_of_it() {
        let mut lossy = Lossy(Full);
        assert_eq!(lossy.write(b"line").unwrap(), 4);
        lossy.flush().unwrap();
    }
}
