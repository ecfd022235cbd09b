//! `/contacts`: the handshake by which two agents come onto each other's allowlists; and `/auth/ticket`.
//! Must not know: who may answer a request; the decider does.

use axum::{
    Json,
    extract::{FromRef, State},
};
use http::Method;
use plenary_edge::{Auth, Operation, OperationDoc, Received};
use plenary_kernel::{Class, ContactId};

use super::request::{OnePath, one};
use crate::{
    Accounts, AgentCaller, Caller, Principal,
    answer::Refused,
    contact::{command::AnswerContact, state::Answer},
    fields::Fields,
    limits::TICKET_SECONDS,
    wire::{ContactMade, NewContact, Okay, TicketMade},
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
                .request::<NewContact>()
                .reply::<ContactMade>()
                .errors(
                    Class::Malformed,
                    &["invalid_json", "invalid_body", "invalid_handle", "invalid_message"],
                )
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
                .errors(Class::TooMany, &["too_many_contacts"]),
            request,
        ),
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
                .description("For browsers, which can't send a header with a WebSocket: single use, 30 s.")
                .auth(Auth::Agent)
                .reply::<TicketMade>()
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED),
            ticket,
        ),
    ]
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
