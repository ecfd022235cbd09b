//! Packages: deposit, pull, flag, review (sections 8.1, 8.2, 8.5).

use axum::{Json, body::Body, extract::State, response::Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use plenary_edge::{JsonBody, Operation, OperationDoc, ranges::is_known};
use plenary_kernel::{Class, json::Tree};

use super::described::{AwaitingQuery, ContextPackage, Flag, ListQuery, OfProject, Packages, Review};
use super::{Bearer, Path, doc, given, in_project, json, list, relevant, text, value, writing};
use crate::{
    Context,
    cursor::is_by_time,
    document::{Document, with_hash},
    hash::ContentHash,
    key,
    lifecycle::{ReviewType, Status},
    limits::{LATEST_DEFAULT, LIST_MAX, NOTE_BYTES_MAX},
    malformed::ContextFault,
    package::{
        command::{DepositPackage, MovePackage, Step},
        decide::StepOutcome,
        event::PackageEvent,
        room::deposit_of,
    },
    package_reader::PackageQuery,
    parameters::Parameters,
    refusals::ContextRefusal,
    rejection::Rejection,
    reviews::step_of,
    schema::{Package, is_package_type, package_types},
    shape::Shape,
    wire::Reviews,
};

fn one(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    doc(id, method, path, summary)
        .path_parameter::<String>("package_id", "The package, percent-encoded")
        .query::<OfProject>()
        .in_project_of_query()
        .errors(Class::NotFound, &["package_not_found", "project_not_found"])
        .errors(Class::Conflict, &["ambiguous_package_id", "ambiguous_project_id"])
}

const PACKAGES: &str = "/v1/projects/{project_id}/packages";

pub(super) fn operations() -> Vec<Operation<Context>> {
    lists().into_iter().chain(single()).collect()
}

/// The header `ETag` of a package.
const VERSION: &str = "The hash of the package, quoted.";

/// Operations on one package.
fn single() -> Vec<Operation<Context>> {
    let deposit_doc = writing(
        in_project("context.deposit", Method::POST, PACKAGES, "Deposit a package").tool("context"),
    )
    .description(
        "Stored, hashed and returned exactly as sent. For a known id: 200 if the package is equal, else 409.",
    )
    .success(StatusCode::CREATED)
    .or_status(StatusCode::OK)
    .request::<ContextPackage>()
    .reply::<ContextPackage>()
    .sends_header("ETag", VERSION)
    .errors(Class::Malformed, &["hash_mismatch"])
    .errors(Class::Conflict, &["duplicate_package_id"])
    .errors(Class::Internal, &["content_damaged"]);
    let get_doc = one("context.get", Method::GET, "/v1/packages/{package_id}", "Show a package")
        .tool("context")
        .reply::<ContextPackage>()
        .or_empty(StatusCode::NOT_MODIFIED)
        .has_etag()
        .errors(Class::Internal, &["content_damaged"]);
    let flag_doc = writing(
        one("context.flag", Method::POST, "/v1/packages/{package_id}/flag", "Ask for a review")
            .action("context", "context_reviews"),
    )
    .request::<Flag>()
    .reply::<ContextPackage>()
    .sends_header("ETag", VERSION)
    .errors(Class::Malformed, &["invalid_transition"])
    .errors(Class::Conflict, &["too_many_steps"])
    .errors(Class::Internal, &["content_damaged"]);
    let review_doc = writing(
        one("context.review", Method::POST, "/v1/packages/{package_id}/review", "Review a package")
            .action("context", "context_reviews"),
    )
    .request::<Review>()
    .reply::<ContextPackage>()
    .sends_header("ETag", VERSION)
    .errors(Class::Malformed, &["invalid_transition"])
    .errors(Class::Conflict, &["too_many_steps"])
    .errors(Class::Internal, &["content_damaged"]);
    let log_doc = one(
        "context.reviews",
        Method::GET,
        "/v1/packages/{package_id}/reviews",
        "Show a package's review log",
    )
    .action("context", "context_reviews")
    .reply::<Reviews>();
    vec![
        hashed(deposit_doc).handled_by(deposit),
        hashed(get_doc).handled_by(get),
        hashed(flag_doc).handled_by(flag),
        hashed(review_doc).handled_by(review),
        log_doc.handled_by(log),
    ]
}

/// Its answer is a package and its hash.
fn hashed(doc: OperationDoc) -> OperationDoc {
    doc.answers_item().sends_header("X-Content-Hash", "The hash of the package, `sha256:` and 64 hex digits.")
}

/// Operations that list packages.
fn lists() -> Vec<Operation<Context>> {
    let list_doc = in_project("context.pull", Method::GET, PACKAGES, "List packages, newest first")
        .tool("context")
        .query::<ListQuery>()
        .reply::<Packages>()
        .answers_page()
        .errors(Class::Malformed, &["invalid_parameter", "invalid_cursor"])
        .errors(Class::TooMany, &["too_many_searches"])
        .errors(Class::NotImplemented, &["not_implemented"]);
    let reviews_doc = in_project(
        "context.awaiting_review",
        Method::GET,
        "/v1/projects/{project_id}/reviews",
        "List the packages that await review",
    )
    .action("context", "context_reviews")
    .query::<AwaitingQuery>()
    .reply::<Packages>()
    .answers_page()
    .errors(Class::Malformed, &["invalid_parameter", "invalid_cursor"]);
    vec![list_doc.handled_by(pull), reviews_doc.handled_by(awaiting)]
}

/// A response with a package and its hash: as a member, as a header, and as the entity tag (wire.md D.7).
fn shown(status: StatusCode, package: &str, hash: ContentHash) -> Response {
    let mut response = json(status, with_hash(package, hash));
    let text = hash.to_string();
    let quoted = ["\"", &text, "\""].concat();
    for (name, text) in [(HeaderName::from_static("x-content-hash"), text), (header::ETAG, quoted)] {
        response.headers_mut().insert(name, HeaderValue::try_from(text).expect("a hash is ASCII"));
    }
    response
}

async fn deposit(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(project_id): Path<String>,
    request_body: JsonBody,
) -> Result<Response, ContextRefusal> {
    let package = Package::read(text(&given(request_body)?)?)?;
    let place = context.place(&authority.by, &project_id, Some(&package.head.created_by.id)).await?;
    if !place.matches_name(&package.head.project_id, &project_id) {
        return Err(ContextFault::field("project_id", "the project of the path").into());
    }
    let config = context.config();
    let command = DepositPackage {
        authority,
        package,
        attribution: config.attribution,
        makes_projects: config.auto_create_projects,
        trace: plenary_telemetry::current().map(|own| own.to_string().into()),
    };
    let done = context.deposit(&place, &command).await?;
    let Package { head, raw, .. } = &command.package;
    if done.is_new {
        let package = std::str::from_utf8(raw).unwrap_or_default();
        return Ok(shown(StatusCode::CREATED, package, done.hash));
    }
    let stored_package = context.package(&key::join(&[&place.key, &key::part(&head.package_id)])).await?;
    Ok(shown(StatusCode::OK, &stored_package.text, stored_package.present.hash))
}

/// The list for a query.
async fn page(
    context: &Context,
    Bearer(authority): Bearer,
    project_id: &str,
    parameters: &Parameters,
    status: Option<Status>,
) -> Result<Response, ContextRefusal> {
    let limit = parameters.count("limit", LATEST_DEFAULT, 1, LIST_MAX)?;
    let listing = PackageQuery {
        status,
        package_type: wanted_type(parameters)?,
        parent: parameters.one("parent")?,
        cursor: parameters.cursor(is_by_time)?,
        ..PackageQuery::default()
    };
    let (project, _) = context.readable(project_id, &authority.by).await?;
    let page = context.list(&project, &listing, limit).await?;
    let packages: Vec<String> = page.packages.into_iter().map(|stored_package| stored_package.text).collect();
    Ok(list("packages", &packages, page.next_cursor.as_deref()))
}

async fn pull(
    State(context): State<Context>,
    bearer: Bearer,
    Path(project_id): Path<String>,
    parameters: Parameters,
) -> Result<Response, ContextRefusal> {
    match parameters.one("mode")? {
        None | Some("latest") => {}
        Some("relevant") => {
            return relevant::pull(&context, bearer, &project_id, &parameters).await;
        }
        Some(_) => return Err(ContextFault::parameter("mode", "latest or relevant").into()),
    }
    // Without `mode=relevant` they would select nothing, and the newest packages would look like matches.
    for name in ["query", "ranking"] {
        if parameters.one(name)?.is_some_and(|text| !text.is_empty()) {
            return Err(ContextFault::parameter(name, "left out unless mode is relevant").into());
        }
    }
    let status = wanted_status(&parameters)?;
    page(&context, bearer, &project_id, &parameters, status).await
}

pub(super) fn wanted_status(parameters: &Parameters) -> Result<Option<Status>, ContextFault> {
    let wrong =
        || ContextFault::parameter("status", "one of draft, complete, awaiting_review, revision_requested");
    parameters.one("status")?.map(|word| Status::parse(word).ok_or_else(wrong)).transpose()
}

pub(super) fn wanted_type(parameters: &Parameters) -> Result<Option<&str>, ContextFault> {
    let word = parameters.one("package_type")?;
    if word.is_none_or(is_package_type) {
        return Ok(word);
    }
    Err(ContextFault::parameter("package_type", &package_types()))
}

/// Lists the packages that await review (AP-87).
async fn awaiting(
    State(context): State<Context>,
    bearer: Bearer,
    Path(project_id): Path<String>,
    parameters: Parameters,
) -> Result<Response, ContextRefusal> {
    page(&context, bearer, &project_id, &parameters, Some(Status::AwaitingReview)).await
}

async fn get(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(package_id): Path<String>,
    parameters: Parameters,
    sent: HeaderMap,
) -> Result<Response, ContextRefusal> {
    let id = context.locate(&package_id, parameters.one("project")?, &authority.by).await?;
    let stored_package = context.package(&id).await?;
    let mut response = shown(StatusCode::OK, &stored_package.text, stored_package.present.hash);
    let etag = response.headers().get(header::ETAG).and_then(|etag| etag.to_str().ok());
    if etag.is_some_and(|etag| is_known(&sent, etag)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_TYPE);
    }
    Ok(response)
}

async fn step(
    context: &Context,
    Bearer(authority): Bearer,
    package_id: &str,
    parameters: &Parameters,
    (step, note): (Step, Option<String>),
) -> Result<Response, ContextRefusal> {
    let id = context.locate(package_id, parameters.one("project")?, &authority.by).await?;
    let StepOutcome { status, review_type, hash } =
        context.move_package(&id, &MovePackage { authority, step, note }).await?;
    let deposited = match deposit_of(context, &id).await {
        Ok(deposited) => deposited,
        Err(fault) => return Err(context.failure_on(&id, fault.into()).await.into()),
    };
    let text = Document { deposited: &deposited, status, review_type }.text();
    if ContentHash::of_text(&text) != Some(hash) {
        return Err(Rejection::Damaged.into());
    }
    Ok(shown(StatusCode::OK, &text, hash))
}

fn note(shape: &Shape<'_>) -> Result<Option<String>, ContextFault> {
    let note = shape.text_or_null("note")?;
    if note.is_some_and(|note| note.len() > NOTE_BYTES_MAX) {
        return shape.wrong("note", "a string of at most 16384 bytes");
    }
    Ok(note.map(str::to_owned))
}

async fn flag(
    State(context): State<Context>,
    bearer: Bearer,
    Path(package_id): Path<String>,
    parameters: Parameters,
    request_body: JsonBody,
) -> Result<Response, ContextRefusal> {
    let body = value(request_body)?;
    let body = Tree::from(&body);
    let shape = Shape::root(&body)?;
    let reviewer =
        |word: &str| ReviewType::parse(word).filter(|review_type| *review_type != ReviewType::None);
    let review_type = shape.word("review_type", reviewer, "human or agent")?;
    let wanted = (Step::Flag(review_type), note(&shape)?);
    step(&context, bearer, &package_id, &parameters, wanted).await
}

async fn review(
    State(context): State<Context>,
    bearer: Bearer,
    Path(package_id): Path<String>,
    parameters: Parameters,
    request_body: JsonBody,
) -> Result<Response, ContextRefusal> {
    let body = value(request_body)?;
    let body = Tree::from(&body);
    let shape = Shape::root(&body)?;
    let expected = "one of complete, revision_requested, awaiting_review";
    let wanted = (Step::Review(shape.word("status", Status::parse, expected)?), note(&shape)?);
    step(&context, bearer, &package_id, &parameters, wanted).await
}

async fn log(
    State(context): State<Context>,
    Bearer(authority): Bearer,
    Path(package_id): Path<String>,
    parameters: Parameters,
) -> Result<Json<Reviews>, ContextRefusal> {
    let id = context.locate(&package_id, parameters.one("project")?, &authority.by).await?;
    let mut reviews = Vec::new();
    for stored in context.history(&id).await? {
        reviews.push(step_of(&stored, &PackageEvent::decode(&stored)?));
    }
    if reviews.is_empty() {
        return Err(Rejection::PackageNotFound.into());
    }
    Ok(Json(Reviews { reviews }))
}
