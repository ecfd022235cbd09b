//! One run, from its request to its end: it waits for its turn, its runner executes it, and its output is passed on
//! as long as there is a receiver.
//! Must not know: other runs.

use std::sync::Arc;

use plenary_runs::{RunEnd, RunReceiver, RunRequest, run_of};
use serde_json::{Map, Value};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{CANCEL_GRACE, HostEvent, Inner, NoRecall, STOP_GRACE, attached::Runs};
use crate::spoken::frames;

/// The progress of a run; a later value outweighs an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RunProgress {
    /// The run continues.
    On,
    /// The run does not read its answers.
    Deaf,
    /// It was canceled.
    Canceled,
    /// The host stops.
    Stopped,
    /// The output has no receiver any more.
    Lost,
}

/// A run with everything it needs.
pub(super) struct RunCarrier {
    pub(super) hosting: Arc<Inner>,
    pub(super) request: RunRequest,
    pub(super) going: watch::Receiver<RunProgress>,
    pub(super) answered: mpsc::Receiver<Map<String, Value>>,
    pub(super) tell: mpsc::Sender<HostEvent>,
    pub(super) runs: Runs,
}

/// The error of a run that does not read the answers to its questions.
const DEAF: &str = "the agent does not read the answers to its questions";
/// The error that a caller gets when the host stops.
const STOPPED: &str = "the host of the agent was stopped";

/// Carries the run out.
pub(super) async fn carry_out(mut carrying: RunCarrier) {
    let run = carrying.request.run_id;
    let ended = carrying.play().await;
    carrying.runs.over(run);
    if let Some(ended) = ended {
        carrying.say(HostEvent::Frame(frames::ended(run, &ended))).await;
        carrying.say(HostEvent::completed(run, &ended)).await;
    }
}

impl RunCarrier {
    /// The end of the run; `None` if it was not started and is left to another instance.
    async fn play(&mut self) -> Option<RunEnd> {
        let (run, thread) = (self.request.run_id, self.request.thread_id);
        let hosting = self.hosting.clone();
        let turn = tokio::select! {
            biased;
            _ = self.going.wait_for(|going| *going != RunProgress::On) => None,
            turn = hosting.turns.take(thread) => Some(turn),
        };
        if turn.is_none() {
            let going = *self.going.borrow();
            return (going < RunProgress::Stopped).then(RunEnd::canceled);
        }
        self.say(HostEvent::Started(run, thread)).await;
        let ended = self.begun().await;
        Some(match *self.going.borrow() {
            RunProgress::On => ended,
            RunProgress::Deaf => RunEnd::error(DEAF),
            RunProgress::Canceled | RunProgress::Lost => RunEnd::canceled(),
            RunProgress::Stopped => RunEnd::error(STOPPED),
        })
    }

    /// If the receiver is gone, the event is dropped.
    async fn say(&self, happening: HostEvent) {
        let _ = self.tell.send(happening).await;
    }

    async fn begun(&mut self) -> RunEnd {
        let (run, mut ears) = run_of(Arc::new(self.request.clone()), Arc::new(NoRecall));
        let mut runner = JoinSet::new();
        runner.spawn(self.hosting.runner.clone().run(self.request.clone(), run));
        let ended = self.listen(&mut runner, &mut ears).await;
        // The runner must release its resources before the next run starts.
        runner.shutdown().await;
        let rest = async {
            ears.close();
            while let Some(heard) = ears.next().await {
                self.say(HostEvent::Frame(frames::heard(self.request.run_id, &heard)?)).await;
            }
            Ok(())
        };
        match ended {
            Ok(ended) => rest.await.map_or_else(|why: String| RunEnd::error(why), |()| ended),
            Err(why) => RunEnd::error(why),
        }
    }

    /// Passes the output of the runner on, and answers to it, until it ends or must be stopped. `Err` if its further
    /// output does not count.
    async fn listen(
        &mut self,
        runner: &mut JoinSet<RunEnd>,
        ears: &mut RunReceiver,
    ) -> Result<RunEnd, String> {
        let run = self.request.run_id;
        let (mut frame, mut speaks, mut by) = (None, true, None::<Instant>);
        loop {
            tokio::select! {
                biased;
                Ok(()) = self.going.changed() => {
                    ears.cancel();
                    let grace = if *self.going.borrow() == RunProgress::Stopped { STOP_GRACE } else { CANCEL_GRACE };
                    let latest = Instant::now() + grace;
                    by = Some(by.map_or(latest, |by| latest.min(by)));
                }
                () = sleep_until(by.unwrap_or_else(Instant::now)), if by.is_some() => return Ok(RunEnd::canceled()),
                Some(answer) = self.answered.recv() => {
                    if !ears.resume(answer) {
                        return Err(DEAF.into());
                    }
                }
                place = self.tell.reserve(), if frame.is_some() => {
                    let said = frame.take();
                    // Without a receiver it is dropped.
                    if let (Ok(place), Some(said)) = (place, said) {
                        place.send(HostEvent::Frame(said));
                    }
                }
                heard = ears.next(), if frame.is_none() && speaks => match heard {
                    Some(heard) => frame = Some(frames::heard(run, &heard)?),
                    None => speaks = false,
                },
                Some(ended) = runner.join_next() => {
                    if let Some(said) = frame {
                        self.say(HostEvent::Frame(said)).await;
                    }
                    return ended.map_err(|fault| {
                        tracing::error!(agent = %self.request.agent, %run, %fault, "a run ended because of a bug");
                        "the host of the agent failed".into()
                    });
                }
            }
        }
    }
}
