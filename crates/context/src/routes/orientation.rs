//! Orientation, digest, and the conformance statement (sections 8.3, 8.4, 11.5).

use axum::{Json, extract::State};
use http::Method;
use plenary_edge::{Auth, Operation, OperationDoc};
use plenary_kernel::Class;
use plenary_retrieval::{Query, QueryFault};
use prometheus_client::metrics::gauge::Gauge;
use schemars::JsonSchema;

use super::{Bearer, Path, doc, in_project, relevant::too_long};
use crate::{
    Context,
    bundles::DigestSelection,
    limits::{SNIPPETS_DEFAULT, SNIPPETS_MAX, WINDOW_DAYS_DEFAULT, WINDOW_DAYS_MAX},
    malformed::ContextFault,
    parameters::Parameters,
    refusals::ContextRefusal,
    schema::RELAY_VERSION,
    wire::{Capabilities, Conformance, ContextError, Digest, Implementation, Orientation, SearchState},
};

/// The query of an orientation.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct OrientQuery {
    /// How many days to look back on; 14 when absent.
    #[schemars(range(min = 1, max = WINDOW_DAYS_MAX))]
    window_days: Option<u64>,
}

/// The query of a digest.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `Parameters` reads")]
struct DigestQuery {
    /// The project; when absent, all that the caller may read.
    project: Option<String>,
    /// The focus of the snippets.
    focus: Option<String>,
    /// 0 to 200; 25 when absent.
    #[schemars(range(max = SNIPPETS_MAX))]
    snippets: Option<u64>,
    /// How many days to look back on; 14 when absent.
    #[schemars(range(min = 1, max = WINDOW_DAYS_MAX))]
    window_days: Option<u64>,
    /// Include archived projects, if the digest covers all projects.
    include_archived: Option<bool>,
}

pub(super) fn operations() -> Vec<Operation<Context>> {
    let orient_doc = in_project(
        "context.orient",
        Method::GET,
        "/v1/projects/{project_id}/orient",
        "Show a briefing for a new session",
    )
    .tool("context")
    .query::<OrientQuery>()
    .reply::<Orientation>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_parameter"]);
    let digest_doc = doc("context.orchestrate", Method::GET, "/v1/orchestrate", "Show a digest of packages")
        .tool("context")
        .query::<DigestQuery>()
        .in_project_of_query()
        .reply::<Digest>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_parameter"])
        .errors(Class::NotFound, &["project_not_found"])
        .errors(Class::Conflict, &["ambiguous_project_id"])
        .errors(Class::TooMany, &["too_many_searches"]);
    let conformance_doc = OperationDoc::new(
        "context.conformance",
        Method::GET,
        "/v1/conformance",
        "Show which parts of the Agentic Protocol this server implements",
    )
    .no_tool("for programs that choose a server")
    .auth(Auth::None)
    .error_body::<ContextError<'_>>()
    .reply::<Conformance>();
    vec![
        orient_doc.handled_by(orient),
        digest_doc.handled_by(orchestrate),
        conformance_doc.handled_by(conformance),
    ]
}

async fn orient(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    parameters: Parameters,
) -> Result<Json<Orientation>, ContextRefusal> {
    let window_days = parameters.number("window_days", WINDOW_DAYS_DEFAULT, 1, WINDOW_DAYS_MAX)?;
    let (id, project) = context.readable(&project_id, &authority.by).await?;
    Ok(Json(context.orient((&id, &project), &authority.by, window_days).await?))
}

async fn orchestrate(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    parameters: Parameters,
) -> Result<Json<Digest>, ContextRefusal> {
    let selection = DigestSelection {
        focus: focus(parameters.one("focus")?)?,
        window_days: parameters.number("window_days", WINDOW_DAYS_DEFAULT, 1, WINDOW_DAYS_MAX)?,
        snippets: parameters.count("snippets", SNIPPETS_DEFAULT, 0, SNIPPETS_MAX)?,
        include_archived: parameters.switch("include_archived")?,
    };
    let single_project = match parameters.one("project")? {
        Some(project_id) => Some(context.readable(project_id, &authority.by).await?),
        None => None,
    };
    let _searching = match selection.focus {
        Some(_) => Some(context.running_work().search(&authority.by).await?),
        None => None,
    };
    Ok(Json(context.digest(single_project, &authority.by, &selection).await?))
}

/// The focus of a digest; a blank one counts as absent.
fn focus(text: Option<&str>) -> Result<Option<Query>, ContextFault> {
    match text.map(Query::read) {
        None | Some(Err(QueryFault::Empty)) => Ok(None),
        Some(Ok(focus)) => Ok(Some(focus)),
        Some(Err(QueryFault::TooLong)) => Err(too_long("focus")),
    }
}

/// The conformance statement; it reports the actual capabilities (AP-78, AP-88, AP-91).
async fn conformance(State(context): State<Context>) -> Json<Conformance> {
    Json(Conformance {
        protocol_version: RELAY_VERSION,
        conformance_level: "L3",
        capabilities: Capabilities {
            hybrid_search: context.finds_meaning(),
            semantic_search: context.finds_meaning(),
            keyword_search: true,
            realtime: true,
            blob_storage: context.blobs().is_some(),
            export: true,
            reranked_search: context.reranker().is_some(),
        },
        implementation: Implementation { name: "Plenary", version: env!("CARGO_PKG_VERSION") },
        search: SearchState {
            lag_events: count(context.search_lag()),
            semantic_lag_events: context.semantic_lag().map(count),
        },
    })
}

fn count(gauge: &Gauge) -> u64 {
    u64::try_from(gauge.get()).unwrap_or_default()
}
