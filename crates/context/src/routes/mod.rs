//! The public operations of the Agentic Protocol: parse, call, translate the answer (wire.md D.2, D.7, 0.2).

mod blobs;
mod described;
mod events;
mod facts;
mod orientation;
mod packages;
mod projects;
mod relevant;
mod repeats;
mod sessions;
mod transfer;

use axum::{
    Router,
    extract::{FromRef, FromRequestParts},
    middleware::from_fn_with_state,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use plenary_accounts::{Accounts, Actor, AnsweredOnce, Authority, Credentials, Principal, identify, once};
use plenary_edge::{
    Auth, JsonBody, Metrics, Operation, OperationDoc, RegistryFault, StrictJson, layer_where,
};
use plenary_kernel::{Class, Refusal};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Context, extensions::Extensions, malformed::ContextFault, refusals::ContextRefusal, wire::ContextError,
};

impl FromRef<Context> for Accounts {
    fn from_ref(context: &Context) -> Self {
        context.accounts().clone()
    }
}

/// The routes of this room.
pub fn routes(context: Context, metrics: &Metrics) -> Result<Router, RegistryFault> {
    let accounts = context.accounts().clone();
    let router = plenary_edge::routes(operations(), metrics)?.with_state(context.clone());
    let router = once(router, accounts, ONCE);
    Ok(layer_where(router, repeats::has_key, from_fn_with_state(context, repeats::check_access)))
}

/// Blobs are named by their hash, and an import ignores records that exist: repeating either changes nothing.
const ONCE: AnsweredOnce = AnsweredOnce {
    form: |refusal| ContextRefusal::from(refusal).into_response(),
    apart: &[(Method::PUT, "/v1/projects/{project_id}/blobs/{sha256}"), (Method::POST, "/v1/import")],
    secret: &[],
};

/// The operations of this room.
pub fn operations() -> Vec<Operation<Context>> {
    let mut operations = packages::operations();
    operations.extend(facts::operations());
    operations.extend(projects::operations());
    operations.extend(sessions::operations());
    operations.extend(orientation::operations());
    operations.extend(events::operations());
    operations.extend(blobs::operations());
    operations.extend(transfer::operations());
    operations
}

/// The description of an operation that any token may call.
fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary).needs_token(Auth::Any).error_body::<ContextError<'_>>()
}

/// The same for an operation in a project.
fn in_project(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    doc(id, method, path, summary)
        .path_parameter::<String>("project_id", "The project: its id, or `OWNER:ID`; percent-encoded")
        .errors(Class::NotFound, &["project_not_found"])
        .errors(Class::Conflict, &["ambiguous_project_id"])
}

/// The same for an operation that writes its body.
fn writing(doc: OperationDoc) -> OperationDoc {
    doc.errors(Class::Malformed, &["invalid_json", "invalid_schema"])
        .errors(Class::Forbidden, &["unauthorized", "project_archived"])
        .errors(Class::TooLarge, &["body_too_large"])
}

/// The caller, with its token.
pub(super) struct Bearer(Authority);

impl FromRequestParts<Context> for Bearer {
    type Rejection = ContextRefusal;
    async fn from_request_parts(parts: &mut Parts, context: &Context) -> Result<Self, ContextRefusal> {
        Ok(Self(identify(parts, context.accounts(), Credentials::Header).await?.into()))
    }
}

/// The bearer of a download, whose right is checked until its end.
#[derive(Clone)]
pub(super) struct Downloader(Principal);

impl FromRequestParts<Context> for Downloader {
    type Rejection = ContextRefusal;
    async fn from_request_parts(parts: &mut Parts, context: &Context) -> Result<Self, ContextRefusal> {
        Ok(Self(identify(parts, context.accounts(), Credentials::Header).await?))
    }
}

impl Downloader {
    fn actor(&self) -> Actor {
        self.0.who.clone().into()
    }
    /// Whether its token is still valid.
    async fn is_valid(&self, context: &Context) -> bool {
        context.accounts().is_valid(&self.0).await.is_ok_and(|is_valid| is_valid)
    }
}

/// The named parts of a path; a part that is not UTF-8 names nothing.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Context> for Path<T> {
    type Rejection = ContextRefusal;
    async fn from_request_parts(parts: &mut Parts, context: &Context) -> Result<Self, ContextRefusal> {
        match axum::extract::Path::from_request_parts(parts, context).await {
            Ok(axum::extract::Path(named)) => Ok(Self(named)),
            Err(_) => Err(ContextFault::parameter("path", "UTF-8, percent-encoded").into()),
        }
    }
}

/// A required body.
fn given(request_body: JsonBody) -> Result<StrictJson, ContextRefusal> {
    let body = request_body.0?;
    if body.is_empty() {
        return Err(Refusal::malformed("invalid_json", "The body is empty; send a JSON object.").into());
    }
    Ok(body)
}

fn text(body: &StrictJson) -> Result<&str, ContextFault> {
    std::str::from_utf8(body.bytes()).map_err(|_| ContextFault::whole("The body must be UTF-8."))
}

/// A required body as a value.
fn value(request_body: JsonBody) -> Result<Value, ContextRefusal> {
    let body = given(request_body)?;
    serde_json::from_str(text(&body)?)
        .map_err(|_| ContextFault::whole("The body must be a JSON object.").into())
}

/// A required body as a value, with its extension members as they were sent.
fn value_with_extensions(request_body: JsonBody) -> Result<(Value, Extensions), ContextRefusal> {
    let body = given(request_body)?;
    let text = text(&body)?;
    let value =
        serde_json::from_str(text).map_err(|_| ContextFault::whole("The body must be a JSON object."))?;
    Ok((value, Extensions::read(text)?))
}

/// The same for an optional body.
fn optional_with_extensions(request_body: JsonBody) -> Result<(Value, Extensions), ContextRefusal> {
    let body = request_body.0?;
    if body.is_empty() {
        return Ok((Value::Object(serde_json::Map::new()), Extensions::default()));
    }
    value_with_extensions(JsonBody(Ok(body)))
}

/// A response with this JSON text.
fn json(status: StatusCode, json: String) -> Response {
    let mut response = Response::new(json.into());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// A response with a list of JSON texts under a name, and the next cursor.
fn list(name: &str, items: &[String], next_cursor: Option<&str>) -> Response {
    let next = next_cursor
        .map_or(String::new(), |cursor| format!(",\"next_cursor\":{}", crate::members::quoted(cursor)));
    json(StatusCode::OK, format!("{{\"{name}\":[{}]{next}}}", items.join(",")))
}
