//! `/_admin/agents`: the operator and owners create and change agents.
//! Must not know: the rules; the decider has them.

use axum::{Json, extract::State};
use http::{Method, StatusCode};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, Class, Refusal};
use plenary_log::Order;

use super::request::{OnePath, PageQuery, PageSent, page, path_subject};
use crate::{
    Accounts, Caller, Failure, KnownAgent, Principal, Token, TokenKind, TokenOwner,
    agent::{
        attention::AttentionChange,
        command::{AgentEdit, EditAgent, RegisterAgent, Settings},
        handle_of_key, list_key,
    },
    answer::AccountRefusal,
    fields::Fields,
    index::AGENTS,
    limits::{LIST_CARD_BYTES_MAX, LIST_ENTRIES_MAX, LIST_PAGE_MAX},
    person::person_of,
    wire::{AgentChanges, AgentMade, AgentPage, AgentView, NewAgent},
};

const BAD_CHANGES: &[&str] = &[
    "invalid_json",
    "invalid_body",
    "invalid_policy",
    "invalid_self_service",
    "invalid_hold_runs",
    "invalid_hold_invitations",
    "invalid_attention",
];

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    let one = |id, method, path, summary| super::of_agent(OperationDoc::new(id, method, path, summary));
    let all = |id, method, summary| {
        OperationDoc::new(id, method, "/_admin/agents", summary)
            .needs_token(Auth::Owner)
            .no_tool(super::PROVISIONING)
            .errors(Class::NotFound, &["not_found"])
    };
    const ONE: &str = "/_admin/agents/{handle}";
    vec![
        all("agent.create", Method::POST, "Create an agent and show its token once")
            .success(StatusCode::CREATED)
            .request::<NewAgent>()
            .reply::<AgentMade>()
            .errors(Class::Malformed, super::BAD_AGENT)
            .errors(Class::Malformed, super::BAD_PROFILE)
            .errors(Class::Malformed, &["invalid_owner"])
            .errors(Class::Conflict, &["agent_exists", "owners_person", "token_exists", "too_many_agents"])
            .handled_by(create),
        all(
            "agent.list",
            Method::GET,
            "List agents by handle: all for the operator, an owner's own for an owner",
        )
        .query::<PageQuery<LIST_PAGE_MAX>>()
        .reply::<AgentPage>()
        .answers_page()
        .errors(Class::Malformed, super::BAD_PAGE)
        .handled_by(list),
        one("agent.get", Method::GET, ONE, "Show an agent").reply::<AgentView>().handled_by(get),
        one("agent.update", Method::PATCH, ONE, "Change an agent's policy, self_service, holds or profile")
            .request::<AgentChanges>()
            .reply::<AgentView>()
            .errors(Class::Malformed, BAD_CHANGES)
            .errors(Class::Malformed, super::BAD_PROFILE)
            .handled_by(update),
        one("agent.delete", Method::DELETE, ONE, "Delete an agent; its handle cannot be used again")
            .success(StatusCode::NO_CONTENT)
            .errors(Class::Conflict, &["owners_person"])
            .handled_by(delete),
        one(
            "agent.rotate_token",
            Method::POST,
            "/_admin/agents/{handle}/rotate-token",
            "Replace an agent's token; the old token stops working at once, and its connections close",
        )
        .reply::<AgentMade>()
        .errors(Class::Malformed, &["invalid_json"])
        .answers_page()
        .handled_by(rotate_token),
    ]
}

/// Whether the caller may know an owner's agents: the operator and that owner (wire.md D.1).
fn check_owner(principal: &Principal, owner: &str) -> Result<(), Refusal> {
    match &principal.who {
        TokenOwner::Operator => Ok(()),
        TokenOwner::Owner(name) if name.as_str() == owner => Ok(()),
        TokenOwner::Owner(_) | TokenOwner::Agent(_) => Err(Refusal::not_found()),
    }
}

/// The agent in the path, if the caller may know of it.
pub(super) async fn visible_agent(
    accounts: &Accounts,
    principal: &Principal,
    handle: &AgentHandle,
) -> Result<KnownAgent, AccountRefusal> {
    check_owner(principal, handle.owner())?;
    let agent = accounts.fresh_agent(handle).await?;
    if agent.state.is_live() { Ok(agent) } else { Err(Refusal::not_found().into()) }
}

/// The same for a change. The owner's own person is created if it does not exist yet.
pub(super) async fn changed_agent(
    accounts: &Accounts,
    principal: &Principal,
    handle: &AgentHandle,
) -> Result<KnownAgent, AccountRefusal> {
    check_owner(principal, handle.owner())?;
    let owner = handle.owner_name();
    if *handle != person_of(&owner) {
        return visible_agent(accounts, principal, handle).await;
    }
    // If it can't be created, it counts as absent.
    match accounts.default_person(&owner).await {
        Ok(Some(person)) => Ok(person),
        Err(Failure::Fault(fault)) => Err(fault.into()),
        Ok(None) | Err(Failure::Rejected(_) | Failure::OverQuota(_)) => Err(Refusal::not_found().into()),
    }
}

/// The agent in a path, for a caller that may configure it. Whether it exists is decided together with the change, so that a
/// repeated request gets its first answer even if the agent is gone.
pub(super) fn configured_agent(
    principal: &Principal,
    handle: AgentHandle,
) -> Result<AgentHandle, AccountRefusal> {
    check_owner(principal, handle.owner())?;
    Ok(handle)
}

/// The agent in a path, for its owner and the operator, who may see everything that it may see. Others do not learn
/// that it exists.
///
/// # Errors
/// 404; the answer to a fault of the store.
pub fn overseen<'a>(
    accounts: &'a Accounts,
    principal: &'a Principal,
    handle: &'a str,
) -> Sealed<'a, Result<AgentHandle, Refusal>> {
    seal(async move {
        let handle: AgentHandle = handle.parse().map_err(|_| Refusal::not_found())?;
        let agent = visible_agent(accounts, principal, &handle).await.map_err(|reply| reply.refusal)?;
        Ok(agent.handle)
    })
}

/// Executes an edit of the agent with the caller's authority.
pub(super) async fn edit(
    accounts: &Accounts,
    principal: Principal,
    handle: AgentHandle,
    edit: AgentEdit,
) -> Result<KnownAgent, AccountRefusal> {
    Ok(accounts.edit_agent(EditAgent { authority: principal.into(), handle, edit }).await?)
}

async fn create(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<AgentMade>), AccountRefusal> {
    let body = body?;
    if matches!(principal.who, TokenOwner::Agent(_)) {
        return Err(Refusal::not_found().into());
    }
    let fields = Fields::of(&body)?;
    check_owner(&principal, fields.handle("handle")?.owner())?;
    let new = NewAgent::read(&fields)?;
    let token = new.token.unwrap_or_else(|| Token::random(TokenKind::Agent));
    let command = RegisterAgent {
        policy: new.policy.unwrap_or_default(),
        allowlist: new.allowlist.unwrap_or_default(),
        self_service: new.self_service.unwrap_or_default(),
        profile: new.profile,
        ..RegisterAgent::new(principal.into(), new.handle, token.digest())
    };
    let agent = accounts.register_agent(command).await?;
    Ok((StatusCode::CREATED, Json(AgentMade::new(agent, &token))))
}

async fn list(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: PageSent<LIST_PAGE_MAX>,
) -> Result<Json<AgentPage>, AccountRefusal> {
    let prefix = match &principal.who {
        TokenOwner::Operator => String::new(),
        TokenOwner::Owner(owner) => format!("{owner}/"),
        TokenOwner::Agent(_) => return Err(Refusal::not_found().into()),
    };
    let page = page::<AgentHandle, LIST_PAGE_MAX>(query)?;
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
        let agent = accounts.agent(&handle_of_key(&row.key)?).await?;
        last = Some(agent.handle.to_string());
        // The agent is deleted, and the index is behind.
        if agent.state.is_live() {
            entries += agent.state.allowlist().len();
            cards += agent.state.profile().card_body.as_ref().map_or(0, String::len);
            agents.push(AgentView::from(&agent));
        }
    }
    Ok(Json(AgentPage { agents, next_cursor }))
}

async fn get(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
) -> Result<Json<AgentView>, AccountRefusal> {
    let agent = visible_agent(&accounts, &principal, &path_subject(path)?).await?;
    Ok(Json(AgentView::from(&agent)))
}

async fn update(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<AgentView>, AccountRefusal> {
    let body = body?;
    let agent = changed_agent(&accounts, &principal, &path_subject(path)?).await?;
    let changes = AgentChanges::read(&Fields::of(&body)?)?;
    let AgentChanges { policy, self_service, hold_runs, hold_invitations, .. } = changes;
    let AgentChanges { attention, attention_until, profile, .. } = changes;
    let attention = attention.map(|level| AttentionChange { level, until: attention_until });
    let change = AgentEdit::Configure(Settings {
        policy,
        self_service,
        hold_runs,
        hold_invitations,
        attention,
        profile,
    });
    let agent = edit(&accounts, principal, agent.handle, change).await?;
    Ok(Json(AgentView::from(&agent)))
}

async fn delete(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
) -> Result<StatusCode, AccountRefusal> {
    let handle = configured_agent(&principal, path_subject(path)?)?;
    edit(&accounts, principal, handle, AgentEdit::Delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn rotate_token(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: OnePath,
    JsonBody(body): JsonBody,
) -> Result<Json<AgentMade>, AccountRefusal> {
    body?;
    let handle = configured_agent(&principal, path_subject(path)?)?;
    let token = Token::random(TokenKind::Agent);
    let agent = edit(&accounts, principal, handle, AgentEdit::RotateToken(token.digest())).await?;
    Ok(Json(AgentMade::new(agent, &token)))
}
