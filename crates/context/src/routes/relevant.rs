//! `mode=relevant` (section 8.2): packages by a query.
//! Must not know: how they are found.

use axum::response::Response;
use http::StatusCode;
use plenary_retrieval::{QUERY_BYTES_MAX, Query, QueryFault};

use super::{
    Bearer, json,
    packages::{wanted_status, wanted_type},
};
use crate::{
    Context,
    limits::{LATEST_DEFAULT, LIST_MAX},
    malformed::ContextFault,
    package_reader::PackageQuery,
    parameters::Parameters,
    refusals::ContextRefusal,
    search::{Ranking, Relevant},
};

/// The fault for a query that is too long.
pub(super) fn too_long(name: &str) -> ContextFault {
    ContextFault::parameter(name, &format!("at most {QUERY_BYTES_MAX} bytes"))
}

/// Answers `mode=relevant` (AP-60).
pub(super) async fn pull(
    context: &Context,
    Bearer(authority): Bearer,
    project_id: &str,
    parameters: &Parameters,
) -> Result<Response, ContextRefusal> {
    let (project, _) = context.readable(project_id, &authority.by).await?;
    let query = Query::read(parameters.one("query")?.unwrap_or_default()).map_err(|fault| match fault {
        QueryFault::Empty => ContextFault::parameter("query", "given"),
        QueryFault::TooLong => too_long("query"),
    })?;
    for name in ["parent", "cursor"] {
        if parameters.one(name)?.is_some() {
            return Err(ContextFault::parameter(name, "left out where mode is relevant").into());
        }
    }
    let wrong = || ContextFault::parameter("ranking", "lexical, semantic, hybrid or reranked");
    let ranking =
        parameters.one("ranking")?.map(|word| Ranking::parse(word).ok_or_else(wrong)).transpose()?;
    let limit = parameters.count("limit", LATEST_DEFAULT, 1, LIST_MAX)?;
    let listing = PackageQuery {
        status: wanted_status(parameters)?,
        package_type: wanted_type(parameters)?,
        ..PackageQuery::default()
    };
    let _searching = context.running_work().search(&authority.by).await?;
    let Relevant { packages, is_cut } =
        context.relevant(&project, (&query, ranking), &listing, limit).await?;
    let found: Vec<String> = packages
        .into_iter()
        .map(|(stored_package, score)| format!("{{\"package\":{},\"score\":{score}}}", stored_package.text))
        .collect();
    let cut = if is_cut { r#","x-truncated":["packages"]"# } else { "" };
    Ok(json(StatusCode::OK, format!("{{\"packages\":[{}]{cut}}}", found.join(","))))
}
