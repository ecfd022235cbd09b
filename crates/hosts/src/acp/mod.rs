//! `kind = "acp"`: a coding agent that speaks the Agent Client Protocol (version 1) on its standard input and output.
//! Each thread has a session in a separate process, which is kept while the thread is idle.
//! Must not know: the agent.

mod content;
mod elicitation;
mod link;
mod parked;
mod permission;
mod question;
mod subject;
#[cfg(test)]
mod tests;
mod tools;
mod turn;
pub mod wire;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use plenary_runs::{Card, Run, RunEnd, RunFuture, RunRequest, Runner};
use serde::Deserialize;

use self::{
    link::Link,
    parked::ParkedSessions,
    turn::{Turn, TurnEnd},
};
use crate::{ConfigFault, Launcher, config, program::Program, until_canceled};

/// Most idle processes of one agent; beyond it the one that has been idle longest is stopped.
pub const RESTING_MAX: usize = 32;
/// How long an idle process is kept by default.
const REST: Duration = Duration::from_secs(15 * 60);
/// How long a program may take to start a session by default; it may have to be downloaded first.
const OPENING_MAX: Duration = Duration::from_secs(60);

/// The configuration table of an agent of this kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The program and its arguments; no shell is involved.
    pub command: Vec<String>,
    /// The working directory and the directory of its sessions; by default the server's.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Additional environment variables. The program inherits the server's, except those that may contain secrets,
    /// such as `PLENARY_…`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How long a process is kept for its thread between two runs, such as `15m`.
    #[serde(default, deserialize_with = "config::time_text")]
    pub rest: Option<String>,
    /// How long the program may take to start a session, such as `60s`; then the run ends with an error.
    #[serde(default, deserialize_with = "config::time_text")]
    pub opening_max: Option<String>,
    /// The purpose of the agent, one line.
    #[serde(default)]
    pub purpose: String,
    /// The tools of the agent, for information.
    #[serde(default)]
    pub tools: Vec<String>,
}

/// A coding agent.
#[derive(Debug)]
pub struct Acp {
    settings: Settings,
    program: Program,
    rest: Duration,
    opening_max: Duration,
    resting: Mutex<ParkedSessions>,
}

impl Acp {
    /// An agent with these settings.
    ///
    /// # Errors
    /// If no program is configured, or a setting is invalid.
    pub fn new(settings: Settings, launcher: &Launcher) -> Result<Self, ConfigFault> {
        let program = Program::new(&settings.command, settings.directory.as_ref(), &settings.env, launcher)?;
        let rest = settings.rest.as_deref().map(|text| config::duration("rest", text)).transpose()?;
        let opening = settings.opening_max.as_deref().map(|text| config::duration("opening_max", text));
        let opening_max = opening.transpose()?.unwrap_or(OPENING_MAX);
        let rest = rest.unwrap_or(REST);
        Ok(Self { settings, program, rest, opening_max, resting: Mutex::default() })
    }

    /// Whether its program can be started here, as far as its files show.
    ///
    /// # Errors
    /// Why it cannot, as text for people.
    pub fn check_program(&self) -> Result<(), String> {
        self.program.check()
    }

    async fn carry_out(&self, request: &RunRequest, run: Run) -> RunEnd {
        let Run { output, mut input } = run;
        let Some(text) = request.input.clone() else {
            return RunEnd::error("the request has no `input` to prompt the agent with");
        };
        let link = tokio::select! {
            biased;
            () = until_canceled(&mut input) => return RunEnd::canceled(),
            link = self.link(request) => link,
        };
        let mut link = match link {
            Ok(link) => link,
            Err(error) => return RunEnd::error(error),
        };
        let turn_end = Turn::new(&mut link, output).carry_out(&text, &mut input).await;
        match turn_end {
            TurnEnd::Ended(run_end) => {
                self.resting().park(request.thread_id, link, self.rest);
                run_end
            }
            TurnEnd::Lost(run_end) => run_end,
            TurnEnd::Gone => RunEnd::error(link.end_text().await),
        }
    }

    /// The session of a thread: the idle one, or a new one.
    async fn link(&self, request: &RunRequest) -> Result<Link, String> {
        let resting = self.resting().wake(request.thread_id);
        if let Some(resting) = resting
            && let Some(link) = resting.await
        {
            return Ok(link);
        }
        Link::open(&self.program, request, self.opening_max).await
    }

    fn resting(&self) -> MutexGuard<'_, ParkedSessions> {
        self.resting.lock()
    }
}

impl Runner for Acp {
    fn card(&self) -> Card {
        Card {
            purpose: self.settings.purpose.clone(),
            operations: Vec::new(),
            tools: self.settings.tools.clone(),
            request_types: Vec::new(),
            instances: None,
        }
    }

    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move { self.carry_out(&request, run).await })
    }
}
