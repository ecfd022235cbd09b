//! `/_admin/agents`: agents as the operator and their owners make and change them.
//! Must not know: what may become of an agent; the decider does.

use axum::{
    Json,
    extract::{FromRef, State},
};
use http::{Method, StatusCode};
use plenary_edge::{Auth, Operation, OperationDoc, Parameters, Received};
use plenary_kernel::{AgentHandle, Class, Refusal};
use plenary_log::Order;

use super::taken::{OnePath, one, page};
use crate::{
    Accounts, Caller, Known, Principal, Token, TokenKind, Who,
    agent::{
        command::{AgentEdit, EditAgent, RegisterAgent, Settings},
        list_key, listed,
    },
    answer::Refused,
    index::AGENTS,
    limits::{LIST_CARD_BYTES_MAX, LIST_ENTRIES_MAX, LIST_PAGE_MAX},
    request::{AGENT_CHANGES, NEW_AGENT, PAGE, WHOSE, policy, profile},
    wire::{AgentMade, AgentPage, AgentView},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let one = |id, method, path, summary| super::of_agent(OperationDoc::new(id, method, path, summary));
    let all = |id, method, summary| {
        OperationDoc::new(id, method, "/_admin/agents", summary)
            .auth(Auth::Owner)
            .no_tool(super::PROVISIONING)
            .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
            .errors(Class::NotFound, &["not_found"])
    };
    const ONE: &str = "/_admin/agents/{handle}";
    vec![
        Operation::new(
            all("agent.create", Method::POST, "Makes an agent, and shows its token once")
                .success(StatusCode::CREATED)
                .body(&NEW_AGENT)
                .reply::<AgentMade>()
                .errors(Class::Malformed, super::BAD_AGENT)
                .errors(Class::Malformed, super::BAD_PROFILE)
                .errors(Class::Conflict, &["agent_exists", "token_exists", "too_many_agents"]),
            create,
        ),
        Operation::new(
            all("agent.list", Method::GET, "Lists agents by handle: the operator's all, an owner's its own")
                .parameters(&PAGE)
                .reply::<AgentPage>()
                .answers_page()
                .errors(Class::Malformed, super::BAD_PAGE),
            list,
        ),
        Operation::new(one("agent.get", Method::GET, ONE, "Shows an agent").reply::<AgentView>(), get),
        Operation::new(
            one(
                "agent.update",
                Method::PATCH,
                ONE,
                "Sets an agent's policy, its leave to configure itself, or its profile",
            )
            .body(&AGENT_CHANGES)
            .reply::<AgentView>()
            .errors(
                Class::Malformed,
                &["invalid_json", "invalid_body", "invalid_policy", "invalid_self_service"],
            )
            .errors(Class::Malformed, super::BAD_PROFILE),
            update,
        ),
        Operation::new(
            one("agent.delete", Method::DELETE, ONE, "Deletes an agent; the handle stays taken")
                .success(StatusCode::NO_CONTENT),
            delete,
        ),
        Operation::new(
            one(
                "agent.rotate_token",
                Method::POST,
                "/_admin/agents/{handle}/rotate-token",
                "Gives an agent a new token; the old one is dead at once, and its connections close",
            )
            .reply::<AgentMade>()
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
    let handle: AgentHandle = body.read(&WHOSE)?.needed_parsed("handle");
    over(&principal, handle.owner())?;
    let (command, token) = {
        let sent = body.read(&NEW_AGENT)?;
        let token = sent.text("token").and_then(|text| Token::chosen(&text));
        let token = token.unwrap_or_else(|| Token::random(TokenKind::Agent));
        let command = RegisterAgent {
            authority: principal.into(),
            handle,
            policy: policy(&sent).unwrap_or_default(),
            allowlist: sent.list("allowlist").unwrap_or_default(),
            self_service: sent.flag("self_service").unwrap_or_default(),
            token: token.digest(),
            profile: profile(&sent),
        };
        (command, token)
    };
    let known = accounts.register_agent(command).await?;
    Ok((StatusCode::CREATED, Json(AgentMade::new(known, &token))))
}

async fn list(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    parameters: Parameters,
) -> Result<Json<AgentPage>, Refused> {
    let prefix = match &principal.who {
        Who::Operator => String::new(),
        Who::Owner(owner) => format!("{owner}/"),
        Who::Agent(_) => return Err(Refusal::not_found().into()),
    };
    let page = page::<AgentHandle>(&parameters, &PAGE, LIST_PAGE_MAX)?;
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
    let change = {
        let sent = body.read(&AGENT_CHANGES)?;
        let self_service = sent.flag("self_service");
        AgentEdit::Configure(Settings { policy: policy(&sent), self_service, profile: profile(&sent) })
    };
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
    Ok(Json(AgentMade::new(known, &token)))
}
