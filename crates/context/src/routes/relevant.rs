//! `mode=relevant` (section 8.2): packages by a query.
//! Must not know: how they are found.

use axum::response::Response;
use plenary_retrieval::{QUERY_OCTETS_MAX, Query, QueryFault};

use super::{Bearer, list, queries::PACKAGES};
use crate::{
    Context, lifecycle::Status, limits::LATEST_DEFAULT, malformed::Malformed, parameters::Parameters,
    reading::Listing, refusals::Refused, search::Ranking,
};

/// A query of more octets than one may have.
pub(super) fn too_long(name: &str) -> Malformed {
    Malformed::parameter(name, &format!("at most {QUERY_OCTETS_MAX} bytes"))
}

/// AP-60.
pub(super) async fn pull(
    context: &Context,
    Bearer(authority): Bearer,
    project_id: &str,
    parameters: &Parameters,
) -> Result<Response, Refused> {
    let (project, _) = context.readable(project_id, &authority.by).await?;
    let sent = parameters.read(&PACKAGES)?;
    let query = Query::read(sent.get("query").unwrap_or_default()).map_err(|fault| match fault {
        QueryFault::Empty => Malformed::parameter("query", "given"),
        QueryFault::TooLong => too_long("query"),
    })?;
    for name in ["parent", "cursor"] {
        if sent.get(name).is_some() {
            return Err(Malformed::parameter(name, "left out where mode is relevant").into());
        }
    }
    let ranking = sent.get("ranking").and_then(Ranking::parse);
    let limit = sent.count("limit").unwrap_or(LATEST_DEFAULT);
    let listing = Listing {
        status: sent.get("status").and_then(Status::parse),
        package_type: sent.get("package_type"),
        ..Listing::default()
    };
    let _searching = context.under_way().search(&authority.by).await?;
    let found = context.relevant(&project, (&query, ranking), &listing, limit).await?;
    let found: Vec<String> = found
        .into_iter()
        .map(|(held, score)| format!("{{\"package\":{},\"score\":{score}}}", held.text))
        .collect();
    Ok(list("packages", &found, None))
}
