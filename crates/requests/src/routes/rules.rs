//! The rules of an owner.
//! Must not know: how an answer creates a rule.

use axum::{
    Json,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
};
use http::{Method, StatusCode};
use plenary_accounts::{Caller, Principal, TokenOwner};
use plenary_edge::{Auth, JsonBody, Operation};
use plenary_kernel::{Class, OwnerName, Refusal, RuleId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{PEOPLE, doc};
use crate::{
    Requests,
    refusals::RequestRefusal,
    wire::{RuleList, RuleView},
};

pub(super) fn operations() -> Vec<Operation<Requests>> {
    let list_doc =
        doc("request.rules", Method::GET, "/requests/rules", "List the rules that answer requests")
            .needs_token(Auth::Owner)
            .no_tool(PEOPLE)
            .description("The rules of an owner. The operator names the owner.")
            .query::<RulesQuery>()
            .reply::<RuleList>()
            .errors(Class::Malformed, &["invalid_query", "invalid_owner"])
            .errors(Class::NotFound, &["not_found"]);
    let remove_doc = doc("request.remove_rule", Method::DELETE, "/requests/rules/{id}", "Remove a rule")
        .needs_token(Auth::Owner)
        .no_tool(PEOPLE)
        .description("Requests that it answered stay answered. The operator names the owner.")
        .path_parameter::<RuleId>("id", "The rule.")
        .query::<RulesQuery>()
        .success(StatusCode::NO_CONTENT)
        .errors(Class::Malformed, &["invalid_query", "invalid_owner"])
        .errors(Class::NotFound, &["not_found"]);
    vec![list_doc.handled_by(list), remove_doc.handled_by(remove)]
}

/// The owner parameter of a query.
#[derive(Debug, Deserialize, JsonSchema)]
struct RulesQuery {
    /// For the operator: the owner.
    owner: Option<String>,
}

fn owner_of_rules(
    principal: &Principal,
    query: Result<Query<RulesQuery>, QueryRejection>,
) -> Result<OwnerName, Refusal> {
    match &principal.who {
        TokenOwner::Agent(_) => Err(Refusal::not_found()),
        TokenOwner::Owner(owner) => Ok(owner.clone()),
        TokenOwner::Operator => {
            let Query(query) =
                query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
            let owner = query.owner.as_deref().and_then(|owner| owner.parse().ok());
            owner.ok_or_else(|| Refusal::malformed("invalid_owner", "Say whose: `owner=NAME`."))
        }
    }
}

async fn list(
    State(requests): State<Requests>,
    Caller(principal): Caller,
    query: Result<Query<RulesQuery>, QueryRejection>,
) -> Result<Json<RuleList>, RequestRefusal> {
    let owner = owner_of_rules(&principal, query)?;
    let (state, _) = requests.rules().fresh(owner.as_str()).await?;
    let rules = state.valid_rules(requests.now()).map(|(created_at, rule)| RuleView {
        rule_id: rule.rule.clone(),
        owner: owner.clone(),
        agent: rule.agent.clone(),
        tool: rule.tool.clone(),
        directory: rule.directory.clone(),
        answer: rule.answer,
        by: rule.by.to_string(),
        request_id: rule.request.clone(),
        created_at: created_at.0,
        expires_at: rule.until.0,
    });
    Ok(Json(RuleList { rules: rules.collect() }))
}

async fn remove(
    State(requests): State<Requests>,
    Caller(principal): Caller,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<RulesQuery>, QueryRejection>,
    JsonBody(body): JsonBody,
) -> Result<StatusCode, RequestRefusal> {
    body?;
    let owner = owner_of_rules(&principal, query)?;
    let Path(id) = path.map_err(|_| Refusal::not_found())?;
    let rule: RuleId = id.parse().map_err(|_| Refusal::not_found())?;
    requests.remove_rule(&owner, principal.into(), rule).await?;
    Ok(StatusCode::NO_CONTENT)
}
