//! `kind = "exec"`: a program on this machine for each run, one JSON object per line in both directions (wire.md
//! D.8).
//! Must not know: what the program does.

mod exit;
mod listener;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use plenary_runs::{Card, Input, Run, RunEnd, RunFuture, RunRequest, RunSignal, Runner};
use serde::Deserialize;
use tokio::sync::mpsc;

use self::listener::Listener;
use crate::{
    ConfigFault, Launcher, config,
    program::{
        Program,
        lines::Lines,
        process::{self, ChildProcess, Group},
        stderr,
    },
    protocol,
};

/// Most lines that wait for a program that does not read; beyond it answers are dropped and the log says so.
const LINES_WAITING_MAX: usize = 32;

/// The configuration table of an agent of this kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The program and its arguments; no shell is involved.
    pub command: Vec<String>,
    /// The working directory; by default the server's.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Additional environment variables. The program inherits the server's, except those that may contain secrets,
    /// such as `PLENARY_…`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
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

/// An agent that is a program.
#[derive(Debug)]
pub struct Exec {
    settings: Settings,
    program: Program,
}

impl Exec {
    /// An agent with these settings.
    ///
    /// # Errors
    /// If no program is configured.
    pub fn new(settings: Settings, launcher: &Launcher) -> Result<Self, ConfigFault> {
        let program = Program::new(&settings.command, settings.directory.as_ref(), &settings.env, launcher)?;
        Ok(Self { settings, program })
    }

    /// Whether its program can be started here, as far as its files show.
    ///
    /// # Errors
    /// Why it cannot, as text for people.
    pub fn check_program(&self) -> Result<(), String> {
        self.program.check()
    }
}

impl Runner for Exec {
    fn card(&self) -> Card {
        Card {
            purpose: self.settings.purpose.clone(),
            operations: Vec::new(),
            tools: self.settings.tools.clone(),
            request_types: self.settings.request_types.clone(),
            instances: None,
        }
    }

    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move { self.carry_out(&request, run).await })
    }
}

impl Exec {
    async fn carry_out(&self, request: &RunRequest, run: Run) -> RunEnd {
        let ChildProcess { mut child, stdin, stdout, stderr, group } = match process::start(&self.program) {
            Ok(started) => started,
            Err(error) => return RunEnd::error(error),
        };
        let Run { output, mut input } = run;
        let (to_program, lines) = mpsc::channel(LINES_WAITING_MAX);
        // The first line of the queue, so there is space.
        let _ = to_program.try_send(request.line());
        let stderr = stderr::drain(stderr, request.agent.clone(), format!("run {}", request.run_id));
        let mut listener = Listener::new(Lines::new(stdout), output, request);
        let run_end = {
            let listening = listener.listen();
            let writing = process::write_lines(lines, stdin);
            let relaying = relay_signals(&mut input, &to_program, &group, request);
            let exited = process::wait_for_exit(&mut child, &group);
            tokio::pin!(listening, writing, relaying, exited);
            tokio::select! {
                biased;
                run_end = &mut listening => run_end,
                run_end = &mut relaying => Some(run_end),
                () = &mut exited => None,
                never = &mut writing => match never {},
            }
        };
        match run_end {
            Some(run_end) => {
                exit::finish_in_background(child, group, listener.into_lines(), stderr);
                run_end
            }
            None => exit::without_completion(child, group, stderr, &listener.invalid_lines()).await,
        }
    }
}

/// Passes the requests to the run on to its program; returns only if the program had to be killed.
async fn relay_signals(
    input: &mut Input,
    to_program: &mpsc::Sender<String>,
    group: &Group,
    request: &RunRequest,
) -> RunEnd {
    loop {
        match input.wait().await {
            RunSignal::Resume(request_keys) => {
                if to_program.try_send(protocol::resume(&request_keys.text(), request)).is_err() {
                    tracing::warn!(agent = %request.agent, run = %request.run_id, "the program does not read its input; an answer was lost");
                }
            }
            RunSignal::Cancel => {
                // A program that does not read its input gets the signal instead.
                let _ = to_program.try_send(protocol::cancel(request));
                group.stop().await;
                return RunEnd::canceled();
            }
        }
    }
}
