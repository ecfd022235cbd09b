//! Lists of requests.
//! Must not know: how a request is answered.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use http::Method;
use plenary_accounts::Caller;
use plenary_edge::{Auth, Operation};
use plenary_kernel::{AgentHandle, Class, OwnerName, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::doc;
use crate::{
    LIMIT_DEFAULT, LIMIT_MAX, Requests,
    refusals::RequestRefusal,
    request_list::RequestQuery,
    wire::{Kind, Phase, RequestPage},
};

pub(super) fn operations() -> Vec<Operation<Requests>> {
    let list_doc = doc("request.list", Method::GET, "/requests", "List requests")
        .no_tool("for people; a model knows its own requests")
        .description(
            "An owner sees the requests of its agents, the operator all, an agent its own. Open requests come oldest first, \
             the others newest first. With `to` a page may have fewer requests than `limit`, or none, and a `next_cursor`.",
        )
        .needs_token(Auth::Any)
        .query::<ListQuery>()
        .reply::<RequestPage>()
        .answers_page()
        .errors(
            Class::Malformed,
            &["invalid_query", "invalid_state", "invalid_kind", "invalid_agent", "invalid_owner"],
        )
        .errors(Class::Malformed, &["invalid_to", "invalid_limit", "invalid_cursor"]);
    vec![list_doc.handled_by(list)]
}

/// The query of `GET /requests`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ListQuery {
    /// open, snoozed, answered, withdrawn or expired; open when absent.
    #[schemars(with = "Option<Phase>")]
    pub(super) state: Option<String>,
    /// Only requests of this kind.
    #[schemars(with = "Option<Kind>")]
    pub(super) kind: Option<String>,
    /// Only requests of this agent.
    pub(super) agent: Option<String>,
    /// Only requests to this person.
    pub(super) to: Option<String>,
    /// For the operator: only requests to this owner.
    pub(super) owner: Option<String>,
    /// Maximum number; 50 when absent, at most 100.
    #[schemars(with = "Option<u64>", range(min = 1, max = LIMIT_MAX))]
    pub(super) limit: Option<String>,
    /// The `next_cursor` of the previous page.
    pub(super) cursor: Option<String>,
}

pub(super) fn parse_query(query: &ListQuery) -> Result<RequestQuery, Refusal> {
    let malformed = |code, text: String| Refusal::malformed(code, text);
    let state = match query.state.as_deref() {
        None => Phase::Open,
        Some(text) => Phase::named(text).ok_or_else(|| {
            malformed(
                "invalid_state",
                "`state` must be open, snoozed, answered, withdrawn or expired.".into(),
            )
        })?,
    };
    let kind = query.kind.as_deref().map(|text| {
        Kind::named(text).ok_or_else(|| malformed("invalid_kind", "`kind` is not a kind of request.".into()))
    });
    let agent = query.agent.as_deref().map(str::parse::<AgentHandle>).transpose();
    let to = query.to.as_deref().map(str::parse::<AgentHandle>).transpose();
    let owner = query.owner.as_deref().map(str::parse::<OwnerName>).transpose();
    let limit = match query.limit.as_deref().map(str::parse::<usize>) {
        None => LIMIT_DEFAULT,
        Some(Ok(limit)) if (1..=LIMIT_MAX).contains(&limit) => limit,
        Some(_) => {
            return Err(malformed(
                "invalid_limit",
                format!("`limit` must be an integer from 1 to {LIMIT_MAX}."),
            ));
        }
    };
    let is_cursor = |text: &&str| {
        text.split_once('/').is_some_and(|(time, id)| {
            time.len() == 20
                && time.bytes().all(|byte| byte.is_ascii_digit())
                && crate::request::id(id).is_ok()
        })
    };
    let after = match query.cursor.as_deref() {
        None => None,
        Some(text) => {
            let invalid_cursor = || {
                malformed(
                    "invalid_cursor",
                    "`cursor` must be the `next_cursor` of an earlier page of this list.".into(),
                )
            };
            Some(Some(text).filter(is_cursor).ok_or_else(invalid_cursor)?.to_owned())
        }
    };
    Ok(RequestQuery {
        state,
        kind: kind.transpose()?,
        agent: agent.map_err(|reason| malformed("invalid_agent", format!("`agent`: {reason}.")))?,
        to: to.map_err(|reason| malformed("invalid_to", format!("`to`: {reason}.")))?,
        owner: owner.map_err(|reason| malformed("invalid_owner", format!("`owner`: {reason}.")))?,
        limit,
        after,
    })
}

async fn list(
    State(requests): State<Requests>,
    Caller(principal): Caller,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<RequestPage>, RequestRefusal> {
    let Query(query) = query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    Ok(Json(requests.page(&principal.who, &parse_query(&query)?).await?))
}
