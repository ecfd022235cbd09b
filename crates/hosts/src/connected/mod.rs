//! `kind = "connected"`: an agent that attaches itself from any machine and gets its runs over a WebSocket, with the
//! messages of the line protocol (wire.md D.8), one JSON object per text frame.
//! Must not know: the location or the work of the instances.

mod attach;
mod conversation;
mod instance;
mod other_processes;
mod pool;
mod pump;
mod served;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use plenary_kernel::AgentHandle;
use plenary_runs::{Card, Introduction, Run, RunEnd, RunFuture, RunRequest, Runner};
use serde::Deserialize;

pub use attach::{AttachPoint, AttachState, operations, routes};

use self::{conversation::ConversationEnd, pool::InstancePool};
use crate::{ConfigFault, config, program::lines::LINE_BYTES_MAX, until_canceled};

/// Most attached instances of one agent per process; beyond it 429 `too_many_instances`.
pub const INSTANCES_MAX: usize = 64;
/// Most attached instances of one owner's agents per process, unless configured; beyond it 429
/// `too_many_instances_of_owner`.
pub const INSTANCES_PER_OWNER_MAX: usize = 256;
/// Most attached instances per process; beyond it 429 `too_many_instances`.
pub const INSTANCES_TOTAL_MAX: usize = 4_096;
/// Longest incoming frame, in bytes: an artifact in base64 and the rest of its event. A longer one closes the
/// connection with 1009.
pub const FRAME_BYTES_MAX: usize = LINE_BYTES_MAX;
/// Most frames that wait to be sent to an instance; beyond it its runs wait, and an instance that does not read for
/// [`STALLED_TIME`] is closed with 1013.
pub const FRAMES_WAITING_MAX: usize = 64;
/// Most frames of one run that are read and not passed on yet; beyond it reading from the instance pauses.
pub const MESSAGES_WAITING_MAX: usize = 64;
/// Most instances that are tried for a run, one after the other, as long as each disconnects before any output.
pub const INSTANCES_TRIED_MAX: u32 = 3;
/// The interval of pings.
pub const KEEPALIVE_TIME: Duration = Duration::from_secs(20);
/// The longest silence of an instance, pongs included; then the connection is closed with 1008.
pub const SILENCE_TIME: Duration = Duration::from_secs(60);
/// The longest time for sending one frame.
pub const STALLED_TIME: Duration = Duration::from_secs(10);
/// How long an instance may take to end a canceled run.
pub const CANCEL_TIME: Duration = Duration::from_secs(4);
/// How long a run waits for an instance by default.
const ATTACH_WAIT: Duration = Duration::from_secs(30);

/// The configuration table of an agent of this kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How long a run waits for an instance if none is attached, such as `30s`.
    #[serde(default, deserialize_with = "config::time_text")]
    pub attach_wait: Option<String>,
    /// The purpose of the agent, one line.
    #[serde(default)]
    pub purpose: String,
    /// The tools of the agent, for information.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The types of request that it accepts beside `ChatRequest`; `*` is any.
    #[serde(default = "config::any_request")]
    pub request_types: Vec<String>,
}

/// An agent that attaches itself.
#[derive(Debug)]
pub struct ConnectedRunner {
    settings: Settings,
    wait: Duration,
    handle: AgentHandle,
    attaching: AttachPoint,
}

impl ConnectedRunner {
    /// An agent with these settings. Instances attach with a token of `handle`.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn new(
        settings: Settings,
        handle: &AgentHandle,
        attaching: &AttachPoint,
    ) -> Result<Self, ConfigFault> {
        let wait = settings.attach_wait.as_deref().map(|text| config::duration("attach_wait", text));
        let wait = wait.transpose()?.unwrap_or(ATTACH_WAIT);
        attaching.pool(handle);
        Ok(Self { settings, wait, handle: handle.clone(), attaching: attaching.clone() })
    }

    /// An enlisted agent, with its own introduction.
    pub(crate) fn enlisted(
        Introduction { purpose, tools }: Introduction,
        handle: &AgentHandle,
        attaching: &AttachPoint,
    ) -> Self {
        let settings = Settings { attach_wait: None, purpose, tools, request_types: config::any_request() };
        Self { settings, wait: ATTACH_WAIT, handle: handle.clone(), attaching: attaching.clone() }
    }

    /// The pool with the agent's instances.
    fn pool(&self) -> Arc<InstancePool> {
        self.attaching.pool(&self.handle)
    }

    /// The error text of a run that found no instance, with the processes that have one.
    async fn no_instance_error(&self) -> String {
        let wait_text = format!("and none came within {} s", self.wait.as_secs());
        match self.attaching.addresses_elsewhere(&self.handle).await {
            None => format!("no instance of the agent is attached, {wait_text}"),
            Some((own_address, addresses)) if addresses.is_empty() => {
                format!(
                    "no instance of the agent is attached to any process, {wait_text} to {own_address}, which was asked"
                )
            }
            Some((own_address, addresses)) => format!(
                "no instance of the agent is attached to the process at {own_address}, which was asked, {wait_text}; there are some \
                 at {}: ask there, or let instances attach to each process",
                addresses.join(", ")
            ),
        }
    }

    async fn carry_out(&self, request: &RunRequest, run: Run) -> RunEnd {
        let Run { output, mut input } = run;
        for _ in 0..INSTANCES_TRIED_MAX {
            let pool = self.pool();
            let assignment = tokio::select! {
                biased;
                () = until_canceled(&mut input) => return RunEnd::canceled(),
                assignment = pool.assign(request, self.wait) => assignment,
            };
            let Some(assignment) = assignment else {
                return RunEnd::error(self.no_instance_error().await);
            };
            match conversation::serve(assignment, request, &output, &mut input).await {
                ConversationEnd::Ended(run_end) => return run_end,
                // Dismissing an agent cancels its runs.
                ConversationEnd::Vanished { is_lost: true } if pool.is_closed() => return RunEnd::canceled(),
                ConversationEnd::Vanished { is_lost: true } => {
                    return RunEnd::error("the instance of the agent that carried out the run went away");
                }
                ConversationEnd::Vanished { is_lost: false } => {}
            }
        }
        let error =
            format!("{INSTANCES_TRIED_MAX} instances of the agent went away before they said anything");
        RunEnd::error(error)
    }
}

impl Runner for ConnectedRunner {
    fn card(&self) -> Card {
        Card {
            purpose: self.settings.purpose.clone(),
            operations: Vec::new(),
            tools: self.settings.tools.clone(),
            request_types: self.settings.request_types.clone(),
            instances: Some(self.pool().instances()),
        }
    }

    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move { self.carry_out(&request, run).await })
    }
}
