//! `kind = "a2a"`: a foreign agent that speaks Agent2Agent 1.0. Its task is a run here: artifacts are texts and
//! documents, and if a task requires input, the run waits for it.
//! Must not know: the other agent.

mod client;
mod grpc;
mod http2;
mod progress;

use std::{sync::Arc, time::Duration};

use plenary_runs::{
    Card, EmitError, Event, Input, Output, Run, RunEnd, RunFuture, RunRequest, RunSignal, Runner,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

pub(crate) use self::http2::Http2;
use self::{
    client::{Answer, CallError, Client, Endpoint, EventStream},
    progress::{TaskOutput, TaskProgress},
};
use crate::{ConfigFault, key, threads::RemoteThreads, until_canceled};

/// Most attempts to resume a broken stream without new results.
const ATTEMPTS_MAX: u32 = 8;
/// The pause before a task is read again; it doubles while there is no news.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Most doublings of the pause: after broken streams, and after responses without news.
const BROKEN_DOUBLINGS_MAX: u32 = 6;
const QUIET_DOUBLINGS_MAX: u32 = 4;
/// How long the cancel of a task may take after the run has failed.
const CANCEL_TIME: Duration = Duration::from_secs(5);
/// The key of the answer to a task's question.
const ANSWER: &str = "answer";

/// The configuration table of an agent of this kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The URL above `/.well-known/agent-card.json`, such as `https://agents.example/writer`.
    pub url: String,
    /// The URL for gRPC, such as `https://agents.example:50051`; if absent, the server of `url` with the binding that
    /// the card prefers.
    #[serde(default)]
    pub grpc: Option<String>,
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

/// A foreign agent.
#[derive(Debug)]
pub struct A2a {
    settings: Settings,
    client: Client,
    /// The foreign context of each thread.
    contexts: RemoteThreads,
}

/// Why following a task pauses.
enum PauseReason {
    Question(String),
    Ended(RunEnd),
}

impl A2a {
    /// An agent with these settings; sends no request yet. `variable` reads the environment.
    ///
    /// # Errors
    /// If the URL is invalid, the token is missing, or TLS cannot be set up.
    pub fn new(settings: Settings, variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigFault> {
        let token = settings.token_env.as_deref();
        let token = token.map(|name| key::bearer("token_env", name, variable(name))).transpose()?;
        let client = Client::new(&settings.url, settings.grpc.as_deref(), token)?;
        let contexts = RemoteThreads::new(&settings.url);
        Ok(Self { settings, client, contexts })
    }

    async fn carry_out(&self, request: &RunRequest, run: Run) -> Result<RunEnd, String> {
        let Run { output, mut input } = run;
        let endpoint = tokio::select! {
            endpoint = self.client.endpoint() => endpoint?,
            () = until_canceled(&mut input) => return Ok(RunEnd::canceled()),
        };
        let mut progress = TaskProgress::new(self.contexts.find(request.thread_id, &output).await?);
        let run_end = self.follow_task(&endpoint, request, &mut progress, (&output, &mut input)).await;
        if run_end.is_err() {
            // Its further output has no receiver.
            let _canceled = timeout(CANCEL_TIME, self.cancel(&endpoint, &progress)).await;
        }
        run_end
    }

    /// Sends the request, and the caller's answers to the task's questions, until the task is over.
    async fn follow_task(
        &self,
        endpoint: &Endpoint,
        request: &RunRequest,
        progress: &mut TaskProgress,
        (output, input): (&Output, &mut Input),
    ) -> Result<RunEnd, String> {
        let (mut text, mut message_number) = (request.input.clone().unwrap_or_default(), 0);
        loop {
            message_number += 1;
            let message = json!({
                "messageId": format!("{}-{message_number}", request.run_id), "role": "ROLE_USER", "parts": [{"text": text}],
                "contextId": progress.context, "taskId": progress.task,
            });
            let pause_reason = tokio::select! {
                reason = self.send_message(endpoint, &message, progress, output) => Some(reason?),
                () = until_canceled(input) => None,
            };
            if let Some(context) = &progress.context {
                self.contexts.store(request.thread_id, context, output).await;
            }
            match pause_reason {
                Some(PauseReason::Ended(run_end)) => return Ok(run_end),
                Some(PauseReason::Question(question)) => match ask(&question, output, input).await? {
                    Some(answer) => text = answer,
                    None => return Ok(self.cancel(endpoint, progress).await),
                },
                None => return Ok(self.cancel(endpoint, progress).await),
            }
        }
    }

    /// Sends a message and follows the task until it waits or is over.
    async fn send_message(
        &self,
        endpoint: &Endpoint,
        message: &Value,
        progress: &mut TaskProgress,
        output: &Output,
    ) -> Result<PauseReason, String> {
        // Members without a value are omitted.
        let members = message.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let message: Map<String, Value> =
            members.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut params = json!({"message": message});
        let method = if endpoint.streams { "SendStreamingMessage" } else { "SendMessage" };
        if !endpoint.streams {
            params["configuration"] = json!({"returnImmediately": true});
        }
        let mut answer = self.client.call(endpoint, method, &params).await.map_err(CallError::text)?;
        let mut retries = RetryPolicy::default();
        loop {
            let pause_reason = match answer {
                Answer::Whole(result) => {
                    let outputs = progress.apply(&result);
                    retries.note_answer(!outputs.is_empty());
                    emit_all(outputs, output).await?
                }
                Answer::Stream(results) => self.listen(*results, progress, output, &mut retries).await?,
            };
            if let Some(reason) = pause_reason {
                return Ok(reason);
            }
            let Some(task) = progress.task.clone() else {
                return Err(self.client.error("its answer ended before its task had begun"));
            };
            answer = self.follow_again(endpoint, &json!({"id": task}), &mut retries).await?;
        }
    }

    /// Follows a task again after a pause. An agent that is not reached, like one that restarts, is asked again: its
    /// task goes on.
    async fn follow_again(
        &self,
        endpoint: &Endpoint,
        id: &Value,
        retries: &mut RetryPolicy,
    ) -> Result<Answer, String> {
        let mut error = self.client.error("its stream ended before the task did");
        while let Some(pause) = retries.pause() {
            sleep(pause).await;
            match self.look_at(endpoint, id).await {
                Ok(answer) => return Ok(answer),
                Err(CallError::Unreachable(text)) => error = text,
                Err(CallError::Refused(text)) => return Err(text),
            }
        }
        Err(error)
    }

    /// Subscribes to a task, or reads it: a task that has ended meanwhile cannot be subscribed to.
    async fn look_at(&self, endpoint: &Endpoint, id: &Value) -> Result<Answer, CallError> {
        if endpoint.streams
            && let Ok(answer) = self.client.call(endpoint, "SubscribeToTask", id).await
        {
            return Ok(answer);
        }
        Ok(match self.client.call(endpoint, "GetTask", id).await? {
            Answer::Whole(task) => Answer::Whole(json!({"task": task})),
            stream @ Answer::Stream(_) => stream,
        })
    }

    async fn listen(
        &self,
        mut results: EventStream,
        progress: &mut TaskProgress,
        output: &Output,
        retries: &mut RetryPolicy,
    ) -> Result<Option<PauseReason>, String> {
        while let Some(result) = results.next(&self.client).await? {
            retries.note_answer(true);
            if let Some(reason) = emit_all(progress.apply(&result), output).await? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    async fn cancel(&self, endpoint: &Endpoint, progress: &TaskProgress) -> RunEnd {
        if let Some(task) = &progress.task
            && let Err(error) = self.client.call(endpoint, "CancelTask", &json!({"id": task})).await
        {
            tracing::debug!(why = error.text(), "a foreign task was not canceled");
        }
        RunEnd::canceled()
    }
}

/// The retry policy for a task without a stream.
#[derive(Debug, Default)]
struct RetryPolicy {
    /// Consecutive broken streams without results.
    broken_streams: u32,
    /// Consecutive responses without news.
    quiet_answers: u32,
}

impl RetryPolicy {
    /// Notes a response, with or without news. Only the run's own limit ends a slow task.
    fn note_answer(&mut self, has_news: bool) {
        self.broken_streams = 0;
        self.quiet_answers = if has_news { 0 } else { self.quiet_answers + 1 };
    }

    /// The pause before the next attempt; `None` after the last one.
    fn pause(&mut self) -> Option<Duration> {
        self.broken_streams += 1;
        let doublings =
            self.broken_streams.min(BROKEN_DOUBLINGS_MAX).max(self.quiet_answers.min(QUIET_DOUBLINGS_MAX));
        (self.broken_streams < ATTEMPTS_MAX).then(|| FIRST_PAUSE * (1 << doublings))
    }
}

/// Emits the outputs as events of our run; returns whether the task waits or is over.
async fn emit_all(outputs: Vec<TaskOutput>, output: &Output) -> Result<Option<PauseReason>, String> {
    for item in outputs {
        match item {
            TaskOutput::Delta(text) => output.emit_delta(&text),
            TaskOutput::Event(event) => {
                if let Some(run_end) = emit(event, output).await? {
                    return Ok(Some(PauseReason::Ended(run_end)));
                }
            }
            TaskOutput::Question(question) => return Ok(Some(PauseReason::Question(question))),
            TaskOutput::Ended(run_end) => return Ok(Some(PauseReason::Ended(run_end))),
            TaskOutput::TooLarge(error) => return Err(error),
        }
    }
    Ok(None)
}

async fn emit(event: Event, output: &Output) -> Result<Option<RunEnd>, String> {
    match output.emit(event).await {
        Ok(()) => Ok(None),
        Err(EmitError::Over) => Ok(Some(RunEnd::canceled())),
        Err(fault @ EmitError::TooLarge) => Err(fault.to_string()),
    }
}

/// Asks the caller of the run; `None` if the run was canceled.
async fn ask(question: &str, output: &Output, input: &mut Input) -> Result<Option<String>, String> {
    let keys = Map::from_iter([(ANSWER.to_owned(), Value::from(question))]);
    if emit(Event::wait_for_input(&keys), output).await?.is_some() {
        return Ok(None);
    }
    let RunSignal::Resume(answers) = input.wait().await else { return Ok(None) };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(Some(answers.get(ANSWER).map_or_else(|| answers.text().get().to_owned(), text)))
}

impl Runner for A2a {
    fn card(&self) -> Card {
        Card { purpose: self.settings.purpose.clone(), tools: self.settings.tools.clone(), ..Card::default() }
    }

    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move { self.carry_out(&request, run).await.unwrap_or_else(RunEnd::error) })
    }
}

#[cfg(test)]
mod tests;
