//! `GET /watch`: all events that the caller may see, live.
//! Must not know: the events of the rooms.

use axum::{
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, Method, StatusCode, request::Parts};
use plenary_accounts::{Credentials, Follower, Principal, TokenOwner, identify};
use plenary_edge::{Auth, Operation, OperationDoc, refusal_response};
use plenary_kernel::{AgentHandle, Class, Position, Refusal};
use plenary_log::PageSize;
use plenary_retrieval::Query as TextQuery;
use plenary_room::{CannotWatch, Onlooker, sse::pieces};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::ConsoleRefusal;
use crate::{
    console::{ConsoleState, ephemeral_stream},
    ephemeral::EphemeralReader,
    event_stream::{WatchFilter, Watcher, onlooker},
    limits::{WATCH_NAMES_MAX, WATCHES_PER_OWNER_MAX},
    wakes::watch_stream,
};

/// The rooms whose events `/watch` reports.
const ROOMS: &[&str] = &["accounts", "sessions", "channels", "context", "runs", "requests"];

/// The filter and the cursor.
#[derive(Debug, Deserialize, JsonSchema)]
struct WatchQuery {
    /// Only these rooms, separated by commas: accounts, sessions, channels, context, runs, requests.
    #[serde(alias = "room")]
    rooms: Option<String>,
    /// Only these kinds or families, separated by commas: `session.message`, or `session` for a family.
    kinds: Option<String>,
    /// Only events that concern one of these agents, separated by commas.
    agents: Option<String>,
    /// Only events that contain all of these words, in any inflection.
    q: Option<String>,
    /// Only events of the trace with this id: 32 hexadecimal digits, in lower case. For owners and the operator; an agent gets
    /// no events with it.
    trace: Option<String>,
    /// `true`: also the frames for and from the owner's agents: first those that are still kept, then new ones. They are not in
    /// the log, so they have no `cursor`, and `id` repeats the last position in the log. For owners.
    frames: Option<bool>,
    /// Events after this cursor; new events only when absent; `Last-Event-ID` overrides it.
    after: Option<String>,
}

pub(super) fn operations() -> Vec<Operation<ConsoleState>> {
    let doc = OperationDoc::new("watch", Method::GET, "/watch", "Follow everything that you may see")
        .needs_token(Auth::Any)
        .room("console")
        .no_tool("a model reads its inbox; this never ends")
        .description(
            "Events come in the order of the log. The first is `hello` with the cursor and the head of the log; `head` comes once \
             the events up to there are told, and after five seconds without an event. An event has `cursor`, `at`, `room`, `kind`, `stream`, `agents` and a short form in `data`; \
             another operation gives it in full. Where spans are recorded, owners and the operator also get `trace_id`, \
             the trace of the request that caused the event.",
        )
        .query::<WatchQuery>()
        .reply_type("text/event-stream")
        .continues()
        .or_refusal(StatusCode::GONE)
        .errors(
            Class::Malformed,
            &["invalid_query", "invalid_rooms", "invalid_kinds", "invalid_agents", "invalid_trace", "invalid_cursor"],
        )
        .errors(Class::TooMany, &["too_many_streams"])
        .errors(Class::Unavailable, &["stopping"]);
    vec![doc.handled_by(watch)]
}

async fn watch(
    State(state): State<ConsoleState>,
    parts: Parts,
    query: Result<Query<WatchQuery>, QueryRejection>,
) -> Result<Response, ConsoleRefusal> {
    let console = state.console;
    let principal = identify(&parts, console.accounts(), Credentials::HeaderOrTicket).await?;
    let Query(query) = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let filter = filter(&query)?;
    let handed = console.handed();
    let after = match last_event(&parts.headers).or(query.after.clone()) {
        None => handed,
        Some(text) => {
            let after = text.parse().map(Position);
            after
                .map_err(|_| Refusal::malformed("invalid_cursor", "after must be the cursor of an event."))?
        }
    };
    if after > handed {
        return Ok(cursor_gone());
    }
    let follower = Follower::new(Some(&principal));
    let cannot = |why| match why {
        CannotWatch::TooMany => {
            let text = format!("{WATCHES_PER_OWNER_MAX} of these streams are open; close one first.");
            Refusal::new(Class::TooMany, "too_many_streams", text)
        }
        CannotWatch::Stopping => {
            Refusal::new(Class::Unavailable, "stopping", "The server is restarting; retry.")
        }
    };
    let payer = payer(&principal);
    let onlooker = onlooker(&principal);
    let name = watch_stream(onlooker.as_ref());
    let watch = console.watchers().watch(&name, follower.clone(), payer.clone()).map_err(cannot)?;
    // After the registration: the marks tell everything later.
    let unread_to = console.wakes().begun();
    let owner = onlooker.as_ref().and_then(Onlooker::owner).filter(|_| query.frames == Some(true)).cloned();
    let ephemeral = owner.map(|owner| {
        let watch =
            console.ephemeral_watchers().watch(&ephemeral_stream(&owner), follower, payer).map_err(cannot)?;
        Ok::<_, Refusal>(EphemeralReader { owner, watch, after: Vec::new() })
    });
    let ephemeral = ephemeral.transpose()?;
    let (sent_at, size) = (Instant::now(), PageSize::default());
    let watching = Watcher {
        console,
        principal,
        onlooker,
        filter,
        cursor: after,
        unread_to,
        quiet_to: Position::ZERO,
        watch,
        ephemeral,
        greeted: false,
        backlog_to: None,
        sent_at,
        size,
    };
    Ok(pieces(watching))
}

/// The owner whose limit of streams applies; empty for the operator.
fn payer(principal: &Principal) -> String {
    match &principal.who {
        TokenOwner::Operator => String::new(),
        TokenOwner::Owner(owner) => owner.to_string(),
        TokenOwner::Agent(agent) => agent.owner().to_owned(),
    }
}

fn last_event(headers: &HeaderMap) -> Option<String> {
    headers.get("last-event-id").map(|id| id.to_str().unwrap_or("?").to_owned()).filter(|id| !id.is_empty())
}

/// 410: the store was restored to an earlier state, which does not contain the cursor.
fn cursor_gone() -> Response {
    let text = "The log ends before this cursor, because the store was restored. Read everything again, and watch without a cursor.";
    let mut answer = refusal_response(&Refusal::malformed("cursor_gone", text));
    *answer.status_mut() = StatusCode::GONE;
    answer.into_response()
}

fn filter(query: &WatchQuery) -> Result<WatchFilter, Refusal> {
    let rooms = names(query.rooms.as_deref(), "invalid_rooms")?;
    if let Some(strange) = rooms.iter().find(|room| !ROOMS.contains(&room.as_str())) {
        return Err(Refusal::malformed("invalid_rooms", format!("`{strange}` is not a room with events.")));
    }
    let kinds = names(query.kinds.as_deref(), "invalid_kinds")?;
    let agents = names(query.agents.as_deref(), "invalid_agents")?;
    let agents = agents.iter().map(|agent| agent.parse::<AgentHandle>()).collect::<Result<_, _>>();
    let agents = agents.map_err(|wrong| Refusal::malformed("invalid_agents", format!("agents: {wrong}.")))?;
    let wrong = |fault| Refusal::malformed("invalid_query", format!("q: {fault}."));
    let text_query = query.q.as_deref().map(TextQuery::read).transpose().map_err(wrong)?;
    if text_query.as_ref().is_some_and(|query| query.words().is_empty()) {
        let text = "q has no word that a text could be found by; the commonest English words do not count.";
        return Err(Refusal::malformed("invalid_query", text));
    }
    Ok(WatchFilter { rooms, kinds, agents, query: text_query, trace: trace(query.trace.as_deref())? })
}

/// Checks a trace id.
fn trace(text: Option<&str>) -> Result<Option<String>, Refusal> {
    let is_id = |id: &str| id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match text {
        Some(id) if !is_id(id) => {
            let text = "trace must be the id of a trace: 32 hexadecimal digits, in lower case.";
            Err(Refusal::malformed("invalid_trace", text))
        }
        id => Ok(id.map(str::to_owned)),
    }
}

fn names(text: Option<&str>, code: &'static str) -> Result<Vec<String>, Refusal> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let names: Vec<_> = text.split(',').map(|name| name.trim().to_owned()).collect();
    if names.len() > WATCH_NAMES_MAX || names.iter().any(String::is_empty) {
        let text = format!("Name 1 to {WATCH_NAMES_MAX}, separated by commas.");
        return Err(Refusal::malformed(code, text));
    }
    Ok(names)
}
