//! The operations of the inbox: parse, ask, translate the answer.
//! Must not know: where news come from.

use std::{str::FromStr, time::Duration};

use axum::{
    Json, Router,
    extract::{
        FromRef, Path, Query, State as With,
        rejection::{PathRejection, QueryRejection},
    },
};
use plenary_accounts::{Accounts, AgentCaller};
use plenary_edge::{Metrics, Operation, OperationDoc, Received, RegistryFault};
use plenary_kernel::{AgentHandle, Class, ErrorCode, SessionId};
use plenary_wire::inbox::{ACK, AckRequest, AckState, Acked, MESSAGE_STATUS, MessageStatus, READ, WAIT};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Inbox, LIMIT_DEFAULT, LIMIT_MAX, WAIT_SECONDS_DEFAULT, WAIT_SECONDS_MAX,
    cursor::Cursor,
    kind::Kinds,
    marks::State,
    reading::Ask,
    refusals::{Refused, Rejection},
    wire::Page,
};

const UNAUTHENTICATED: &[ErrorCode] = &[ErrorCode::MissingAuthorization, ErrorCode::InvalidAuthorization];

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

/// Why they are no tools of their own.
const THE_INBOX: &str = "the tool inbox reads, waits and acknowledges";

/// The operations of the inbox.
#[must_use]
pub fn operations() -> Vec<Operation<Inbox>> {
    let read_doc = OperationDoc::of(&READ, "Read what is new for you")
        .no_tool(THE_INBOX)
        .description(
            "Oldest first. Without `after`: what is unread. Reading changes nothing but that what is given counts \
             as delivered.",
        )
        .query::<ReadQuery>()
        .reply::<Page>()
        .errors(Class::Malformed, &[ErrorCode::InvalidQuery, ErrorCode::InvalidLimit, ErrorCode::InvalidKinds, ErrorCode::InvalidCursor])
        .errors(Class::Unauthenticated, UNAUTHENTICATED);
    let wait_doc = OperationDoc::of(&WAIT, "Wait for what is new for you")
        .no_tool(THE_INBOX)
        .description("Answers as soon as there is an item, or at the deadline with none and `timed_out`.")
        .query::<WaitQuery>()
        .reply::<Page>()
        .errors(
            Class::Malformed,
            &[
                ErrorCode::InvalidQuery,
                ErrorCode::InvalidLimit,
                ErrorCode::InvalidKinds,
                ErrorCode::InvalidCursor,
                ErrorCode::InvalidTimeout,
            ],
        )
        .errors(Class::Unauthenticated, UNAUTHENTICATED)
        .errors(Class::TooMany, &[ErrorCode::TooManyWaits])
        .errors(Class::Unavailable, &[ErrorCode::Stopping]);
    let ack_doc = OperationDoc::of(&ACK, "Acknowledge what you have read")
        .no_tool(THE_INBOX)
        .description("Everything up to the cursor. Marks rise only; a cursor behind them changes nothing.")
        .request::<AckRequest>()
        .errors(Class::Malformed, &[ErrorCode::InvalidJson, ErrorCode::InvalidBody, ErrorCode::InvalidCursor])
        .errors(Class::Unauthenticated, UNAUTHENTICATED);
    let status_doc = OperationDoc::of(&MESSAGE_STATUS, "See what has become of a message")
        .tool("sessions")
        .description("For its session's participants. No state is claimed that is not known to be true.")
        .path_parameter::<SessionId>("id", "The session.")
        .path_parameter::<u64>("sequence", "The message's place in it.")
        .errors(Class::Unauthenticated, UNAUTHENTICATED)
        .errors(Class::NotFound, &[ErrorCode::NotFound]);
    vec![
        Operation::new(read_doc, read),
        Operation::new(wait_doc, wait),
        Operation::new(ack_doc, ack),
        Operation::new(status_doc, status),
    ]
}

/// The query of `GET /inbox`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReadQuery {
    /// The `cursor` of an earlier page: only what is behind it, whether or not it was seen.
    after: Option<String>,
    /// How many; 20 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = 100))]
    limit: Option<String>,
    /// Only these kinds, with commas between them.
    kinds: Option<String>,
    /// `true`: what is given does not count as delivered.
    peek: Option<bool>,
}

/// The query of `GET /inbox/wait`.
#[derive(Debug, Deserialize, JsonSchema)]
struct WaitQuery {
    /// The `cursor` of an earlier page: only what is behind it, whether or not it was seen.
    after: Option<String>,
    /// How many; 20 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = 100))]
    limit: Option<String>,
    /// Only these kinds, with commas between them.
    kinds: Option<String>,
    /// `true`: what is given does not count as delivered.
    peek: Option<bool>,
    /// How long to wait, in seconds; 30 when absent, at most 60.
    #[schemars(with = "Option<u64>", range(max = 60))]
    timeout_s: Option<String>,
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
    async fn cursor(&self, me: &AgentHandle, text: &str) -> Result<Cursor, Refused> {
        let cursor = Cursor::read(text, me).ok_or(Rejection::InvalidCursor)?;
        // Of a store that was put back to an earlier state.
        if cursor.place.max(cursor.offers).0 > self.0.log.head().await? {
            return Err(Rejection::InvalidCursor.into());
        }
        Ok(cursor)
    }

    async fn ask(&self, me: &AgentHandle, query: &ReadQuery) -> Result<Ask, Refused> {
        let limit = number(query.limit.as_deref(), LIMIT_DEFAULT, 1..=LIMIT_MAX, Rejection::InvalidLimit)?;
        let kinds = match query.kinds.as_deref() {
            None => Kinds::ALL,
            Some(text) => text.parse().map_err(Rejection::InvalidKinds)?,
        };
        let after = match query.after.as_deref() {
            None => None,
            Some(text) => Some(self.cursor(me, text).await?),
        };
        Ok(Ask { after, limit, kinds, peek: query.peek.unwrap_or(false) })
    }
}

async fn read(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    query: Result<Query<ReadQuery>, QueryRejection>,
) -> Result<Json<Page>, Refused> {
    let Query(query) = query.map_err(|_| Rejection::InvalidQuery)?;
    let ask = inbox.ask(&caller.handle, &query).await?;
    Ok(Json(inbox.page(&caller.handle, &ask).await?))
}

async fn wait(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    query: Result<Query<WaitQuery>, QueryRejection>,
) -> Result<Json<Page>, Refused> {
    let Query(WaitQuery { after, limit, kinds, peek, timeout_s }) =
        query.map_err(|_| Rejection::InvalidQuery)?;
    let ask = inbox.ask(&caller.handle, &ReadQuery { after, limit, kinds, peek }).await?;
    let seconds =
        number(timeout_s.as_deref(), WAIT_SECONDS_DEFAULT, 0..=WAIT_SECONDS_MAX, Rejection::InvalidTimeout)?;
    Ok(Json(inbox.wait(&caller, &ask, Duration::from_secs(seconds)).await?))
}

async fn status(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<MessageStatus>, Refused> {
    let Path((id, sequence)) = path.map_err(|_| Rejection::NotFound)?;
    let id = id.parse::<SessionId>().map_err(|_| Rejection::NotFound)?;
    let sequence = sequence.parse().map_err(|_| Rejection::NotFound)?;
    let found = inbox.status(&caller.handle, &id, sequence).await?;
    Ok(Json(found.ok_or(Rejection::NotFound)?))
}

async fn ack(
    With(inbox): With<Inbox>,
    caller: AgentCaller,
    Received(body): Received,
) -> Result<Json<Acked>, Refused> {
    let sent: AckRequest = body.and_then(|body| body.parse()).map_err(Rejection::InvalidBody)?;
    let (me, to) = (&caller.handle, inbox.cursor(&caller.handle, &sent.cursor).await?);
    let state = match sent.state {
        AckState::Seen => State::Seen,
        AckState::Acknowledged => State::Acknowledged,
    };
    let marks = inbox.raise(me, state, &to).await?;
    let (unread, unread_at_least) = inbox.unread(me, &marks).await?;
    let (seen, acknowledged) = (marks.seen.cursor().text(me), marks.acknowledged.cursor().text(me));
    Ok(Json(Acked { unread, unread_at_least, seen, acknowledged }))
}
