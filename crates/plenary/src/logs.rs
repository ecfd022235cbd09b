//! The log on standard error: JSON lines, or plain lines on a terminal. A writer never waits for the reader: lines
//! are queued, and lines beyond the queue are dropped and counted.
//! Must not know: the writers.

use std::{
    io::{self, IsTerminal as _, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use plenary_telemetry::SpanScope;
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    EnvFilter,
    filter::LevelFilter,
    fmt,
    fmt::{
        FmtContext,
        format::{FormatEvent, FormatFields, Writer},
    },
    registry::LookupSpan,
};

use crate::{out::Out, secrets};

/// A library that logs whole messages, which are private; no filter turns it on.
const SILENT: &str = "rmcp";

/// Maximum number of queued lines; further ones are dropped.
const LINES_MAX: usize = 16_384;
/// Maximum size of the queued lines in bytes; lines beyond it are dropped.
const BYTES_MAX: usize = 8 << 20;
/// How long an ending process waits for the last lines to be written.
const LAST_LINES: Duration = Duration::from_millis(500);

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object a line.
    Json,
    /// Lines for people.
    Text,
}

/// The log of this process. Dropping it waits a moment for the last lines.
pub(crate) struct Logs {
    queue: Queue,
    format: LogFormat,
}

impl Logs {
    /// Prints a note for the person who starts the server; in a log of JSON it is a line of the log.
    pub(crate) fn note(&self, out: &Out, text: &str) {
        match self.format {
            LogFormat::Json => tracing::info!("{text}"),
            LogFormat::Text => out.note(text),
        }
    }
}

/// The variable that filters the log.
const FILTER: &str = "PLENARY_LOG";

/// Refuses a value of `PLENARY_LOG` that would silence the log: the filter takes a misspelled level as the name of a
/// program part.
pub(crate) fn check_filter() -> anyhow::Result<()> {
    let filter = secrets::variable(FILTER).unwrap_or_default();
    if is_filter(&filter) {
        return Ok(());
    }
    anyhow::bail!(
        "{FILTER} is `{filter}`: write a level (off, error, warn, info, debug or trace), or a list of levels of parts, e.g. \
         info,plenary_sessions=debug"
    )
}

fn is_filter(text: &str) -> bool {
    let is_level = |one: &str| match one.rsplit_once('=') {
        None => one.parse::<LevelFilter>().is_ok(),
        Some((part, level)) => !part.is_empty() && level.parse::<LevelFilter>().is_ok(),
    };
    directives(text).all(is_level) && EnvFilter::try_new(without_silent(text)).is_ok()
}

fn directives(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|one| !one.is_empty())
}

/// The filter without the library that stays silent.
fn without_silent(text: &str) -> String {
    directives(text).filter(|one| !one.starts_with(SILENT)).collect::<Vec<_>>().join(",")
}

/// Begins the log; `PLENARY_LOG` filters it. Without a format it is text on a terminal, and JSON elsewhere.
pub(crate) fn begin(default: &str, format: Option<LogFormat>) -> io::Result<Logs> {
    let text = secrets::variable(FILTER).unwrap_or_else(|| default.to_owned());
    let filter = EnvFilter::try_new(without_silent(&text)).unwrap_or_else(|_| default.into());
    let filter = match format!("{SILENT}=off").parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    };
    let otherwise = if io::stderr().is_terminal() { LogFormat::Text } else { LogFormat::Json };
    let format = format.unwrap_or(otherwise);
    let (queue, lines) = Queue::new();
    thread::Builder::new().name("logs".to_owned()).spawn(move || lines.write_to(Lossy(io::stderr())))?;
    let writer = queue.clone();
    // The subscriber would print its own errors, and printing to a closed standard error panics.
    let logs = fmt().log_internal_errors(false).with_writer(move || writer.clone()).with_env_filter(filter);
    let _ = match format {
        LogFormat::Json => logs.json().map_event_format(|lines| WithRequest { lines, format }).try_init(),
        LogFormat::Text => {
            let is_ansi = io::stderr().is_terminal();
            logs.with_ansi(is_ansi).map_event_format(|lines| WithRequest { lines, format }).try_init()
        }
    };
    // The default hook prints directly, and so waits for the reader.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    Ok(Logs { queue, format })
}

/// Adds to a line the request whose handler wrote it, if requests are recorded as spans. Only then it costs anything.
struct WithRequest<L> {
    lines: L,
    format: LogFormat,
}

impl<S, N, L> FormatEvent<S, N> for WithRequest<L>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    L: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let Some(scope) = plenary_telemetry::current_scope() else {
            return self.lines.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.lines.format_event(context, Writer::new(&mut line), event)?;
        writer.write_str(&with_request(line.trim_end(), self.format, &scope))
    }
}

fn with_request(line: &str, format: LogFormat, scope: &SpanScope) -> String {
    let (operation, trace) = (scope.operation(), scope.own().trace_id());
    match (format, line.strip_suffix('}')) {
        (LogFormat::Json, Some(open)) => format!(
            "{open},\"span\":{{\"operation\":\"{operation}\",\"trace_id\":\"{trace}\",\"name\":\"request\"}}}}\n"
        ),
        (LogFormat::Json | LogFormat::Text, _) => format!("{line} operation={operation} trace_id={trace}\n"),
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        let (confirm, written) = sync_channel(1);
        // If the queue is full, nobody reads.
        if self.queue.lines.try_send(Line::Flush(confirm)).is_ok() {
            let _late = written.recv_timeout(LAST_LINES);
        }
    }
}

enum Line {
    Bytes(Vec<u8>),
    /// A request to confirm that every earlier line is written.
    Flush(SyncSender<()>),
}

/// The sending end of the queue; each write is one line.
#[derive(Clone)]
struct Queue {
    lines: SyncSender<Line>,
    waiting: Arc<Backlog>,
}

#[derive(Default)]
struct Backlog {
    bytes: AtomicUsize,
    /// The number of dropped lines since the start.
    lost: AtomicU64,
}

/// The receiving end of the queue.
struct Lines {
    lines: Receiver<Line>,
    waiting: Arc<Backlog>,
}

impl Queue {
    fn new() -> (Self, Lines) {
        let (sender, receiver) = sync_channel(LINES_MAX);
        let waiting = Arc::new(Backlog::default());
        (Self { lines: sender, waiting: waiting.clone() }, Lines { lines: receiver, waiting })
    }

    fn enqueue(&self, line: &[u8]) -> bool {
        let before = self.waiting.bytes.fetch_add(line.len(), Ordering::Relaxed);
        let has_room = before.saturating_add(line.len()) <= BYTES_MAX;
        let is_queued = has_room && self.lines.try_send(Line::Bytes(line.to_vec())).is_ok();
        if !is_queued {
            self.waiting.bytes.fetch_sub(line.len(), Ordering::Relaxed);
        }
        is_queued
    }
}

impl Write for Queue {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.enqueue(bytes) {
            self.waiting.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Writes until every sender is dropped. Reports the number of dropped lines as soon as the queue has room again.
    fn write_to(self, mut out: impl Write) {
        let mut reported = 0;
        while let Ok(line) = self.lines.recv() {
            match line {
                Line::Bytes(bytes) => {
                    let _lost = out.write_all(&bytes);
                    self.waiting.bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
                }
                Line::Flush(confirm) => drop(confirm.try_send(())),
            }
            let lost = self.waiting.lost.load(Ordering::Relaxed);
            if lost != reported {
                reported = lost;
                tracing::warn!(lost, "log lines were lost, because the log was not read fast enough");
            }
        }
    }
}

/// A writer that drops what cannot be written: a full disk or a closed pipe must not end the process.
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
    use plenary_telemetry::TraceParent;

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
    fn a_filter_names_levels() {
        for text in ["", "info", "OFF", "warn, plenary_sessions=debug", "plenary_edge::guard=trace,info"] {
            assert!(is_filter(text), "{text}");
        }
        for text in ["loud", "inof", "foo=bar=baz", "plenary_sessions=loud", "plenary_sessions", "=info"] {
            assert!(!is_filter(text), "{text}");
        }
    }

    #[test]
    fn a_line_of_a_request_carries_its_operation_and_trace() {
        let own = TraceParent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "").unwrap();
        let scope = SpanScope::new(own, "thing.show");
        for format in [LogFormat::Json, LogFormat::Text] {
            let (queue, lines) = Queue::new();
            let logs = fmt().with_writer(move || queue.clone());
            let within = || {
                let _entered = scope.enter();
                tracing::warn!("within");
            };
            let write = || {
                within();
                tracing::warn!("outside");
            };
            match format {
                LogFormat::Json => {
                    let logs = logs.json().with_current_span(false);
                    let logs = logs.map_event_format(|lines| WithRequest { lines, format }).finish();
                    tracing::subscriber::with_default(logs, write);
                }
                LogFormat::Text => {
                    let logs = logs.map_event_format(|lines| WithRequest { lines, format }).finish();
                    tracing::subscriber::with_default(logs, write);
                }
            }
            let mut out = Vec::new();
            lines.write_to(&mut out);
            let out = String::from_utf8(out).unwrap();
            let [within, outside] = out.lines().collect::<Vec<_>>().try_into().unwrap();
            assert!(!outside.contains("trace_id") && outside.contains("outside"), "{outside}");
            if format == LogFormat::Json {
                let within: serde_json::Value = serde_json::from_str(within).unwrap();
                assert_eq!(within["span"]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736", "{within}");
                assert_eq!(
                    (&within["span"]["operation"], &within["fields"]["message"]),
                    (&"thing.show".into(), &"within".into())
                );
            } else {
                assert!(
                    within.ends_with("within operation=thing.show trace_id=4bf92f3577b34da6a3ce929d0e0e4736"),
                    "{within}"
                );
            }
        }
    }

    #[test]
    fn past_their_number_and_their_bytes_lines_are_lost_and_counted() {
        let (mut queue, lines) = Queue::new();
        for _ in 0..LINES_MAX + 3 {
            queue.write_all(b"x").unwrap();
        }
        assert_eq!(queue.waiting.lost.load(Ordering::Relaxed), 3);
        drop(queue);
        let mut out = Vec::new();
        lines.write_to(&mut out);
        assert_eq!(out.len(), LINES_MAX);
        let (mut queue, lines) = Queue::new();
        queue.write_all(&vec![b'x'; BYTES_MAX]).unwrap();
        queue.write_all(b"x").unwrap();
        assert_eq!(queue.waiting.lost.load(Ordering::Relaxed), 1);
        let waiting = queue.waiting.clone();
        drop(queue);
        lines.write_to(io::sink());
        assert_eq!(waiting.bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_cannot_be_written_is_lost_and_nobody_hears_of_it() {
        let mut lossy = Lossy(Full);
        assert_eq!(lossy.write(b"line").unwrap(), 4);
        lossy.flush().unwrap();
    }
}
