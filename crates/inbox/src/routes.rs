//! The operations of the inbox: parse, call, translate the answer.
//! Must not know: the source of news.

use std::{str::FromStr, time::Duration};

use axum::{
    Json, Router,
    extract::{
        FromRef, Path, Query, State as With,
        rejection::{PathRejection, QueryRejection},
    },
    response::Response,
};
use http::{HeaderMap, Method, StatusCode};
use plenary_accounts::{Accounts, AgentCaller, Caller, overseen};
use plenary_edge::{Auth, JsonBody, Metrics, Operation, OperationDoc, RegistryFault};
use plenary_kernel::{AgentHandle, Class, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Inbox, LIMIT_DEFAULT, LIMIT_MAX, WAIT_SECONDS_DEFAULT, WAIT_SECONDS_MAX, coding_sessions,
    cursor::Cursor,
    inbox_read::InboxQuery,
    kind::Kinds,
    marks::State,
    refusals::{InboxRefusal, Rejection},
    wire::{AckReceipt, AckRequest, AckTarget, MessageStatus, Page},
};

impl FromRef<Inbox> for Accounts {
    fn from_ref(inbox: &Inbox) -> Self {
        inbox.0.rooms.accounts.clone()
    }
}

/// The routes of the inbox.
///
/// # Errors
/// When the operations contradict each other.
pub fn routes(inbox: Inbox, metrics: &Metrics) -> Result<Router, RegistryFault> {
    Ok(plenary_edge::routes(operations(), metrics)?.with_state(inbox))
}

/// The header with the coding session in which a model calls a tool.
const CODING_SESSION: &str = "plenary-coding-session";

/// Why they are not separate tools.
const THE_INBOX: &str = "the tool inbox reads, waits and acknowledges";

/// The operations of the inbox.
pub fn operations() -> Vec<Operation<Inbox>> {
    let read_doc = OperationDoc::new("inbox.read", Method::GET, "/inbox", "Read what is new for you")
        .no_tool(THE_INBOX)
        .description(
            "Oldest first. Without `after`: unread items. Reading marks nothing: a program that hands items to a model reports it \
             with an acknowledgement.",
        )
        .query::<ReadQuery>()
        .reply::<Page>()
        .errors(Class::Malformed, &["invalid_query", "invalid_limit", "invalid_kinds", "invalid_cursor"])
        .needs_token(Auth::Agent);
    let wait_doc =
        OperationDoc::new("inbox.wait", Method::GET, "/inbox/wait", "Wait for what is new for you")
            .no_tool(THE_INBOX)
            .description(
                "Responds as soon as there is an item, or at the deadline with no item and `timed_out`.",
            )
            .query::<WaitQuery>()
            .reply::<Page>()
            .errors(
                Class::Malformed,
                &["invalid_query", "invalid_limit", "invalid_kinds", "invalid_cursor", "invalid_timeout"],
            )
            .needs_token(Auth::Agent)
            .errors(Class::TooMany, &["too_many_waits"])
            .errors(Class::Unavailable, &["stopping"]);
    let ack_doc =
        OperationDoc::new("inbox.ack", Method::POST, "/inbox/ack", "Acknowledge what you have read")
            .no_tool(THE_INBOX)
            .description(
                "Everything up to the cursor; or, with `session_id`, the events of one session after \
                 `after_sequence` up to `sequence`, as seen. Marks only rise; an older cursor changes nothing.",
            )
            .request::<AckRequest>()
            .reply::<AckReceipt>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_cursor"])
            .needs_token(Auth::Agent)
            .errors(Class::NotFound, &["not_found"]);
    let mut operations = vec![read_doc.handled_by(read), wait_doc.handled_by(wait), ack_doc.handled_by(ack)];
    operations.extend(of_others());
    operations.extend(coding_sessions::operations());
    operations
}

/// The state of items for others: of an agent's inbox for its owner, of a message for its sender.
fn of_others() -> [Operation<Inbox>; 3] {
    let overseen_doc = OperationDoc::new(
        "agent.inbox",
        Method::GET,
        "/_admin/agents/{handle}/inbox",
        "Read what is new for an agent",
    )
    .auth(Auth::Owner)
    .no_tool("for owners and operators; a model reads its own inbox")
    .description("The items that the agent itself is shown. Reading marks nothing as delivered or seen.")
    .path_parameter::<AgentHandle>("handle", "The agent's handle")
    .query::<ReadQuery>()
    .reply::<Page>()
    .errors(Class::Malformed, &["invalid_query", "invalid_limit", "invalid_kinds", "invalid_cursor"])
    .needs_token(Auth::Agent)
    .errors(Class::NotFound, &["not_found"]);
    let status_doc = OperationDoc::new(
        "message.status",
        Method::GET,
        "/sessions/{id}/messages/{sequence}/status",
        "Show the state of a message",
    )
    .tool("sessions")
    .description(
        "For the participants of its session. A state is reported only if it is known. With `timeout_s` it waits until every \
         recipient has reached `until`.",
    )
    .path_parameter::<SessionId>("id", "The session.")
    .path_parameter::<u64>("sequence", "The sequence number of the message.")
    .query::<StatusQuery>()
    .reply::<MessageStatus>()
    .errors(Class::Malformed, &["invalid_query", "invalid_timeout", "invalid_state"])
    .needs_token(Auth::Agent)
    .errors(Class::NotFound, &["not_found"])
    .errors(Class::TooMany, &["too_many_waits"])
    .errors(Class::Unavailable, &["stopping"]);
    [
        overseen_doc.handled_by(read_overseen),
        status_doc.handled_by(status),
        receipts_doc().handled_by(receipts),
    ]
}

fn receipts_doc() -> OperationDoc {
    let path = "/sessions/{id}/messages/{sequence}/receipts";
    OperationDoc::new("message.receipts", Method::GET, path, "Follow the state of a message (server-sent events)")
        .no_tool("message_status waits for a state, and a subscription of the message reports changes")
        .description(
            "For the participants of its session. An event `receipt` for each recipient with its state, then one whenever a \
             recipient's `state` or the reason in `waiting` changes; the data is a recipient of `message.status`. The stream \
             ends when every recipient is `acknowledged` or `expired`, and after ten minutes. In the first case its last id is \
             `end`; a client that comes back with it gets 204, so that a browser does not come again.",
        )
        .path_parameter::<SessionId>("id", "The session.")
        .path_parameter::<u64>("sequence", "The sequence number of the message.")
        .reply_type("text/event-stream")
        .or_empty(StatusCode::NO_CONTENT)
        .reads_header("Last-Event-ID", "The id of the last event that was received.")
        .needs_token(Auth::Agent)
        .errors(Class::NotFound, &["not_found"])
        .errors(Class::TooMany, &["too_many_waits"])
        .errors(Class::Unavailable, &["stopping"])
}

/// The query of `GET /inbox`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReadQuery {
    /// The `cursor` of an earlier page: only items after it, seen or not.
    after: Option<String>,
    /// Maximum number; 20 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = LIMIT_MAX))]
    limit: Option<String>,
    /// Only these kinds, separated by commas.
    kinds: Option<String>,
    /// A coding session of the agent: leaves out items for its other coding sessions.
    coding_session: Option<String>,
}

/// The query of `GET /inbox/wait`.
#[derive(Debug, Deserialize, JsonSchema)]
struct WaitQuery {
    /// The `cursor` of an earlier page: only items after it, seen or not.
    after: Option<String>,
    /// Maximum number; 20 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = LIMIT_MAX))]
    limit: Option<String>,
    /// Only these kinds, separated by commas.
    kinds: Option<String>,
    /// A coding session of the agent: leaves out items for its other coding sessions.
    coding_session: Option<String>,
    /// Seconds to wait; 30 when absent, at most 60.
    #[schemars(with = "Option<u64>", range(max = WAIT_SECONDS_MAX))]
    timeout_s: Option<String>,
}

/// The query of `GET /sessions/{id}/messages/{sequence}/status`.
#[derive(Debug, Deserialize, JsonSchema)]
struct StatusQuery {
    /// Seconds to wait, at most 60; no wait when absent.
    #[schemars(with = "Option<u64>", range(max = WAIT_SECONDS_MAX))]
    timeout_s: Option<String>,
    /// The state that every recipient must reach to end the wait: `delivered`, `shown`, `in_context` (`seen` is the same),
    /// `answered` or `acknowledged`; `in_context` when absent. Recipients that can never get it do not count.
    #[schemars(extend("enum" = ["delivered", "shown", "in_context", "seen", "answered", "acknowledged"]))]
    until: Option<String>,
}

impl StatusQuery {
    fn until(&self) -> Result<State, Rejection> {
        match self.until.as_deref() {
            Some("delivered") => Ok(State::Delivered),
            Some("shown") => Ok(State::Shown),
            None | Some("in_context" | "seen") => Ok(State::InContext),
            Some("answered") => Ok(State::Answered),
            Some("acknowledged") => Ok(State::Acknowledged),
            Some(_) => Err(Rejection::InvalidState),
        }
    }
}

/// The coding session whose model asks, if the request names one.
fn asked_in(headers: &HeaderMap) -> Option<&str> {
    headers.get(CODING_SESSION)?.to_str().ok()
}

fn number<T: FromStr + PartialOrd>(
    text: Option<&str>,
    default: T,
    range: std::ops::RangeInclusive<T>,
    wrong: Rejection,
) -> Result<T, Rejection> {
    match text.map(str::parse) {
        None => Ok(default),
        Some(Ok(number)) if range.contains(&number) => Ok(number),
        Some(_) => Err(wrong),
    }
}

impl Inbox {
    pub(crate) async fn cursor(&self, me: &AgentHandle, text: &str) -> Result<Cursor, InboxRefusal> {
        let cursor = Cursor::read(text, me).ok_or(Rejection::InvalidCursor)?;
        // From a store that was later restored to an earlier state.
        if cursor.position.max(cursor.offers).0 > self.0.log.head().await? {
            return Err(Rejection::InvalidCursor.into());
        }
        Ok(cursor)
    }

    async fn query_of<'q>(
        &self,
        me: &AgentHandle,
        query: &'q ReadQuery,
        asked_in: Option<&'q str>,
    ) -> Result<InboxQuery<'q>, InboxRefusal> {
        let limit = number(query.limit.as_deref(), LIMIT_DEFAULT, 1..=LIMIT_MAX, Rejection::InvalidLimit)?;
        let kinds = match query.kinds.as_deref() {
            None => Kinds::ALL,
            Some(text) => text.parse().map_err(Rejection::InvalidKinds)?,
        };
        let after = match query.after.as_deref() {
            None => None,
            Some(text) => Some(self.cursor(me, text).await?),
        };
        Ok(InboxQuery { after, limit, kinds, coding: query.coding_session.as_deref(), asked_in })
    }
}

async fn read(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    headers: HeaderMap,
    query: Result<Query<ReadQuery>, QueryRejection>,
) -> Result<Json<Page>, InboxRefusal> {
    let Query(query) = query.map_err(|_| Rejection::InvalidQuery)?;
    let inbox_query = inbox.query_of(&caller.handle, &query, asked_in(&headers)).await?;
    Ok(Json(inbox.page(&caller.handle, &inbox_query).await?))
}

async fn read_overseen(
    With(inbox): With<Inbox>,
    Caller(principal): Caller,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<ReadQuery>, QueryRejection>,
) -> Result<Json<Page>, InboxRefusal> {
    let Path(handle) = path.map_err(|_| Rejection::NotFound)?;
    let agent = overseen(&inbox.0.rooms.accounts, &principal, &handle).await?;
    let Query(query) = query.map_err(|_| Rejection::InvalidQuery)?;
    let inbox_query = inbox.query_of(&agent, &query, None).await?;
    Ok(Json(inbox.page(&agent, &inbox_query).await?))
}

async fn wait(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    headers: HeaderMap,
    query: Result<Query<WaitQuery>, QueryRejection>,
) -> Result<Json<Page>, InboxRefusal> {
    let Query(query) = query.map_err(|_| Rejection::InvalidQuery)?;
    let WaitQuery { after, limit, kinds, coding_session, timeout_s } = query;
    let query = ReadQuery { after, limit, kinds, coding_session };
    let inbox_query = inbox.query_of(&caller.handle, &query, asked_in(&headers)).await?;
    let seconds =
        number(timeout_s.as_deref(), WAIT_SECONDS_DEFAULT, 0..=WAIT_SECONDS_MAX, Rejection::InvalidTimeout)?;
    Ok(Json(inbox.wait(&caller, &inbox_query, Duration::from_secs(seconds)).await?))
}

/// The message that a path names.
fn message(path: Result<Path<(String, String)>, PathRejection>) -> Result<(SessionId, u64), Rejection> {
    let Path((id, sequence)) = path.map_err(|_| Rejection::NotFound)?;
    let id = id.parse::<SessionId>().map_err(|_| Rejection::NotFound)?;
    Ok((id, sequence.parse().map_err(|_| Rejection::NotFound)?))
}

async fn receipts(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, InboxRefusal> {
    let last_event = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    inbox.receipts(caller, message(path)?, last_event).await
}

async fn status(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    path: Result<Path<(String, String)>, PathRejection>,
    query: Result<Query<StatusQuery>, QueryRejection>,
) -> Result<Json<MessageStatus>, InboxRefusal> {
    let (id, sequence) = message(path)?;
    // Existence is checked first, so that a query reveals nothing.
    let status = inbox.status(&caller.handle, &id, sequence).await?;
    if status.is_none() {
        return Err(Rejection::NotFound.into());
    }
    let Query(query) = query.map_err(|_| Rejection::InvalidQuery)?;
    let until = query.until()?;
    let seconds = number(query.timeout_s.as_deref(), 0, 0..=WAIT_SECONDS_MAX, Rejection::InvalidTimeout)?;
    if seconds == 0 {
        return Ok(Json(status.ok_or(Rejection::NotFound)?));
    }
    let timeout = Duration::from_secs(seconds);
    let status = inbox.wait_status(&caller, (&id, sequence), until, timeout).await?;
    Ok(Json(status.ok_or(Rejection::NotFound)?))
}

async fn ack(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Json<AckReceipt>, InboxRefusal> {
    let sent: AckRequest = body.and_then(|body| body.parse()).map_err(Rejection::InvalidBody)?;
    let me = &caller.handle;
    let marks = match sent.target()? {
        AckTarget::Page { cursor, after, state, cut } => {
            let to = inbox.cursor(me, &cursor).await?;
            let after = match after {
                Some(after) => Some(inbox.cursor(me, &after).await?),
                None => None,
            };
            let held = match asked_in(&headers) {
                Some(session) => inbox.waiting_elsewhere(me, session, &to).await?,
                None => Vec::new(),
            };
            inbox.raise(me, state.into(), (&to, after.as_ref()), (&cut, &held)).await?
        }
        AckTarget::Session(id, run) => {
            if !inbox.0.rooms.sessions.note_seen(me, &id, run).await? {
                return Err(Rejection::NotFound.into());
            }
            inbox.marks(me).await?
        }
    };
    let (unread, unread_at_least) = inbox.unread(me, &marks).await?;
    let (seen, acknowledged) = (marks.seen.cursor().text(me), marks.acknowledged.cursor().text(me));
    Ok(Json(AckReceipt { unread, unread_at_least, seen, acknowledged }))
}
