//! The additional operations for the dashboards of agentic-framework: the same runs under the dashboards' paths.
//! Must not know: the form of their events.

use std::collections::BTreeMap;

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse,
};
use http::{HeaderMap, HeaderValue, Method, header, request::Parts};
use plenary_edge::{Allowance, JsonBody, Operation, OperationDoc};
use plenary_kernel::{Class, Version};
use plenary_room::sse::pieces;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{Map, Value, json};

use super::{Answer, Response, of_agent, query, replayed};
use crate::{
    Runs,
    agentic::{Dialect, LogPage, RequestId, Shape, TranslatedStream, chat_request},
    caller::{DashboardCaller, RequestCaller, password},
    command::{ResumeRun, RunStart},
    id::{RunId, ThreadId},
    lookup::VisibleThread,
    refusals::{self, RunRefusal},
    registry::Agent,
    request::{self, Ids, ThreadChoice, Wait, read_members, switch, text},
    run_reader::Since,
    state::RunStatus,
};

/// The thread id that the dashboards send for a new thread.
const NEW_THREAD: &str = "NEW";
/// The challenge that makes a browser ask for a password, which is a token.
const ASK_FOR_TOKEN: &str = "Basic realm=\"The password is a token\", charset=\"UTF-8\"";

pub(super) fn operations() -> Vec<Operation<Runs>> {
    const NO_TOOL: &str = "for dashboards of agentic-framework; run.run and run.events are the same";
    let for_dashboard = |doc: OperationDoc| doc.no_tool(NO_TOOL).for_pages();
    let login_doc =
        super::doc("agentic.login", Method::POST, "/login", "Sign in with a token (agentic-framework)")
            .no_tool("for dashboards of agentic-framework; a tool has its token")
            .without_key()
            .for_pages()
            .description(
                "The answer is the token that the request bears, or that is its password (RFC 7617).",
            )
            .optional_request::<Map<String, Value>>()
            .reply::<Login>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body"]);
    let process_doc = of_agent(
        "agentic.process",
        Method::POST,
        "/agent/{name}/process",
        "Send a prompt (agentic-framework)",
    )
    .request::<ProcessBody>()
    .reply::<AgenticRequest>();
    let resume_doc = of_agent(
        "agentic.resume",
        Method::POST,
        "/agent/{name}/resume",
        "Answer a question (agentic-framework)",
    )
    .request::<ResumeBody>()
    .reply::<AgenticRequest>()
    .errors(Class::Malformed, &["invalid_json"])
    .errors(Class::NotFound, &["thread_not_found", "run_not_found"])
    .errors(Class::Conflict, &["run_not_active", "agent_stopped", "thread_full"])
    .errors(
        Class::Unprocessable,
        &["invalid_body", "invalid_continue_result", "invalid_thread_id", "missing_thread_id"],
    )
    .errors(Class::Unavailable, &["stopping"]);
    let reset_doc =
        of_agent("agentic.reset", Method::POST, "/agent/{name}/reset", "Begin anew (agentic-framework)")
            .description("Nothing is changed: each prompt without a thread begins a new one.")
            .optional_request::<Map<String, Value>>()
            .reply::<Reset>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body"]);
    let logs_doc = of_agent(
        "agentic.logs",
        Method::GET,
        "/agent/{name}/threads/{thread_id}/logs",
        "Read a thread's events (agentic-framework)",
    )
    .description("If there are more, `Link: <…>; rel=\"next\"` gives the next page.")
    .links_pages()
    .path_parameter::<ThreadId>("thread_id", "The thread.")
    .query::<LogsQuery>()
    .reply::<Vec<Map<String, Value>>>()
    .answers_page()
    .errors(Class::NotFound, &["thread_not_found"])
    .errors(Class::Unprocessable, &["invalid_query"]);
    vec![
        login_doc.handled_by(login),
        super::runs::begins(for_dashboard(process_doc)).handled_by(process),
        for_dashboard(resume_doc).handled_by(resume),
        for_dashboard(reset_doc).handled_by(reset),
        for_dashboard(events_doc()).handled_by(events),
        for_dashboard(logs_doc).handled_by(logs),
    ]
}

fn events_doc() -> OperationDoc {
    of_agent("agentic.events", Method::GET, "/agent/{name}/getevents", "Read a request's events (agentic-framework)")
        .description(
            "The events of one turn, by the names of agentic-framework, up to its end or to a question. Without `stream` the \
             answer waits for that.",
        )
        .query::<EventsQuery>()
        .reply::<Vec<Map<String, Value>>>()
        .or_reply_type("text/event-stream")
        .answers_page()
        .errors(Class::NotFound, &["run_not_found"])
        .errors(
            Class::Unprocessable,
            &["missing_request_id", "invalid_stream", "invalid_query", "invalid_since"],
        )
        .errors(Class::TooMany, &["too_many_streams"])
}

/// The response of `POST /login`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgenticLogin")]
struct Login {
    /// What to send as `Authorization: Bearer`.
    token: String,
}

/// The body of `POST …/process`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "AgenticPrompt", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "the description is made from it; `Members` reads it member by member")]
struct ProcessBody {
    /// The text for the agent.
    prompt: String,
    /// The thread to continue; a new one if absent, null or `NEW`.
    thread_id: Option<String>,
    /// The logging level, as the agent defines it.
    debug: Option<String>,
}

/// The body of `POST …/resume`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "AgenticAnswers", extend("additionalProperties" = true))]
#[expect(dead_code, reason = "the description is made from it; `Members` reads it member by member")]
struct ResumeBody {
    /// A value for each requested key.
    continue_result: Map<String, Value>,
    /// The thread whose run waits; or `request_id` in `continue_result` names the run.
    thread_id: Option<String>,
}

/// The response to a started request.
#[derive(Debug, Serialize, JsonSchema)]
struct AgenticRequest {
    /// The id of the request, for `getevents`.
    request_id: String,
    /// Its thread.
    thread_id: ThreadId,
}

/// The response of `POST …/reset`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgenticReset")]
struct Reset {
    /// Always `success`.
    status: &'static str,
    /// A text for people.
    message: &'static str,
}

/// The query of `GET …/getevents`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct EventsQuery {
    /// The request.
    request_id: Option<String>,
    /// Whether to follow the turn; false when absent.
    #[schemars(with = "Option<bool>")]
    stream: Option<String>,
}

/// The query of `GET …/logs`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct LogsQuery {
    /// The cursor of the next page, from the `Link` of the previous one.
    #[schemars(with = "Option<u64>")]
    after: Option<String>,
}

/// An object whose members mean nothing. `null` is none, which a `Map` of `serde_json` takes for an empty one.
type IgnoredObject = BTreeMap<String, IgnoredAny>;

async fn login(State(runs): State<Runs>, parts: Parts, body: Body) -> Answer {
    let headers = &parts.headers;
    // A browser may ask its user for the password here, so the password counts also from browsers; only the sender
    // can use the response.
    let token = password(headers).or_else(|| {
        let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
    });
    let bearer = match &token {
        Some(token) => runs.accounts().authenticate(token).await?,
        None => None,
    };
    let is_valid = match &bearer {
        Some(bearer) => runs.accounts().is_valid_everywhere(bearer).await?,
        None => false,
    };
    if let (true, Some(token)) = (is_valid, token) {
        JsonBody::read(&parts, body).await?.parse_or_empty::<IgnoredObject>()?;
        return Ok(Json(Login { token }).into_response());
    }
    let mut response = refusals::not_signed_in(headers.contains_key(header::AUTHORIZATION)).into_response();
    response.headers_mut().append(header::WWW_AUTHENTICATE, HeaderValue::from_static(ASK_FOR_TOKEN));
    Ok(response)
}

async fn process(
    State(runs): State<Runs>,
    DashboardCaller(caller): DashboardCaller,
    Path(name): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let agent = runs.agent(&caller, &name).await?;
    let body = body?;
    let members = read_members(body.bytes())?;
    let prompt = text(&members, "prompt", "invalid_input")?;
    let prompt = prompt.ok_or_else(|| refusals::shape("invalid_input", "`prompt` must be a string"))?;
    let debug = text(&members, "debug", "invalid_logging_level")?;
    let thread = match text(&members, "thread_id", "invalid_thread_id")?.as_deref() {
        None | Some("" | NEW_THREAD) => ThreadChoice::New,
        Some(thread) => ThreadChoice::Existing(thread.parse().map_err(|_| refusals::thread_not_found())?),
    };
    let chat = chat_request(&prompt, debug.as_deref());
    let ids = Ids::default();
    let (_, request) = request::read_start(&chat, ids, &[])?;
    let place = runs.place_of(thread).await?;
    let done = runs.begin(&caller, &agent, place, request, &headers).await?;
    let RunStart { run, thread, .. } = done.reply;
    Ok(replayed(request_response(RequestId { run, after: 0 }, thread), done.replayed))
}

fn request_response(request: RequestId, thread_id: ThreadId) -> Response {
    Json(AgenticRequest { request_id: request.to_string(), thread_id }).into_response()
}

async fn resume(
    State(runs): State<Runs>,
    DashboardCaller(caller): DashboardCaller,
    Path(name): Path<String>,
    JsonBody(body): JsonBody,
) -> Answer {
    let agent = runs.agent(&caller, &name).await?;
    let body = body?;
    let members = read_members(body.bytes())?;
    let answers = members.get("continue_result").and_then(|value| serde_json::from_str(value.get()).ok());
    let mut answers: Map<String, Value> = answers
        .ok_or_else(|| refusals::shape("invalid_continue_result", "`continue_result` must be an object"))?;
    let request = answers.remove("request_id");
    let request = request.as_ref().and_then(Value::as_str);
    let thread = text(&members, "thread_id", "invalid_thread_id")?;
    let visible_thread = match (request, thread.as_deref()) {
        (Some(request), _) => of_request(&runs, &caller, &agent, request).await?.0,
        (None, Some(thread)) => {
            let thread = thread.parse().map_err(|_| refusals::thread_not_found())?;
            let visible_thread = runs.find_thread(&caller.actor(), &agent, thread).await?;
            visible_thread.ok_or_else(refusals::thread_not_found)?
        }
        (None, None) => {
            let text = "`thread_id` is missing: name the thread whose run waits";
            return Err(refusals::shape("missing_thread_id", text));
        }
    };
    let thread = visible_thread.source.thread;
    let waiting = visible_thread
        .run()
        .or_else(|| visible_thread.state.active())
        .filter(|run| run.status == RunStatus::Waiting);
    let (run, asks) = waiting.map(|run| (run.id, run.asks)).ok_or_else(refusals::run_not_active)?;
    let body = json!({"type": "ResumeWithInput", "run_id": run, "request_keys": answers}).to_string().into();
    let command = ResumeRun { caller: caller.for_agent(&agent), run: Some(run), question: Some(asks), body };
    runs.ask(thread, command, None).await?;
    Ok(request_response(RequestId { run, after: asks }, thread))
}

async fn reset(
    State(runs): State<Runs>,
    DashboardCaller(caller): DashboardCaller,
    Path(name): Path<String>,
    JsonBody(body): JsonBody,
) -> Answer {
    runs.agent(&caller, &name).await?;
    body?.parse_or_empty::<IgnoredObject>()?;
    let message = "A prompt without a thread begins a new one; earlier threads stay.";
    Ok(Json(Reset { status: "success", message }).into_response())
}

/// The run of a request, and the event number after which the request starts.
async fn of_request(
    runs: &Runs,
    caller: &RequestCaller,
    agent: &Agent,
    request: &str,
) -> Result<(VisibleThread, RunId, u64), RunRefusal> {
    let RequestId { run, after } = RequestId::read(request).ok_or_else(refusals::run_not_found)?;
    let visible_thread = runs.find_run(caller, agent, run).await?.ok_or_else(refusals::run_not_found)?;
    Ok((visible_thread, run, after))
}

async fn events(
    State(runs): State<Runs>,
    DashboardCaller(caller): DashboardCaller,
    Path(name): Path<String>,
    allowance: Option<Extension<Allowance>>,
    query_result: Result<Query<EventsQuery>, QueryRejection>,
) -> Answer {
    let visible_agent = runs.visible_agent(&caller, &name).await?;
    let parameters = visible_agent.reveal(query(query_result))?;
    let request = parameters.request_id.as_deref().ok_or_else(|| {
        let text = "`request_id` is missing: name the request, `?request_id=`";
        refusals::shape("missing_request_id", text)
    });
    let request = visible_agent.reveal(request)?;
    let (visible_thread, run, after) =
        visible_agent.reveal(of_request(&runs, &caller, &visible_agent.agent, request).await)?;
    let is_stream = visible_agent.reveal(switch(parameters.stream.as_deref(), "stream", "invalid_stream"))?;
    let since =
        if after == 0 { Since::Start } else { Since::Place(run, after).require_reached(&visible_thread)? };
    let (dialect, first_answers) = start_translation(&runs, &visible_thread, after).await?;
    if is_stream {
        let watch = runs.watch(&caller, visible_thread.source.thread)?;
        let since = if after == 0 { Since::Start } else { Since::Id(after) };
        let live =
            runs.live_stream(&caller, (visible_thread.source.clone(), watch), Some(run), since).await?;
        let agent = visible_thread.source.agent.clone();
        let first_event = first_answers.map(|answers| Dialect::default().resume(answers));
        let shape = Shape::Json;
        return Ok(pieces(TranslatedStream {
            pieces: live.into_pieces(),
            agent,
            dialect,
            shape,
            first_event,
        }));
    }
    let depth = visible_thread.run().map_or(0, |run| run.depth);
    let run_start = RunStart { thread: visible_thread.source.thread, run, depth, started: true, held: false };
    if let Some(Extension(allowance)) = allowance {
        allowance.release();
    }
    runs.wait_for_event(&caller, &visible_agent.agent, run_start, Wait::Result).await?;
    let visible_thread =
        runs.find_run(&caller, &visible_agent.agent, run).await?.ok_or_else(refusals::run_not_found)?;
    turn(&runs, &visible_thread, since, dialect, first_answers).await
}

/// The translation of a request, with the prompt of its run, and the answers with which the request starts, if any.
async fn start_translation(
    runs: &Runs,
    visible_thread: &VisibleThread,
    after: u64,
) -> Result<(Dialect, Option<Value>), RunRefusal> {
    let run = visible_thread.run().ok_or_else(refusals::run_not_found)?;
    let dialect = Dialect::new(runs.prompt_at(visible_thread, run.queued).await?);
    let first_answers = if after == 0 { None } else { runs.answers(visible_thread, run, after).await? };
    Ok((dialect, first_answers))
}

/// A finished turn as a list.
async fn turn(
    runs: &Runs,
    visible_thread: &VisibleThread,
    since: Since,
    mut dialect: Dialect,
    first_answers: Option<Value>,
) -> Answer {
    let agent = &visible_thread.source.agent;
    let page = runs.page(visible_thread, since).await?;
    let mut events: Vec<Value> =
        first_answers.map(|answers| Dialect::default().resume(answers).json(agent)).into_iter().collect();
    for event in &page.events {
        let value: Value = serde_json::from_str(&event.json).unwrap_or_default();
        events.extend(dialect.translate(event.kind, &value).iter().map(|event| event.json(agent)));
        if dialect.is_over {
            break;
        }
    }
    let mut response = Json(events).into_response();
    if let (true, false, Some(last)) = (page.has_more, dialect.is_over, page.events.last()) {
        let next_request = RequestId { run: last.run, after: last.id };
        link(&mut response, &format!("<?request_id={next_request}>; rel=\"next\""));
    }
    Ok(response)
}

fn link(response: &mut Response, link: &str) {
    if let Ok(link) = HeaderValue::from_str(link) {
        response.headers_mut().insert(header::LINK, link);
    }
}

async fn logs(
    State(runs): State<Runs>,
    DashboardCaller(caller): DashboardCaller,
    Path((name, thread)): Path<(String, String)>,
    query_result: Result<Query<LogsQuery>, QueryRejection>,
) -> Answer {
    let agent = runs.agent(&caller, &name).await?;
    let after = query(query_result)?.after.map_or(Ok(0), |after| after.parse::<u64>()).map_err(|_| {
        refusals::shape("invalid_query", "`after` must be the cursor of a page's `Link`, an integer")
    })?;
    let thread = thread.parse().map_err(|_| refusals::thread_not_found())?;
    let visible_thread = runs.find_thread(&caller.actor(), &agent, thread).await?;
    let visible_thread = visible_thread.ok_or_else(refusals::thread_not_found)?;
    let LogPage { logs, next_after } = runs.logs(&visible_thread, Version(after)).await?;
    let mut response = Json(logs).into_response();
    if let Some(next_after) = next_after {
        link(&mut response, &format!("<?after={}>; rel=\"next\"", next_after.0));
    }
    Ok(response)
}
