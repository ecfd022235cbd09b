//! Creates a channel, appends to it, closes it and changes its key.
//! Must not know: the meaning of a payload.

use std::time::Instant;

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use plenary_edge::{CallerSpan, JsonBody, Operation};
use plenary_engine::{ExecuteError, Executed};
use plenary_kernel::{Class, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Answer, Surface, doc, of_channel, query};
use crate::{
    caller::RequestCaller,
    command::{AppendEvent, AppendReceipt, ChangeKey, CloseChannel, CreatedChannel, Draft},
    decide::Rejection,
    id::ChannelId,
    key::LinkKey,
    lint::lint,
    refusals::{self, ChannelRefusal},
    request::{self, AppendRequest, CreateRequest, Fields},
    spans::CommittedAppend,
    state::Creation,
    wire::{Channel, Event, EventOrVerdict, Verdict},
};

const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

pub(super) fn operations() -> Vec<Operation<Surface>> {
    let create_doc = doc("channel.create", Method::POST, "/agent-channel", "Create a channel")
        .tool("channels")
        .description(
            "Its id has four characters. The URL in the response contains a key; another agent needs only it and its own \
             token.",
        )
        .optional_request::<CreateRequest>()
        .reply::<Channel>()
        .errors(Class::Malformed, &["invalid_json"])
        .errors(
            Class::Unprocessable,
            &["invalid_body", "invalid_title", "invalid_created_by", "invalid_idempotency_key"],
        )
        .errors(Class::Conflict, &["idempotency_key_reused"]);
    let append_doc = of_channel(
        "channel.append",
        Method::POST,
        "/agent-channel/{id}/event",
        "Append an event",
    )
    .tool("channels")
    .description(
        "Any kind and any object. With `?validate=1` nothing is stored, and the response lists what is wrong with a \
             `spec`, `state` or `status`: {valid, stored, problems}.",
    )
    .query::<AppendQuery>()
    .request::<AppendRequest>()
    .reply::<EventOrVerdict>()
    .errors(Class::Malformed, &["invalid_json"])
    .errors(
        Class::Unprocessable,
        &[
            "invalid_body",
            "invalid_kind",
            "invalid_author",
            "invalid_payload",
            "invalid_validate",
            "invalid_query",
            "invalid_idempotency_key",
        ],
    )
    .errors(Class::Conflict, &["channel_closed", "idempotency_key_reused"]);
    let close_doc = of_channel("channel.close", Method::POST, "/agent-channel/{id}/close", "Close a channel")
        .tool("channels")
        .description("A closed channel stays readable. Closing it again sets a new time.")
        .reply::<Channel>()
        .errors(Class::Malformed, &["invalid_json"])
        .errors(Class::Unprocessable, &["invalid_idempotency_key"])
        .errors(Class::Conflict, &["idempotency_key_reused"]);
    let key_doc = of_channel("channel.key", Method::POST, "/agent-channel/{id}/key", "Change a channel's key")
        .tool("channels")
        .description(
            "For its owner. The `url` in the response has the new key; the former key is no longer valid. Owners that have \
             used it before keep their access, unless `revoke` is true.",
        )
        .query::<KeyQuery>()
        .reply::<Channel>()
        .errors(Class::Malformed, &["invalid_json"])
        .errors(Class::Forbidden, &["not_its_owner"])
        .errors(Class::Unprocessable, &["invalid_revoke", "invalid_query", "invalid_idempotency_key"])
        .errors(Class::Conflict, &["idempotency_key_reused"]);
    vec![
        create_doc.handled_by(create),
        append_doc.handled_by(append),
        close_doc.handled_by(close),
        key_doc.handled_by(change_key),
    ]
}

fn answer(reply: impl IntoResponse, replayed: bool) -> Answer {
    let mut response = reply.into_response();
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

async fn create(
    State(surface): State<Surface>,
    requester: RequestCaller,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let body = body?;
    let (title, created_by) = Fields::read(body.bytes())?.create()?;
    let key = request::key(format!("channels/create/{}", requester.scope()), &headers, body.bytes())?;
    let caller = requester.caller();
    let creating = surface.channels.create(&caller, &title, created_by.as_deref(), key.as_ref());
    let Executed { reply, replayed, .. } = creating.await?;
    let CreatedChannel { id, title, created_by, at, key } = reply;
    let created = Creation { title, by: created_by, via: caller.via().cloned(), at };
    answer(Json(Channel::new(&requester.base_url, &id, &created, key.as_ref(), None)), replayed)
}

/// The query of `POST …/event`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct AppendQuery {
    /// Only validate the event and store nothing.
    #[schemars(with = "Option<bool>")]
    validate: Option<String>,
    /// The key of the channel's link; needed once per owner.
    #[expect(dead_code, reason = "read where the caller is")]
    key: Option<String>,
}

async fn append(
    State(surface): State<Surface>,
    requester: RequestCaller,
    Path(id): Path<String>,
    sent: Result<Query<AppendQuery>, QueryRejection>,
    CallerSpan(span): CallerSpan,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let started_at = Instant::now();
    let body = body?;
    let bytes = body.bytes();
    let draft = Fields::read(bytes).and_then(|fields| fields.event(bytes));
    let options = query(sent)
        .and_then(|query| request::switch(query.validate.as_deref(), false, "invalid_validate", "validate"));
    let is_dry = options.as_ref().is_ok_and(|validate| *validate);
    if is_dry {
        // Nothing is stored under the idempotency key, but a malformed one is refused all the same.
        let draft = request::key(String::new(), &headers, bytes).and(draft);
        return validate(&surface, &requester, &id, draft).await;
    }
    let id = surface.to_write(&requester, &id).await?;
    let scope = format!("channels/append/{id}/{}", requester.scope());
    let key = request::key(scope, &headers, bytes);
    // The decision reports a malformed request, after it has found the channel: an absent channel gets the same answer for
    // every request.
    let (key, draft) = match (options, key, draft) {
        (Ok(_), Ok(key), Ok(draft)) => (key, Ok(draft)),
        (Err(refused), ..) | (_, Err(refused), _) | (.., Err(refused)) => (None, Err(Refusal::from(refused))),
    };
    let reject_after_close = surface.channels.config().reject_after_close;
    let trace = plenary_telemetry::current().map(|own| own.to_string().into());
    let command = AppendEvent { caller: requester.caller(), draft: draft.clone(), trace, reject_after_close };
    let outcome = surface.channels.ask(&id, command, key.as_ref()).await;
    let executed = surface.known(&requester, &id, outcome).await?;
    let event = match (executed.position, draft) {
        (Some(position), Ok(draft)) => fresh(&requester, &id, position.0, executed.reply, &draft)?,
        // A replayed reply has no position, so the event is read from the log.
        _ => {
            let event = surface.channels.event_at(&id, executed.reply.version).await?;
            event
                .ok_or_else(|| plenary_log::Fault::Corrupt(format!("a kept answer names no event of {id}")))?
        }
    };
    if !executed.replayed {
        surface.channels.record_span(CommittedAppend { event: &event, parent: span, started_at });
    }
    answer(Json(event), executed.replayed)
}

/// The appended event, without a read from the log.
fn fresh(
    requester: &RequestCaller,
    id: &ChannelId,
    position: u64,
    receipt: AppendReceipt,
    draft: &Draft,
) -> Result<Event, ChannelRefusal> {
    let corrupt =
        |error: serde_json::Error| plenary_log::Fault::Corrupt(format!("a payload just read: {error}"));
    let payload: Box<RawValue> = serde_json::from_slice(&draft.payload).map_err(corrupt)?;
    let caller = requester.caller();
    Ok(Event {
        id: position,
        channel_id: id.clone(),
        kind: draft.kind.clone(),
        author: draft.author.clone().unwrap_or_else(|| caller.name()),
        via: caller.via().map(ToString::to_string),
        payload,
        created_at: receipt.at.rfc3339(),
    })
}

/// Validates an event against the current state (CH-32).
async fn validate(
    surface: &Surface,
    requester: &RequestCaller,
    id: &str,
    draft: Result<Draft, ChannelRefusal>,
) -> Answer {
    let found = surface.find(requester, id).await?;
    let draft = draft?;
    let object = |payload: &[u8]| serde_json::from_slice(payload).unwrap_or_default();
    let current = surface.channels.event_at(&found.id, found.state.state).await?;
    let current = current.map(|event| object(event.payload.get().as_bytes()));
    let author = draft.author.clone().unwrap_or_else(|| requester.caller().name());
    let author = Some(author.as_str()).filter(|author| !author.is_empty());
    let verdict: Verdict = lint(&draft.kind, author, &object(&draft.payload), current.as_ref());
    answer(Json(verdict), false)
}

/// Needs no body; a body must be JSON.
async fn close(
    State(surface): State<Surface>,
    requester: RequestCaller,
    Path(id): Path<String>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let body = body?;
    let id = surface.to_write(&requester, &id).await?;
    let key = request::key(format!("channels/close/{id}/{}", requester.scope()), &headers, body.bytes())?;
    let outcome = surface.channels.ask(&id, CloseChannel { caller: requester.caller() }, key.as_ref()).await;
    let executed = surface.known(&requester, &id, outcome).await?;
    let (state, _) = surface.channels.fresh(&id).await?;
    let created = state.created.as_ref().ok_or_else(refusals::no_such_channel)?;
    let (key, closed_at) = (state.key.as_ref(), Some(executed.reply.at));
    answer(Json(Channel::new(&requester.base_url, &id, created, key, closed_at)), executed.replayed)
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ChangeKeyQuery")]
struct KeyQuery {
    /// Whether owners that have used an earlier key lose their access.
    #[schemars(with = "Option<bool>")]
    revoke: Option<String>,
    /// The key of the channel's link; needed once per owner.
    #[expect(dead_code, reason = "read where the caller is")]
    key: Option<String>,
}

/// Needs no body; a body must be JSON.
async fn change_key(
    State(surface): State<Surface>,
    requester: RequestCaller,
    Path(id): Path<String>,
    sent: Result<Query<KeyQuery>, QueryRejection>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Answer {
    let body = body?;
    let revokes = query(sent)
        .and_then(|query| request::switch(query.revoke.as_deref(), false, "invalid_revoke", "revoke"))?;
    let id = surface.to_write(&requester, &id).await?;
    let scope = format!("channels/key/{id}/{}{}", requester.scope(), if revokes { "/revoke" } else { "" });
    let key = request::key(scope, &headers, body.bytes())?;
    let command =
        ChangeKey { caller: requester.caller(), key: LinkKey::random(), only_if_none: false, revokes };
    let outcome = surface.channels.ask(&id, command, key.as_ref()).await;
    let executed = surface.known(&requester, &id, outcome).await?;
    let (state, _) = surface.channels.fresh(&id).await?;
    let created = state.created.as_ref().ok_or_else(refusals::no_such_channel)?;
    let channel = Channel::new(&requester.base_url, &id, created, Some(&executed.reply.key), state.closed_at);
    answer(Json(channel), executed.replayed)
}

impl Surface {
    /// The id for a command. The decision checks the access, except in two cases that are checked here: the caller sends a key,
    /// so that its owner is admitted first, or its budget of misses is used up.
    async fn to_write(&self, requester: &RequestCaller, id: &str) -> Result<ChannelId, ChannelRefusal> {
        let over = self.channels.0.misses.check(&requester.guessers, self.channels.now()).is_err();
        match id.parse() {
            Ok(id) if !over && requester.caller().key.is_none() => Ok(id),
            _ => Ok(self.find(requester, id).await?.id),
        }
    }

    /// Counts a command on an absent channel as a miss. Before a replayed reply or a reused key is reported, the caller's
    /// access is checked again.
    async fn known<T>(
        &self,
        requester: &RequestCaller,
        id: &ChannelId,
        outcome: Result<Executed<T>, ExecuteError<Rejection>>,
    ) -> Result<Executed<T>, ChannelRefusal> {
        match &outcome {
            Err(ExecuteError::Rejected(Rejection::NoSuchChannel)) => {
                self.channels.0.misses.count(&requester.guessers, self.channels.now())?;
            }
            Ok(Executed { replayed: true, .. }) | Err(ExecuteError::KeyReused) => {
                self.find(requester, id.as_str()).await?;
            }
            Ok(_) | Err(_) => {}
        }
        Ok(outcome?)
    }
}
