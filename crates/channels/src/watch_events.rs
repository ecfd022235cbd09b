//! The channel events that `/watch` reports. An owner and its agents see those of channels that the owner created, appended to
//! or was admitted to.
//! Must not know: how they are sent.

use plenary_accounts::Actor;
use plenary_engine::Room as _;
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{Onlooker, OnlookerEvent, Teller, async_trait, excerpt};
use plenary_telemetry::TraceParent;
use serde_json::json;

use crate::{Channels, event::ChannelEvent, room::ChannelRoom, state::owner_of};

#[async_trait]
impl Teller for Channels {
    fn room(&self) -> &'static str {
        "channels"
    }

    fn tells_of(&self, stream: &StreamName) -> bool {
        stream.category() == ChannelRoom::CATEGORY
    }

    async fn tell(&self, event: &StoredEvent) -> Result<Option<OnlookerEvent>, Fault> {
        let (state, _) = self.0.streams.observed(event.stream.id()).await?;
        let title = state.created.as_ref().map(|created| excerpt(&created.title)).unwrap_or_default();
        let (id, channel_id) = (event.position.0, event.stream.id());
        let mut trace = None;
        let (kind, via, data) = match ChannelEvent::decode(event)? {
            ChannelEvent::ChannelCreated(created) => {
                ("channel.created", created.via, json!({"channel_id": channel_id, "title": title}))
            }
            ChannelEvent::EventAppended(appended) => {
                trace = appended.trace.as_deref().and_then(TraceParent::trace_of);
                let text = excerpt(std::str::from_utf8(&appended.payload).unwrap_or_default());
                let (kind, author) = (excerpt(&appended.kind), excerpt(&appended.author));
                let data = json!({"channel_id": channel_id, "title": title, "event_id": id, "event_kind": kind,
                                      "author": author, "text": text});
                ("channel.event", appended.via, data)
            }
            ChannelEvent::ChannelClosed(closed) => {
                ("channel.closed", closed.via, json!({"channel_id": channel_id, "title": title}))
            }
            ChannelEvent::OwnerAdmitted(_) | ChannelEvent::KeyChanged(_) => return Ok(None),
        };
        let agents = via.iter().filter_map(Actor::agent).cloned().collect();
        let audience = move |onlooker: &Onlooker| {
            let created = state.created.as_ref().and_then(|created| owner_of(created.via.as_ref()));
            let takes_part = |owner| state.owners.contains(owner) || state.admitted.contains(owner);
            created.is_some_and(|owner| onlooker.is_of(&owner)) || onlooker.owner().is_some_and(takes_part)
        };
        Ok(Some(OnlookerEvent::new(kind, channel_id, agents, data, audience).traced(trace)))
    }
}
