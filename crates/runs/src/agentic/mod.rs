//! The form in which the dashboards of agentic-framework read runs: event names, request ids, logs of a thread.
//! Must not know: HTTP.

mod dialect;
mod logs;
mod stream;

use bytes::Bytes;
use serde_json::{Value, json};

pub(crate) use dialect::Dialect;
pub(crate) use logs::LogPage;
pub(crate) use stream::{Shape, TranslatedStream};

use crate::id::RunId;

/// A request in the terms of the dashboards: a run, from its start or after one of its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestId {
    pub(crate) run: RunId,
    /// The number of the last event before the request; 0 for the whole run.
    pub(crate) after: u64,
}

impl RequestId {
    /// Reads `<run>` or `<run>.<number>`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (run, after) = match text.split_once('.') {
            Some((run, after)) => (run, after.parse().ok()?),
            None => (text, 0),
        };
        Some(Self { run: run.parse().ok()?, after })
    }
}

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.after {
            0 => write!(f, "{}", self.run),
            after => write!(f, "{}.{after}", self.run),
        }
    }
}

/// The ChatRequest for a prompt.
pub(crate) fn chat_request(prompt: &str, debug: Option<&str>) -> Bytes {
    let mut request = json!({"type": "ChatRequest", "input": prompt});
    if let Some(debug) = debug {
        request["logging_level"] = debug.into();
    }
    request.to_string().into()
}

/// The prompt of a run, as the dashboards show it.
pub(crate) fn prompt_of(request: &[u8]) -> Value {
    let request: Value = serde_json::from_slice(request).unwrap_or_default();
    if request["input"].is_string() { request["input"].clone() } else { request.to_string().into() }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::{Stamp, TimestampMs};

    use super::*;

    #[test]
    fn a_request_is_a_run_or_the_part_of_it_behind_an_event() {
        let run = RunId::mint(&Stamp::new(TimestampMs(1), [0; 10]), 0);
        for id in [RequestId { run, after: 0 }, RequestId { run, after: 7 }] {
            assert_eq!(RequestId::read(&id.to_string()), Some(id));
        }
        for wrong in ["", "x", "x.1", "R.", "R.x", "R.-1"].map(|wrong| wrong.replace('R', &run.to_string())) {
            assert_eq!(RequestId::read(&wrong), None, "{wrong}");
        }
    }
}
