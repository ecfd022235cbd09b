//! Lists of channels and of events, and live events.
//! Must not know: how they are stored.

use std::fmt::Write as _;

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse,
};
use http::{HeaderMap, HeaderValue, Method, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_accounts::Follower;
use plenary_edge::Operation;
use plenary_engine::Room;
use plenary_kernel::{Class, Version};
use plenary_log::PageSize;
use plenary_room::{CannotWatch, live};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Surface, doc, of_channel, query};
use crate::{
    caller::{RequestCaller, StreamCaller},
    channel_list::ChannelList,
    event_pages::{EventQuery, Next},
    key::LinkKey,
    live::{Live, Start},
    refusals, request,
    room::ChannelRoom,
    wire::{Channel, Event, url},
};

pub(super) fn operations() -> Vec<Operation<Surface>> {
    let list_doc = doc("channel.list", Method::GET, "/agent-channel", "List your channels")
        .tool("channels")
        .description(
            "Newest first: those that your owner created or appended to and that you may use; all for the operator.",
        )
        .query::<ListQuery>()
        .reply::<Vec<Channel>>()
        .answers_page()
        .links_pages()
        .errors(Class::Unprocessable, &["invalid_limit", "invalid_include_closed", "invalid_cursor", "invalid_query"]);
    let events_doc = of_channel(
        "channel.events",
        Method::GET,
        "/agent-channel/{id}/events",
        "Read events, newest first",
    )
    .tool("channels")
    .description(
        "A page ends at its limit, or at 2 MiB of payload; if there is more, `Link: <…>; rel=\"next\"` \
                 gives the next page.",
    )
    .query::<EventsQuery>()
    .reply::<Vec<Event>>()
    .answers_page()
    .links_pages()
    .errors(
        Class::Unprocessable,
        &["invalid_limit", "invalid_before_id", "invalid_after_id", "invalid_query"],
    );
    let watch_doc = of_channel(
        "channel.watch",
        Method::GET,
        "/agent-channel/{id}/events/stream",
        "Follow a channel live",
    )
    .tool("channels")
    .description(
        "New events, or all events after `Last-Event-ID` or `?after_id=`. `data` is an event, `id` its id. A \
         browser, which cannot set headers, passes `?ticket=`.",
    )
    .query::<WatchQuery>()
    .reply_type("text/event-stream")
    .continues()
    .errors(Class::Unprocessable, &["invalid_after_id", "invalid_query"])
    .errors(Class::TooMany, &["too_many_streams"])
    .errors(Class::Unavailable, &["stopping"]);
    vec![list_doc.handled_by(list), events_doc.handled_by(events), watch_doc.handled_by(watch)]
}

/// The schema of an integer without bounds; the server clamps it.
fn whole_number(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"type": "integer"})
}

/// The query of `GET /agent-channel`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ListQuery {
    /// Maximum number; 50 when absent, clamped to 1 to 500.
    #[serde(default)]
    #[schemars(schema_with = "whole_number")]
    limit: Option<String>,
    /// Whether closed channels are listed; true when absent.
    #[schemars(with = "Option<bool>")]
    include_closed: Option<String>,
    /// From the last page's `Link`.
    cursor: Option<String>,
}

/// The query of `GET …/events`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct EventsQuery {
    /// Only events of this kind.
    kind: Option<String>,
    /// Maximum number; 50 when absent, clamped to 1 to 500.
    #[serde(default)]
    #[schemars(schema_with = "whole_number")]
    limit: Option<String>,
    /// Only events with a lower id.
    #[serde(default)]
    #[schemars(schema_with = "whole_number")]
    before_id: Option<String>,
    /// Only events with a higher id; without `before_id`, those that follow it directly.
    #[serde(default)]
    #[schemars(schema_with = "whole_number")]
    after_id: Option<String>,
    /// The key of the channel's link; needed once per owner.
    #[expect(dead_code, reason = "read where the caller is")]
    key: Option<String>,
}

/// The query of `GET …/events/stream`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct WatchQuery {
    /// Only events of this kind.
    kind: Option<String>,
    /// Events with a higher id; `Last-Event-ID` overrides it.
    #[serde(default)]
    #[schemars(schema_with = "whole_number")]
    after_id: Option<String>,
    /// From `POST /auth/ticket`, for clients that cannot set headers.
    #[expect(dead_code, reason = "read where the caller is")]
    ticket: Option<String>,
    /// The key of the channel's link; needed once per owner.
    #[expect(dead_code, reason = "read where the caller is")]
    key: Option<String>,
}

async fn list(
    State(surface): State<Surface>,
    requester: RequestCaller,
    sent: Result<Query<ListQuery>, QueryRejection>,
) -> Answer {
    let sent = query(sent)?;
    let limit = request::limit(sent.limit.as_deref())?;
    let include_closed =
        request::switch(sent.include_closed.as_deref(), true, "invalid_include_closed", "include_closed")?;
    let cursor = request::cursor(sent.cursor.as_deref())?;
    let ChannelList { channels, next } =
        surface.channels.list(&requester, limit, include_closed, cursor).await?;
    let mut response = Json(channels).into_response();
    if let Some(next) = next {
        let next = utf8_percent_encode(&next, NON_ALPHANUMERIC);
        let link = format!(
            "<{}/agent-channel?limit={limit}&include_closed={include_closed}&cursor={next}>; rel=\"next\"",
            requester.base_url
        );
        if let Ok(link) = HeaderValue::from_str(&link) {
            response.headers_mut().insert(header::LINK, link);
        }
    }
    Ok(response)
}

async fn events(
    State(surface): State<Surface>,
    requester: RequestCaller,
    Path(id): Path<String>,
    sent: Result<Query<EventsQuery>, QueryRejection>,
) -> Answer {
    let found = surface.find(&requester, &id).await?;
    let sent = query(sent)?;
    let events_query = EventQuery {
        kind: sent.kind.as_deref().filter(|kind| !kind.is_empty()),
        limit: request::limit(sent.limit.as_deref())?,
        before: request::event_id(sent.before_id.as_deref(), "invalid_before_id", "before_id")?,
        after: request::event_id(sent.after_id.as_deref(), "invalid_after_id", "after_id")?,
    };
    let page = surface.channels.page(&found.id, found.head, events_query).await?;
    let mut response = Json(page.events).into_response();
    if let Some(next) = page.next {
        let key = requester.caller().key.filter(|_| requester.principal.is_none());
        let link = link(&url(&requester.base_url, &found.id), events_query, next, key.as_ref());
        if let Ok(link) = HeaderValue::from_str(&link) {
            response.headers_mut().insert(header::LINK, link);
        }
    }
    Ok(response)
}

/// The target of the `Link` header that leads to the next page.
fn link(url: &str, query: EventQuery<'_>, next: Next, key: Option<&LinkKey>) -> String {
    let mut link = format!("<{url}/events?limit={}", query.limit);
    if let Some(kind) = query.kind {
        let _ = write!(link, "&kind={}", utf8_percent_encode(kind, NON_ALPHANUMERIC));
    }
    match next {
        Next::After(id) => drop(write!(link, "&after_id={id}")),
        Next::Before(id) => {
            let _ = write!(link, "&before_id={id}");
            if let Some(after) = query.after {
                let _ = write!(link, "&after_id={after}");
            }
        }
    }
    if let Some(key) = key {
        let _ = write!(link, "&key={}", key.expose());
    }
    link.push_str(">; rel=\"next\"");
    link
}

async fn watch(
    State(surface): State<Surface>,
    StreamCaller(requester): StreamCaller,
    Path(id): Path<String>,
    sent: Result<Query<WatchQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Answer {
    let found = surface.find(&requester, &id).await?;
    let sent = query(sent)?;
    let resumed = request::header(&headers, "last-event-id").map(str::trim).filter(|id| !id.is_empty());
    let after = resumed.or(sent.after_id.as_deref());
    let after = request::event_id(after, "invalid_after_id", "after_id")?;
    let channel = found.id;
    // Register as a watcher before reading the log, so that no event is missed in between.
    let stream = ChannelRoom::stream(channel.as_str());
    let watchers = &surface.channels.0.watchers;
    let creator = found.state.creator().cloned();
    let watching = watchers.watch(
        &stream,
        Follower::new(requester.principal.as_ref()).trusting(creator),
        requester.watcher.clone(),
    );
    let watch = watching.map_err(|why| match why {
        CannotWatch::TooMany => refusals::too_many_streams(),
        CannotWatch::Stopping => refusals::stopping(),
    })?;
    let (_, head) = surface.channels.fresh(&channel).await?;
    let before = Version(head.0.saturating_sub(1));
    let last = surface.channels.log().read_stream(&stream, before, 1).await?;
    let last = last
        .first()
        .map_or(Start { version: head, id: 0 }, |last| Start { version: last.version, id: last.position.0 });
    let cursor = match after {
        // An id beyond the last event, from before a restore, would hide the events that come.
        Some(id) if id < last.id => {
            Start { version: surface.channels.version_at(&stream, head, id).await?, id }
        }
        Some(_) | None => last,
    };
    let kind = sent.kind.filter(|kind| !kind.is_empty());
    let (channels, caller) = (surface.channels.clone(), requester.caller());
    let size = PageSize::default();
    Ok(live(Live { channels, id: channel, stream, caller, kind, cursor, size }, watch))
}
