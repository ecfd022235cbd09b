//! `/contacts`: the handshake by which two agents come onto each other's allowlists; and `/auth/ticket`.
//! Must not know: who may answer a request; the decider does.

use axum::{
    Json,
    extract::{FromRef, Query, State, rejection::QueryRejection},
};
use plenary_edge::{Auth, Operation, OperationDoc, Received};
use plenary_kernel::{AgentHandle, Class, ContactId, ErrorCode, Refusal, Version};
use plenary_wire::accounts::{AUTH_TICKET, CONTACT_ACCEPT, CONTACT_DECLINE, CONTACT_LIST, CONTACT_REQUEST};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    agents::visible,
    request::{OnePath, one},
};
use crate::{
    Accounts, AgentCaller, Caller, Principal, Who,
    answer::Refused,
    contact::{command::AnswerContact, listing::Waiting, state::Answer},
    fields::Fields,
    limits::{CONTACTS_PAGE_MAX, TICKET_SECONDS},
    wire::{ContactMade, NewContact, Okay, PendingContact, PendingContacts, TicketMade},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let answer = |doc: OperationDoc| {
        doc.auth(Auth::Any)
            .path_parameter::<ContactId>("id", "The request")
            .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
            .errors(Class::NotFound, &[ErrorCode::NotFound])
    };
    vec![
        Operation::new(
            OperationDoc::of(&CONTACT_REQUEST, "Asks another agent for contact")
                .action("sessions", "contact")
                .description("The answer is the same whether or not there is anybody to ask.")
                .auth(Auth::Agent)
                .request::<NewContact>()
                .errors(
                    Class::Malformed,
                    &[
                        ErrorCode::InvalidJson,
                        ErrorCode::InvalidBody,
                        ErrorCode::InvalidHandle,
                        ErrorCode::InvalidMessage,
                    ],
                )
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
                .errors(Class::TooMany, &[ErrorCode::TooManyContacts]),
            request,
        ),
        Operation::new(list_doc(), list),
        Operation::new(
            answer(OperationDoc::of(&CONTACT_ACCEPT, "Lists each of the two agents with the other"))
                .action("sessions", "contact")
                .description("By the asked agent's owner, or by itself where it has self_service.")
                .errors(Class::Forbidden, &[ErrorCode::Forbidden])
                .errors(Class::Conflict, &[ErrorCode::ContactAnswered, ErrorCode::AllowlistFull]),
            accept,
        ),
        Operation::new(
            answer(OperationDoc::of(&CONTACT_DECLINE, "Declines a request"))
                .action("sessions", "contact")
                .description("By the asked agent or its owner.")
                .errors(Class::Conflict, &[ErrorCode::ContactAnswered]),
            decline,
        ),
        Operation::new(
            OperationDoc::of(&AUTH_TICKET, "Trades the token for a ticket")
                .no_tool("agent_subscribe trades the token in")
                .without_key()
                .description("For browsers, which can't send a header with a WebSocket: single use, 30 s.")
                .auth(Auth::Agent)
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED),
            ticket,
        ),
    ]
}

fn list_doc() -> OperationDoc {
    OperationDoc::of(&CONTACT_LIST, "Lists contact requests that wait")
                .action("sessions", "contact")
                .description(
                    "Those that the agent was asked, or with `direction=outgoing` those that it asked. An owner's token \
                     says of which of its agents.",
                )
                .auth(Auth::Any)
                .query::<ListQuery>()
                .errors(
                    Class::Malformed,
                    &[ErrorCode::InvalidQuery, ErrorCode::InvalidDirection, ErrorCode::InvalidLimit, ErrorCode::InvalidCursor, ErrorCode::InvalidAgent],
                )
                .errors(Class::NotFound, &[ErrorCode::NotFound])
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
}

/// The query of `GET /contacts`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListQuery {
    /// `incoming` (when absent) or `outgoing`.
    direction: Option<String>,
    /// Of which agent; for an agent's own token it is the agent itself.
    agent: Option<String>,
    /// How many; 100 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = 100))]
    limit: Option<String>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Whose requests are asked for: an agent's own, an owner's agents', everybody's for the operator.
async fn subject(
    accounts: &Accounts,
    principal: &Principal,
    named: Option<&str>,
) -> Result<AgentHandle, Refused> {
    let named = named.map(str::parse::<AgentHandle>).transpose();
    let named =
        named.map_err(|wrong| Refusal::malformed(ErrorCode::InvalidAgent, format!("`agent`: {wrong}.")))?;
    match (&principal.who, named) {
        (Who::Agent(me), None) => Ok(me.clone()),
        (Who::Agent(me), Some(named)) if named == *me => Ok(named),
        (Who::Agent(_), Some(_)) => Err(Refusal::not_found().into()),
        (Who::Owner(_) | Who::Operator, Some(named)) => {
            Ok(visible(accounts, principal, &named).await?.handle)
        }
        (Who::Owner(_) | Who::Operator, None) => {
            let text = "Say of which agent: `agent=@owner.name`.";
            Err(Refusal::malformed(ErrorCode::InvalidAgent, text).into())
        }
    }
}

async fn list(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<PendingContacts>, Refused> {
    let Query(query) =
        query.map_err(|_| Refusal::malformed(ErrorCode::InvalidQuery, "The query can't be read."))?;
    let me = subject(&accounts, &principal, query.agent.as_deref()).await?;
    let limit = query.limit.as_deref().map_or(Some(CONTACTS_PAGE_MAX), |text| text.parse().ok());
    let limit = limit.filter(|limit| (1..=CONTACTS_PAGE_MAX).contains(limit)).ok_or_else(|| {
        Refusal::malformed(
            ErrorCode::InvalidLimit,
            format!("limit must be a number from 1 to {CONTACTS_PAGE_MAX}."),
        )
    })?;
    let wrong_cursor =
        || Refusal::malformed(ErrorCode::InvalidCursor, "cursor must be a `next_cursor` of this list.");
    let cursor = query.cursor.as_deref();
    let (waiting, next_cursor) = match query.direction.as_deref() {
        None | Some("incoming") => {
            let after = cursor.map(str::parse).transpose().map_err(|_| wrong_cursor())?.unwrap_or(0);
            let after = i64::try_from(after).map(|_| Version(after)).map_err(|_| wrong_cursor())?;
            let (waiting, next) = accounts.contacts_asked_of(&me, after, limit).await?;
            (waiting, next.map(|next| next.0.to_string()))
        }
        Some("outgoing") => {
            let after: Option<AgentHandle> =
                cursor.map(str::parse).transpose().map_err(|_| wrong_cursor())?;
            let (waiting, next) = accounts.contacts_asked_by(&me, after.as_ref(), limit).await?;
            (waiting, next.map(|next| next.to_string()))
        }
        Some(_) => {
            let text = "direction must be incoming or outgoing.";
            return Err(Refusal::malformed(ErrorCode::InvalidDirection, text).into());
        }
    };
    let shown = |Waiting { request, from, to, message, at }| PendingContact {
        request_id: request,
        from,
        to,
        message,
        created_at: at,
    };
    Ok(Json(PendingContacts { contacts: waiting.into_iter().map(shown).collect(), next_cursor }))
}

async fn request(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    Received(body): Received,
) -> Result<Json<ContactMade>, Refused> {
    let NewContact { to, message } = NewContact::read(&Fields::of(&body?)?)?;
    let request_id = accounts.request_contact(&caller, &to, message).await?;
    Ok(Json(ContactMade { request_id }))
}

async fn accept(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    Received(body): Received,
) -> Result<Json<Okay>, Refused> {
    body?;
    answered(&accounts, principal, path, Answer::Accepted).await
}

async fn decline(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    Received(body): Received,
) -> Result<Json<Okay>, Refused> {
    body?;
    answered(&accounts, principal, path, Answer::Declined).await
}

async fn answered(
    accounts: &Accounts,
    principal: Principal,
    path: OnePath,
    answer: Answer,
) -> Result<Json<Okay>, Refused> {
    let command = AnswerContact { authority: principal.into(), id: one(path)?, answer };
    accounts.answer_contact(command).await?;
    Ok(Json(Okay { ok: true }))
}

async fn ticket(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    Received(body): Received,
) -> Result<Json<TicketMade>, Refused> {
    body?;
    Ok(Json(TicketMade { ticket: accounts.ticket(&caller).await?, expires_in: TICKET_SECONDS }))
}
