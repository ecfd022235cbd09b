//! The standard error of hosted programs, and their lines that are not events, each after the name of its run.
//! Must not know: programs; it gets the log of the crate of hosts.

use std::fmt;

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer, filter::Targets, layer::Context, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::out::{Out, clean};

/// Shows the log on standard error from now on.
pub(super) fn on_standard_error(out: Out) {
    let of_hosts = Targets::new().with_target("plenary_hosts", Level::INFO);
    // One command per process, so no other subscriber exists.
    let _ = tracing_subscriber::registry().with(ConsoleLayer(out).with_filter(of_hosts)).try_init();
}

struct ConsoleLayer(Out);

impl<S: Subscriber> Layer<S> for ConsoleLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut read = LogMembers::default();
        event.record(&mut read);
        self.0.aside(&clean(&read.line()));
    }
}

/// The members of a log line that people see.
#[derive(Default)]
struct LogMembers {
    run: String,
    message: String,
    why: String,
    line: String,
}

impl LogMembers {
    /// `RUN: LINE` for output of a program; otherwise the event, its cause and its details.
    fn line(&self) -> String {
        let is_output = self.message == "the program says";
        let parts = [
            self.run.as_str(),
            if is_output { "" } else { &self.message },
            if is_output { "" } else { &self.why },
            &self.line,
        ];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
    }

    fn put(&mut self, name: &str, text: String) {
        match name {
            "run" | "of" => self.run = text.trim_start_matches("run ").to_owned(),
            "message" => self.message = text,
            "why" | "fault" => self.why = text,
            "line" => self.line = text,
            _ => {}
        }
    }
}

impl Visit for LogMembers {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_begins_with_its_run() {
        let mut read = LogMembers::default();
        read.put("agent", "x".into());
        read.put("of", "run 0-1".into());
        read.put("message", "the program says".into());
        read.put("line", "warning: a".into());
        assert_eq!(read.line(), "0-1: warning: a");
        read.put("of", "run 0-2".into());
        read.put("message", "a line of an agent is not an event".into());
        read.put("why", "not JSON".into());
        assert_eq!(read.line(), "0-2: a line of an agent is not an event: not JSON: warning: a");
    }
}
