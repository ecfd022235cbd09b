//! Starting a run, resuming it, canceling it (SC-11, SC-35, SC-39, SC-45, SC-46).
//! Must not know: what an agent does.

use axum::{
    extract::{Path, Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use plenary_edge::{JsonBody, Operation, OperationDoc};
use plenary_engine::{ExecuteError, Executed};
use plenary_kernel::{Class, TimestampMs, Version};
use plenary_log::Fault;
use plenary_room::sse::pieces;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Answer, REPLAYED, discovery::configured, json, names_run, of_agent, query, set_run_headers};
use crate::{
    Runs,
    agentic::{Dialect, Shape, TranslatedStream, prompt_of},
    caller::RequestCaller,
    command::{CancelRun, InterruptReceipt, Request, ResumeRun, RunStart},
    decide::Rejection,
    event::RunTrace,
    id::{RunId, ThreadId},
    limits::DEPTH_MAX,
    live::Live,
    lookup::VisibleThread,
    refusals::{self, RunRefusal},
    registry::Agent,
    request::{self, Ids, RunBody, RunCommand, ThreadChoice, Wait},
    run_reader::Since,
    state::RunStatus,
    wire::{Base, Source, WireEvent},
};

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let run_doc = of_agent("run.run", Method::POST, "/agent/{name}/run", "Start, resume or cancel a run")
        .tool("runs")
        .description(
            "A ChatRequest starts a run, in a new thread or in `thread_id`; `run_id` resumes or cancels an active run. \
             202 without a body, with `X-Run-Id`, `X-Thread-Id` and `Location`; with `wait=true` 200 and the \
             RunStarted, with `wait=result` 200 and the RunCompleted or the WaitForInput. The runs of a thread are \
             active one at a time.",
        )
        .query::<RunQuery>()
        .request::<RunBody>()
        .reply::<Base>()
        .or_empty(StatusCode::ACCEPTED)
        .errors(Class::Forbidden, &["forbidden"])
        .errors(Class::Conflict, &["run_not_active"])
        .errors(Class::Unprocessable, &["missing_run_id", "invalid_run_id", "invalid_request_keys", "invalid_event_id", "invalid_args", "args_too_large"])
        .errors(Class::TooMany, &["too_many_streams"]);
    let stream_doc = of_agent(
        "run.stream",
        Method::POST,
        "/agent/{name}/stream_request",
        "Start a run and follow it (server-sent events)",
    )
    .no_tool("run.run asks, and run.events follows")
    .description(
        "The events of the new run as they occur; `data` is an event, `event` its type, `id` its number. Text that is \
         not complete yet comes as TextDelta, without an id. The stream ends after RunCompleted. `{prompt}`, as the console of \
         agentic-framework sends it, is a ChatRequest whose events come as text, up to the end of the turn.",
    )
    .query::<StreamQuery>()
    .request::<RunBody>()
    .reply_type("text/event-stream")
    .errors(Class::TooMany, &["too_many_streams"]);
    let [run_doc, stream_doc] = [run_doc, stream_doc].map(|doc| names_run(begins(doc)));
    vec![run_doc.handled_by(run), stream_doc.handled_by(stream_request)]
}

/// Adds the refusals of an operation that starts a run.
pub(super) fn begins(doc: OperationDoc) -> OperationDoc {
    doc.errors(Class::Malformed, &["invalid_json"])
        .errors(Class::NotFound, &["thread_not_found", "run_not_found"])
        .errors(
            Class::Unprocessable,
            &[
                "invalid_body",
                "unknown_request_type",
                "invalid_type",
                "invalid_input",
                "invalid_thread_id",
                "invalid_if_not_exists",
                "invalid_logging_level",
                "invalid_request_metadata",
                "invalid_run_context",
                "invalid_depth",
                "depth_exceeded",
                "invalid_wait",
                "invalid_query",
                "invalid_idempotency_key",
            ],
        )
        .errors(Class::Conflict, &["thread_full", "agent_stopped", "idempotency_key_reused"])
        .errors(
            Class::TooMany,
            &[
                "too_many_queued_runs",
                "too_many_runs",
                "too_many_runs_of_owner",
                "too_many_queued_runs_of_owner",
            ],
        )
        .errors(Class::Unavailable, &["stopping"])
}

/// The query of `POST …/run`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct RunQuery {
    /// `true`, `false` or `result`; false when absent.
    #[schemars(extend("enum" = ["true", "false", "result"]))]
    wait: Option<String>,
    /// As in the body, which overrides it.
    run_id: Option<String>,
    /// As in the body, which overrides it.
    thread_id: Option<String>,
}

/// The query of `POST …/stream_request`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct StreamQuery {
    /// As in the body, which overrides it.
    thread_id: Option<String>,
}

async fn run(
    State(runs): State<Runs>,
    caller: RequestCaller,
    Path(name): Path<String>,
    query_result: Result<Query<RunQuery>, QueryRejection>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let visible_agent = runs.visible_agent(&caller, &name).await?;
    let (body, parameters) =
        (visible_agent.reveal(body.map_err(RunRefusal::from))?, visible_agent.reveal(query(query_result))?);
    let wait = visible_agent.reveal(Wait::read(parameters.wait.as_deref()))?;
    let ids = Ids { run: parameters.run_id.as_deref(), thread: parameters.thread_id.as_deref() };
    let takes = visible_agent.agent.runner.card().request_types;
    let command = visible_agent.reveal(request::read(body.bytes(), ids, &takes))?;
    let agent = &visible_agent.agent;
    match command {
        // A caller that may not run the agent can stop its own runs, and request nothing else.
        RunCommand::Start { .. } | RunCommand::Resume { .. } | RunCommand::Configure(_)
            if !visible_agent.is_runnable =>
        {
            Err(refusals::agent_not_found())
        }
        RunCommand::Start { thread, request } => {
            let place = runs.place_of(thread).await?;
            let run_start = runs.begin(&caller, agent, place, request, &headers).await?;
            let mut response = match wait {
                Wait::No => StatusCode::ACCEPTED.into_response(),
                Wait::Started | Wait::Result => {
                    json(runs.wait_for_event(&caller, agent, run_start.reply, wait).await?.json)
                }
            };
            set_run_headers(&mut response, agent.name(), run_start.reply.run, run_start.reply.thread);
            Ok(replayed(response, run_start.replayed))
        }
        RunCommand::Resume { run, thread, question } => {
            let thread = runs.interrupted(&caller, agent, run, thread).await?;
            let key = request::key(
                scope("resume", &caller, agent.name()),
                &place(thread, ids),
                &headers,
                body.bytes(),
            )?;
            let command =
                ResumeRun { caller: caller.for_agent(agent), run, question, body: body.bytes().clone() };
            let done = runs.ask(thread, command, key.as_ref()).await?;
            Ok(accepted(agent.name(), thread, &done))
        }
        RunCommand::Cancel { run, thread } => {
            let thread = visible_agent.reveal(runs.interrupted(&caller, agent, run, thread).await)?;
            let key = request::key(
                scope("cancel", &caller, agent.name()),
                &place(thread, ids),
                &headers,
                body.bytes(),
            )?;
            let command = CancelRun { caller: caller.for_agent(agent), run, body: body.bytes().clone() };
            let done = runs.ask(thread, command, key.as_ref()).await?;
            Ok(accepted(agent.name(), thread, &done))
        }
        RunCommand::Configure(args) => configured(&runs, &caller, agent, &headers, body.bytes(), args).await,
    }
}

async fn stream_request(
    State(runs): State<Runs>,
    caller: RequestCaller,
    Path(name): Path<String>,
    query_result: Result<Query<StreamQuery>, QueryRejection>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let agent = runs.agent(&caller, &name).await?;
    let (body, parameters) = (body?, query(query_result)?);
    let ids = Ids { run: None, thread: parameters.thread_id.as_deref() };
    let takes = agent.runner.card().request_types;
    let chat_request = request::chat_from_prompt(body.bytes());
    let body = chat_request.as_ref().unwrap_or(body.bytes());
    let (thread, request) = request::read_start(body, ids, &takes)?;
    let place = runs.place_of(thread).await?;
    // Registered before the run starts: its events then come from memory and need not be read from the store.
    let mut watch = runs.watch(&caller, place.thread)?;
    let Executed { reply: RunStart { run, thread, .. }, replayed: again, .. } =
        runs.begin(&caller, &agent, place, request, &headers).await?;
    if thread != place.thread {
        watch = runs.watch(&caller, thread)?;
    }
    let source = Source { thread, agent: agent.name().into() };
    let live = runs.live_stream(&caller, (source, watch), Some(run), Since::Start).await?;
    let mut response = match &chat_request {
        Some(request) => as_text(live, prompt_of(request)),
        None => live.into_response(),
    };
    set_run_headers(&mut response, agent.name(), run, thread);
    Ok(replayed(response, again))
}

/// A run as the console of agentic-framework prints it.
fn as_text(live: Live, prompt: Value) -> Response {
    let agent = live.source.agent.clone();
    let (dialect, shape) = (Dialect::new(prompt), Shape::Text);
    pieces(TranslatedStream { pieces: live.into_pieces(), agent, dialect, shape, first_event: None })
}

/// 202: the run will receive the request (wire.md D.8).
fn accepted(name: &str, thread: ThreadId, done: &Executed<InterruptReceipt>) -> Response {
    let mut response = StatusCode::ACCEPTED.into_response();
    set_run_headers(&mut response, name, done.reply.run, thread);
    replayed(response, done.replayed)
}

/// The place of a request to a run, as a part of its idempotency key: the body need not contain the run.
fn place(thread: ThreadId, ids: Ids<'_>) -> String {
    ids.run.map_or_else(|| thread.to_string(), |run| format!("{thread}/{run}"))
}

/// The scope within which an operation's idempotency keys are unique.
fn scope(operation: &str, caller: &RequestCaller, agent: &str) -> String {
    format!("runs/{operation}/{agent}/{}", caller.actor())
}

/// Marks a response that repeats the one to an earlier, equal request.
pub(super) fn replayed(mut response: Response, replayed: bool) -> Response {
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// The thread of a new run.
#[derive(Debug, Clone, Copy)]
pub(super) struct StartPlace {
    pub(super) thread: ThreadId,
    /// Whether the run opens the thread.
    is_new: bool,
    /// Whether the caller named it.
    is_chosen: bool,
}

impl Runs {
    pub(super) async fn begin(
        &self,
        caller: &RequestCaller,
        agent: &Agent,
        place: StartPlace,
        mut request: Request,
        headers: &HeaderMap,
    ) -> Result<Executed<RunStart>, RunRefusal> {
        // An agent of this server cannot claim to be the outermost caller.
        request.depth = request.depth.max(caller.depth_min());
        let parent: Option<Box<str>> = plenary_telemetry::current().map(|own| own.to_string().into());
        request.trace = parent.map(|parent| {
            (Box::new(RunTrace { parent: Some(parent), ..RunTrace::default() }), TimestampMs(0))
        });
        if request.depth > DEPTH_MAX {
            return Err(request::too_deep());
        }
        if self.0.stop.is_cancelled() {
            return Err(refusals::stopping());
        }
        let StartPlace { thread, is_new, is_chosen } = place;
        let thread_text = if is_chosen { thread.to_string() } else { String::new() };
        let key = request::key(scope("run", caller, agent.name()), &thread_text, headers, &request.body)?;
        let begin =
            |is_new, request| self.start(caller.for_agent(agent), (thread, is_new), request, key.as_ref());
        if !(is_new && is_chosen) {
            return Ok(begin(is_new, request).await?);
        }
        match begin(true, request.clone()).await {
            // The thread was opened meanwhile.
            Err(ExecuteError::Rejected(Rejection::IdTaken)) => Ok(begin(false, request).await?),
            done => Ok(done?),
        }
    }

    /// Resolves the choice of a thread for a new run.
    pub(super) async fn place_of(&self, choice: ThreadChoice) -> Result<StartPlace, Fault> {
        Ok(match choice {
            ThreadChoice::New => StartPlace { thread: self.fresh_thread(), is_new: true, is_chosen: false },
            ThreadChoice::Existing(thread) => StartPlace { thread, is_new: false, is_chosen: true },
            ThreadChoice::Either(thread) => {
                let is_new = self.fresh(thread).await?.opened.is_none();
                StartPlace { thread, is_new, is_chosen: true }
            }
        })
    }

    /// The thread whose run is to be resumed or canceled.
    async fn interrupted(
        &self,
        caller: &RequestCaller,
        agent: &Agent,
        run: Option<RunId>,
        thread: Option<ThreadId>,
    ) -> Result<ThreadId, RunRefusal> {
        match (run, thread) {
            (Some(run), thread) => {
                let visible_thread =
                    self.find_run(caller, agent, run).await?.ok_or_else(refusals::run_not_found)?;
                match thread.is_none_or(|thread| thread == visible_thread.source.thread) {
                    true => Ok(visible_thread.source.thread),
                    false => Err(refusals::run_not_found()),
                }
            }
            (None, Some(thread)) => {
                let visible_thread = self.find_thread(&caller.actor(), agent, thread).await?;
                visible_thread
                    .map(|visible_thread| visible_thread.source.thread)
                    .ok_or_else(refusals::thread_not_found)
            }
            (None, None) => Err(refusals::run_not_found()),
        }
    }

    /// The event that the caller waits for.
    pub(super) async fn wait_for_event(
        &self,
        caller: &RequestCaller,
        agent: &Agent,
        run_start: RunStart,
        wait: Wait,
    ) -> Result<WireEvent, RunRefusal> {
        let source = Source { thread: run_start.thread, agent: agent.name().into() };
        if wait == Wait::Started && run_start.started {
            return Ok(source.started(run_start.run, run_start.depth));
        }
        let watch = self.watch(caller, run_start.thread)?;
        loop {
            let marks = watch.mailbox().take();
            if marks.recheck && !self.accounts().is_valid(&caller.0).await? {
                return Err(Rejection::Unauthenticated.into());
            }
            let visible_thread: Option<VisibleThread> = self.find_run(caller, agent, run_start.run).await?;
            let visible_thread = visible_thread.ok_or_else(refusals::run_not_found)?;
            let run = visible_thread.run().ok_or_else(refusals::run_not_found)?;
            match wait {
                Wait::No | Wait::Started if run.started != Version::ZERO => {
                    return Ok(source.started(run.id, run.depth));
                }
                Wait::Result if run.status.is_over() => return Ok(self.wire_at(&source, run.ended).await?),
                Wait::Result if run.status == RunStatus::Waiting => {
                    return Ok(self.wire_at(&source, run.waits).await?);
                }
                Wait::No | Wait::Started | Wait::Result => {}
            }
            // A run that is over is still reported when the server stops.
            if marks.closing.is_some() {
                return Err(refusals::stopping());
            }
            // A lost wake-up only delays.
            let keepalive = std::time::Duration::from_millis(plenary_room::KEEPALIVE_MS);
            let _ = tokio::time::timeout(keepalive, watch.mailbox().wait()).await;
        }
    }
}
