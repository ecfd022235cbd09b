//! Lists of channels and of events, and events as they come.
//! Must not know: how they are stored.

use std::fmt::Write as _;

use axum::{
    Json,
    extract::{Path, State},
    response::IntoResponse,
};
use http::{HeaderMap, HeaderValue, Method, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use plenary_accounts::Follower;
use plenary_edge::{Operation, Parameters};
use plenary_engine::Room;
use plenary_kernel::{Class, Version};
use plenary_log::PageSize;
use plenary_room::{CannotWatch, live};

use super::{Answer, Surface, doc, of_channel};
use crate::{
    LIMIT_DEFAULT,
    caller::{Asking, Watching},
    key::LinkKey,
    live::{Live, Start},
    reading::{Next, Wanted},
    refusals,
    request::{self, EVENTS, LISTING, WATCHING, said},
    room::ChannelRoom,
    wire::{Channel, Event, url},
};

pub(super) fn operations() -> Vec<Operation<Surface>> {
    let list_doc = doc("channel.list", Method::GET, "/agent-channel", "List your channels, newest first")
        .tool("channels")
        .description(
            "Those that your owner created or appended to, as far as you may use them; all of them for the operator.",
        )
        .parameters(&LISTING)
        .reply::<Vec<Channel>>()
        .answers_page()
        .errors(Class::Unprocessable, &["invalid_limit", "invalid_include_closed", "invalid_query"]);
    let events_doc = of_channel(
        "channel.events",
        Method::GET,
        "/agent-channel/{id}/events",
        "Read events, newest first",
    )
    .tool("channels")
    .description(
        "A page ends at its limit, or at 2 MiB of payload; where there is more, `Link: <…>; rel=\"next\"` \
                 says how to go on.",
    )
    .parameters(&EVENTS)
    .reply::<Vec<Event>>()
    .answers_page()
    .errors(
        Class::Unprocessable,
        &["invalid_limit", "invalid_before_id", "invalid_after_id", "invalid_query"],
    );
    let watch_doc = of_channel(
        "channel.watch",
        Method::GET,
        "/agent-channel/{id}/events/stream",
        "Follow a channel live (server-sent events)",
    )
    .tool("channels")
    .description(
        "From now on, or without a gap behind `Last-Event-ID` or `?after_id=`. `data` is an event, `id` its id. A \
         browser, which can't set headers, passes `?ticket=`.",
    )
    .parameters(&WATCHING)
    .reply_type("text/event-stream")
    .errors(Class::Unprocessable, &["invalid_after_id", "invalid_query"])
    .errors(Class::TooMany, &["too_many_streams"])
    .errors(Class::Unavailable, &["stopping"]);
    vec![Operation::new(list_doc, list), Operation::new(events_doc, events), Operation::new(watch_doc, watch)]
}

async fn list(State(surface): State<Surface>, asking: Asking, parameters: Parameters) -> Answer {
    let sent = parameters.read(&LISTING)?;
    let limit = sent.count("limit").unwrap_or(LIMIT_DEFAULT);
    let include_closed = sent.flag("include_closed").unwrap_or(true);
    Ok(Json(surface.channels.list(&asking, limit, include_closed).await?).into_response())
}

async fn events(
    State(surface): State<Surface>,
    asking: Asking,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Answer {
    let found = surface.find(&asking, &id).await?;
    let sent = parameters.read(&EVENTS)?;
    let wanted = Wanted {
        kind: sent.get("kind").filter(|kind| !kind.is_empty()),
        limit: sent.count("limit").unwrap_or(LIMIT_DEFAULT),
        before: sent.number("before_id"),
        after: sent.number("after_id"),
    };
    let page = surface.channels.page(&found.id, found.head, wanted).await?;
    let mut response = Json(page.events).into_response();
    if let Some(next) = page.next {
        let key = asking.caller().key.filter(|_| asking.principal.is_none());
        let link = link(&url(&asking.base_url, &found.id), wanted, next, key.as_ref());
        if let Ok(link) = HeaderValue::from_str(&link) {
            response.headers_mut().insert(header::LINK, link);
        }
    }
    Ok(response)
}

/// Where the next page is.
fn link(url: &str, wanted: Wanted<'_>, next: Next, key: Option<&LinkKey>) -> String {
    let mut link = format!("<{url}/events?limit={}", wanted.limit);
    if let Some(kind) = wanted.kind {
        let _ = write!(link, "&kind={}", utf8_percent_encode(kind, NON_ALPHANUMERIC));
    }
    match next {
        Next::After(id) => drop(write!(link, "&after_id={id}")),
        Next::Before(id) => {
            let _ = write!(link, "&before_id={id}");
            if let Some(after) = wanted.after {
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
    Watching(asking): Watching,
    Path(id): Path<String>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Answer {
    let found = surface.find(&asking, &id).await?;
    let resumed = request::header(&headers, "last-event-id").map(str::trim).filter(|id| !id.is_empty());
    let parameters = parameters.with("after_id", resumed);
    let sent = parameters.read(&WATCHING)?;
    let (after, kind) = (sent.number("after_id"), said(&sent, "kind"));
    let channel = found.id;
    // First the place among the watchers, then the look at the log: so nothing falls between them.
    let stream = ChannelRoom::stream(channel.as_str());
    let watchers = &surface.channels.0.watchers;
    let creator = found.state.creator().cloned();
    let watching = watchers.watch(
        &stream,
        Follower::new(asking.principal.as_ref()).trusting(creator),
        asking.watcher.clone(),
    );
    let watch = watching.map_err(|why| match why {
        CannotWatch::TooMany => refusals::too_many_streams(),
        CannotWatch::Stopping => refusals::stopping(),
    })?;
    let (_, head) = surface.channels.fresh(&channel).await?;
    let at = match after {
        Some(id) => Start { version: surface.channels.version_at(&stream, head, id).await?, id },
        None => {
            let before = Version(head.0.saturating_sub(1));
            let last = surface.channels.log().read_stream(&stream, before, 1).await?;
            last.first().map_or(Start { version: head, id: 0 }, |last| Start {
                version: last.version,
                id: last.position.0,
            })
        }
    };
    let (channels, caller) = (surface.channels.clone(), asking.caller());
    let size = PageSize::default();
    Ok(live(Live { channels, id: channel, stream, caller, kind, at, size }, watch))
}
