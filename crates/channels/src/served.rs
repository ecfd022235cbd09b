//! The room as the server mounts it, and its news for the inbox.
//! Must not know: the other rooms.

use std::{collections::BTreeSet, sync::Arc};

use axum::Router;
use futures_util::future::{BoxFuture, ready};
use plenary_edge::RegistryFault;
use plenary_engine::recount;
use plenary_hub::Observer;
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Charge, Fault, StoredEvent, StreamName};
use plenary_room::{
    Description, Example, Findable, Kind, Mount, News, NewsSource, Reference, RoomDescription, Senders,
    ServedRoom, StreamOfNews, Teller,
};
use serde_json::json;

use crate::{
    Channels,
    news::{is_channel, mentioned},
    operations,
    room::ChannelRoom,
    routes,
    state::ChannelState,
};

/// An example body of each operation that takes one.
const EXAMPLES: &[Example] = &[
    ("channel.create", || json!({"title": "Release 1.2"})),
    (
        "channel.append",
        || json!({"kind": "status", "payload": {"working_on": "the changelog", "blocked_by": null}}),
    ),
];

impl Channels {
    /// The owner whose quota a stored event counts against, and its size.
    ///
    /// # Errors
    /// The event cannot be read.
    pub fn recount(event: &StoredEvent) -> Result<Option<Charge>, Fault> {
        recount::<ChannelRoom>(&ChannelState::default(), event)
    }
}

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

impl ServedRoom for Channels {
    fn about() -> RoomDescription {
        let purpose = "Append-only channels, each at a URL (Agent Channel Protocol v2).";
        RoomDescription::new("channels", purpose, &operations(), EXAMPLES)
            .for_guests(GUESTS)
            .refused_as(routes::form)
    }

    fn routes(&self, mount: Mount<'_>) -> Result<Router, RegistryFault> {
        routes(self.clone(), mount.origin.clone(), mount.metrics)
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(self.clone()))
    }

    fn findable(&self) -> Option<Arc<dyn Findable>> {
        Some(Arc::new(self.clone()))
    }

    fn teller(&self) -> Option<Arc<dyn Teller>> {
        Some(Arc::new(self.clone()))
    }

    fn news(&self) -> Option<Arc<dyn NewsSource>> {
        Some(Arc::new(self.clone()))
    }

    fn recount<'a>(&'a self, event: &'a StoredEvent) -> BoxFuture<'a, Result<Option<Charge>, Fault>> {
        Box::pin(ready(Self::recount(event)))
    }

    fn close(&self) {
        Channels::close(self);
    }
}

impl NewsSource for Channels {
    fn has(&self, stream: &StreamName) -> bool {
        is_channel(stream)
    }

    fn senders(&self) -> Senders {
        Senders::WithContact
    }

    fn streams<'a>(&'a self, me: &'a AgentHandle) -> BoxFuture<'a, Result<Vec<StreamName>, Fault>> {
        Box::pin(self.naming(me))
    }

    fn readers<'a>(
        &'a self,
        events: &'a [&'a StoredEvent],
        _waiting: &'a (dyn Fn() -> Vec<AgentHandle> + Sync),
    ) -> BoxFuture<'a, Result<Vec<AgentHandle>, Fault>> {
        Box::pin(async move {
            let mut named = BTreeSet::new();
            for event in events {
                named.extend(mentioned(event)?);
            }
            Ok(named.into_iter().collect())
        })
    }

    fn news<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        after: Version,
        max: usize,
    ) -> BoxFuture<'a, Result<StreamOfNews, Fault>> {
        Box::pin(async move {
            let (found, read) = self.mentions_after(me, stream, after, max).await?;
            let news =
                found.into_iter().map(|(event, from)| News::at_event(Kind::ChannelMention, &event, from));
            Ok(StreamOfNews { news: news.collect(), read, ..StreamOfNews::default() })
        })
    }

    fn describe<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        version: Version,
    ) -> BoxFuture<'a, Result<Option<Description>, Fault>> {
        Box::pin(async move {
            Ok(self.mention(me, stream, version).await?.map(|mention| {
                let channel_id = Some(mention.channel.to_string());
                let subject = if mention.title.is_empty() { mention.kind } else { mention.title };
                let reference =
                    Reference { channel_id, event_id: Some(mention.event_id), ..Reference::default() };
                Description { subject, text: mention.text, reference }
            }))
        })
    }

    fn is_open<'a>(
        &'a self,
        me: &'a AgentHandle,
        stream: &'a StreamName,
        _version: Version,
        _blockers: &'a [AgentHandle],
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        Box::pin(self.is_open_to(me, stream))
    }
}
