//! The events of a run or a thread: all, since the last call, or live (SC-12, SC-36 to SC-38, SC-42).
//! Must not know: how they are stored.

use axum::extract::{Path, Query, State, rejection::QueryRejection};
use http::{HeaderMap, HeaderValue, Method, header};
use plenary_edge::Operation;
use plenary_kernel::Class;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, json, of_agent, query, text};
use crate::{
    Runs,
    caller::{RequestCaller, StreamCaller},
    limits::READER_CHARS_MAX,
    lookup::VisibleThread,
    refusals::{self, RunRefusal},
    registry::Agent,
    request::switch,
    run_reader::{Page, Since},
    wire::Base,
};

pub(super) fn operations() -> Vec<Operation<Runs>> {
    let polling = "For a run: the events since the reader's last request, each once; `X-Reader` names a reader, otherwise the \
                token does. With `since` nothing is consumed. For a thread: all events of its runs. With \
                `stream=true` server-sent events, from the beginning or after `since` or `Last-Event-ID`: for a run \
                until RunCompleted, for a thread until no run is active or waiting.";
    let doc = |id, path, summary| {
        of_agent(id, Method::GET, path, summary)
            .description(polling)
            .reply::<Vec<Base>>()
            .or_reply_type("text/event-stream")
            .answers_page()
            .continues()
            .links_pages()
            .reads_header("X-Reader", "Names the reader of a run; each reader gets each event once.")
            .errors(Class::NotFound, &["run_not_found", "thread_not_found"])
            .errors(
                Class::Unprocessable,
                &["invalid_since", "invalid_stream", "invalid_reader", "invalid_query"],
            )
            .errors(Class::TooMany, &["too_many_readers", "too_many_streams"])
            .errors(Class::Unavailable, &["stopping"])
    };
    let by_query = doc("run.events", "/agent/{name}/get_events", "Read or follow a run or a thread")
        .tool("runs")
        .query::<EventsQuery>()
        .errors(Class::Unprocessable, &["missing_run_id"]);
    let by_path = doc("run.events_of", "/agent/{name}/get_events/{id}", "Read or follow a run or a thread")
        .no_tool("run.events reads the same")
        .path_parameter::<String>("id", "The id of a run or of a thread.")
        .query::<StreamQuery>();
    vec![by_query.handled_by(events), by_path.handled_by(events_of)]
}

/// The query of `GET …/get_events`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct EventsQuery {
    /// The run.
    run_id: Option<String>,
    /// The thread, instead of a run.
    thread_id: Option<String>,
    /// Whether to follow new events; false when absent.
    #[schemars(with = "Option<bool>")]
    stream: Option<String>,
    /// Only events after the one with this id; for a thread `<run_id>:<id>`.
    since: Option<String>,
    /// From `POST /auth/ticket`, for clients that cannot set headers.
    #[expect(dead_code, reason = "read where the caller is")]
    ticket: Option<String>,
}

/// The query of `GET …/get_events/{id}`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct StreamQuery {
    /// Whether to follow new events; false when absent.
    #[schemars(with = "Option<bool>")]
    stream: Option<String>,
    /// Only events after the one with this id; for a thread `<run_id>:<id>`.
    since: Option<String>,
    /// From `POST /auth/ticket`, for clients that cannot set headers.
    #[expect(dead_code, reason = "read where the caller is")]
    ticket: Option<String>,
}

async fn events(
    State(runs): State<Runs>,
    StreamCaller(caller): StreamCaller,
    Path(name): Path<String>,
    method: Method,
    query_result: Result<Query<EventsQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Answer {
    let visible_agent = runs.visible_agent(&caller, &name).await?;
    let parameters = visible_agent.reveal(query(query_result))?;
    let (visible_thread, page_parameters) = match (&parameters.run_id, &parameters.thread_id) {
        (Some(run), _) => (runs.find(&caller, &visible_agent.agent, run).await, format!("run_id={run}&")),
        (None, Some(thread)) => {
            (of_thread(&runs, &caller, &visible_agent.agent, thread).await, format!("thread_id={thread}&"))
        }
        (None, None) => (
            Err(refusals::shape("missing_run_id", "`run_id` is missing: name the run, `?run_id=`")),
            String::new(),
        ),
    };
    let visible_thread = visible_agent.reveal(visible_thread)?;
    let event_query = EventQuery {
        stream: parameters.stream.as_deref(),
        since: parameters.since.as_deref(),
        method,
        page_parameters,
    };
    answer(&runs, &caller, visible_thread, event_query, &headers).await
}

/// The parsed query for the events of a run or a thread.
struct EventQuery<'a> {
    stream: Option<&'a str>,
    since: Option<&'a str>,
    method: Method,
    /// The parameters that the link to the next page repeats: the run or thread, unless the path names it.
    page_parameters: String,
}

async fn of_thread(
    runs: &Runs,
    caller: &RequestCaller,
    agent: &Agent,
    thread: &str,
) -> Result<VisibleThread, RunRefusal> {
    let thread = thread.parse().map_err(|_| refusals::thread_not_found())?;
    runs.find_thread(&caller.actor(), agent, thread).await?.ok_or_else(refusals::thread_not_found)
}

async fn events_of(
    State(runs): State<Runs>,
    StreamCaller(caller): StreamCaller,
    Path((name, id)): Path<(String, String)>,
    method: Method,
    query_result: Result<Query<StreamQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Answer {
    let visible_agent = runs.visible_agent(&caller, &name).await?;
    let parameters = visible_agent.reveal(query(query_result))?;
    let visible_thread = visible_agent.reveal(runs.find(&caller, &visible_agent.agent, &id).await)?;
    let page_parameters = String::new();
    let event_query = EventQuery {
        stream: parameters.stream.as_deref(),
        since: parameters.since.as_deref(),
        method,
        page_parameters,
    };
    answer(&runs, &caller, visible_thread, event_query, &headers).await
}

async fn answer(
    runs: &Runs,
    caller: &RequestCaller,
    visible_thread: VisibleThread,
    event_query: EventQuery<'_>,
    headers: &HeaderMap,
) -> Answer {
    let EventQuery { stream, since, method, page_parameters } = event_query;
    let invalid = || refusals::shape("invalid_since", "`since` must be the id of an event");
    if switch(stream, "stream", "invalid_stream")? {
        let since = text(headers, "last-event-id").or(since);
        let since = Since::read(since)
            .ok_or_else(invalid)?
            .resolve(&visible_thread)?
            .require_reached(&visible_thread)?;
        let watch = runs.watch(caller, visible_thread.source.thread)?;
        return runs.live(caller, (visible_thread.source, watch), visible_thread.run, since).await;
    }
    let page = match (since, visible_thread.run) {
        // HEAD changes nothing (RFC 9110, 9.2.1), so it does not move a reader's cursor either.
        (None, Some(run)) if method != Method::HEAD => {
            runs.drain(&visible_thread, run, &reader(runs, caller, headers).await?).await?
        }
        (since, _) => {
            let since = Since::read(since).ok_or_else(invalid)?.resolve(&visible_thread)?;
            runs.page(&visible_thread, since).await?
        }
    };
    let mut response = json(array(&page));
    if let (true, Some(last)) = (page.has_more, page.events.last()) {
        // The link to the next page: the same poll again, or the events after this one.
        let position = match visible_thread.run {
            Some(_) => last.id.to_string(),
            None => format!("{}:{}", last.run, last.id),
        };
        let link = format!("<?{page_parameters}since={position}>; rel=\"next\"");
        if let Ok(link) = HeaderValue::from_str(&link) {
            response.headers_mut().insert(header::LINK, link);
        }
    }
    Ok(response)
}

/// The reader whose cursor a poll moves. The console and each token with a scope have cursors of their own, and move no
/// other's: some of them may only read.
async fn reader(runs: &Runs, caller: &RequestCaller, headers: &HeaderMap) -> Result<String, RunRefusal> {
    let place = if caller.0.token.is_person() {
        "console/".to_owned()
    } else if runs.accounts().scope_of(&caller.0).await?.is_some() {
        format!("token/{}/", caller.0.token.hex())
    } else {
        String::new()
    };
    let Some(name) = headers.get("x-reader") else { return Ok(format!("{place}{}", caller.actor())) };
    let name = name.to_str().unwrap_or_default();
    let is_valid = (1..=READER_CHARS_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    if !is_valid {
        let detail =
            format!("`X-Reader` must be 1 to {READER_CHARS_MAX} visible ASCII characters without `/`");
        return Err(refusals::shape("invalid_reader", detail));
    }
    // Each caller has its own readers.
    Ok(format!("{place}{}/{name}", caller.actor()))
}

fn array(page: &Page) -> String {
    let bytes: usize = page.events.iter().map(|event| event.json.len() + 1).sum();
    let mut array = String::with_capacity(bytes + 2);
    array.push('[');
    for (nth, event) in page.events.iter().enumerate() {
        if nth > 0 {
            array.push(',');
        }
        array.push_str(&event.json);
    }
    array.push(']');
    array
}
