//! `kind = "openai"`: a model behind an OpenAI-compatible chat endpoint, with the server's own operations as its
//! tools.
//! Must not know: the server, or the effect of a tool.

mod ask;
mod chat;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use http::Uri;
use plenary_outward::{Pool, client_config};
use plenary_runs::{
    Card, EmitError, Event, EventKind, FinishReason, Input, Output, Run, RunEnd, RunFuture, RunRequest,
    RunSignal, Runner,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::{
    ask::Server,
    chat::{Answer, Call, Message},
};
use crate::{ConfigFault, Tool, Toolbox, key};

/// The default limit of requests to the model in one run; beyond it the run ends with an error.
const ROUNDS_MAX: u32 = 32;

/// The set with this kind's own tool: a question to the caller of the agent.
const INPUT_SET: &str = "input";
const ASK_CALLER: &str = "ask_caller";

/// The configuration table of an agent of this kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The URL above `/chat/completions`, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// The variable with the API key; without it no key is sent.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// The system prompt of the model.
    #[serde(default)]
    pub system: Option<String>,
    /// The sets of tools for the model: those of the server, and `input`, with which it can ask its caller.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The purpose of the agent, one line.
    #[serde(default)]
    pub purpose: String,
    /// Most requests to the model in one run.
    #[serde(default = "rounds_max")]
    pub rounds_max: u32,
    /// Additional members of each request, such as `temperature`.
    #[serde(default)]
    pub options: Map<String, Value>,
}

const fn rounds_max() -> u32 {
    ROUNDS_MAX
}

/// An agent that is a model.
pub struct OpenAi {
    settings: Settings,
    server: Server,
    tools: Vec<Tool>,
    toolbox: Arc<dyn Toolbox>,
}

impl OpenAi {
    /// An agent with these settings; sends no request yet. `variable` reads the environment.
    ///
    /// # Errors
    /// If the URL is invalid, the key is missing, a set of tools is unknown, or TLS cannot be set up.
    pub fn new(
        settings: Settings,
        toolbox: Arc<dyn Toolbox>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigFault> {
        let endpoint = format!("{}/chat/completions", settings.base_url.trim_end_matches('/'));
        let endpoint: Uri = endpoint.parse().map_err(|_| ConfigFault::member("base_url", "is not a URL"))?;
        let secure = match endpoint.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => {
                return Err(ConfigFault::member("base_url", "begins neither with http:// nor with https://"));
            }
        };
        let tls = client_config(secure, None, "in SSL_CERT_FILE");
        let pool = Pool::new(tls.map_err(|fault| ConfigFault::member("base_url", fault.to_string()))?);
        let key = settings
            .api_key_env
            .as_deref()
            .map(|name| key::bearer("api_key_env", name, variable(name)))
            .transpose()?;
        let sets: Vec<String> = settings.tools.iter().filter(|set| *set != INPUT_SET).cloned().collect();
        let mut tools = toolbox.tools(&sets).map_err(|error| ConfigFault::member("tools", error))?;
        if settings.tools.len() > sets.len() {
            tools.push(ask_caller());
        }
        Ok(Self { settings, server: Server { pool, endpoint, key }, tools, toolbox })
    }
}

fn ask_caller() -> Tool {
    Tool {
        name: ASK_CALLER.into(),
        description: "Ask the person or agent who started this run, and wait for the answer.".into(),
        parameters: json!({"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}),
    }
}

impl Runner for OpenAi {
    fn card(&self) -> Card {
        Card {
            purpose: self.settings.purpose.clone(),
            tools: self.tools.iter().map(|tool| tool.name.clone()).collect(),
            ..Card::default()
        }
    }

    fn run(self: Arc<Self>, request: RunRequest, run: Run) -> RunFuture {
        Box::pin(async move { self.carry_out(&request, run).await.unwrap_or_else(|run_end| run_end) })
    }
}

/// A count as JSON; saturates.
fn count(n: usize) -> Value {
    Value::from(u64::try_from(n).unwrap_or(u64::MAX))
}

/// The room decides how a run ends that accepts no more events.
fn emit_failure(fault: EmitError) -> RunEnd {
    match fault {
        EmitError::Over => RunEnd::canceled(),
        EmitError::TooLarge => RunEnd::error("the model wrote more than an event can hold"),
    }
}

impl OpenAi {
    async fn carry_out(&self, request: &RunRequest, run: Run) -> Result<RunEnd, RunEnd> {
        let mut messages = self.conversation(request, &run).await?;
        let Run { output, mut input } = run;
        for _ in 0..self.settings.rounds_max {
            let mut answer = self.ask(&messages, &output, &mut input).await?;
            messages.push(answer.message());
            if !answer.content.is_empty() {
                output.emit(Event::text(&answer.content)).await.map_err(emit_failure)?;
            }
            if let Some(why) = answer.cut() {
                return Err(RunEnd::error(why));
            }
            if answer.calls.is_empty() {
                return Ok(RunEnd::with(answer.content));
            }
            for call in &answer.calls {
                let result = self.call(request, call, &output, &mut input).await?;
                messages.push(Message::answer(call, result));
            }
        }
        let rounds = self.settings.rounds_max;
        Err(RunEnd::error(format!(
            "the model had called tools for {rounds} rounds and was not done (rounds_max)"
        )))
    }

    /// The earlier messages of the thread, and the request.
    async fn conversation(&self, request: &RunRequest, run: &Run) -> Result<Vec<Message>, RunEnd> {
        let mut messages = Vec::new();
        messages.extend(self.settings.system.as_deref().map(|text| Message::with_role("system", text)));
        let turns =
            run.turns().await.map_err(|_| RunEnd::error("the thread's earlier runs could not be read"))?;
        for turn in turns {
            let (Some(input), Some(result), FinishReason::Success) =
                (turn.request.input, turn.result, turn.finish_reason)
            else {
                continue;
            };
            messages.extend([Message::with_role("user", input), Message::with_role("assistant", result)]);
        }
        messages.push(Message::with_role("user", request.input.clone().unwrap_or_default()));
        Ok(messages)
    }

    async fn ask(&self, messages: &[Message], output: &Output, input: &mut Input) -> Result<Answer, RunEnd> {
        let members_of = |members: &[(&str, Value)]| {
            members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        };
        let model = Value::from(self.settings.model.as_str());
        let members: Map<_, _> = members_of(&[("model", model.clone()), ("messages", count(messages.len()))]);
        output.emit(event(EventKind::CompletionCall, &members)?).await.map_err(emit_failure)?;
        let question = chat::question(&self.settings.model, messages, &self.tools, &self.settings.options);
        let question = Bytes::from(question);
        let response = self.server.ask(&question, |text| output.emit_delta(text));
        let answer = tokio::select! {
            answer = response => answer.map_err(RunEnd::error)?,
            () = wait_for_cancel(input) => return Err(RunEnd::canceled()),
        };
        let members: Map<_, _> = members_of(&[
            ("model", model),
            ("finish_reason", answer.finish_reason.clone().into()),
            ("usage", answer.usage.clone().unwrap_or_default()),
        ]);
        output.emit(event(EventKind::CompletionResult, &members)?).await.map_err(emit_failure)?;
        Ok(answer)
    }

    /// Calls a tool; returns the text for the model.
    async fn call(
        &self,
        request: &RunRequest,
        call: &Call,
        output: &Output,
        input: &mut Input,
    ) -> Result<String, RunEnd> {
        let name = call.function.name.as_str();
        let args = call.args();
        let arguments = args.clone().unwrap_or_default();
        output.emit(Event::tool_call(name, &arguments)).await.map_err(emit_failure)?;
        let has_tool = self.tools.iter().any(|tool| tool.name == name);
        let result = match args {
            _ if !has_tool => Err(format!("there is no tool `{name}`")),
            Err(error) => Err(error),
            Ok(args) if name == ASK_CALLER => call_ask_caller(&args, output, input).await?,
            Ok(args) => tokio::select! {
                result = self.toolbox.call(request, name, &args) => result,
                () = wait_for_cancel(input) => return Err(RunEnd::canceled()),
            },
        };
        let (event, result) = match result {
            Ok(text) => (Event::tool_result(name, &text), text),
            Err(error) => tool_failure(&error),
        };
        match output.emit(event).await {
            Ok(()) => Ok(result),
            Err(EmitError::TooLarge) => {
                let (event, result) = tool_failure(&format!("the result of the tool `{name}` is too large"));
                output.emit(event).await.map_err(emit_failure)?;
                Ok(result)
            }
            Err(over @ EmitError::Over) => Err(emit_failure(over)),
        }
    }
}

/// The event of a failed tool, and the text for the model.
fn tool_failure(error: &str) -> (Event, String) {
    (Event::tool_error(error), format!("error: {error}"))
}

fn event(kind: EventKind, members: &Map<String, Value>) -> Result<Event, RunEnd> {
    Event::new(kind, members).map_err(|fault| RunEnd::error(fault.to_string()))
}

/// Waits until the run is canceled.
async fn wait_for_cancel(input: &mut Input) {
    while !matches!(input.wait().await, RunSignal::Cancel) {}
}

/// SC-44, SC-45: the caller's answer is the result of the tool.
async fn call_ask_caller(
    args: &Map<String, Value>,
    output: &Output,
    input: &mut Input,
) -> Result<Result<String, String>, RunEnd> {
    let Some(question) = args.get("question").and_then(Value::as_str) else {
        return Ok(Err("`question` is missing".into()));
    };
    let keys = Map::from_iter([("answer".to_owned(), Value::from(question))]);
    output.emit(Event::wait_for_input(&keys)).await.map_err(emit_failure)?;
    let RunSignal::Resume(answers) = input.wait().await else { return Err(RunEnd::canceled()) };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let all_answers = || answers.text().get().to_owned();
    Ok(Ok(answers.get("answer").map_or_else(all_answers, text)))
}
