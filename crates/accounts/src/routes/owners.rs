//! `/_admin/owners`: the operator's list of owners, and their tokens.
//! Must not know: the rules; the decider has them.

use axum::{Json, extract::State};
use http::{Method, StatusCode};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_kernel::{Class, OwnerName, Refusal};
use plenary_log::Order;

use super::request::{OnePath, PageQuery, PageSent, page, path_subject};
use crate::{
    Accounts, Caller, Principal, Token, TokenKind, TokenOwner,
    answer::AccountRefusal,
    fields::Fields,
    index::OWNERS,
    limits::LIST_PAGE_MAX,
    owner::command::{Gift, GiveToken},
    wire::{NewOwner, OwnerMade, OwnerPage, OwnerView, TokenView},
};

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    let doc =
        |id, method, path, summary| OperationDoc::new(id, method, path, summary).no_tool(super::PROVISIONING);
    vec![
        doc("owner.create", Method::POST, "/_admin/owners", "Create an owner and show its token once")
            .success(StatusCode::CREATED)
            .request::<NewOwner>()
            .reply::<OwnerMade>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_owner"])
            .needs_token(Auth::Operator)
            .errors(Class::Forbidden, &["signed_in_at_issuer"])
            .errors(Class::NotFound, &["not_found"])
            .errors(Class::Conflict, &["owner_exists"])
            .handled_by(create),
        doc("owner.list", Method::GET, "/_admin/owners", "List owners by name")
            .query::<PageQuery<LIST_PAGE_MAX>>()
            .reply::<OwnerPage>()
            .answers_page()
            .errors(Class::Malformed, super::BAD_PAGE)
            .needs_token(Auth::Operator)
            .errors(Class::NotFound, &["not_found"])
            .handled_by(list),
        doc(
            "owner.rotate_token",
            Method::POST,
            "/_admin/owners/{owner}/rotate-token",
            "Replace an owner's token; the old token stops working at once",
        )
        .needs_token(Auth::Owner)
        .path_parameter::<OwnerName>("owner", "The owner")
        .reply::<TokenView>()
        .errors(Class::Malformed, &["invalid_json"])
        .errors(Class::Forbidden, &["signed_in_at_issuer"])
        .errors(Class::NotFound, &["not_found"])
        .handled_by(rotate_token),
    ]
}

fn operator(principal: &Principal) -> Result<(), Refusal> {
    match principal.who {
        TokenOwner::Operator => Ok(()),
        TokenOwner::Owner(_) | TokenOwner::Agent(_) => Err(Refusal::not_found()),
    }
}

async fn create(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<OwnerMade>), AccountRefusal> {
    let body = body?;
    operator(&principal)?;
    let NewOwner { owner } = NewOwner::read(&Fields::of(&body)?)?;
    let token = Token::random(TokenKind::Owner);
    let command = GiveToken { authority: principal.into(), owner, gift: Gift::First, token: token.digest() };
    accounts.give_token(&command).await?;
    let reply = OwnerMade { owner: command.owner, token: token.expose().to_owned() };
    Ok((StatusCode::CREATED, Json(reply)))
}

async fn list(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: PageSent<LIST_PAGE_MAX>,
) -> Result<Json<OwnerPage>, AccountRefusal> {
    operator(&principal)?;
    let page = page::<OwnerName, LIST_PAGE_MAX>(query)?;
    let after = page.after.as_ref().map(OwnerName::as_str);
    let mut rows = accounts.log().read_index(OWNERS, "", after, page.limit + 1, Order::Ascending).await?;
    let has_more = rows.len() > page.limit;
    rows.truncate(page.limit);
    let next_cursor = rows.last().filter(|_| has_more).map(|row| row.key.clone());
    let mut owners = Vec::with_capacity(rows.len());
    for row in rows {
        let owner =
            row.key.parse().map_err(|_| plenary_log::Fault::Corrupt(format!("{} in {OWNERS}", row.key)))?;
        let known_owner = accounts.owner(&owner).await?;
        let usage = accounts.log().read_usage(&plenary_log::account_of(&owner)).await?;
        owners.push(OwnerView {
            owner,
            created_at: known_owner.state.created_at().unwrap_or_default().0,
            stored_bytes: usage.bytes,
            stored_events: usage.events,
        });
    }
    Ok(Json(OwnerPage { owners, next_cursor }))
}

async fn rotate_token(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<TokenView>, AccountRefusal> {
    body?;
    let token = Token::random(TokenKind::Owner);
    let command = GiveToken {
        authority: principal.into(),
        owner: path_subject(path)?,
        gift: Gift::Replacement,
        token: token.digest(),
    };
    accounts.give_token(&command).await?;
    Ok(Json(TokenView { token: token.expose().to_owned() }))
}
