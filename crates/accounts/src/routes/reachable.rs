//! `GET /agents`: whom an agent can reach. Nobody else is named, neither in a page nor in a cursor.
//! Must not know: what reaching means; the trust layer does.

use std::{fmt, str::FromStr};

use axum::{
    Json,
    extract::{FromRef, Query, State, rejection::QueryRejection},
};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{AgentHandle, Class, ErrorCode, OwnerName, Refusal, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order};
use plenary_wire::accounts::AGENT_REACHABLE;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Accounts, AgentCaller, Known, Policy,
    agent::{list_key, listed},
    answer::Refused,
    index::AGENTS,
    limits::{AGENTS_LOOKED_AT_MAX, REACHABLE_DEFAULT, REACHABLE_PAGE_MAX},
    trust::may_contact,
    wire::{ReachableAgent, ReachablePage, ReachedBy},
};

pub(super) fn operations<S>() -> Vec<Operation<S>>
where
    S: Clone + Send + Sync + 'static,
    Accounts: FromRef<S>,
{
    let doc = OperationDoc::of(&AGENT_REACHABLE, "Lists whom the agent can reach")
        .description("Agents with which trust lets it talk, by handle; others are not named. Itself is not among them.")
        .action("sessions", "me")
        .auth(Auth::Agent)
        .query::<ReachableQuery>()
        .errors(Class::Unauthenticated, super::UNAUTHENTICATED)
        .errors(Class::Malformed, &[ErrorCode::InvalidQuery, ErrorCode::InvalidLimit, ErrorCode::InvalidCursor, ErrorCode::InvalidOwner]);
    vec![Operation::new(doc, reachable)]
}

/// The query of `GET /agents`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ReachableQuery {
    /// Only handles that have this.
    query: Option<String>,
    /// Only agents of this owner.
    owner: Option<String>,
    /// How many; 50 when absent, at most 100.
    #[schemars(with = "Option<u64>")]
    limit: Option<String>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Where a page ended: behind an agent that was named, and so many that were not.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Place {
    behind: Option<AgentHandle>,
    skip: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.behind.as_ref().map(AgentHandle::as_str).unwrap_or_default())?;
        if self.skip > 0 { write!(f, "+{}", self.skip) } else { Ok(()) }
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (handle, skip) = match text.split_once('+') {
            Some((handle, skip)) => (handle, skip.parse().map_err(|_| ())?),
            None => (text, 0),
        };
        let behind = match handle {
            "" if skip > 0 => None,
            _ => Some(handle.parse().map_err(|_| ())?),
        };
        Ok(Self { behind, skip })
    }
}

/// What is asked for, checked.
struct Wanted {
    query: String,
    prefix: String,
    limit: usize,
    place: Place,
}

impl ReachableQuery {
    fn wanted(self) -> Result<Wanted, Refusal> {
        let limit = match self.limit.as_deref() {
            None => REACHABLE_DEFAULT,
            Some(text) => {
                let limit = text.parse().ok().filter(|limit| (1..=REACHABLE_PAGE_MAX).contains(limit));
                let text = format!("limit must be a number from 1 to {REACHABLE_PAGE_MAX}.");
                limit.ok_or_else(|| Refusal::malformed(ErrorCode::InvalidLimit, text))?
            }
        };
        let place = match self.cursor {
            None => Place::default(),
            Some(cursor) => cursor.parse().map_err(|()| {
                Refusal::malformed(
                    ErrorCode::InvalidCursor,
                    "cursor must be the next_cursor of the page before.",
                )
            })?,
        };
        let prefix = match self.owner.as_deref().map(|owner| owner.trim_start_matches('~')) {
            None => String::new(),
            Some(owner) => {
                let owner: OwnerName = owner.parse().map_err(|wrong| {
                    Refusal::malformed(ErrorCode::InvalidOwner, format!("owner: {wrong}."))
                })?;
                format!("{owner}/")
            }
        };
        Ok(Wanted { query: self.query.unwrap_or_default().to_lowercase(), prefix, limit, place })
    }
}

async fn reachable(
    State(accounts): State<Accounts>,
    caller: AgentCaller,
    query: Result<Query<ReachableQuery>, QueryRejection>,
) -> Result<Json<ReachablePage>, Refused> {
    let Query(query) =
        query.map_err(|_| Refusal::malformed(ErrorCode::InvalidQuery, "The query can't be read."))?;
    let wanted = query.wanted()?;
    let me = accounts.fresh_agent(&caller.handle).await?;
    let Wanted { query, prefix, limit, place } = wanted;
    let is_asked = |handle: &AgentHandle| *handle != me.handle && handle.as_str().contains(&query);
    let show = |known: &Known| may_contact(&me, known).then(|| shown(&me, known));
    let (agents, next) = look_through(&accounts, &prefix, place, limit, is_asked, show).await?;
    Ok(Json(ReachablePage { agents, next_cursor: next.map(|place| place.to_string()) }))
}

/// A page of what is to be shown of the agents that are asked for, by handle, and where the next page begins.
pub(super) async fn look_through<T>(
    accounts: &Accounts,
    prefix: &str,
    mut place: Place,
    limit: usize,
    is_asked: impl Fn(&AgentHandle) -> bool,
    show: impl Fn(&Known) -> Option<T>,
) -> Result<(Vec<T>, Option<Place>), Fault> {
    let (mut page, mut looked, mut skip) = (Vec::new(), 0, place.skip);
    let mut after = place.behind.as_ref().map(|handle| list_key(handle.as_str()));
    loop {
        let rows = accounts
            .log()
            .read_index(AGENTS, prefix, after.as_deref(), READ_ROWS_MAX, Order::Ascending)
            .await?;
        for row in &rows {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if page.len() == limit || looked == AGENTS_LOOKED_AT_MAX {
                return Ok((page, Some(place)));
            }
            looked += 1;
            place.skip += 1;
            let handle = listed(&row.key)?;
            if !is_asked(&handle) {
                continue;
            }
            if let Some(shown) = show(&accounts.agent(&handle).await?) {
                page.push(shown);
                place = Place { behind: Some(handle), skip: 0 };
            }
        }
        match rows.last() {
            Some(last) if rows.len() == READ_ROWS_MAX => after = Some(last.key.clone()),
            _ => return Ok((page, None)),
        }
    }
}

fn shown(me: &Known, other: &Known) -> ReachableAgent {
    let gated = [me, other].iter().any(|agent| agent.state.policy() == Policy::Allowlist);
    let trust = if me.handle.owner() == other.handle.owner() {
        ReachedBy::SameOwner
    } else if gated {
        ReachedBy::Allowlisted
    } else {
        ReachedBy::Open
    };
    ReachableAgent { handle: other.handle.clone(), trust }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let behind: AgentHandle = "@a.b".parse().unwrap();
        for place in [
            Place { behind: Some(behind.clone()), skip: 0 },
            Place { behind: Some(behind), skip: 12 },
            Place { behind: None, skip: 3 },
        ] {
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for wrong in ["", "x", "+", "@a.b+", "@a.b+x", "+0"] {
            assert_eq!(wrong.parse::<Place>(), Err(()), "{wrong}");
        }
    }
}
