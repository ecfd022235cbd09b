//! The two ends of a run: the runner's output and input, and the receiver. Bounded both ways.
//! Must not know: the receiver, or its use of the output.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use plenary_log::Fault;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};

use super::{Event, Recall, RunRequest, Turn};
use crate::limits::{
    ANSWERS_WAITING_MAX, ARTIFACT_OCTETS_MAX, DELTA_OCTETS_MAX, DELTAS_WAITING_MAX, EVENT_OCTETS_MAX,
    EVENTS_WAITING_MAX,
};

/// Why an event was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// The run is over: canceled, past a limit, or the server stops. Its further output is ignored.
    #[error("the run is over")]
    Over,
    /// It has more than [`EVENT_OCTETS_MAX`] bytes, or its artifact more than [`ARTIFACT_OCTETS_MAX`].
    #[error("the event is too large")]
    TooLarge,
}

/// What is asked of a run while it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum RunSignal {
    /// The caller's answer to a `WaitForInput`: a value for each name.
    Resume(Map<String, Value>),
    /// Stop, soon: some seconds later the runner is dropped.
    Cancel,
}

/// A run as its runner holds it.
#[derive(Debug)]
pub struct Run {
    /// What it says.
    pub output: Output,
    /// What it is asked.
    pub input: Input,
}

impl Run {
    /// See [`Output::emit`].
    ///
    /// # Errors
    /// That it was not taken.
    pub async fn emit(&self, event: Event) -> Result<(), NotTaken> {
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

    /// Asks the caller, and waits for its answer. The run is `waiting` meanwhile.
    ///
    /// # Errors
    /// That the question was not taken.
    pub async fn await_input(&mut self, request_keys: &Map<String, Value>) -> Result<RunSignal, NotTaken> {
        self.output.emit(Event::wait_for_input(request_keys)).await?;
        Ok(self.input.wait().await)
    }

    /// See [`Output::turns`].
    ///
    /// # Errors
    /// When the store fails.
    pub async fn turns(&self) -> Result<Vec<Turn>, Fault> {
        self.output.turns().await
    }
}

/// What a run says. Cheap to clone.
#[derive(Clone)]
pub struct Output {
    request: Arc<RunRequest>,
    events: mpsc::Sender<Event>,
    deltas: mpsc::Sender<Delta>,
    /// How many events were taken.
    said: Arc<AtomicU64>,
    recall: Arc<dyn Recall>,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("run", &self.request.run_id).finish_non_exhaustive()
    }
}

impl Output {
    /// Says an event. Events are written in the order in which they were said; where the log is slower than the runner,
    /// this waits.
    ///
    /// # Errors
    /// That it was not taken.
    pub async fn emit(&self, event: Event) -> Result<(), NotTaken> {
        let artifact = event.artifact.as_ref().map_or(0, bytes::Bytes::len);
        if event.members.len() > EVENT_OCTETS_MAX || artifact > ARTIFACT_OCTETS_MAX {
            return Err(NotTaken::TooLarge);
        }
        let place = self.events.reserve().await.map_err(|_| NotTaken::Over)?;
        // Counted together with its place in the queue, so that a delta knows what stands before it.
        self.said.fetch_add(1, Ordering::AcqRel);
        place.send(event);
        Ok(())
    }

    /// Shows a piece of text that is still being made to whoever looks on now. It is not kept: the TextOutput that
    /// follows has the whole. Never waits.
    pub fn emit_delta(&self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(DELTA_OCTETS_MAX));
            rest = more;
            // Lost where too many wait, which a delta may be.
            let after = self.said.load(Ordering::Acquire);
            let _ = self.deltas.try_send(Delta { after, text: piece.to_owned() });
        }
    }

    /// The earlier runs of the thread, oldest first, for agents that keep no memory of their own.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn turns(&self) -> Result<Vec<Turn>, Fault> {
        self.recall.turns(self.request.thread_id, self.request.run_id).await
    }
}

/// What a run is asked.
#[derive(Debug)]
pub struct Input {
    answers: mpsc::Receiver<Map<String, Value>>,
    canceled: watch::Receiver<bool>,
}

impl Input {
    /// Waits for what is asked next; `Cancel` comes first, and again each time. May be dropped while it waits: nothing
    /// is lost.
    pub async fn wait(&mut self) -> RunSignal {
        tokio::select! {
            biased;
            // A room that is gone asks nobody to go on.
            _ = self.canceled.wait_for(|canceled| *canceled) => RunSignal::Cancel,
            answer = self.answers.recv() => answer.map_or(RunSignal::Cancel, RunSignal::Resume),
        }
    }

    /// Whether it was told to cancel.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        *self.canceled.borrow()
    }
}

/// A piece of text that is still being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// How many events the run had said before it.
    pub after: u64,
    /// The piece.
    pub text: String,
}

/// What a run said next.
#[derive(Debug, PartialEq, Eq)]
pub enum ReceivedOutput {
    /// An event.
    Event(Event),
    /// A piece of text that is still being made.
    Piece(String),
}

/// The other end of a run: whoever listens to it. That is the room, a host of the agent, or a test of a runner.
#[derive(Debug)]
pub struct Ears {
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) deltas: mpsc::Receiver<Delta>,
    answers: mpsc::Sender<Map<String, Value>>,
    canceled: watch::Sender<bool>,
    /// How many events were heard by [`Ears::next`].
    heard: u64,
    /// A delta that came before the events that it follows.
    early: Option<Delta>,
}

impl Ears {
    /// The next event or piece of text, in the order in which they were said; `None` when the runner has let go of its
    /// run and all is heard. May be dropped while it waits: nothing is lost. Not to be mixed with the two below.
    pub async fn next(&mut self) -> Option<ReceivedOutput> {
        loop {
            if let Some(piece) = self.early.take_if(|delta| delta.after <= self.heard) {
                return Some(ReceivedOutput::Piece(piece.text));
            }
            tokio::select! {
                biased;
                Some(delta) = self.deltas.recv(), if self.early.is_none() => self.early = Some(delta),
                Some(event) = self.events.recv() => {
                    self.heard += 1;
                    return Some(ReceivedOutput::Event(event));
                }
                else => return self.early.take().map(|delta| ReceivedOutput::Piece(delta.text)),
            }
        }
    }

    /// Takes nothing more of the runner; what it has said is still heard.
    pub fn close(&mut self) {
        self.events.close();
        self.deltas.close();
    }

    /// The next event; `None` when the runner has let go of its run and all is heard.
    pub async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The next piece of text that is still being made.
    pub async fn delta(&mut self) -> Option<Delta> {
        self.deltas.recv().await
    }

    /// Hands on the caller's answer. False when [`ANSWERS_WAITING_MAX`] wait to be taken, or the runner takes no more.
    pub fn resume(&self, request_keys: Map<String, Value>) -> bool {
        self.answers.try_send(request_keys).is_ok()
    }

    /// Tells the runner to stop.
    pub fn cancel(&self) {
        self.canceled.send_replace(true);
    }
}

/// Both ends of a run.
#[must_use]
pub fn run_of(request: Arc<RunRequest>, recall: Arc<dyn Recall>) -> (Run, Ears) {
    let (events, said) = mpsc::channel(EVENTS_WAITING_MAX);
    let (deltas, shown) = mpsc::channel(DELTAS_WAITING_MAX);
    let (answers, answered) = mpsc::channel(ANSWERS_WAITING_MAX);
    let (cancel, canceled) = watch::channel(false);
    let output = Output { request, events, deltas, said: Arc::default(), recall };
    let run = Run { output, input: Input { answers: answered, canceled } };
    (run, Ears { events: said, deltas: shown, answers, canceled: cancel, heard: 0, early: None })
}
