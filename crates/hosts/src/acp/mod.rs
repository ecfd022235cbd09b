//! `kind = "acp"`: a coding agent that speaks the Agent Client Protocol (version 1) on its standard input and output.
//! Each thread has a session in a separate process, which is kept while the thread is idle.
//! Must not know: the agent.

mod elicitation;
mod link;
mod parked;
mod permission;
mod question;
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

/// Most processes of one agent that are kept for threads that rest; past it the one that rested longest is stopped.
pub const RESTING_MAX: usize = 32;
/// How long a process is kept for its thread unless it is said.
const REST: Duration = Duration::from_secs(15 * 60);
/// How long a program may take to begin a session unless it is said: it may have to be fetched first.
const OPENING_MAX: Duration = Duration::from_secs(60);

/// The table of an agent of this kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// Where it runs, and the directory of its sessions; the server's own unless said otherwise.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Variables that it gets beside the server's own, of which those named `PLENARY_…` are taken away.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How long a process is kept for its thread between two runs, such as `15m`.
    #[serde(default)]
    pub rest: Option<String>,
    /// How long the program may take to begin a session, such as `60s`; past it the run ends with an error.
    #[serde(default)]
    pub opening_max: Option<String>,
    /// What it is for, one line.
    #[serde(default)]
    pub purpose: String,
    /// Its tools, for information.
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
    /// An agent of these settings.
    ///
    /// # Errors
    /// When there is no program to start, or a member can't be read.
    pub fn new(settings: Settings, launcher: &Launcher) -> Result<Self, ConfigFault> {
        let program = Program::new(&settings.command, settings.directory.as_ref(), &settings.env, launcher)?;
        let rest = settings.rest.as_deref().map(|text| config::duration("rest", text)).transpose()?;
        let opening = settings.opening_max.as_deref().map(|text| config::duration("opening_max", text));
        let opening_max = opening.transpose()?.unwrap_or(OPENING_MAX);
        let rest = rest.unwrap_or(REST);
        Ok(Self { settings, program, rest, opening_max, resting: Mutex::default() })
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
            Err(why) => return RunEnd::error(why),
        };
        let over = Turn::new(&mut link, output).carry_out(&text, &mut input).await;
        match over {
            TurnEnd::Ended(ended) => {
                self.resting().park(request.thread_id, link, self.rest);
                ended
            }
            TurnEnd::Lost(ended) => ended,
            TurnEnd::Gone => RunEnd::error(link.gone().await),
        }
    }

    /// The session of a thread: where it rests, else a new one.
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
