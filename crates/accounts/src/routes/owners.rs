//! `/_admin/owners`: the operator's list of owners, and their tokens.
//! Must not know: what may become of an owner; the decider does.

use axum::{
    Json,
    extract::{FromRef, State},
};
use http::StatusCode;
use plenary_edge::{Auth, Operation, OperationDoc, Received};
use plenary_kernel::{Class, ErrorCode, OwnerName, Refusal};
use plenary_log::Order;
use plenary_wire::accounts::{OWNER_CREATE, OWNER_LIST, OWNER_ROTATE_TOKEN};

use super::request::{OnePath, PageQuery, PageSent, one, page};
use crate::{
    Accounts, Caller, Principal, Token, TokenKind, Who,
    answer::Refused,
    fields::Fields,
    index::OWNERS,
    limits::LIST_PAGE_MAX,
    owner::command::{Gift, GiveToken},
    wire::{NewOwner, OwnerMade, OwnerPage, OwnerView, TokenView},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let doc = |doc: OperationDoc| doc.auth(Auth::Operator).no_tool(super::PROVISIONING);
    vec![
        Operation::new(
            doc(OperationDoc::of(&OWNER_CREATE, "Makes an owner, and shows its token once"))
                .success(StatusCode::CREATED)
                .request::<NewOwner>()
                .errors(
                    Class::Malformed,
                    &[ErrorCode::InvalidJson, ErrorCode::InvalidBody, ErrorCode::InvalidOwner],
                )
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
                .errors(Class::NotFound, &[ErrorCode::NotFound])
                .errors(Class::Conflict, &[ErrorCode::OwnerExists]),
            create,
        ),
        Operation::new(
            doc(OperationDoc::of(&OWNER_LIST, "Lists owners by name"))
                .query::<PageQuery>()
                .answers_page()
                .errors(Class::Malformed, super::BAD_PAGE)
                .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
                .errors(Class::NotFound, &[ErrorCode::NotFound]),
            list,
        ),
        Operation::new(
            doc(OperationDoc::of(
                &OWNER_ROTATE_TOKEN,
                "Gives an owner a new token; the old one is dead at once",
            ))
            .auth(Auth::Owner)
            .path_parameter::<OwnerName>("owner", "The owner")
            .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
            .errors(Class::NotFound, &[ErrorCode::NotFound]),
            rotate_token,
        ),
    ]
}

fn operator(principal: &Principal) -> Result<(), Refusal> {
    match principal.who {
        Who::Operator => Ok(()),
        Who::Owner(_) | Who::Agent(_) => Err(Refusal::not_found()),
    }
}

async fn create(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    Received(body): Received,
) -> Result<(StatusCode, Json<OwnerMade>), Refused> {
    let body = body?;
    operator(&principal)?;
    let NewOwner { owner } = NewOwner::read(&Fields::of(&body)?)?;
    let token = Token::random(TokenKind::Owner);
    let command = GiveToken { authority: principal.into(), owner, gift: Gift::First, token: token.digest() };
    accounts.give_token(&command).await?;
    let made = OwnerMade { owner: command.owner, token: token.expose().to_owned() };
    Ok((StatusCode::CREATED, Json(made)))
}

async fn list(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: PageSent,
) -> Result<Json<OwnerPage>, Refused> {
    operator(&principal)?;
    let page = page::<OwnerName>(query, LIST_PAGE_MAX)?;
    let after = page.after.as_ref().map(OwnerName::as_str);
    let mut rows = accounts.log().read_index(OWNERS, "", after, page.limit + 1, Order::Ascending).await?;
    let more = rows.len() > page.limit;
    rows.truncate(page.limit);
    let next_cursor = rows.last().filter(|_| more).map(|row| row.key.clone());
    let mut owners = Vec::with_capacity(rows.len());
    for row in rows {
        let owner =
            row.key.parse().map_err(|_| plenary_log::Fault::Corrupt(format!("{} in {OWNERS}", row.key)))?;
        let known = accounts.owner(&owner).await?;
        let used = accounts.log().read_usage(owner.as_str()).await?;
        owners.push(OwnerView {
            owner,
            created_at: known.state.created_at().unwrap_or_default().0,
            stored_bytes: used.bytes,
            stored_events: used.events,
        });
    }
    Ok(Json(OwnerPage { owners, next_cursor }))
}

async fn rotate_token(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    Received(body): Received,
) -> Result<Json<TokenView>, Refused> {
    body?;
    let token = Token::random(TokenKind::Owner);
    let command = GiveToken {
        authority: principal.into(),
        owner: one(path)?,
        gift: Gift::Replacement,
        token: token.digest(),
    };
    accounts.give_token(&command).await?;
    Ok(Json(TokenView { token: token.expose().to_owned() }))
}
