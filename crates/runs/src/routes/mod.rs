//! The public operations of the Agent Protocol: parse, call, translate the answer (wire.md 4.2, D.8).
//! Must not know: the effect of a command.

mod agent_switch;
mod agentic;
mod artifacts;
mod discovery;
mod events;
mod queries;
mod runs;

use axum::{
    Router,
    extract::rejection::QueryRejection,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use plenary_accounts::{Follower, Watch};
use plenary_edge::{
    Auth, Metrics, Operation, OperationDoc, RegistryFault, with_method_refusals, with_path_refusals,
};
use plenary_kernel::Class;

use crate::{
    Runs,
    caller::RequestCaller,
    id::{RunId, ThreadId},
    live::Live,
    lookup::VisibleThread,
    refusals::{RunRefusal, not_followed, refused_response},
    request,
    run_reader::{Passage, Since},
    runs::stream,
    shares::Payer,
    state::RunStatus,
    wire::{ErrorBody, Source},
};

use runs::replayed;

type Answer = Result<Response, RunRefusal>;

const RUN_ID: HeaderName = HeaderName::from_static("x-run-id");
const THREAD_ID: HeaderName = HeaderName::from_static("x-thread-id");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The routes of this room.
///
/// # Errors
/// If the operations contradict each other.
pub fn routes(runs: Runs, metrics: &Metrics) -> Result<Router, RegistryFault> {
    let form = refused_response;
    let router = plenary_edge::routes(operations(), metrics)?;
    let router = with_path_refusals(router, metrics, &NOTHING_AT, form);
    Ok(with_method_refusals(router, metrics, form).with_state(runs))
}

/// Paths with no other content than the operations below them.
const NOTHING_AT: [&str; 7] = [
    "/agent/",
    "/agent/{name}",
    "/agent/{name}/",
    "/agent/{name}/{*rest}",
    "/artifacts",
    "/artifacts/",
    "/artifacts/{artifact_id}/{*rest}",
];

/// The operations of this room.
pub fn operations() -> Vec<Operation<Runs>> {
    [
        discovery::operations(),
        runs::operations(),
        events::operations(),
        queries::operations(),
        artifacts::operations(),
        agent_switch::operations(),
        agentic::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// An operation of this room, with the authentication and errors that all of them have.
fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary).needs_token(Auth::Any).error_body::<ErrorBody<'static>>()
}

fn of_agent(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    doc(id, method, path, summary)
        .path_parameter::<String>("name", "The agent's name.")
        .errors(Class::NotFound, &["agent_not_found"])
}

/// Its successes name the run (wire.md D.4).
fn names_run(doc: OperationDoc) -> OperationDoc {
    doc.sends_header("X-Run-Id", "The run.")
        .sends_header("X-Thread-Id", "Its thread.")
        .sends_header("Location", "The path of the run's report.")
}

/// A response with already encoded JSON.
fn json(text: impl Into<axum::body::Body>) -> Response {
    let mut response = text.into().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn query<T>(query: Result<axum::extract::Query<T>, QueryRejection>) -> Result<T, RunRefusal> {
    query.map(|axum::extract::Query(query)| query).map_err(|_| request::invalid_query())
}

/// A non-empty text header.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    (!text.is_empty()).then_some(text)
}

/// Sets the headers that name the run, its thread and the URL of its report (wire.md D.4).
fn set_run_headers(response: &mut Response, agent: &str, run: RunId, thread: ThreadId) {
    plenary_telemetry::note_conversation(thread);
    let values = [
        (RUN_ID, run.to_string()),
        (THREAD_ID, thread.to_string()),
        (header::LOCATION, format!("/agent/{agent}/runs/{run}")),
    ];
    for (name, value) in values {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
}

impl Runs {
    /// Registers a follower of a thread.
    fn watch(&self, caller: &RequestCaller, thread: ThreadId) -> Result<Watch<Payer>, RunRefusal> {
        let follower = Follower::new(Some(&caller.0));
        self.0.watchers.watch(&stream(thread), follower, caller.actor().owner()).map_err(not_followed)
    }

    /// A run or a thread as a live stream after `since`.
    async fn live(
        &self,
        caller: &RequestCaller,
        place: (Source, Watch<Payer>),
        run: Option<RunId>,
        since: Since,
    ) -> Answer {
        Ok(self.live_stream(caller, place, run, since).await?.into_response())
    }

    /// The live stream before it is turned into a response.
    async fn live_stream(
        &self,
        caller: &RequestCaller,
        // Register first, then read the log, so that no event is missed between the two.
        (source, watch): (Source, Watch<Payer>),
        run: Option<RunId>,
        since: Since,
    ) -> Result<Live, RunRefusal> {
        let (delta_subscription, partial_text) = self.0.deltas.subscribe(source.thread).ok().unzip();
        // A client that resumes after an event may already have a part of the unfinished text.
        let partial_text = partial_text.flatten().filter(|_| matches!(since, Since::Start));
        let (state, head) = self.0.threads.fresh(&source.thread.to_string()).await?;
        // Text that an event already contains is not unfinished.
        let partial_text = partial_text.filter(|line| {
            let run = state.run(line.run);
            run.is_some_and(|run| !run.status.is_over() && run.last_event_id <= line.after)
        });
        let visible_thread = VisibleThread { source, state, head, run };
        let run = visible_thread.run();
        let passage = Passage::new(since, &visible_thread);
        let (cursor, end) = match run {
            // A queued run starts after all events that are there now.
            Some(run) if run.status == RunStatus::Queued => (visible_thread.head, None),
            Some(run) => (passage.begin(&visible_thread), run.status.is_over().then_some(run.ended)),
            None => {
                let idle = visible_thread.state.runs.iter().all(|run| run.status.is_over());
                (passage.begin(&visible_thread), idle.then_some(visible_thread.head))
            }
        };
        let last_passed = visible_thread.run.map(|run| (run, since.number_in(run)));
        let (source, head, run, principal) =
            (visible_thread.source, visible_thread.head, visible_thread.run, caller.0.clone());
        let runs = self.clone();
        Ok(Live {
            runs,
            source,
            principal,
            watch,
            delta_subscription,
            partial_text,
            run,
            passage,
            last_passed,
            cursor,
            head,
            end,
        })
    }
}
