//! `/contacts`: the handshake by which two agents come onto each other's allowlists; and `/auth/ticket`.
//! Must not know: who may answer a request; the decider does.

use axum::{
    Json,
    extract::{FromRef, State},
};
use http::Method;
use plenary_edge::{Auth, Operation, OperationDoc, Parameters, Received};
use plenary_kernel::{AgentHandle, Class, ContactId, Refusal, Version};

use super::{
    agents::visible,
    taken::{OnePath, one},
};
use crate::{
    Accounts, AgentCaller, Caller, Principal, Who,
    answer::Refused,
    contact::{command::AnswerContact, listing::Waiting, state::Answer},
    limits::{CONTACTS_PAGE_MAX, TICKET_SECONDS},
    request::{CONTACTS, NEW_CONTACT},
    wire::{ContactMade, Okay, PendingContact, PendingContacts, TicketMade},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let answer = |id, path, summary| {
        OperationDoc::new(id, Method::POST, path, summary)
            .auth(Auth::Any)
            .path_parameter::<ContactId>("id", "The request")
            .reply::<Okay>()
            .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
            .errors(Class::NotFound, &["not_found"])
    };
    vec![
        Operation::new(
            OperationDoc::new("contact.request", Method::POST, "/contacts", "Asks another agent for contact")
                .action("sessions", "contact")
                .description("The answer is the same whether or not there is anybody to ask.")
                .auth(Auth::Agent)
                .body(&NEW_CONTACT)
                .reply::<ContactMade>()
                .errors(
                    Class::Malformed,
                    &["invalid_json", "invalid_body", "invalid_handle", "invalid_message"],
                )
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
                .errors(Class::TooMany, &["too_many_contacts"]),
            request,
        ),
        Operation::new(list_doc(), list),
        Operation::new(
            answer("contact.accept", "/contacts/{id}/accept", "Lists each of the two agents with the other")
                .action("sessions", "contact")
                .description("By the asked agent's owner, or by itself where it has self_service.")
                .errors(Class::Forbidden, &["forbidden"])
                .errors(Class::Conflict, &["contact_answered", "allowlist_full"]),
            accept,
        ),
        Operation::new(
            answer("contact.decline", "/contacts/{id}/decline", "Declines a request")
                .action("sessions", "contact")
                .description("By the asked agent or its owner.")
                .errors(Class::Conflict, &["contact_answered"]),
            decline,
        ),
        Operation::new(
            OperationDoc::new("auth.ticket", Method::POST, "/auth/ticket", "Trades the token for a ticket")
                .no_tool("agent_subscribe trades the token in")
                .without_key()
                .description("For browsers, which can't send a header with a WebSocket: single use, 30 s.")
                .auth(Auth::Agent)
                .reply::<TicketMade>()
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED),
            ticket,
        ),
    ]
}

fn list_doc() -> OperationDoc {
    OperationDoc::new("contact.list", Method::GET, "/contacts", "Lists contact requests that wait")
                .action("sessions", "contact")
                .description(
                    "Those that the agent was asked, or with `direction=outgoing` those that it asked. An owner's token \
                     says of which of its agents.",
                )
                .auth(Auth::Any)
                .parameters(&CONTACTS)
                .reply::<PendingContacts>()
                .errors(
                    Class::Malformed,
                    &["invalid_query", "invalid_direction", "invalid_limit", "invalid_cursor", "invalid_agent"],
                )
                .errors(Class::NotFound, &["not_found"])
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
}

/// Whose requests are asked for: an agent's own, an owner's agents', everybody's for the operator.
async fn subject(
    accounts: &Accounts,
    principal: &Principal,
    named: Option<&str>,
) -> Result<AgentHandle, Refused> {
    let named = named.map(str::parse::<AgentHandle>).transpose();
    let named = named.map_err(|wrong| Refusal::malformed("invalid_agent", format!("`agent`: {wrong}.")))?;
    match (&principal.who, named) {
        (Who::Agent(me), None) => Ok(me.clone()),
        (Who::Agent(me), Some(named)) if named == *me => Ok(named),
        (Who::Agent(_), Some(_)) => Err(Refusal::not_found().into()),
        (Who::Owner(_) | Who::Operator, Some(named)) => {
            Ok(visible(accounts, principal, &named).await?.handle)
        }
        (Who::Owner(_) | Who::Operator, None) => {
            let text = "Say of which agent: `agent=@owner.name`.";
            Err(Refusal::malformed("invalid_agent", text).into())
        }
    }
}

async fn list(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    parameters: Parameters,
) -> Result<Json<PendingContacts>, Refused> {
    let sent = parameters.read(&CONTACTS)?;
    let me = subject(&accounts, &principal, sent.get("agent")).await?;
    let limit = sent.count("limit").unwrap_or(CONTACTS_PAGE_MAX);
    let wrong_cursor =
        || Refusal::malformed("invalid_cursor", "cursor must be a `next_cursor` of this list.");
    let cursor = sent.get("cursor");
    let (waiting, next_cursor) = match sent.get("direction") {
        None | Some("incoming") => {
            let after = cursor.map(str::parse).transpose().map_err(|_| wrong_cursor())?.unwrap_or(0);
            let after = i64::try_from(after).map(|_| Version(after)).map_err(|_| wrong_cursor())?;
            let (waiting, next) = accounts.contacts_asked_of(&me, after, limit).await?;
            (waiting, next.map(|next| next.0.to_string()))
        }
        Some(_) => {
            let after: Option<AgentHandle> =
                cursor.map(str::parse).transpose().map_err(|_| wrong_cursor())?;
            let (waiting, next) = accounts.contacts_asked_by(&me, after.as_ref(), limit).await?;
            (waiting, next.map(|next| next.to_string()))
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
    let body = body?;
    let (to, message) = {
        let sent = body.read(&NEW_CONTACT)?;
        (sent.needed_parsed("to"), sent.string("message"))
    };
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
