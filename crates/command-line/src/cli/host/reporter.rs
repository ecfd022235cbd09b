//! The messages of a host about itself: a line for people on standard error, or a JSON line on standard output.
//! Must not know: their meaning.

use std::time::Duration;

use plenary_hosts::hosting::HostEvent;
use plenary_kernel::AgentHandle;
use plenary_runs::FinishReason;
use serde_json::{Value, json};

use crate::{
    cli::{failure::Failure, stream},
    out::{Out, clean},
};

pub(super) struct HostReporter {
    out: Out,
    agent: AgentHandle,
}

impl HostReporter {
    pub(super) const fn new(out: Out, agent: AgentHandle) -> Self {
        Self { out, agent }
    }

    /// The agent did not exist, and was created.
    pub(super) async fn created(&self) -> Result<(), Failure> {
        self.report(&format!("made {}", self.agent), json!({"type": "made", "agent": self.agent})).await
    }

    /// The connection is open.
    pub(super) async fn attached(&self, server: &str) -> Result<(), Failure> {
        let text = format!("attached to {} as {}; stop with Ctrl-C", clean(server), self.agent);
        self.report(&text, json!({"type": "attached", "agent": self.agent, "server": server})).await
    }

    /// The connection is lost, together with this number of runs.
    pub(super) async fn lost(&self, reason: &str, retry_in: Duration, runs: usize) -> Result<(), Failure> {
        let canceled = if runs == 0 { String::new() } else { format!("; runs canceled: {runs}") };
        let seconds = retry_in.as_secs_f32();
        let text = format!("not attached: {}{canceled}; reconnecting in {seconds:.1} s", clean(reason));
        let retry_in_ms = u64::try_from(retry_in.as_millis()).unwrap_or(u64::MAX);
        let json =
            json!({"type": "lost", "reason": reason, "retry_in_ms": retry_in_ms, "runs_canceled": runs});
        self.report(&text, json).await
    }

    /// The host is stopping while this number of runs wait or run.
    pub(super) async fn stopping(&self, runs: usize) -> Result<(), Failure> {
        let text =
            format!("stopping; active runs that are canceled: {runs}; press Ctrl-C again to exit at once");
        self.report(&text, json!({"type": "stopping", "runs_canceled": runs})).await
    }

    /// The news of a run.
    pub(super) async fn of_run(&self, event: &HostEvent) -> Result<(), Failure> {
        match event {
            HostEvent::Frame(_) => Ok(()),
            HostEvent::Started(run, thread) => {
                let json = json!({"type": "run_started", "run_id": run, "thread_id": thread});
                self.report(&format!("run {run}: started"), json).await
            }
            HostEvent::Completed { run, finish_reason, error } => {
                let mut json =
                    json!({"type": "run_completed", "run_id": run, "finish_reason": finish_reason});
                if let Some(error) = error {
                    json["error"] = error.as_str().into();
                }
                let ended = match finish_reason {
                    FinishReason::Success => "done",
                    FinishReason::Error => "failed",
                    FinishReason::Canceled => "canceled",
                };
                let detail = error.iter().map(|error| format!(": {}", clean(error))).collect::<String>();
                self.report(&format!("run {run}: {ended}{detail}"), json).await
            }
        }
    }

    async fn report(&self, text: &str, json: Value) -> Result<(), Failure> {
        if !self.out.is_json() {
            self.out.note(text);
            return Ok(());
        }
        let out = self.out;
        stream::print(move || out.line(&json.to_string())).await
    }
}
