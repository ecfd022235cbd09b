//! `kind = "remote"`: an agent at another endpoint of the Agent Protocol. Its events are repeated here, one level
//! deeper (SC-22).
//! Must not know: the other agent.

mod link;
mod mirror;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use plenary_runs::{Card, Input, Output, Run, RunEnd, RunFuture, RunRequest, RunSignal, Runner};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use self::{
    link::{Events, Link},
    mirror::{Mirror, MirrorOutcome},
};
use crate::{ConfigFault, key, threads::RemoteThreads, until_canceled};

/// How long the cancellation of a remote run may take.
const CANCEL_TIME: Duration = Duration::from_secs(5);

/// The configuration table of an agent of this kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The other agent's path, such as `https://agents.example/agent/writer`.
    pub url: String,
    /// The variable with the bearer token; without it no token is sent.
    #[serde(default)]
    pub token_env: Option<String>,
    /// The purpose of the agent, one line.
    #[serde(default)]
    pub purpose: String,
    /// The tools of the agent, for information.
    #[serde(default)]
    pub tools: Vec<String>,
}

/// An agent at another endpoint.
#[derive(Debug)]
pub struct Remote {
    settings: Settings,
    link: Link,
    /// The remote thread of each local thread.
    threads: RemoteThreads,
}

impl Remote {
    /// An agent with these settings; sends no request yet. `variable` reads the environment.
    ///
    /// # Errors
    /// If the URL is invalid, the token is missing, or TLS cannot be set up.
    pub fn new(settings: Settings, variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigFault> {
        let token = settings.token_env.as_deref();
        let token = token.map(|name| key::bearer("token_env", name, variable(name))).transpose()?;
        let link = Link::new(&settings.url, token)?;
        let threads = RemoteThreads::new(&settings.url);
        Ok(Self { settings, link, threads })
    }

    async fn body(&self, request: &RunRequest, output: &Output) -> Result<Map<String, Value>, String> {
        let mut body = request.members();
        for own in ["run_id", "thread_id"] {
            body.remove(own);
        }
        body.insert("type".into(), (*request.request_type).into());
        body.insert("depth".into(), (request.depth + 1).into());
        if let Some(remote_thread) = self.threads.find(request.thread_id, output).await? {
            body.insert("thread_id".into(), remote_thread.into());
        }
        Ok(body)
    }

    async fn carry_out(&self, request: &RunRequest, run: Run) -> Result<RunEnd, String> {
        let Run { output, mut input } = run;
        let body = self.body(request, &output).await?;
        let mut events = tokio::select! {
            started = self.link.start(body) => started?,
            () = until_canceled(&mut input) => return Ok(RunEnd::canceled()),
        };
        let mut mirror = Mirror::new(&self.link, output, request.depth);
        let run_end = self.follow_run(request, &mut events, &mut mirror, &mut input).await;
        if run_end.is_err() {
            // The remote run's further output has no receiver.
            let _late = timeout(CANCEL_TIME, self.relay(&events, RunSignal::Cancel)).await;
        }
        run_end
    }

    /// Repeats the remote run's events here, and passes requests on to it, until it ends.
    async fn follow_run(
        &self,
        request: &RunRequest,
        events: &mut Events,
        mirror: &mut Mirror<'_>,
        input: &mut Input,
    ) -> Result<RunEnd, String> {
        let mut is_canceled = false;
        loop {
            tokio::select! {
                biased;
                signal = input.wait(), if !is_canceled => {
                    is_canceled = signal == RunSignal::Cancel;
                    self.relay(events, signal).await?;
                }
                event = events.next(&self.link) => match mirror.handle(event?).await? {
                    MirrorOutcome::Handled => {}
                    MirrorOutcome::Started { run_id, thread_id } => {
                        events.set_run(run_id);
                        if is_canceled {
                            self.relay(events, RunSignal::Cancel).await?;
                        }
                        if let Some(remote_thread) = thread_id {
                            self.threads.store(request.thread_id, &remote_thread, mirror.output()).await;
                        }
                    }
                    MirrorOutcome::Ended(run_end) => return Ok(run_end),
                },
            }
        }
    }

    /// Passes a request to the run on to the remote run. A cancellation that comes before its first event is sent when
    /// that event names the run.
    async fn relay(&self, events: &Events, signal: RunSignal) -> Result<(), String> {
        let Some(run_id) = events.run_id() else { return Ok(()) };
        let body = match signal {
            RunSignal::Resume(keys) => {
                let run_id = json!(run_id);
                let keys = keys.text();
                format!("{{\"type\":\"ResumeWithInput\",\"run_id\":{run_id},\"request_keys\":{keys}}}")
            }
            RunSignal::Cancel => json!({"type": "CancelRequest", "run_id": run_id}).to_string(),
        };
        self.link.post(body).await
    }
}

impl Runner for Remote {
    fn card(&self) -> Card {
        Card {
            purpose: self.settings.purpose.clone(),
            operations: Vec::new(),
            tools: self.settings.tools.clone(),
            request_types: vec!["*".into()],
            instances: None,
        }
    }

    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move { self.carry_out(&request, run).await.unwrap_or_else(RunEnd::error) })
    }
}
