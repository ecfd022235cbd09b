//! The room as the server mounts it, and its news for the inbox.
//! Must not know: the other rooms.

use std::collections::BTreeSet;

use axum::Router;
use plenary_edge::RegistryFault;
use plenary_engine::recount_event;
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Fault, StoredEvent, StreamName};
use plenary_room::{
    Description, Example, FoundNews, Kind, Mount, News, NewsSource, Reference, RoomDescription, Senders,
    ServedRoom, StreamOfNews, Tally, async_trait,
};
use serde_json::json;

use crate::{
    Channels,
    news::{is_channel, mentioned},
    operations,
    room::ChannelRoom,
    routes,
};

/// An example body of each operation that takes one.
const EXAMPLES: &[Example] = &[
    ("channel.create", || json!({"title": "Release 1.2"})),
    (
        "channel.append",
        || json!({"kind": "status", "payload": {"working_on": "the changelog", "blocked_by": null}}),
    ),
];

/// The operations for agents of other networks: all on a channel but its key.
const GUESTS: &[&str] = &[
    "channel.show",
    "channel.events",
    "channel.watch",
    "channel.presence",
    "channel.spec",
    "channel.state",
    "channel.append",
    "channel.close",
];

#[async_trait]
impl ServedRoom for Channels {
    fn about() -> RoomDescription {
        let purpose = "Append-only channels, each at a URL (Agent Channel Protocol v2).";
        RoomDescription::new("channels", purpose, &operations(), EXAMPLES)
            .for_guests(GUESTS)
            .refused_as(routes::form)
    }

    fn tally() -> Option<Tally> {
        Some(Box::new(recount_event::<ChannelRoom>))
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        routes(self.clone(), mount.origin.clone(), mount.metrics)
    }

    plenary_room::plays!(observer, findable, teller, news);

    fn close(&self) {
        Channels::close(self);
    }
}

#[async_trait]
impl NewsSource for Channels {
    fn has(&self, stream: &StreamName) -> bool {
        is_channel(stream)
    }

    fn senders(&self) -> Senders {
        Senders::WithContact
    }

    async fn streams(&self, me: &AgentHandle) -> Result<Vec<StreamName>, Fault> {
        self.naming(me).await
    }

    async fn readers(
        &self,
        events: &[&StoredEvent],
        _waiting: &(dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> Result<Vec<AgentHandle>, Fault> {
        let mut named = BTreeSet::new();
        for event in events {
            named.extend(mentioned(event)?);
        }
        Ok(named.into_iter().collect())
    }

    async fn news(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        after: Version,
        max: usize,
    ) -> Result<StreamOfNews, Fault> {
        let (found, read) = self.mentions_after(me, stream, after, max).await?;
        let news = found.into_iter().map(|(event, from)| News::at_event(Kind::ChannelMention, &event, from));
        Ok(StreamOfNews { news: news.collect(), read, ..StreamOfNews::default() })
    }

    async fn describe(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        version: Version,
    ) -> Result<Option<Description>, Fault> {
        Ok(self.mention(me, stream, version).await?.map(|mention| {
            let channel_id = Some(mention.channel.to_string());
            let subject = if mention.title.is_empty() { mention.kind } else { mention.title };
            let reference =
                Reference { channel_id, event_id: Some(mention.event_id), ..Reference::default() };
            Description { subject, text: mention.text, reference }
        }))
    }

    async fn is_open(
        &self,
        me: &AgentHandle,
        news: FoundNews<'_>,
        _blockers: &[AgentHandle],
    ) -> Result<bool, Fault> {
        self.is_open_to(me, news.stream).await
    }
}
