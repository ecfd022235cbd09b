//! `kind = "connected"`: an agent that attaches itself, from any machine, and gets its runs over a WebSocket: the
//! messages of the line protocol (wire.md D.8), one JSON object per text frame.
//! Must not know: where the instances of the agent are, or what they do.

mod conversation;
mod desk;
mod door;
mod elsewhere;
mod instance;
mod pump;
mod served;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use plenary_kernel::AgentHandle;
use plenary_runs::{Card, Introduction, Run, RunEnd, RunFuture, RunRequest, Runner};
use serde::Deserialize;

pub use door::{AttachPoint, Door, operations, routes};

use self::{conversation::ConversationEnd, desk::Desk};
use crate::{ConfigFault, config, program::lines::LINE_OCTETS_MAX, until_canceled};

/// Most instances of one agent that are attached to a process; past it 429 `too_many_instances`.
pub const INSTANCES_MAX: usize = 64;
/// Most instances of one owner's agents that are attached to a process, unless it is set; past it 429
/// `too_many_instances_of_owner`.
pub const INSTANCES_PER_OWNER_MAX: usize = 256;
/// Most instances that are attached to a process; past it 429 `too_many_instances`.
pub const INSTANCES_TOTAL_MAX: usize = 4_096;
/// Longest frame that is read, in bytes: an artifact in base64, and room for the rest of its event. Past it the
/// connection is closed with 1009.
pub const FRAME_OCTETS_MAX: usize = LINE_OCTETS_MAX;
/// Most frames that wait to be sent to an instance; past it its runs wait, and an instance that does not read is
/// closed with 1013 after [`STALLED_TIME`].
pub const FRAMES_WAITING_MAX: usize = 64;
/// Most frames of one run that are read and not handed on; past it nothing more is read of the instance until there is
/// place.
pub const HEARD_MAX: usize = 64;
/// To how many instances a run is given, one after the other, while each goes away before it says anything.
pub const INSTANCES_TRIED_MAX: u32 = 3;
/// How often an instance is pinged.
pub const KEEPALIVE_TIME: Duration = Duration::from_secs(20);
/// How long nothing may be heard of an instance, its pongs included; past it the connection is closed with 1008.
pub const SILENCE_TIME: Duration = Duration::from_secs(60);
/// How long sending one frame may take.
pub const STALLED_TIME: Duration = Duration::from_secs(10);
/// How long an instance may take to end a run that it was told to cancel.
pub const CANCEL_TIME: Duration = Duration::from_secs(4);
/// How long a run waits for an instance unless it is said.
const ATTACH_WAIT: Duration = Duration::from_secs(30);

/// The table of an agent of this kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How long a run waits for an instance when none is attached, such as `30s`.
    #[serde(default)]
    pub attach_wait: Option<String>,
    /// What it is for, one line.
    #[serde(default)]
    pub purpose: String,
    /// Its tools, for information.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The types of request that it takes beside `ChatRequest`; `*` is any.
    #[serde(default = "any_request")]
    pub request_types: Vec<String>,
}

/// An instance gets every request as it is, so it takes any.
fn any_request() -> Vec<String> {
    vec!["*".into()]
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
    /// An agent of these settings, which instances with a token of `handle` attach as.
    ///
    /// # Errors
    /// When a member can't be read.
    pub fn new(
        settings: Settings,
        handle: &AgentHandle,
        attaching: &AttachPoint,
    ) -> Result<Self, ConfigFault> {
        let wait = settings.attach_wait.as_deref().map(|text| config::duration("attach_wait", text));
        let wait = wait.transpose()?.unwrap_or(ATTACH_WAIT);
        attaching.desk(handle);
        Ok(Self { settings, wait, handle: handle.clone(), attaching: attaching.clone() })
    }

    /// One that came by itself, as it tells of itself.
    pub(crate) fn of_its_own(
        Introduction { purpose, tools }: Introduction,
        handle: &AgentHandle,
        attaching: &AttachPoint,
    ) -> Self {
        let settings = Settings { attach_wait: None, purpose, tools, request_types: any_request() };
        Self { settings, wait: ATTACH_WAIT, handle: handle.clone(), attaching: attaching.clone() }
    }

    /// Where its instances are now.
    fn desk(&self) -> Arc<Desk> {
        self.attaching.desk(&self.handle)
    }

    /// Why a run found no instance, and where it would have.
    async fn nobody_came(&self) -> String {
        let came = format!("and none came within {} s", self.wait.as_secs());
        match self.attaching.elsewhere(&self.handle).await {
            None => format!("no instance of the agent is attached, {came}"),
            Some((here, places)) if places.is_empty() => {
                format!(
                    "no instance of the agent is attached to any process, {came} to {here}, which was asked"
                )
            }
            Some((here, places)) => format!(
                "no instance of the agent is attached to the process at {here}, which was asked, {came}; there are some \
                 at {}: ask there, or let instances attach to each process",
                places.join(", ")
            ),
        }
    }

    async fn carry_out(&self, request: &RunRequest, run: Run) -> RunEnd {
        let Run { output, mut input } = run;
        for _ in 0..INSTANCES_TRIED_MAX {
            let desk = self.desk();
            let place = tokio::select! {
                biased;
                () = until_canceled(&mut input) => return RunEnd::canceled(),
                place = desk.place(request, self.wait) => place,
            };
            let Some(place) = place else {
                return RunEnd::error(self.nobody_came().await);
            };
            match conversation::serve(place, request, &output, &mut input).await {
                ConversationEnd::Ended(ended) => return ended,
                // Who lets go of an agent cancels what it does.
                ConversationEnd::Vanished { is_lost: true } if desk.is_closed() => return RunEnd::canceled(),
                ConversationEnd::Vanished { is_lost: true } => {
                    return RunEnd::error("the instance of the agent that carried out the run went away");
                }
                ConversationEnd::Vanished { is_lost: false } => {}
            }
        }
        let why = format!("{INSTANCES_TRIED_MAX} instances of the agent went away before they said anything");
        RunEnd::error(why)
    }
}

impl Runner for ConnectedRunner {
    fn card(&self) -> Card {
        Card {
            purpose: self.settings.purpose.clone(),
            operations: Vec::new(),
            tools: self.settings.tools.clone(),
            request_types: self.settings.request_types.clone(),
            instances: Some(self.desk().instances()),
        }
    }

    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move { self.carry_out(&request, run).await })
    }
}
