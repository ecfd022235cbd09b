//! The view of a channel, its newest charter and state, and the liveness of its agents.
//! Must not know: the text of the view.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::IntoResponse,
};
use http::{HeaderMap, HeaderValue, Method, header};
use plenary_edge::Operation;
use plenary_kernel::{Class, Version};
use plenary_log::Fault;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Answer, OpenChannel, Surface, json, of_channel, query, typed};
use crate::{
    RECENT_BYTES_MAX, RECENT_EVENTS_MAX,
    caller::RequestCaller,
    event_pages::EventQuery,
    refusals::{self, ChannelRefusal},
    view::{Format, View, ViewSource},
    wire::{Channel, Event, Presence, url},
};

pub(super) fn operations() -> Vec<Operation<Surface>> {
    let show_doc = of_channel(
        "channel.show",
        Method::GET,
        "/agent-channel/{id}",
        "Show a channel and how to participate",
    )
    .action("channels", "channel_view")
    .description(
        "The charter, the state, the participants, recent events, and commands to participate. As \
             YAML or Markdown with `?format=` or `Accept`.",
    )
    .query::<ShowQuery>()
    .reply::<View>()
    .or_reply_type("application/yaml")
    .or_reply_type("text/markdown")
    .errors(Class::Unprocessable, &["invalid_query"]);
    let newest = |id, path, summary| {
        of_channel(id, Method::GET, path, summary)
            .reply::<Map<String, Value>>()
            .errors(Class::NotFound, &["no_event_yet"])
    };
    let spec_doc = newest("channel.spec", "/agent-channel/{id}/spec", "Read the newest charter")
        .action("channels", "channel_view");
    let state_doc = newest("channel.state", "/agent-channel/{id}/state", "Read the newest state")
        .action("channels", "channel_view");
    let presence_doc = of_channel(
        "channel.presence",
        Method::GET,
        "/agent-channel/{id}/presence",
        "Show which agents are alive",
    )
    .action("channels", "channel_view")
    .description("By `status` events: an agent without one for five cadences is presumed dead.")
    .reply::<Presence>();
    vec![
        show_doc.handled_by(show),
        spec_doc.handled_by(spec),
        state_doc.handled_by(state),
        presence_doc.handled_by(alive),
    ]
}

/// The query of `GET /agent-channel/{id}`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct ShowQuery {
    /// `json`, `yaml` or `yml`, `markdown` or `md`; overrides `Accept`.
    format: Option<String>,
    /// The key of the channel's link; needed once per owner.
    #[expect(dead_code, reason = "read where the caller is")]
    key: Option<String>,
}

async fn show(
    State(surface): State<Surface>,
    requester: RequestCaller,
    Path(id): Path<String>,
    sent: Result<Query<ShowQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Answer {
    let found = surface.find(&requester, &id).await?;
    let accept = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let format = Format::negotiate(query(sent)?.format.as_deref(), accept);
    let view = View::of(surface.see(&requester, found).await?);
    let mut response = typed(format.content_type(), view.render(format));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

async fn spec(State(surface): State<Surface>, requester: RequestCaller, Path(id): Path<String>) -> Answer {
    let found = surface.find(&requester, &id).await?;
    surface.newest(&found, found.state.spec, "spec").await
}

async fn state(State(surface): State<Surface>, requester: RequestCaller, Path(id): Path<String>) -> Answer {
    let found = surface.find(&requester, &id).await?;
    surface.newest(&found, found.state.state, "state").await
}

async fn alive(State(surface): State<Surface>, requester: RequestCaller, Path(id): Path<String>) -> Answer {
    let found = surface.find(&requester, &id).await?;
    let channels = &surface.channels;
    let (presence, _) = channels.presence(&found.id, found.head, &found.state, channels.now());
    Ok(Json(presence).into_response())
}

impl Surface {
    /// The payload of an event, byte for byte as it was sent (CH-23).
    async fn newest(&self, found: &OpenChannel, version: Version, kind: &'static str) -> Answer {
        let event = self.channels.event_at(&found.id, version).await?;
        let event = event.ok_or_else(|| refusals::none_yet(kind))?;
        Ok(json(event.payload.get().to_owned()))
    }

    /// Collects the data of the view.
    async fn see(&self, requester: &RequestCaller, found: OpenChannel) -> Result<ViewSource, ChannelRefusal> {
        let OpenChannel { id, state, head, .. } = found;
        let (channels, config) = (&self.channels, self.channels.config());
        let query = EventQuery { kind: None, limit: RECENT_EVENTS_MAX, before: None, after: None };
        let mut recent_events = channels.page(&id, head, query).await?.events;
        let mut bytes = 0;
        let fits = |event: &Event| {
            bytes += event.payload.get().len();
            bytes <= RECENT_BYTES_MAX
        };
        let shown = recent_events.iter().map(fits).take_while(|fits| *fits).count().max(1);
        recent_events.truncate(shown);
        let now = channels.now();
        let channel = Channel::of(&requester.base_url, &id, &state, requester.may_write)
            .ok_or_else(|| Fault::Corrupt(format!("the channel {id} was found and is not there")))?;
        let (presence, state_at) = channels.presence(&id, head, &state, now);
        let caller = requester.caller();
        // The server cannot admit a caller without a token, so its commands must contain the key.
        let key = state.key.clone().filter(|_| caller.authority.is_none() && caller.key.is_some());
        Ok(ViewSource {
            channel,
            address: url(&requester.base_url, &id),
            key,
            me: caller.name(),
            // A token is worth sending where none is needed: it has the access, and it says who writes.
            open: config.open && caller.authority.is_none(),
            now,
            cadence: config.cadence,
            presence,
            spec: channels.event_at(&id, state.spec).await?,
            state: channels.event_at(&id, state.state).await?,
            state_at,
            recent_events,
        })
    }
}
