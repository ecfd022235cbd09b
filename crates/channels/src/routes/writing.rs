//! Creating a channel, appending to it, closing it.
//! Must not know: what a payload means.

use std::time::Instant;

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use plenary_edge::{CallerSpan, Operation, Received};
use plenary_engine::{Done, ExecuteError};
use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_wire::channels;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Answer, Surface, doc, of_channel, query};
use crate::{
    caller::Asking,
    command::{AppendEvent, Appended, ChangeKey, ChannelMade, CloseChannel, Draft},
    decide::Rejection,
    key::LinkKey,
    lint::lint,
    refusals::{self, Refused},
    request::{self, AppendRequest, CreateRequest, Fields},
    state::Created,
    told::Told,
    wire::{self, ChannelId, Event, EventOrVerdict, Verdict},
};

const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

pub(super) fn operations() -> Vec<Operation<Surface>> {
    let create_doc = doc(&channels::CREATE, "Create a channel")
        .tool("channels")
        .description(
            "Its id is four characters. The URL in the answer has a key, and is all that another agent needs beside its \
             token.",
        )
        .optional_request::<CreateRequest>()
        .errors(Class::Malformed, &[ErrorCode::InvalidJson])
        .errors(
            Class::Unprocessable,
            &[ErrorCode::InvalidBody, ErrorCode::InvalidTitle, ErrorCode::InvalidCreatedBy, ErrorCode::InvalidIdempotencyKey],
        )
        .errors(Class::Conflict, &[ErrorCode::IdempotencyKeyReused]);
    let append_doc = of_channel(&channels::APPEND, "Append an event")
        .tool("channels")
        .description(
            "Any kind, any object. With `?validate=1` nothing is stored, and the answer is what is wrong with a \
                 `spec`, `state` or `status`: {valid, stored, problems}.",
        )
        .query::<AppendQuery>()
        .request::<AppendRequest>()
        .reply::<EventOrVerdict>()
        .errors(Class::Malformed, &[ErrorCode::InvalidJson])
        .errors(
            Class::Unprocessable,
            &[
                ErrorCode::InvalidBody,
                ErrorCode::InvalidKind,
                ErrorCode::InvalidAuthor,
                ErrorCode::InvalidPayload,
                ErrorCode::InvalidValidate,
                ErrorCode::InvalidQuery,
                ErrorCode::InvalidIdempotencyKey,
            ],
        )
        .errors(Class::Conflict, &[ErrorCode::ChannelClosed, ErrorCode::IdempotencyKeyReused]);
    let close_doc = of_channel(&channels::CLOSE, "Close a channel")
        .tool("channels")
        .description("It stays readable. Closing it again stamps it again.")
        .errors(Class::Malformed, &[ErrorCode::InvalidJson])
        .errors(Class::Unprocessable, &[ErrorCode::InvalidIdempotencyKey])
        .errors(Class::Conflict, &[ErrorCode::IdempotencyKeyReused]);
    let key_doc = of_channel(&channels::CHANGE_KEY, "Change a channel's key")
        .tool("channels")
        .description(
            "By its owner. The answer's `url` has the new key; the former one is not valid any more. Owners that have \
             shown it before stay.",
        )
                .errors(Class::Malformed, &[ErrorCode::InvalidJson])
        .errors(Class::Forbidden, &[ErrorCode::NotItsOwner])
        .errors(Class::Unprocessable, &[ErrorCode::InvalidIdempotencyKey])
        .errors(Class::Conflict, &[ErrorCode::IdempotencyKeyReused]);
    vec![
        Operation::new(create_doc, create),
        Operation::new(append_doc, append),
        Operation::new(close_doc, close),
        Operation::new(key_doc, change_key),
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
    asking: Asking,
    headers: HeaderMap,
    Received(body): Received,
) -> Answer {
    let body = body?;
    let (title, created_by) = Fields::read(body.bytes())?.create()?;
    let key = request::key(format!("channels/create/{}", asking.scope()), &headers, body.bytes())?;
    let caller = asking.caller();
    let creating = surface.channels.create(&caller, &title, created_by.as_deref(), key.as_ref());
    let Done { reply, replayed, .. } = creating.await?;
    let ChannelMade { id, title, created_by, at, key } = reply;
    let created = Created { title, by: created_by, via: caller.via().cloned(), at };
    answer(Json(wire::channel(&asking.base_url, &id, &created, key.as_ref(), None)), replayed)
}

/// The query of `POST …/event`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct AppendQuery {
    /// Only say what is wrong with the event, and store nothing.
    #[schemars(with = "Option<bool>")]
    validate: Option<String>,
    /// The key of the channel's link; needed once per owner.
    #[expect(dead_code, reason = "read where the caller is")]
    key: Option<String>,
}

async fn append(
    State(surface): State<Surface>,
    asking: Asking,
    Path(id): Path<String>,
    sent: Result<Query<AppendQuery>, QueryRejection>,
    CallerSpan(span): CallerSpan,
    headers: HeaderMap,
    Received(body): Received,
) -> Answer {
    let begun = Instant::now();
    let body = body?;
    let bytes = body.bytes();
    let draft = Fields::read(bytes).and_then(|fields| fields.event(bytes));
    let options = query(sent)
        .and_then(|query| request::switch(query.validate.as_deref(), false, "invalid_validate", "validate"));
    let is_dry = options.as_ref().is_ok_and(|validate| *validate);
    if is_dry {
        // Nothing is stored under the key, and a wrong one is a wrong request all the same.
        let draft = request::key(String::new(), &headers, bytes).and(draft);
        return validate(&surface, &asking, &id, draft).await;
    }
    let id = surface.to_write(&asking, &id).await?;
    let scope = format!("channels/append/{id}/{}", asking.scope());
    let key = request::key(scope, &headers, bytes);
    // What is wrong with the request is told to nobody before it is known that there is a channel.
    let (key, draft) = match (options, key, draft) {
        (Ok(_), Ok(key), Ok(draft)) => (key, Ok(draft)),
        (Err(refused), ..) | (_, Err(refused), _) | (.., Err(refused)) => (None, Err(Refusal::from(refused))),
    };
    let reject_after_close = surface.channels.config().reject_after_close;
    let command = AppendEvent { caller: asking.caller(), draft: draft.clone(), reject_after_close };
    let asked = surface.channels.ask(&id, command, key.as_ref()).await;
    let done = surface.known(&asking, &id, asked).await?;
    let event = match (done.position, draft) {
        (Some(position), Ok(draft)) => fresh(&asking, &id, position.0, done.reply, &draft)?,
        // The answer of an earlier request: the event as it stands.
        _ => {
            let event = surface.channels.event_at(&id, done.reply.version).await?;
            event
                .ok_or_else(|| plenary_log::Fault::Corrupt(format!("a kept answer names no event of {id}")))?
        }
    };
    if !done.replayed {
        surface.channels.tell(Told { event: &event, parent: span, begun });
    }
    answer(Json(event), done.replayed)
}

/// The event that was just written.
fn fresh(
    asking: &Asking,
    id: &ChannelId,
    position: u64,
    done: Appended,
    draft: &Draft,
) -> Result<Event, Refused> {
    let corrupt =
        |error: serde_json::Error| plenary_log::Fault::Corrupt(format!("a payload just read: {error}"));
    let payload: Box<RawValue> = serde_json::from_slice(&draft.payload).map_err(corrupt)?;
    let caller = asking.caller();
    Ok(Event {
        id: position,
        channel_id: id.clone(),
        kind: draft.kind.clone(),
        author: draft.author.clone().unwrap_or_else(|| caller.name()),
        via: caller.via().map(ToString::to_string),
        payload,
        created_at: done.at.rfc3339(),
    })
}

/// What is wrong with an event, against the state as it is (CH-32).
async fn validate(surface: &Surface, asking: &Asking, id: &str, draft: Result<Draft, Refused>) -> Answer {
    let found = surface.find(asking, id).await?;
    let draft = draft?;
    let object = |payload: &[u8]| serde_json::from_slice(payload).unwrap_or_default();
    let current = surface.channels.event_at(&found.id, found.state.state).await?;
    let current = current.map(|event| object(event.payload.get().as_bytes()));
    let author = draft.author.clone().unwrap_or_else(|| asking.caller().name());
    let author = Some(author.as_str()).filter(|author| !author.is_empty());
    let verdict: Verdict = lint(&draft.kind, author, &object(&draft.payload), current.as_ref());
    answer(Json(verdict), false)
}

/// Takes no body; one that is there must still be JSON.
async fn close(
    State(surface): State<Surface>,
    asking: Asking,
    Path(id): Path<String>,
    headers: HeaderMap,
    Received(body): Received,
) -> Answer {
    let body = body?;
    let id = surface.to_write(&asking, &id).await?;
    let key = request::key(format!("channels/close/{id}/{}", asking.scope()), &headers, body.bytes())?;
    let asked = surface.channels.ask(&id, CloseChannel { caller: asking.caller() }, key.as_ref()).await;
    let done = surface.known(&asking, &id, asked).await?;
    let (state, _) = surface.channels.fresh(&id).await?;
    let created = state.created.as_ref().ok_or_else(refusals::no_such_channel)?;
    let (key, closed_at) = (state.key.as_ref(), Some(done.reply.at));
    answer(Json(wire::channel(&asking.base_url, &id, created, key, closed_at)), done.replayed)
}

/// Takes no body; one that is there must still be JSON.
async fn change_key(
    State(surface): State<Surface>,
    asking: Asking,
    Path(id): Path<String>,
    headers: HeaderMap,
    Received(body): Received,
) -> Answer {
    let body = body?;
    let id = surface.to_write(&asking, &id).await?;
    let key = request::key(format!("channels/key/{id}/{}", asking.scope()), &headers, body.bytes())?;
    let command = ChangeKey { caller: asking.caller(), key: LinkKey::random(), only_if_none: false };
    let asked = surface.channels.ask(&id, command, key.as_ref()).await;
    let done = surface.known(&asking, &id, asked).await?;
    let (state, _) = surface.channels.fresh(&id).await?;
    let created = state.created.as_ref().ok_or_else(refusals::no_such_channel)?;
    let channel = wire::channel(&asking.base_url, &id, created, Some(&done.reply.key), state.closed_at);
    answer(Json(channel), done.replayed)
}

impl Surface {
    /// An id that a command may go to. Whether the caller may use the channel is decided with the command, unless it shows
    /// a key, which is remembered first, or the budget of misses is used up.
    async fn to_write(&self, asking: &Asking, id: &str) -> Result<ChannelId, Refused> {
        let over = self.channels.0.misses.left(&asking.guessers, self.channels.now()).is_err();
        match id.parse() {
            Ok(id) if !over && asking.caller().key.is_none() => Ok(id),
            _ => Ok(self.find(asking, id).await?.id),
        }
    }

    /// Counts a command that met no channel. An answer to a former use of an idempotency key is only for who may still
    /// use the channel.
    async fn known<T>(
        &self,
        asking: &Asking,
        id: &ChannelId,
        asked: Result<Done<T>, ExecuteError<Rejection>>,
    ) -> Result<Done<T>, Refused> {
        match &asked {
            Err(ExecuteError::Rejected(Rejection::NoSuchChannel)) => {
                self.channels.0.misses.count(&asking.guessers, self.channels.now())?;
            }
            Ok(Done { replayed: true, .. }) | Err(ExecuteError::KeyReused) => {
                self.find(asking, id.as_str()).await?;
            }
            Ok(_) | Err(_) => {}
        }
        Ok(asked?)
    }
}
