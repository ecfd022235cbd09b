//! One run, from its request to its end: it waits for its turn, its runner executes it, and its output is passed on
//! as long as there is a receiver.
//! Must not know: other runs.

use std::sync::Arc;

use plenary_runs::{RunEnd, RunReceiver, RunRequest, run_channel};
use serde_json::{Map, Value};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{CANCEL_GRACE, HostEvent, Inner, NoRecall, STOP_GRACE, connection::Runs};
use crate::protocol::frames;

/// The progress of a run; a later value outweighs an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RunProgress {
    /// The run continues.
    Running,
    /// The run does not read its answers.
    InputOverflow,
    Canceled,
    /// The host stops.
    Stopped,
    /// The output has no receiver any more.
    Lost,
}

/// A run with everything it needs.
pub(super) struct RunCarrier {
    pub(super) host: Arc<Inner>,
    pub(super) request: RunRequest,
    pub(super) progress: watch::Receiver<RunProgress>,
    pub(super) answers: mpsc::Receiver<Map<String, Value>>,
    pub(super) events: mpsc::Sender<HostEvent>,
    pub(super) runs: Runs,
}

/// The error of a run that does not read the answers to its questions.
const INPUT_NOT_READ: &str = "the agent does not read the answers to its questions";
/// The error that a caller gets when the host stops.
const STOPPED: &str = "the host of the agent was stopped";

/// Carries the run out.
pub(super) async fn carry_out(mut carrier: RunCarrier) {
    let run = carrier.request.run_id;
    let run_end = carrier.run().await;
    carrier.runs.remove(run);
    if let Some(run_end) = run_end {
        carrier.send(HostEvent::Frame(frames::completed(run, &run_end))).await;
        carrier.send(HostEvent::completed(run, &run_end)).await;
    }
}

impl RunCarrier {
    /// The end of the run; `None` if it was not started and is left to another instance.
    async fn run(&mut self) -> Option<RunEnd> {
        let (run, thread) = (self.request.run_id, self.request.thread_id);
        let host = self.host.clone();
        let slot = tokio::select! {
            biased;
            _ = self.progress.wait_for(|progress| *progress != RunProgress::Running) => None,
            slot = host.slots.take(thread) => Some(slot),
        };
        if slot.is_none() {
            let progress = *self.progress.borrow();
            return (progress < RunProgress::Stopped).then(RunEnd::canceled);
        }
        self.send(HostEvent::Started(run, thread)).await;
        let run_end = self.run_to_end().await;
        Some(match *self.progress.borrow() {
            RunProgress::Running => run_end,
            RunProgress::InputOverflow => RunEnd::error(INPUT_NOT_READ),
            RunProgress::Canceled | RunProgress::Lost => RunEnd::canceled(),
            RunProgress::Stopped => RunEnd::error(STOPPED),
        })
    }

    /// If the receiver is gone, the event is dropped.
    async fn send(&self, event: HostEvent) {
        let _ = self.events.send(event).await;
    }

    async fn run_to_end(&mut self) -> RunEnd {
        let (run, mut receiver) = run_channel(Arc::new(self.request.clone()), Arc::new(NoRecall));
        let mut runner = JoinSet::new();
        runner.spawn(self.host.runner.clone().run(self.request.clone(), run));
        let run_end = self.listen(&mut runner, &mut receiver).await;
        // The runner must release its resources before the next run starts.
        runner.shutdown().await;
        let remaining_output = async {
            receiver.close();
            while let Some(output) = receiver.next().await {
                self.send(HostEvent::Frame(frames::output_frame(self.request.run_id, &output)?)).await;
            }
            Ok(())
        };
        match run_end {
            Ok(run_end) => {
                remaining_output.await.map_or_else(|error: String| RunEnd::error(error), |()| run_end)
            }
            Err(error) => RunEnd::error(error),
        }
    }

    /// Passes the output of the runner on, and answers to it, until it ends or must be stopped. `Err` if its further
    /// output does not count.
    async fn listen(
        &mut self,
        runner: &mut JoinSet<RunEnd>,
        receiver: &mut RunReceiver,
    ) -> Result<RunEnd, String> {
        let run = self.request.run_id;
        let (mut frame, mut has_output, mut stop_by) = (None, true, None::<Instant>);
        loop {
            tokio::select! {
                biased;
                Ok(()) = self.progress.changed() => {
                    receiver.cancel();
                    let grace = if *self.progress.borrow() == RunProgress::Stopped { STOP_GRACE } else { CANCEL_GRACE };
                    let latest = Instant::now() + grace;
                    stop_by = Some(stop_by.map_or(latest, |stop_by| latest.min(stop_by)));
                }
                () = sleep_until(stop_by.unwrap_or_else(Instant::now)), if stop_by.is_some() => return Ok(RunEnd::canceled()),
                Some(answer) = self.answers.recv() => {
                    if !receiver.resume(answer) {
                        return Err(INPUT_NOT_READ.into());
                    }
                }
                permit = self.events.reserve(), if frame.is_some() => {
                    let event_frame = frame.take();
                    // Without a receiver it is dropped.
                    if let (Ok(permit), Some(event_frame)) = (permit, event_frame) {
                        permit.send(HostEvent::Frame(event_frame));
                    }
                }
                output = receiver.next(), if frame.is_none() && has_output => match output {
                    Some(output) => frame = Some(frames::output_frame(run, &output)?),
                    None => has_output = false,
                },
                Some(run_end) = runner.join_next() => {
                    if let Some(event_frame) = frame {
                        self.send(HostEvent::Frame(event_frame)).await;
                    }
                    return run_end.map_err(|fault| {
                        tracing::error!(agent = %self.request.agent, %run, %fault, "a run ended because of a bug");
                        "the host of the agent failed".into()
                    });
                }
            }
        }
    }
}
