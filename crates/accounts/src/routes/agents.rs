//! `/_admin/agents`: agents as the operator and their owners make and change them.
//! Must not know: what may become of an agent; the decider does.

use axum::{
    Json,
    extract::{FromRef, State},
};
use http::StatusCode;
use plenary_edge::{Auth, Operation, OperationDoc, Received};
use plenary_kernel::{AgentHandle, Class, ErrorCode, Refusal};
use plenary_log::Order;
use plenary_wire::accounts::{
    AGENT_CREATE, AGENT_DELETE, AGENT_GET, AGENT_LIST, AGENT_ROTATE_TOKEN, AGENT_UPDATE,
};

use super::request::{OnePath, PageQuery, PageSent, one, page};
use crate::{
    Accounts, Caller, Known, Principal, Token, TokenKind, Who,
    agent::{
        command::{AgentEdit, EditAgent, RegisterAgent, Settings},
        list_key, listed,
    },
    answer::Refused,
    fields::Fields,
    index::AGENTS,
    limits::{LIST_CARD_BYTES_MAX, LIST_ENTRIES_MAX, LIST_PAGE_MAX},
    wire::{AgentChanges, AgentMade, AgentPage, AgentView, NewAgent, agent_made},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let one = |doc: OperationDoc| super::of_agent(doc);
    let all = |doc: OperationDoc| {
        doc.auth(Auth::Owner)
            .no_tool(super::PROVISIONING)
            .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
            .errors(Class::NotFound, &[ErrorCode::NotFound])
    };
    vec![
        Operation::new(
            all(OperationDoc::of(&AGENT_CREATE, "Makes an agent, and shows its token once"))
                .success(StatusCode::CREATED)
                .request::<NewAgent>()
                .errors(Class::Malformed, super::BAD_AGENT)
                .errors(Class::Malformed, super::BAD_PROFILE)
                .errors(
                    Class::Conflict,
                    &[ErrorCode::AgentExists, ErrorCode::TokenExists, ErrorCode::TooManyAgents],
                ),
            create,
        ),
        Operation::new(
            all(OperationDoc::of(
                &AGENT_LIST,
                "Lists agents by handle: the operator's all, an owner's its own",
            ))
            .query::<PageQuery>()
            .answers_page()
            .errors(Class::Malformed, super::BAD_PAGE),
            list,
        ),
        Operation::new(one(OperationDoc::of(&AGENT_GET, "Shows an agent")), get),
        Operation::new(
            one(OperationDoc::of(
                &AGENT_UPDATE,
                "Sets an agent's policy, its leave to configure itself, or its profile",
            ))
            .request::<AgentChanges>()
            .errors(
                Class::Malformed,
                &[
                    ErrorCode::InvalidJson,
                    ErrorCode::InvalidBody,
                    ErrorCode::InvalidPolicy,
                    ErrorCode::InvalidSelfService,
                ],
            )
            .errors(Class::Malformed, super::BAD_PROFILE),
            update,
        ),
        Operation::new(
            one(OperationDoc::of(&AGENT_DELETE, "Deletes an agent; the handle stays taken"))
                .success(StatusCode::NO_CONTENT),
            delete,
        ),
        Operation::new(
            one(OperationDoc::of(
                &AGENT_ROTATE_TOKEN,
                "Gives an agent a new token; the old one is dead at once, and its connections close",
            ))
            .answers_page(),
            rotate_token,
        ),
    ]
}

/// Whether the caller may know of an owner's agents at all: the operator and that owner (wire.md D.1).
fn over(principal: &Principal, owner: &str) -> Result<(), Refusal> {
    match &principal.who {
        Who::Operator => Ok(()),
        Who::Owner(name) if name.as_str() == owner => Ok(()),
        Who::Owner(_) | Who::Agent(_) => Err(Refusal::not_found()),
    }
}

/// The agent that the path names, for who may know of it.
pub(super) async fn visible(
    accounts: &Accounts,
    principal: &Principal,
    handle: &AgentHandle,
) -> Result<Known, Refused> {
    over(principal, handle.owner())?;
    let known = accounts.fresh_agent(handle).await?;
    if known.state.is_live() { Ok(known) } else { Err(Refusal::not_found().into()) }
}

/// Carries out an edit of the agent in the caller's name.
pub(super) async fn edit(
    accounts: &Accounts,
    principal: Principal,
    handle: AgentHandle,
    edit: AgentEdit,
) -> Result<Known, Refused> {
    Ok(accounts.edit_agent(EditAgent { authority: principal.into(), handle, edit }).await?)
}

async fn create(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    Received(body): Received,
) -> Result<(StatusCode, Json<AgentMade>), Refused> {
    let body = body?;
    if matches!(principal.who, Who::Agent(_)) {
        return Err(Refusal::not_found().into());
    }
    let fields = Fields::of(&body)?;
    over(&principal, fields.handle("handle")?.owner())?;
    let new = NewAgent::read(&fields)?;
    let token = new.token.unwrap_or_else(|| Token::random(TokenKind::Agent));
    let command = RegisterAgent {
        authority: principal.into(),
        handle: new.handle,
        policy: new.policy.unwrap_or_default(),
        allowlist: new.allowlist.unwrap_or_default(),
        self_service: new.self_service.unwrap_or_default(),
        token: token.digest(),
        profile: new.profile,
    };
    let known = accounts.register_agent(command).await?;
    Ok((StatusCode::CREATED, Json(agent_made(known, &token))))
}

async fn list(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: PageSent,
) -> Result<Json<AgentPage>, Refused> {
    let prefix = match &principal.who {
        Who::Operator => String::new(),
        Who::Owner(owner) => format!("{owner}/"),
        Who::Agent(_) => return Err(Refusal::not_found().into()),
    };
    let page = page::<AgentHandle>(query, LIST_PAGE_MAX)?;
    let after = page.after.as_ref().map(|handle| list_key(handle.as_str()));
    let log = accounts.log();
    let rows = log.read_index(AGENTS, &prefix, after.as_deref(), page.limit + 1, Order::Ascending).await?;
    let (mut agents, mut entries, mut cards, mut next_cursor) = (Vec::new(), 0, 0, None);
    let mut last = None;
    for row in rows {
        if agents.len() == page.limit || entries >= LIST_ENTRIES_MAX || cards >= LIST_CARD_BYTES_MAX {
            next_cursor = last;
            break;
        }
        let known = accounts.agent(&listed(&row.key)?).await?;
        last = Some(known.handle.to_string());
        // Deleted, and the index is a moment behind.
        if known.state.is_live() {
            entries += known.state.allowlist().len();
            cards += known.state.profile().card_body.as_ref().map_or(0, String::len);
            agents.push(AgentView::from(&known));
        }
    }
    Ok(Json(AgentPage { agents, next_cursor }))
}

async fn get(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
) -> Result<Json<AgentView>, Refused> {
    let known = visible(&accounts, &principal, &one(path)?).await?;
    Ok(Json(AgentView::from(&known)))
}

async fn update(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    Received(body): Received,
) -> Result<Json<AgentView>, Refused> {
    let body = body?;
    let known = visible(&accounts, &principal, &one(path)?).await?;
    let AgentChanges { policy, self_service, profile } = AgentChanges::read(&Fields::of(&body)?)?;
    let change = AgentEdit::Configure(Settings { policy, self_service, profile });
    let known = edit(&accounts, principal, known.handle, change).await?;
    Ok(Json(AgentView::from(&known)))
}

async fn delete(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
) -> Result<StatusCode, Refused> {
    let known = visible(&accounts, &principal, &one(path)?).await?;
    edit(&accounts, principal, known.handle, AgentEdit::Delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn rotate_token(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    Received(body): Received,
) -> Result<Json<AgentMade>, Refused> {
    body?;
    let known = visible(&accounts, &principal, &one(path)?).await?;
    let token = Token::random(TokenKind::Agent);
    let known = edit(&accounts, principal, known.handle, AgentEdit::RotateToken(token.digest())).await?;
    Ok(Json(agent_made(known, &token)))
}
