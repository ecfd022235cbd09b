//! One attached instance: its runs and its output.
//! Must not know: its connection.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use plenary_runs::{ProgramMessage, RunEnd, RunRequest};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::MESSAGES_WAITING_MAX;
use crate::protocol::{self, InvalidLines, LineFault};

/// A message of an instance about a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InstanceMessage {
    /// A piece of unfinished text.
    Piece(String),
    /// An event, or the end.
    Program(ProgramMessage),
}

/// An attached instance.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) number: u64,
    frames: mpsc::Sender<String>,
    /// The runs by id; `None` once the instance is gone.
    runs: Mutex<Option<HashMap<String, mpsc::Sender<InstanceMessage>>>>,
    /// Whether its token was revoked.
    is_revoked: AtomicBool,
}

impl Instance {
    pub(super) fn new(number: u64, frames: mpsc::Sender<String>) -> Self {
        let runs = Mutex::new(Some(HashMap::new()));
        Self { number, frames, runs, is_revoked: AtomicBool::new(false) }
    }

    fn runs(&self) -> MutexGuard<'_, Option<HashMap<String, mpsc::Sender<InstanceMessage>>>> {
        self.runs.lock()
    }

    /// The number of its runs.
    pub(super) fn run_count(&self) -> usize {
        self.runs().as_ref().map_or(usize::MAX, HashMap::len)
    }

    /// Assigns a run to the instance; `None` if the instance is gone.
    pub(super) fn take(self: &Arc<Self>, request: &RunRequest) -> Option<Assignment> {
        let run_id = request.run_id.to_string();
        let (sender, messages) = mpsc::channel(MESSAGES_WAITING_MAX);
        self.runs().as_mut()?.insert(run_id.clone(), sender);
        Some(Assignment { instance: self.clone(), run_id, messages })
    }

    /// Marks the instance as gone: its runs get no more messages.
    pub(super) fn mark_gone(&self, is_revoked: bool) {
        self.is_revoked.store(is_revoked, Ordering::Release);
        *self.runs() = None;
    }

    /// Passes one frame on to its run. Waits if the run is slower than the instance.
    pub(super) async fn dispatch(&self, frame: &[u8], invalid_lines: &mut InvalidLines) {
        let run_id = match protocol::line_run(frame) {
            Ok(Some(Some(run_id))) => run_id,
            Ok(_) => return invalid_lines.note("it names no run", frame),
            Err(error) => return invalid_lines.note(&error, frame),
        };
        let run = self.runs().as_ref().and_then(|runs| runs.get(&run_id).cloned());
        let Some(run) = run else {
            return invalid_lines.note("it names a run that the instance does not have", frame);
        };
        match read(frame) {
            // A run that is over no longer receives.
            Ok(message) => drop(run.send(message).await),
            Err(LineFault::TooLarge(error)) => {
                drop(run.send(InstanceMessage::Program(ProgramMessage::Ended(RunEnd::error(error)))).await)
            }
            Err(LineFault::NoEvent(error)) => invalid_lines.note(&error, frame),
        }
    }
}

#[derive(Deserialize)]
struct Piece {
    #[serde(rename = "type")]
    kind: PieceKind,
    content: String,
}

#[derive(Deserialize)]
enum PieceKind {
    TextDelta,
}

fn read(frame: &[u8]) -> Result<InstanceMessage, LineFault> {
    match serde_json::from_slice(frame) {
        Ok(Piece { kind: PieceKind::TextDelta, content }) => Ok(InstanceMessage::Piece(content)),
        Err(_) => protocol::read(frame).map(InstanceMessage::Program),
    }
}

/// A run at an instance; dropping it ends the assignment.
#[derive(Debug)]
pub(super) struct Assignment {
    instance: Arc<Instance>,
    run_id: String,
    messages: mpsc::Receiver<InstanceMessage>,
}

impl Assignment {
    /// Sends a frame; false if the instance is gone.
    pub(super) async fn send(&self, frame: String) -> bool {
        self.instance.frames.send(frame).await.is_ok()
    }

    /// The next message of the instance; `None` once it is gone and all messages were read.
    pub(super) async fn next_message(&mut self) -> Option<InstanceMessage> {
        self.messages.recv().await
    }

    /// Whether the instance is gone because its token was revoked.
    pub(super) fn is_revoked(&self) -> bool {
        self.instance.is_revoked.load(Ordering::Acquire)
    }

    /// The number of the instance.
    #[cfg(test)]
    pub(super) fn number(&self) -> u64 {
        self.instance.number
    }
}

impl Drop for Assignment {
    fn drop(&mut self) {
        if let Some(runs) = self.instance.runs().as_mut() {
            runs.remove(&self.run_id);
        }
    }
}
