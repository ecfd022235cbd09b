//! `kind = "exec"`: a program of this machine for each run, one JSON object a line both ways (wire.md D.8).
//! Must not know: what the program does.

mod artifact;
mod ending;
mod lines;
mod process;
mod said;
mod stderr;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, convert::Infallible, path::PathBuf, sync::Arc};

use plenary_runs::{Asked, Card, Ended, Input, Run, RunRequest, Runner, Running};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

use self::{
    lines::Lines,
    process::{Group, Started},
    said::Listener,
};
use crate::ConfigFault;

/// Most lines that wait for a program that does not read; past it answers are lost, which a line in the log says.
const LINES_WAITING_MAX: usize = 32;

/// The table of an agent of this kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// Where it runs; the server's own directory unless said otherwise.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Variables that it gets beside the server's own, of which those named `PLENARY_…` are taken away.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
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

/// A program gets every request as it is, so it takes any.
fn any_request() -> Vec<String> {
    vec!["*".into()]
}

/// An agent that is a program.
#[derive(Debug)]
pub struct Exec {
    settings: Settings,
}

impl Exec {
    /// An agent of these settings.
    ///
    /// # Errors
    /// When there is no program to start.
    pub fn new(settings: Settings) -> Result<Self, ConfigFault> {
        match settings.command.first() {
            Some(program) if !program.is_empty() => Ok(Self { settings }),
            _ => Err(ConfigFault::member("command", "has no program; write [\"program\", \"argument\"]")),
        }
    }
}

impl Runner for Exec {
    fn card(&self) -> Card {
        Card {
            purpose: self.settings.purpose.clone(),
            operations: Vec::new(),
            tools: self.settings.tools.clone(),
            request_types: self.settings.request_types.clone(),
        }
    }

    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> Running {
        Box::pin(async move { self.carry_out(&request, run).await })
    }
}

impl Exec {
    async fn carry_out(&self, request: &RunRequest, run: Run) -> Ended {
        let Started { mut child, stdin, stdout, stderr, group } = match process::start(&self.settings) {
            Ok(started) => started,
            Err(why) => return Ended::error(why),
        };
        let Run { output, mut input } = run;
        let (to_program, lines) = mpsc::channel(LINES_WAITING_MAX);
        // The first of the queue, so there is place.
        let _ = to_program.try_send(request.line());
        let heard = stderr::drain(stderr, request);
        let mut listener = Listener::new(Lines::new(stdout), output, request);
        let said = {
            let listening = listener.listen();
            let told = told(lines, stdin);
            let asked = asked(&mut input, &to_program, &group, request);
            let gone = process::gone(&mut child, &group);
            tokio::pin!(listening, told, asked, gone);
            tokio::select! {
                biased;
                said = &mut listening => said,
                said = &mut asked => Some(said),
                () = &mut gone => None,
                never = &mut told => match never {},
            }
        };
        match said {
            Some(ended) => {
                ending::let_go(child, group, listener.into_lines(), heard);
                ended
            }
            None => ending::without_completion(child, group, heard).await,
        }
    }
}

/// Hands what is asked of the run to its program; ends only when the program had to be killed.
async fn asked(
    input: &mut Input,
    to_program: &mpsc::Sender<String>,
    group: &Group,
    request: &RunRequest,
) -> Ended {
    loop {
        match input.wait().await {
            Asked::Resume(request_keys) => {
                let line = line("ResumeWithInput", Some(&request_keys), request);
                if to_program.try_send(line).is_err() {
                    tracing::warn!(agent = %request.agent, run = %request.run_id, "the program does not read its input; an answer was lost");
                }
            }
            Asked::Cancel => {
                // A program that does not read is told by the signal.
                let _ = to_program.try_send(line("CancelRequest", None, request));
                group.stop().await;
                return Ended::canceled();
            }
        }
    }
}

/// A line for the program about a run that goes on (wire.md D.8).
#[derive(Serialize)]
struct Told<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_keys: Option<&'a Map<String, Value>>,
    run_id: String,
    thread_id: String,
}

fn line(kind: &'static str, request_keys: Option<&Map<String, Value>>, request: &RunRequest) -> String {
    let (run_id, thread_id) = (request.run_id.to_string(), request.thread_id.to_string());
    let told = Told { kind, request_keys, run_id, thread_id };
    serde_json::to_string(&told).expect("names of members are text")
}

/// Writes lines to the program until it is over; holds its input open meanwhile. A program that closed its input, or
/// never reads it, is not held up by that.
async fn told(mut lines: mpsc::Receiver<String>, mut stdin: impl AsyncWrite + Unpin) -> Infallible {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            break;
        }
    }
    std::future::pending().await
}
