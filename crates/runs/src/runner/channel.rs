//! The two ends of a run, `Run` for the runner and `RunReceiver` for the receiver. Bounded in both directions.
//! Must not know: the receiver, or its use of the output.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use plenary_log::Fault;
use serde_json::{Map, Value, value::RawValue};
use tokio::sync::{mpsc, watch};

use super::{Event, Recall, RunRequest, Turn};
use crate::limits::{
    ANSWERS_WAITING_MAX, ARTIFACT_BYTES_MAX, DELTA_BYTES_MAX, DELTAS_WAITING_MAX, EVENT_BYTES_MAX,
    EVENTS_WAITING_MAX,
};

/// Why an event was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// The run is over: canceled, past a limit, or the server stops. Further output is ignored.
    #[error("the run is over")]
    Over,
    /// It has more than [`EVENT_BYTES_MAX`] bytes, or its artifact more than [`ARTIFACT_BYTES_MAX`].
    #[error("the event is too large")]
    TooLarge,
}

/// The caller's answer to a `WaitForInput`: a value for each key.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    values: Map<String, Value>,
    /// As they were sent, on one line: no number loses a digit (wire.md D.7).
    text: Option<Box<RawValue>>,
}

impl Answers {
    /// Reads the answers; none if the text is not an object.
    pub fn read(text: &str) -> Self {
        // A line feed can only be white space.
        let line = text.replace(['\n', '\r'], " ");
        let values = serde_json::from_str(&line).unwrap_or_default();
        Self { values, text: RawValue::from_string(line).ok().filter(|text| text.get().starts_with('{')) }
    }

    /// As they were sent.
    pub fn text(&self) -> Box<RawValue> {
        let written = || RawValue::from_string(Value::Object(self.values.clone()).to_string());
        self.text.clone().unwrap_or_else(|| written().expect("an object is JSON"))
    }
}

impl From<Map<String, Value>> for Answers {
    fn from(values: Map<String, Value>) -> Self {
        Self { values, text: None }
    }
}

impl std::ops::Deref for Answers {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}

impl PartialEq for Answers {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

/// A request to a run while it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum RunSignal {
    /// The caller's answer to a `WaitForInput`.
    Resume(Answers),
    /// Stop soon: the runner is dropped after a few seconds.
    Cancel,
}

/// A run, as its runner holds it: both its output and its input.
#[derive(Debug)]
pub struct Run {
    /// The output of the run.
    pub output: Output,
    /// The requests to the run.
    pub input: Input,
}

impl Run {
    /// See [`Output::emit`].
    ///
    /// # Errors
    /// If the event was not accepted.
    pub async fn emit(&self, event: Event) -> Result<(), EmitError> {
        self.output.emit(event).await
    }

    /// See [`Output::emit_delta`].
    pub fn emit_delta(&self, text: &str) {
        self.output.emit_delta(text);
    }

    /// See [`Input::wait`].
    pub async fn wait(&mut self) -> RunSignal {
        self.input.wait().await
    }

    /// Asks the caller a question and waits for the answer. The run is `waiting` meanwhile.
    ///
    /// # Errors
    /// If the question was not accepted.
    pub async fn await_input(&mut self, request_keys: &Map<String, Value>) -> Result<RunSignal, EmitError> {
        self.output.emit(Event::wait_for_input(request_keys)).await?;
        Ok(self.input.wait().await)
    }

    /// See [`Output::turns`].
    ///
    /// # Errors
    /// If the store fails.
    pub async fn turns(&self) -> Result<Vec<Turn>, Fault> {
        self.output.turns().await
    }
}

/// The output of a run. Cheap to clone.
#[derive(Clone)]
pub struct Output {
    request: Arc<RunRequest>,
    events: mpsc::Sender<Event>,
    deltas: mpsc::Sender<Delta>,
    /// The number of accepted events.
    accepted_events: Arc<AtomicU64>,
    recall: Arc<dyn Recall>,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("run", &self.request.run_id).finish_non_exhaustive()
    }
}

impl Output {
    /// Emits an event. Events are written in the order in which they are emitted; if the log is slower than the
    /// runner, this waits.
    ///
    /// # Errors
    /// If the event was not accepted.
    pub async fn emit(&self, event: Event) -> Result<(), EmitError> {
        let artifact = event.artifact.as_ref().map_or(0, bytes::Bytes::len);
        if event.members.len() > EVENT_BYTES_MAX || artifact > ARTIFACT_BYTES_MAX {
            return Err(EmitError::TooLarge);
        }
        let place = self.events.reserve().await.map_err(|_| EmitError::Over)?;
        // Counted together with its place in the queue, so that a delta knows the number of events before it.
        self.accepted_events.fetch_add(1, Ordering::AcqRel);
        place.send(event);
        Ok(())
    }

    /// Sends a piece of unfinished text to the current readers. It is not stored: the TextOutput that follows has the
    /// whole text. Never waits.
    pub fn emit_delta(&self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, remainder) = rest.split_at(rest.floor_char_boundary(DELTA_BYTES_MAX));
            rest = remainder;
            // Dropped if too many wait; deltas may be lost.
            let after = self.accepted_events.load(Ordering::Acquire);
            let _ = self.deltas.try_send(Delta { after, text: piece.to_owned() });
        }
    }

    /// The earlier runs of the thread, oldest first, for agents without their own memory.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn turns(&self) -> Result<Vec<Turn>, Fault> {
        self.recall.turns(self.request.thread_id, self.request.run_id).await
    }

    /// The text that was kept with the thread.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn stored_text(&self) -> Result<Option<String>, Fault> {
        self.recall.stored_text(self.request.thread_id).await
    }

    /// Keeps a short text with the thread for later runs, instead of the text before. Where there is no store, it is
    /// forgotten.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn store_text(&self, text: String) -> Result<(), Fault> {
        self.recall.store_text(self.request.thread_id, text).await
    }
}

/// The requests to a run.
#[derive(Debug)]
pub struct Input {
    answers: mpsc::Receiver<Answers>,
    canceled: watch::Receiver<bool>,
}

impl Input {
    /// Waits for the next request. `Cancel` precedes all others and repeats on every call. Cancel-safe: dropping the
    /// future loses nothing.
    pub async fn wait(&mut self) -> RunSignal {
        tokio::select! {
            biased;
            // The room is gone, so nobody can ask the run to continue.
            _ = self.canceled.wait_for(|canceled| *canceled) => RunSignal::Cancel,
            answer = self.answers.recv() => answer.map_or(RunSignal::Cancel, RunSignal::Resume),
        }
    }

    /// Whether it was told to cancel.
    pub fn is_canceled(&self) -> bool {
        *self.canceled.borrow()
    }
}

/// A piece of unfinished text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The number of events that the run had emitted before it.
    pub after: u64,
    /// The piece.
    pub text: String,
}

/// The next output of a run.
#[derive(Debug, PartialEq, Eq)]
pub enum ReceivedOutput {
    /// An event.
    Event(Event),
    /// A piece of unfinished text.
    Piece(String),
}

/// The receiver's end of a run: held by the room, by a host of the agent, or by a test of a runner.
#[derive(Debug)]
pub struct RunReceiver {
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) deltas: mpsc::Receiver<Delta>,
    answers: mpsc::Sender<Answers>,
    canceled: watch::Sender<bool>,
    /// The number of events that [`RunReceiver::next`] returned.
    returned_events: u64,
    /// A delta that arrived before the events that it follows.
    early_delta: Option<Delta>,
}

impl RunReceiver {
    /// The next event or piece of text, in the order of emission; `None` once the runner has dropped its run and
    /// everything was returned. Cancel-safe. Not to be mixed with the two methods below.
    pub async fn next(&mut self) -> Option<ReceivedOutput> {
        loop {
            if let Some(piece) = self.early_delta.take_if(|delta| delta.after <= self.returned_events) {
                return Some(ReceivedOutput::Piece(piece.text));
            }
            tokio::select! {
                biased;
                Some(delta) = self.deltas.recv(), if self.early_delta.is_none() => self.early_delta = Some(delta),
                Some(event) = self.events.recv() => {
                    self.returned_events += 1;
                    return Some(ReceivedOutput::Event(event));
                }
                else => return self.early_delta.take().map(|delta| ReceivedOutput::Piece(delta.text)),
            }
        }
    }

    /// Accepts no further output; what was emitted before can still be read.
    pub fn close(&mut self) {
        self.events.close();
        self.deltas.close();
    }

    /// The next event; `None` once the runner has dropped its run and all events were returned.
    pub async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The next piece of unfinished text.
    pub async fn delta(&mut self) -> Option<Delta> {
        self.deltas.recv().await
    }

    /// Passes the caller's answer to the runner. False if [`ANSWERS_WAITING_MAX`] answers wait already, or the runner
    /// accepts no more.
    pub fn resume(&self, answers: impl Into<Answers>) -> bool {
        self.answers.try_send(answers.into()).is_ok()
    }

    /// Tells the runner to stop.
    pub fn cancel(&self) {
        self.canceled.send_replace(true);
    }
}

/// Both ends of a run.
pub fn run_channel(request: Arc<RunRequest>, recall: Arc<dyn Recall>) -> (Run, RunReceiver) {
    let (events, event_receiver) = mpsc::channel(EVENTS_WAITING_MAX);
    let (deltas, delta_receiver) = mpsc::channel(DELTAS_WAITING_MAX);
    let (answers, answer_receiver) = mpsc::channel(ANSWERS_WAITING_MAX);
    let (cancel, canceled) = watch::channel(false);
    let output = Output { request, events, deltas, accepted_events: Arc::default(), recall };
    let run = Run { output, input: Input { answers: answer_receiver, canceled } };
    (
        run,
        RunReceiver {
            events: event_receiver,
            deltas: delta_receiver,
            answers,
            canceled: cancel,
            returned_events: 0,
            early_delta: None,
        },
    )
}
