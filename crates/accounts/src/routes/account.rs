//! The account of an owner under the paths of RobotNet's hosted service, for its command line: the same agents, and the
//! same rules, as `/_admin/agents`.
//! Must not know: the rules; the decider has them.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
};
use http::{Method, StatusCode};
use plenary_edge::{Auth, JsonBody, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, MalformedText, OwnerName, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    agents::{configured_agent, edit, visible_agent},
    directory::look_through,
    request::{TwoPath, limit},
    search::has,
};
use crate::{
    Accounts, Actor, Caller, KnownAgent, Principal, Token, TokenKind, TokenOwner,
    agent::command::{AgentEdit, RegisterAgent, Settings},
    answer::AccountRefusal,
    fields::Fields,
    limits::{AGENTS_PER_OWNER_MAX, AGENTS_READ_MAX, REACHABLE_DEFAULT, REACHABLE_PAGE_MAX},
    wire::{
        AccountAgentMade, AccountAgentPage, AccountPicker, AccountView, NewAccountAgent, OtherView,
        OwnedAgent, ReachedBy, SetAccountAgent,
    },
};

/// The refusal of a feature that this server does not have.
const UNSUPPORTED: &[&str] = &["not_supported"];

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    const ONE: &str = "/agents/{owner}/{name}";
    let doc = |id, method, path, summary| {
        OperationDoc::new(id, method, path, summary)
            .description("With an owner's token, in the members of RobotNet's command line.")
            .needs_token(Auth::Owner)
            .no_tool(super::PROVISIONING)
            .errors(Class::NotFound, &["not_found"])
    };
    let item = |id, method, summary| {
        doc(id, method, ONE, summary)
            .path_parameter::<OwnerName>("owner", "The agent's owner")
            .path_parameter::<OwnerName>("name", "Its name")
    };
    vec![
        doc("account.get", Method::GET, "/account", "Show the owner").reply::<AccountView>().handled_by(show),
        doc("account.agents", Method::GET, "/agents/managed", "List the owner's agents by handle")
            .query::<OwnedQuery>()
            .reply::<AccountAgentPage>()
            .answers_page()
            .errors(Class::Malformed, super::BAD_PAGE)
            .handled_by(managed),
        doc("account.agent_names", Method::GET, "/accounts/me/agents", "Name the owner's agents")
            .reply::<AccountPicker>()
            .answers_page()
            .handled_by(names),
        doc("account.create_agent", Method::POST, "/agents", "Create an agent and show its token once")
            .success(StatusCode::CREATED)
            .request::<NewAccountAgent>()
            .reply::<AccountAgentMade>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_handle", "invalid_policy"])
            .errors(Class::Malformed, super::BAD_PROFILE)
            .errors(Class::Conflict, &["agent_exists", "owners_person", "too_many_agents"])
            .errors(Class::NotImplemented, UNSUPPORTED)
            .handled_by(create),
        item("account.update_agent", Method::PATCH, "Change an agent's policy or profile")
            .request::<SetAccountAgent>()
            .reply::<OtherView>()
            .errors(Class::Malformed, &["invalid_json", "invalid_body", "invalid_policy"])
            .errors(Class::Malformed, super::BAD_PROFILE)
            .errors(Class::NotImplemented, UNSUPPORTED)
            .handled_by(update),
        item("account.delete_agent", Method::DELETE, "Delete an agent; its handle cannot be used again")
            .success(StatusCode::NO_CONTENT)
            .errors(Class::Conflict, &["owners_person"])
            .handled_by(delete),
    ]
}

/// The query for the owner's agents.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct OwnedQuery {
    /// Only agents whose handle, display name or description contains this text, ignoring case.
    q: Option<String>,
    /// Maximum number; 50 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = REACHABLE_PAGE_MAX))]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

impl OwnedQuery {
    pub(super) fn new(q: Option<String>, limit: Option<String>, cursor: Option<String>) -> Self {
        Self { q, limit, cursor }
    }
}

/// The owner of the token. Other bearers have no account.
fn owner(principal: &Principal) -> Result<&OwnerName, Refusal> {
    match &principal.who {
        TokenOwner::Owner(owner) => Ok(owner),
        TokenOwner::Operator | TokenOwner::Agent(_) => Err(Refusal::not_found()),
    }
}

/// A page of an owner's agents.
pub(super) async fn owned_page(
    accounts: &Accounts,
    owner: &OwnerName,
    query: OwnedQuery,
) -> Result<AccountAgentPage, AccountRefusal> {
    let limit = limit(query.limit.as_deref(), REACHABLE_DEFAULT, REACHABLE_PAGE_MAX)?;
    let q = query.q.unwrap_or_default().to_lowercase();
    let show = |agent: &KnownAgent| {
        (agent.state.is_live() && has(agent, &q)).then(|| OwnedAgent {
            handle: agent.handle.clone(),
            trust: ReachedBy::SameOwner,
            agent: OtherView::new(agent, accounts.is_online(&agent.handle)),
        })
    };
    let limits = (limit, AGENTS_READ_MAX);
    let (bearer, prefix) = (Actor::Owner(owner.clone()), format!("{owner}/"));
    let start = (prefix.as_str(), query.cursor.as_deref());
    let (agents, next_cursor) = look_through(accounts, &bearer, start, limits, |_| true, show).await?;
    Ok(AccountAgentPage { agents, next_cursor })
}

async fn show(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
) -> Result<Json<AccountView>, AccountRefusal> {
    let owner = owner(&principal)?;
    let known_owner = accounts.fresh_owner(owner).await?;
    Ok(Json(AccountView::new(owner.clone(), &known_owner.state)))
}

async fn managed(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: Result<Query<OwnedQuery>, QueryRejection>,
) -> Result<Json<AccountAgentPage>, AccountRefusal> {
    let owner = owner(&principal)?;
    let Query(query) = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    Ok(Json(owned_page(&accounts, owner, query).await?))
}

async fn names(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
) -> Result<Json<AccountPicker>, AccountRefusal> {
    let agents = accounts.agents_of(Some(owner(&principal)?), AGENTS_PER_OWNER_MAX).await?;
    Ok(Json(AccountPicker { agents: agents.iter().map(Into::into).collect() }))
}

async fn create(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<AccountAgentMade>), AccountRefusal> {
    let body = body?;
    let owner = owner(&principal)?.clone();
    let new = NewAccountAgent::read(&Fields::of(&body)?)?;
    let handle = format!("@{owner}.{}", new.local_name).parse().map_err(|reason: MalformedText| {
        Refusal::malformed("invalid_handle", format!("local_name: {reason}."))
    })?;
    let token = Token::random(TokenKind::Agent);
    let command = RegisterAgent {
        policy: new.inbound_policy.unwrap_or_default(),
        profile: new.profile,
        ..RegisterAgent::new(principal.into(), handle, token.digest())
    };
    let agent = accounts.register_agent(command).await?;
    Ok((StatusCode::CREATED, Json(AccountAgentMade::new(&agent, &token))))
}

/// The handle that the path names, for an owner.
fn handle_in_path(principal: &Principal, path: TwoPath) -> Result<AgentHandle, AccountRefusal> {
    let Path((owner_name, name)) = path.map_err(|_| Refusal::not_found())?;
    owner(principal)?;
    Ok(format!("@{owner_name}.{name}").parse().map_err(|_| Refusal::not_found())?)
}

async fn update(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
    JsonBody(body): JsonBody,
) -> Result<Json<OtherView>, AccountRefusal> {
    let body = body?;
    let agent = visible_agent(&accounts, &principal, &handle_in_path(&principal, path)?).await?;
    let SetAccountAgent { inbound_policy: policy, profile, .. } = SetAccountAgent::read(&Fields::of(&body)?)?;
    let change = AgentEdit::Configure(Settings { policy, profile, ..Settings::default() });
    let agent = edit(&accounts, principal, agent.handle, change).await?;
    Ok(Json(OtherView::new(&agent, accounts.is_online(&agent.handle))))
}

async fn delete(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    path: TwoPath,
) -> Result<StatusCode, AccountRefusal> {
    let handle = configured_agent(&principal, handle_in_path(&principal, path)?)?;
    edit(&accounts, principal, handle, AgentEdit::Delete).await?;
    Ok(StatusCode::NO_CONTENT)
}
