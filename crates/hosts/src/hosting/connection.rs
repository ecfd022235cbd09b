//! The runs of one connection: the active ones, and the server's requests to them.
//! Must not know: the transport of frames, or the output of a run.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use plenary_runs::{
    RunEnd, RunRequest,
    id::{RunId, ThreadId},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};

use super::{
    ANSWERS_WAITING_MAX, HostEvent, Inner, RUNS_WAITING_MAX,
    run_task::{self, RunCarrier, RunProgress},
};
use crate::protocol::{excerpt, frames};

/// The runs of one connection.
pub struct HostedConnection {
    host: Arc<Inner>,
    /// `None` once the host stops.
    events: Option<mpsc::Sender<HostEvent>>,
    runs: Runs,
}

/// A run as its connection holds it.
struct StartedRun {
    progress: watch::Sender<RunProgress>,
    answers: mpsc::Sender<Map<String, Value>>,
}

/// The waiting and active runs.
#[derive(Clone, Default)]
pub(super) struct Runs(Arc<Mutex<HashMap<RunId, StartedRun>>>);

impl Runs {
    fn all(&self) -> MutexGuard<'_, HashMap<RunId, StartedRun>> {
        self.0.lock()
    }

    /// Removes a run that is over.
    pub(super) fn remove(&self, run: RunId) {
        self.all().remove(&run);
    }

    fn advance(&self, to: RunProgress) {
        self.all().values().for_each(|run| run.advance(to));
    }
}

impl StartedRun {
    /// Raises the progress of the run. It never goes back: the heavier value stays.
    fn advance(&self, to: RunProgress) {
        self.progress.send_if_modified(|progress| {
            let is_raised = *progress < to;
            *progress = to.max(*progress);
            is_raised
        });
    }
}

/// The members that every frame of the server has.
#[derive(Deserialize)]
struct ServerFrame {
    #[serde(rename = "type")]
    kind: String,
    run_id: RunId,
}

#[derive(Deserialize)]
struct Request {
    thread_id: ThreadId,
    #[serde(default)]
    input: Value,
}

/// A caller's answer.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    request_keys: Map<String, Value>,
}

impl HostedConnection {
    pub(super) fn new(host: Arc<Inner>, events: mpsc::Sender<HostEvent>) -> Self {
        Self { host, events: Some(events), runs: Runs::default() }
    }

    /// The number of waiting and active runs.
    pub fn runs(&self) -> usize {
        self.runs.all().len()
    }

    /// Handles a frame of the server. Never waits; an invalid frame is logged and skipped.
    pub fn handle_frame(&self, frame: &str) {
        if let Err(error) = self.read(frame) {
            tracing::warn!(agent = %self.host.agent, why = error, line = excerpt(frame.as_bytes()), "a frame of the server is ignored");
        }
    }

    fn read(&self, frame: &str) -> Result<(), String> {
        let header: ServerFrame = serde_json::from_str(frame).map_err(|error| error.to_string())?;
        match header.kind.as_str() {
            // A run that is over needs neither an answer nor a stop.
            "ResumeWithInput" => {
                let answer: Answer = serde_json::from_str(frame).map_err(|error| error.to_string())?;
                if let Some(run) = self.runs.all().get(&header.run_id)
                    && run.answers.try_send(answer.request_keys).is_err()
                {
                    run.advance(RunProgress::InputOverflow);
                }
                Ok(())
            }
            "CancelRequest" => {
                if let Some(run) = self.runs.all().get(&header.run_id) {
                    run.advance(RunProgress::Canceled);
                }
                Ok(())
            }
            _ => self.begin(header, frame),
        }
    }

    fn begin(&self, header: ServerFrame, frame: &str) -> Result<(), String> {
        // An unanswered request is given to another instance.
        let Some(events) = self.events.clone() else { return Ok(()) };
        let run_id = header.run_id;
        let request: Request = match serde_json::from_str(frame) {
            Ok(request) => request,
            Err(error) => {
                refuse(events, run_id, &format!("the request cannot be read: {error}"));
                return Ok(());
            }
        };
        let mut runs = self.runs.all();
        if runs.contains_key(&run_id) {
            return Err("the run is already active".into());
        }
        let at_once_max = self.host.runs_max;
        if runs.len() >= at_once_max + RUNS_WAITING_MAX {
            let error = format!(
                "the agent's host runs {at_once_max} at a time, and {RUNS_WAITING_MAX} runs are waiting; try again later"
            );
            refuse(events, run_id, &error);
            return Ok(());
        }
        let (progress, receiver) = watch::channel(RunProgress::Running);
        let (answers, answer_receiver) = mpsc::channel(ANSWERS_WAITING_MAX);
        runs.insert(run_id, StartedRun { progress, answers });
        drop(runs);
        let request = RunRequest {
            agent: self.host.agent.clone(),
            run_id,
            thread_id: request.thread_id,
            depth: 0,
            requester: "".into(),
            request_type: header.kind.into(),
            input: request.input.as_str().map(str::to_owned),
            body: frame.to_owned().into(),
            args: Arc::default(),
        };
        let runs = self.runs.clone();
        let carrier = RunCarrier {
            host: self.host.clone(),
            request,
            progress: receiver,
            answers: answer_receiver,
            events,
            runs,
        };
        tokio::spawn(run_task::carry_out(carrier));
        Ok(())
    }

    /// Stops the host: active runs are stopped and end with an error, and waiting ones are left to other instances.
    /// The queue of host events ends with the last run.
    pub fn stop(&mut self) {
        self.events = None;
        self.runs.advance(RunProgress::Stopped);
    }
}

impl Drop for HostedConnection {
    fn drop(&mut self) {
        self.runs.advance(RunProgress::Lost);
    }
}

impl std::fmt::Debug for HostedConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostedConnection").field("runs", &self.runs()).finish_non_exhaustive()
    }
}

/// Ends a run that was never started, independently of other output.
fn refuse(events: mpsc::Sender<HostEvent>, run: RunId, error: &str) {
    let run_end = RunEnd::error(error);
    tokio::spawn(async move {
        // If the receiver is gone, the result is not needed.
        let _ = events.send(HostEvent::Frame(frames::completed(run, &run_end))).await;
        let _ = events.send(HostEvent::completed(run, &run_end)).await;
    });
}
