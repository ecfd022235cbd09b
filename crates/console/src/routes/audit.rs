//! `GET /_admin/audit`: what people wrote in the names of agents, their decisions, and their changes of agents and tokens.
//! Must not know: how entries are stored.

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
use crate::{
    console::ConsoleState,
    limits::{AUDIT_PAGE_DEFAULT, AUDIT_PAGE_MAX},
    wire::AuditPage,
};

/// The query of `GET /_admin/audit`.
#[derive(Debug, Deserialize, JsonSchema)]
struct AuditQuery {
    /// The owner of the agents; for the operator, all owners when absent.
    owner: Option<OwnerName>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Maximum number; 100 when absent, at most 500.
    #[schemars(with = "Option<u32>", range(min = 1, max = AUDIT_PAGE_MAX))]
    limit: Option<String>,
}

pub(super) fn operations() -> Vec<Operation<ConsoleState>> {
    let doc = OperationDoc::new(
        "audit.list",
        Method::GET,
        "/_admin/audit",
        "List what people did in the name of agents, decided and changed",
    )
    .needs_token(Auth::Owner)
    .no_tool(FOR_PEOPLE)
    .room("console")
    .description(
        "Newest first. Writes in the name of an agent, decisions on requests, and changes of agents and tokens from the \
         console. An owner sees its own.",
    )
    .query::<AuditQuery>()
    .reply::<AuditPage>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_query", "invalid_limit", "invalid_cursor"])
    .errors(Class::NotFound, &["not_found"]);
    vec![doc.handled_by(list)]
}

async fn list(
    State(state): State<ConsoleState>,
    parts: Parts,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Json<AuditPage>, ConsoleRefusal> {
    let (principal, _) = caller_and_session(state.console.accounts(), &parts).await?;
    plenary_accounts::admit(&parts, Some(&principal)).await?;
    let Query(AuditQuery { owner, cursor, limit }) =
        query.map_err(|_| Refusal::malformed("invalid_query", "The query cannot be read."))?;
    let keyring = keyring(state.console.accounts(), &principal, owner).await?;
    let limit = match limit.as_deref().map(str::parse) {
        None => AUDIT_PAGE_DEFAULT,
        Some(Ok(limit)) if (1..=AUDIT_PAGE_MAX).contains(&limit) => limit,
        Some(_) => {
            let text = format!("limit must be a number from 1 to {AUDIT_PAGE_MAX}.");
            return Err(Refusal::malformed("invalid_limit", text).into());
        }
    };
    let is_cursor =
        |cursor: &str| cursor.len() == 26 && cursor.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if cursor.as_deref().is_some_and(|cursor| !is_cursor(cursor)) {
        let text = "cursor must be the next_cursor of the page before.";
        return Err(Refusal::malformed("invalid_cursor", text).into());
    }
    Ok(Json(state.console.entries(keyring.owner(), cursor.as_deref(), limit).await?))
}
