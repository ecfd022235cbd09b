//! `GET /agents`: the agents that an agent can contact. No other agent appears in a page or in a cursor.
//! Must not know: what reaching means; the trust layer does.

use std::{fmt, str::FromStr};

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse as _, Response},
};
use http::Method;
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_engine::{Sealed, seal};
use plenary_kernel::{AgentHandle, Class, OwnerName, Refusal};
use plenary_log::{Fault, Order};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    account::{OwnedQuery, owned_page},
    request::{cursor, limit},
};
use crate::{
    Accounts, Caller, KnownAgent, Policy, TokenOwner,
    agent::{handle_of_key, list_key},
    answer::{AccountRefusal, invalid_authorization},
    index::AGENTS,
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
    .auth(Auth::Any)
    .answers_page()
    .query::<ReachableQuery>()
    .reply::<ReachablePage>()
    .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
    .errors(Class::Malformed, &["invalid_query", "invalid_limit", "invalid_cursor", "invalid_owner"]);
    vec![Operation::new(doc, reachable)]
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
    #[schemars(with = "Option<u64>")]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// The end of a page: after a listed agent, and a number of examined agents that are not listed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct DirectoryCursor {
    after: Option<AgentHandle>,
    skip: usize,
}

impl fmt::Display for DirectoryCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.after.as_ref().map(AgentHandle::as_str).unwrap_or_default())?;
        if self.skip > 0 { write!(f, "+{}", self.skip) } else { Ok(()) }
    }
}

impl FromStr for DirectoryCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (handle, skip) = match text.split_once('+') {
            Some((handle, skip)) => (handle, skip.parse().map_err(|_| ())?),
            None => (text, 0),
        };
        let after = match handle {
            "" if skip > 0 => None,
            _ => Some(handle.parse().map_err(|_| ())?),
        };
        Ok(Self { after, skip })
    }
}

/// The validated query.
struct ReachableFilter {
    query: String,
    prefix: String,
    limit: usize,
    cursor: DirectoryCursor,
}

impl ReachableQuery {
    fn filter(self) -> Result<ReachableFilter, Refusal> {
        let limit = limit(self.limit.as_deref(), REACHABLE_DEFAULT, REACHABLE_PAGE_MAX)?;
        let cursor = cursor(self.cursor.as_deref())?.unwrap_or_default();
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
            cursor,
        })
    }
}

impl ReachableQuery {
    /// Whether it is for the first page without a filter.
    pub fn is_of_all(&self) -> bool {
        self.query.is_none() && self.q.is_none() && self.owner.is_none() && self.cursor.is_none()
    }
}

/// The rows of a page, and the cursor of the next one.
pub(crate) type PageOf<T> = (Vec<T>, Option<String>);

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
        let (agents, next) = look_through(accounts, &prefix, cursor, limits, matches, show).await?;
        Ok((agents, next.map(|cursor| cursor.to_string())))
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

/// A page of the matching agents, by handle, and the beginning of the next page. It has
/// at most the first number of agents, and examines at most the second.
pub(super) async fn look_through<T>(
    accounts: &Accounts,
    prefix: &str,
    mut cursor: DirectoryCursor,
    (limit, agents_read_max): (usize, usize),
    matches: impl Fn(&AgentHandle) -> bool,
    show: impl Fn(&KnownAgent) -> Option<T>,
) -> Result<(Vec<T>, Option<DirectoryCursor>), Fault> {
    let (mut page, mut agents_read, mut skip) = (Vec::new(), 0, cursor.skip);
    let after = cursor.after.as_ref().map(|handle| list_key(handle.as_str()));
    let mut rows = accounts.log().index_rows_after(AGENTS, prefix, after, Order::Ascending);
    while let Some(row) = rows.next().await? {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        if page.len() == limit || agents_read == agents_read_max {
            return Ok((page, Some(cursor)));
        }
        agents_read += 1;
        cursor.skip += 1;
        let handle = handle_of_key(&row.key)?;
        if !matches(&handle) {
            continue;
        }
        if let Some(row_value) = show(&accounts.agent(&handle).await?) {
            page.push(row_value);
            cursor = DirectoryCursor { after: Some(handle), skip: 0 };
        }
    }
    Ok((page, None))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let after: AgentHandle = "@a.b".parse().unwrap();
        for cursor in [
            DirectoryCursor { after: Some(after.clone()), skip: 0 },
            DirectoryCursor { after: Some(after), skip: 12 },
            DirectoryCursor { after: None, skip: 3 },
        ] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for invalid in ["", "x", "+", "@a.b+", "@a.b+x", "+0"] {
            assert_eq!(invalid.parse::<DirectoryCursor>(), Err(()), "{invalid}");
        }
    }
}
