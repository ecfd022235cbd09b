//! `GET /agents`: the agents that an agent can contact. No other agent appears in a page or in a cursor.
//! Must not know: what reaching means; the trust layer does.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse as _, Response},
};
use http::Method;
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, Class, OwnerName, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    account::{OwnedQuery, owned_page},
    directory::{PageOf, look_through},
    request::limit,
};
use crate::{
    Accounts, Actor, Caller, KnownAgent, Policy, TokenOwner,
    answer::{AccountRefusal, invalid_authorization},
    limits::{AGENTS_READ_MAX, REACHABLE_DEFAULT, REACHABLE_PAGE_MAX},
    trust::may_contact,
    wire::{ReachableAgent, ReachablePage, ReachedBy},
};

pub(super) fn operations() -> Vec<Operation<Accounts>> {
    let doc = OperationDoc::new(
        "agent.reachable",
        Method::GET,
        "/agents",
        "List the agents that the agent can contact",
    )
    .description(
        "By handle. Agents that trust keeps apart from it are not listed, nor is the agent itself. For an owner: its \
         agents, with the members of `GET /agents/managed`.",
    )
    .action("sessions", "me")
    .needs_token(Auth::Any)
    .answers_page()
    .query::<ReachableQuery>()
    .reply::<ReachablePage>()
    .errors(Class::Malformed, &["invalid_query", "invalid_limit", "invalid_cursor", "invalid_owner"]);
    vec![doc.handled_by(reachable)]
}

/// The query for reachable agents.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct ReachableQuery {
    /// Only agents whose handle contains this text.
    query: Option<String>,
    /// The same, by the name of RobotNet's command line.
    q: Option<String>,
    /// Only agents of this owner.
    owner: Option<String>,
    /// Maximum number; 50 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = REACHABLE_PAGE_MAX))]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// The validated query.
struct ReachableFilter {
    query: String,
    prefix: String,
    limit: usize,
    cursor: Option<String>,
}

impl ReachableQuery {
    fn filter(self) -> Result<ReachableFilter, Refusal> {
        let limit = limit(self.limit.as_deref(), REACHABLE_DEFAULT, REACHABLE_PAGE_MAX)?;
        let prefix = match self.owner.as_deref().map(|owner| owner.trim_start_matches('~')) {
            None => String::new(),
            Some(owner) => {
                let owner: OwnerName = owner
                    .parse()
                    .map_err(|reason| Refusal::malformed("invalid_owner", format!("owner: {reason}.")))?;
                format!("{owner}/")
            }
        };
        Ok(ReachableFilter {
            query: self.query.or(self.q).unwrap_or_default().to_lowercase(),
            prefix,
            limit,
            cursor: self.cursor,
        })
    }
}

impl ReachableQuery {
    /// Whether it is for the first page without a filter.
    pub fn is_of_all(&self) -> bool {
        self.query.is_none() && self.q.is_none() && self.owner.is_none() && self.cursor.is_none()
    }
}

/// A page of the agents that an agent can reach, and the `cursor` of the next one, for rooms that add data to each.
///
/// # Errors
/// The refusal of an invalid query; the answer to a fault of the store.
pub fn reachable_by<'a>(
    accounts: &'a Accounts,
    me: &'a KnownAgent,
    query: ReachableQuery,
) -> Sealed<'a, Result<PageOf<KnownAgent>, AccountRefusal>> {
    seal(async move {
        let ReachableFilter { query, prefix, limit, cursor } = query.filter()?;
        let matches = |handle: &AgentHandle| *handle != me.handle && handle.as_str().contains(&query);
        let show = |agent: &KnownAgent| may_contact(me, agent).then(|| agent.clone());
        let limits = (limit, AGENTS_READ_MAX);
        let (bearer, start) = (Actor::Agent(me.handle.clone()), (prefix.as_str(), cursor.as_deref()));
        look_through(accounts, &bearer, start, limits, matches, show).await
    })
}

async fn reachable(
    State(accounts): State<Accounts>,
    Caller(principal): Caller,
    query: Result<Query<ReachableQuery>, QueryRejection>,
) -> Result<Response, AccountRefusal> {
    let query = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."));
    match principal.who {
        TokenOwner::Operator => Err(invalid_authorization().into()),
        TokenOwner::Owner(owner) => {
            let Query(ReachableQuery { query, q, limit, cursor, .. }) = query?;
            let query = OwnedQuery::new(query.or(q), limit, cursor);
            Ok(Json(owned_page(&accounts, &owner, query).await?).into_response())
        }
        TokenOwner::Agent(handle) => {
            let Query(query) = query?;
            let me = accounts.fresh_agent(&handle).await?;
            let (agents, next_cursor) = reachable_by(&accounts, &me, query).await?;
            let agents = agents.iter().map(|agent| reachable_agent(&me, agent)).collect();
            Ok(Json(ReachablePage { agents, next_cursor }).into_response())
        }
    }
}

fn reachable_agent(me: &KnownAgent, other: &KnownAgent) -> ReachableAgent {
    ReachableAgent { handle: other.handle.clone(), trust: reached_by(me, other) }
}

/// Why one agent can contact the other.
pub fn reached_by(me: &KnownAgent, other: &KnownAgent) -> ReachedBy {
    let gated = [me, other].iter().any(|agent| agent.state.policy() == Policy::Allowlist);
    if me.handle.owner() == other.handle.owner() {
        ReachedBy::SameOwner
    } else if gated {
        ReachedBy::Allowlisted
    } else {
        ReachedBy::Open
    }
}
