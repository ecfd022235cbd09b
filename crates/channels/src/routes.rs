//! The public operations of the Agent Channel Protocol: parse, call, translate the answer (wire.md 3.2, D.6).
//! Must not know: the effects of a command.

mod commands;
mod queries;
mod view;

use std::sync::Arc;

use axum::{
    Router,
    extract::rejection::QueryRejection,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, header};
use plenary_edge::{
    Auth, Metrics, Operation, OperationDoc, Origin, RegistryFault, with_method_refusals, with_path_refusals,
};
use plenary_kernel::{Class, Refusal};
use schemars::JsonSchema;

use crate::{
    Channels,
    access::Access,
    caller::RequestCaller,
    id::ChannelId,
    lookup::OpenChannel,
    refusals::{self, ChannelRefusal},
    request,
    wire::ErrorBody,
};

/// The shared state of the routes.
#[derive(Clone)]
pub struct Surface {
    pub(crate) channels: Channels,
    pub(crate) origin: Arc<Origin>,
}

type Answer = Result<Response, ChannelRefusal>;

/// The routes of this room. `origin` gives the URL by which clients reach the server.
///
/// # Errors
/// The operations contradict each other.
pub fn routes(channels: Channels, origin: Origin, metrics: &Metrics) -> Result<Router, RegistryFault> {
    let surface = Surface { channels, origin: Arc::new(origin) };
    let router = plenary_edge::routes(operations(), metrics)?;
    let router = with_path_refusals(router, metrics, &NOTHING_AT, form);
    Ok(with_method_refusals(router, metrics, form).with_state(surface))
}

/// A refusal in the form of this protocol.
pub(crate) fn form(refusal: Refusal) -> Response {
    ChannelRefusal::from(refusal).into_response()
}

/// Paths without an operation, which are refused in the form of this protocol.
const NOTHING_AT: [&str; 3] = ["/agent-channel/", "/agent-channel/{id}/", "/agent-channel/{id}/{*rest}"];

/// The operations of this room.
pub fn operations() -> Vec<Operation<Surface>> {
    [commands::operations(), view::operations(), queries::operations()].into_iter().flatten().collect()
}

/// An operation of this room, with what all operations have in common.
fn doc(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    OperationDoc::new(id, method, path, summary).needs_token(Auth::Any).error_body::<ErrorBody<'static>>()
}

fn of_channel(id: &'static str, method: Method, path: &'static str, summary: &'static str) -> OperationDoc {
    doc(id, method, path, summary)
        .path_parameter::<ChannelId>("id", "The id of the channel, in upper or lower case.")
        .query::<KeyQuery>()
        .errors(Class::NotFound, &["no_such_channel"])
        .errors(Class::TooMany, &["too_many_misses"])
}

/// The query of every operation on a channel.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "the description is made from it; the key is read where the caller is")]
struct KeyQuery {
    /// The key of the channel's link; needed once per owner, and each time by callers who may only read.
    key: Option<String>,
}

impl Surface {
    /// Finds a channel that the caller may use. Any other id is a miss and is counted. Beyond the budget, a channel that only
    /// trust opens gets 429 like an absent one, unless the caller's owner takes part in it; otherwise trust would confirm every
    /// correct guess.
    async fn find(&self, requester: &RequestCaller, id: &str) -> Result<OpenChannel, ChannelRefusal> {
        let (misses, now) = (&self.channels.0.misses, self.channels.now());
        let used_up = misses.check(&requester.guessers, now).err();
        let found = match id.parse::<ChannelId>() {
            Ok(id) => self.channels.found(&id, &requester.caller(), requester.may_write).await?,
            Err(_) => None,
        };
        match (found, used_up) {
            (Some(found), None) => Ok(found),
            (Some(found), Some(_)) if takes_part(&found, requester) => Ok(found),
            (_, Some(used_up)) => Err(used_up.into()),
            (None, None) => {
                misses.count(&requester.guessers, now)?;
                Err(refusals::no_such_channel())
            }
        }
    }
}

/// Whether the caller has a stronger reason than trust, or its owner has appended to the channel before.
fn takes_part(found: &OpenChannel, requester: &RequestCaller) -> bool {
    found.access != Access::Trusted
        || requester.owner().is_some_and(|owner| found.state.owners.contains(&owner))
}

/// A response with text that is JSON already.
fn json(text: impl Into<axum::body::Body>) -> Response {
    typed("application/json", text)
}

fn typed(media_type: &'static str, text: impl Into<axum::body::Body>) -> Response {
    let mut response = text.into().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn query<T>(query: Result<axum::extract::Query<T>, QueryRejection>) -> Result<T, ChannelRefusal> {
    query.map(|axum::extract::Query(query)| query).map_err(|_| request::invalid_query())
}
