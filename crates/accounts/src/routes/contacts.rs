//! `/contacts`: the handshake after which two agents are on each other's allowlists; and `/auth/ticket`.
//! Must not know: who may answer a request; the decider does.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use http::Method;
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, ContactId, Refusal, Version};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    agents::visible_agent,
    request::{OnePath, limit, path_subject},
};
use crate::{
    Accounts, AgentCaller, Caller, Principal, TokenOwner,
    answer::{AccountRefusal, token_required},
    contact::{command::AnswerContact, open_requests::WaitingContact, state::Answer},
    fields::Fields,
    limits::{CONTACTS_PAGE_MAX, TICKET_SECONDS},
    wire::{ContactMade, NewContact, Okay, PendingContact, PendingContacts, TicketMade},
};

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    let answer = |id, path, summary| {
        OperationDoc::new(id, Method::POST, path, summary)
            .needs_token(Auth::Any)
            .path_parameter::<ContactId>("id", "The request")
            .reply::<Okay>()
            .errors(Class::NotFound, &["not_found"])
    };
    vec![
        OperationDoc::new("contact.request", Method::POST, "/contacts", "Ask another agent for contact")
            .action("sessions", "contact")
            .description("The response is the same whether or not the agent exists.")
            .needs_token(Auth::Agent)
            .request::<NewContact>()
            .reply::<ContactMade>()
            .errors(
                Class::Malformed,
                &["invalid_json", "invalid_body", "invalid_handle", "invalid_message"],
            )
            .errors(Class::TooMany, &["too_many_contacts"])
            .handled_by(request),
        list_doc().handled_by(list),
        answer("contact.accept", "/contacts/{id}/accept", "Accept a request: each agent is added to the other's allowlist")
            .action("sessions", "contact")
            .description("For the asked agent's owner, and for the agent itself if it has self_service.")
            .errors(Class::Malformed, &["invalid_json"])
            .errors(Class::Forbidden, &["forbidden"])
            .errors(Class::Conflict, &["contact_answered", "allowlist_full"])
            .handled_by(accept),
        answer("contact.decline", "/contacts/{id}/decline", "Decline a request")
            .action("sessions", "contact")
            .description("For the asked agent or its owner.")
            .errors(Class::Malformed, &["invalid_json"])
            .errors(Class::Conflict, &["contact_answered"])
            .handled_by(decline),
        OperationDoc::new("auth.ticket", Method::POST, "/auth/ticket", "Exchange the token for a ticket")
            .no_tool("agent_subscribe gets a ticket")
            .without_key()
            .description("For browsers, which cannot send a header with a WebSocket. A ticket works once, within 30 s.")
            .needs_token(Auth::Agent)
            .reply::<TicketMade>()
            .handled_by(ticket),
    ]
}

fn list_doc() -> OperationDoc {
    OperationDoc::new("contact.list", Method::GET, "/contacts", "List pending contact requests")
        .action("sessions", "contact")
        .description(
            "Requests to the agent, or with `direction=outgoing` requests by the agent. An owner's token \
                     names the agent with `agent`.",
        )
        .needs_token(Auth::Any)
        .query::<ListQuery>()
        .reply::<PendingContacts>()
        .errors(
            Class::Malformed,
            &["invalid_query", "invalid_direction", "invalid_limit", "invalid_cursor", "invalid_agent"],
        )
        .errors(Class::NotFound, &["not_found"])
}

/// The query of `GET /contacts`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListQuery {
    /// `incoming` (when absent) or `outgoing`.
    #[schemars(extend("enum" = ["incoming", "outgoing"]))]
    direction: Option<String>,
    /// The agent; with an agent's own token, the agent itself.
    agent: Option<String>,
    /// Maximum number; 100 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = CONTACTS_PAGE_MAX))]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// The agent whose requests are listed: the caller itself, an agent of the owner, or any agent for the operator.
async fn subject(
    accounts: &Accounts,
    principal: &Principal,
    handle: Option<&str>,
) -> Result<AgentHandle, AccountRefusal> {
    let handle = handle.map(str::parse::<AgentHandle>).transpose();
    let handle =
        handle.map_err(|reason| Refusal::malformed("invalid_agent", format!("`agent`: {reason}.")))?;
    match (&principal.who, handle) {
        (TokenOwner::Agent(agent), None) => Ok(agent.clone()),
        (TokenOwner::Agent(agent), Some(handle)) if handle == *agent => Ok(handle),
        (TokenOwner::Agent(_), Some(_)) => Err(Refusal::not_found().into()),
        (TokenOwner::Owner(_) | TokenOwner::Operator, Some(handle)) => {
            Ok(visible_agent(accounts, principal, &handle).await?.handle)
        }
        (TokenOwner::Owner(_) | TokenOwner::Operator, None) => {
            let text = "The parameter `agent` is missing: name the agent, `agent=@owner.name`.";
            Err(Refusal::malformed("invalid_agent", text).into())
        }
    }
}

async fn list(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<PendingContacts>, AccountRefusal> {
    let Query(query) = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let agent = subject(&accounts, &principal, query.agent.as_deref()).await?;
    let limit = limit(query.limit.as_deref(), CONTACTS_PAGE_MAX, CONTACTS_PAGE_MAX)?;
    let invalid_cursor = || {
        Refusal::malformed(
            "invalid_cursor",
            "cursor must be the `next_cursor` of an earlier page of this list.",
        )
    };
    let cursor = query.cursor.as_deref();
    let (waiting_contacts, next_cursor) = match query.direction.as_deref() {
        None | Some("incoming") => {
            let after = cursor.map(str::parse).transpose().map_err(|_| invalid_cursor())?.unwrap_or(0);
            let after = i64::try_from(after).map(|_| Version(after)).map_err(|_| invalid_cursor())?;
            let (waiting_contacts, next) = accounts.contacts_received(&agent, after, limit).await?;
            (waiting_contacts, next.map(|next| next.0.to_string()))
        }
        Some("outgoing") => {
            let after: Option<AgentHandle> =
                cursor.map(str::parse).transpose().map_err(|_| invalid_cursor())?;
            let (waiting_contacts, next) = accounts.contacts_sent(&agent, after.as_ref(), limit).await?;
            (waiting_contacts, next.map(|next| next.to_string()))
        }
        Some(_) => {
            let text = "direction must be incoming or outgoing.";
            return Err(Refusal::malformed("invalid_direction", text).into());
        }
    };
    let pending_contact = |WaitingContact { request, from, to, message, at }| PendingContact {
        request_id: request,
        from,
        to,
        message,
        created_at: at,
    };
    Ok(Json(PendingContacts {
        contacts: waiting_contacts.into_iter().map(pending_contact).collect(),
        next_cursor,
    }))
}

async fn request(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<Json<ContactMade>, AccountRefusal> {
    let NewContact { to, message } = NewContact::read(&Fields::of(&body?)?)?;
    let request_id = accounts.request_contact(&caller, &to, message).await?;
    Ok(Json(ContactMade { request_id }))
}

async fn accept(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<Okay>, AccountRefusal> {
    body?;
    answered(&accounts, principal, path, Answer::Accepted).await
}

async fn decline(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<Okay>, AccountRefusal> {
    body?;
    answered(&accounts, principal, path, Answer::Declined).await
}

async fn answered(
    accounts: &Accounts,
    principal: Principal,
    path: OnePath,
    answer: Answer,
) -> Result<Json<Okay>, AccountRefusal> {
    let command = AnswerContact { authority: principal.into(), id: path_subject(path)?, answer };
    accounts.answer_contact(command).await?;
    Ok(Json(Okay { ok: true }))
}

async fn ticket(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    JsonBody(body): JsonBody,
) -> Result<Json<TicketMade>, AccountRefusal> {
    body?;
    if caller.token.is_person() {
        return Err(token_required().into());
    }
    Ok(Json(TicketMade { ticket: accounts.ticket(&caller).await?, expires_in: TICKET_SECONDS }))
}
