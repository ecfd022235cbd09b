//! Mentions: events of channels whose payload contains an agent's handle, `@owner.name`.
//! Must not know: marks, or the presentation.

use std::collections::BTreeSet;

use plenary_accounts::Actor;
use plenary_engine::Room as _;
use plenary_kernel::{AgentHandle, Version};
use plenary_log::{Fault, Order, PageSize, StoredEvent, StreamName};
use serde_json::Value;

use crate::{
    Channels,
    event::ChannelEvent,
    id::ChannelId,
    room::{ChannelRoom, MENTIONED},
    wire::Event,
};

/// Maximum number of agents that one event can mention; further mentions are ignored.
pub const MENTIONS_MAX: usize = 32;

/// An event that mentions an agent.
#[derive(Debug, Clone)]
pub struct Mention {
    /// The stored event.
    pub stored: StoredEvent,
    /// The agent that appended it; `None` if that was the operator or the mentioned agent's owner.
    pub from: Option<AgentHandle>,
    /// The id of the channel.
    pub channel: ChannelId,
    /// The title of the channel.
    pub title: String,
    /// The id of the event.
    pub event_id: u64,
    /// The kind of the event.
    pub kind: String,
    /// The texts of the payload.
    pub text: String,
}

/// Whether this is the stream of a channel.
pub fn is_channel(stream: &StreamName) -> bool {
    stream.category() == ChannelRoom::CATEGORY
}

/// The agents that a payload mentions, in the order of their handles.
pub fn mentions(payload: &[u8]) -> BTreeSet<AgentHandle> {
    let mut named = BTreeSet::new();
    for (index, _) in payload.iter().enumerate().filter(|(_, byte)| **byte == b'@') {
        // `a@b.c` is an e-mail address.
        let stands_alone = index.checked_sub(1).is_none_or(|before| !is_part(payload[before]));
        if stands_alone && let Some(handle) = handle_at(&payload[index..]) {
            named.insert(handle);
            if named.len() == MENTIONS_MAX {
                break;
            }
        }
    }
    named
}

const fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The handle at the start of a text, without trailing punctuation.
fn handle_at(text: &[u8]) -> Option<AgentHandle> {
    let part = |from: usize| text[from..].iter().take_while(|byte| is_part(**byte)).count();
    let dot = 1 + part(1);
    if text.get(dot) != Some(&b'.') {
        return None;
    }
    let end = dot + 1 + part(dot + 1);
    let trimmed = text[..end].iter().rposition(|byte| byte.is_ascii_alphanumeric())? + 1;
    std::str::from_utf8(&text[..trimmed]).ok()?.parse().ok()
}

/// The agents that a committed event of a channel mentions.
pub fn mentioned(event: &StoredEvent) -> Result<BTreeSet<AgentHandle>, Fault> {
    Ok(match ChannelEvent::decode(event)? {
        ChannelEvent::EventAppended(event) => mentions(&event.payload),
        ChannelEvent::ChannelCreated(_)
        | ChannelEvent::ChannelClosed(_)
        | ChannelEvent::OwnerAdmitted(_)
        | ChannelEvent::KeyChanged(_) => BTreeSet::new(),
    })
}

impl Channels {
    /// The channels that have ever mentioned an agent.
    pub async fn naming(&self, me: &AgentHandle) -> Result<Vec<StreamName>, Fault> {
        let (prefix, mut channels) = (format!("{me}/"), Vec::new());
        let mut rows = self.log().index_rows(MENTIONED, &prefix, Order::Ascending);
        while let Some(row) = rows.next().await? {
            channels.push(ChannelRoom::stream(&row.key[prefix.len()..]));
        }
        Ok(channels)
    }

    /// The first `max` events after a version that mention an agent and are not its own, without their payloads; and the
    /// version up to which the stream was read.
    pub async fn mentions_after(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        after: Version,
        max: usize,
    ) -> Result<(Vec<(StoredEvent, Option<AgentHandle>)>, Version), Fault> {
        let (mut found, mut read, mut size) = (Vec::new(), after, PageSize::default());
        loop {
            let events = self.log().read_stream(stream, read, size.events()).await?;
            let is_last = events.len() < size.events();
            size.learn(&events);
            for event in events {
                read = event.version;
                if found.len() < max
                    && let Some(from) = self.named_by(me, &event)?
                {
                    let event = StoredEvent { payload: bytes::Bytes::new(), ..event };
                    found.push((event, from));
                }
            }
            if is_last {
                return Ok((found, read));
            }
        }
    }

    fn named_by(&self, me: &AgentHandle, event: &StoredEvent) -> Result<Option<Option<AgentHandle>>, Fault> {
        let ChannelEvent::EventAppended(appended) = ChannelEvent::decode(event)? else { return Ok(None) };
        if appended.via == Some(Actor::Agent(me.clone())) || !mentions(&appended.payload).contains(me) {
            return Ok(None);
        }
        Ok(match appended.via {
            Some(Actor::Agent(agent)) => Some(Some(agent)),
            Some(Actor::Operator | Actor::Seed) => Some(None),
            Some(Actor::Owner(owner)) if owner.as_str() == me.owner() => Some(None),
            // There is no agent whose trust could be checked.
            Some(Actor::Owner(_)) | None => None,
        })
    }

    /// The content of an event that mentions the agent.
    pub async fn mention(
        &self,
        me: &AgentHandle,
        stream: &StreamName,
        version: Version,
    ) -> Result<Option<Mention>, Fault> {
        let Ok(channel) = stream.id().parse::<ChannelId>() else { return Ok(None) };
        let before = Version(version.0.saturating_sub(1));
        let Some(stored) = self.log().read_stream(stream, before, 1).await?.pop() else { return Ok(None) };
        let Some(from) = self.named_by(me, &stored)? else { return Ok(None) };
        let Some(event) = Event::of(&channel, &stored)? else { return Ok(None) };
        let (state, _) = self.fresh(&channel).await?;
        let title = state.created.as_ref().map(|created| created.title.clone()).unwrap_or_default();
        let payload = serde_json::from_str(event.payload.get()).unwrap_or_default();
        let text = texts(&payload);
        Ok(Some(Mention { stored, from, channel, title, event_id: event.id, kind: event.kind, text }))
    }
}

/// A payload as text: the value of its only member, or a line for each member.
fn texts(payload: &Value) -> String {
    let Value::Object(members) = payload else { return payload.to_string() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match members.values().next() {
        Some(only) if members.len() == 1 => text(only),
        _ => members
            .iter()
            .map(|(name, value)| format!("{name}: {}", text(value)))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_a_mention_wherever_it_stands_alone() {
        for (payload, named) in [
            (r#"{"text":"@nick.cc please look"}"#, vec!["@nick.cc"]),
            (r#"{"to":["@nick.cc","@bob.a-b_c"]}"#, vec!["@bob.a-b_c", "@nick.cc"]),
            (r#"{"text":"ask @nick.cc, or (@nick.cc)."}"#, vec!["@nick.cc"]),
            (r#"{"text":"thanks @nick.cc."}"#, vec!["@nick.cc"]),
            (r#"{"text":"thanks @nick.cc-"}"#, vec!["@nick.cc"]),
            (r#"{"text":"mail nick@example.com, @nick, @nick. and @.cc"}"#, vec![]),
            (r#"{"text":"@Nick.CC"}"#, vec![]),
        ] {
            let found: Vec<String> = mentions(payload.as_bytes()).iter().map(ToString::to_string).collect();
            assert_eq!(found, named, "{payload}");
        }
    }

    #[test]
    fn past_the_limit_nobody_is_named() {
        let many: String = (0..=MENTIONS_MAX).map(|n| format!("@a.b{n} ")).collect();
        assert_eq!(mentions(many.as_bytes()).len(), MENTIONS_MAX);
    }

    #[test]
    fn a_payload_is_told_as_text() {
        assert_eq!(texts(&serde_json::json!({"text": "hi"})), "hi");
        assert_eq!(texts(&serde_json::json!({"a": 1, "b": "x"})), "a: 1\nb: x");
    }
}
