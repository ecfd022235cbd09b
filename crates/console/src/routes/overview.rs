//! `GET /overview`: a summary of the agents.
//! Must not know: the state of an agent.

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use http::{Method, request::Parts};
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::{Class, OwnerName, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConsoleRefusal, FOR_PEOPLE, caller_and_session, keyring};
use crate::{console::ConsoleState, wire::Overview};

/// The query of `GET /overview`.
#[derive(Debug, Deserialize, JsonSchema)]
struct OfOwner {
    /// The owner; for the operator, all owners when absent.
    owner: Option<OwnerName>,
}

pub(super) fn operations() -> Vec<Operation<ConsoleState>> {
    let doc = OperationDoc::new("overview", Method::GET, "/overview", "Show an overview of your agents")
        .needs_token(Auth::Owner)
        .room("console")
        .no_tool(FOR_PEOPLE)
        .description(
            "What each agent does, what waits for it, and what was done today (UTC). Reading marks nothing.",
        )
        .query::<OfOwner>()
        .reply::<Overview>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_query"])
        .errors(Class::NotFound, &["not_found"]);
    vec![doc.handled_by(overview)]
}

async fn overview(
    State(state): State<ConsoleState>,
    parts: Parts,
    query: Result<Query<OfOwner>, QueryRejection>,
) -> Result<Json<Overview>, ConsoleRefusal> {
    let accounts = state.console.accounts();
    let (principal, _) = caller_and_session(accounts, &parts).await?;
    plenary_accounts::admit(&parts, Some(&principal)).await?;
    let Query(OfOwner { owner }) =
        query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let keyring = keyring(accounts, &principal, owner).await?;
    Ok(Json(state.console.overview(keyring.owner()).await?))
}
