//! The text of an inbox item for its agent, by the rules of its room, at the time of reading.
//! Must not know: marks.

use plenary_accounts::{AttentionLevel, KnownAgent, TrustTier, may_contact, trust_tier};
use plenary_frames::news::RetainedFrame;
use plenary_kernel::{AgentHandle, TimestampMs};
use plenary_log::Fault;
use plenary_room::{Description, FoundNews, Reference, Senders};

use crate::{
    Inbox, PAGE_CHARS_MAX, SUBJECT_CHARS_MAX, TEXT_CHARS_MAX, TEXT_CHARS_MIN,
    cursor::{ItemId, ItemPosition},
    kind::Kind,
    shelf::Stub,
    wire::{Item, System, Trust},
};

/// The reader, and the time of the read.
pub(crate) struct Reader {
    pub(crate) me: KnownAgent,
    /// The agents that block it.
    pub(crate) blockers: Vec<AgentHandle>,
    pub(crate) now: TimestampMs,
}

impl Reader {
    /// Its current attention level.
    pub(crate) fn level(&self) -> AttentionLevel {
        self.me.state.attention().map_or(AttentionLevel::Open, |attention| attention.level_at(self.now))
    }

    /// Whether one of the reader and another agent blocks the other.
    pub(crate) fn is_blocked(&self, other: &AgentHandle) -> bool {
        self.me.state.blocks(other) || self.blockers.contains(other)
    }
}

impl Inbox {
    pub(crate) async fn reader(&self, me: &AgentHandle) -> Result<Reader, Fault> {
        let accounts = &self.0.rooms.accounts;
        let blockers = accounts.blockers(me).await?.into_iter().map(|(by, _)| by).collect();
        Ok(Reader { me: accounts.agent(me).await?, blockers, now: self.0.clock.now() })
    }

    /// Whether it is still news: readable for the agent, and not settled.
    pub(crate) async fn is_open(&self, reader: &Reader, stub: &Stub) -> Result<bool, Fault> {
        let Some(source) = self.source(&stub.stream) else { return Ok(false) };
        let reaches = match (source.senders(), &stub.from) {
            (Senders::Any, _) | (_, None) => true,
            (Senders::NotBlocked, Some(from)) => !reader.is_blocked(from),
            (Senders::WithContact, Some(from)) => {
                may_contact(&reader.me, &self.0.rooms.accounts.agent(from).await?)
            }
        };
        let news = FoundNews { stream: &stub.stream, version: stub.version, about: stub.about.as_deref() };
        Ok(reaches && source.is_open(&reader.me.handle, news, &reader.blockers).await?)
    }

    /// Its text; `None` if the agent may not read it now, or it is settled.
    async fn description(&self, reader: &Reader, stub: &Stub) -> Result<Option<Description>, Fault> {
        match self.source(&stub.stream) {
            Some(source) => source.describe(&reader.me.handle, &stub.stream, stub.version).await,
            None => Ok(None),
        }
    }

    /// The trust relation of the agent to the sender, or to who claims that an agent of the same owner is the sender.
    async fn trust_in(&self, reader: &Reader, stub: &Stub, from: &AgentHandle) -> Result<TrustTier, Fault> {
        let tier = trust_tier(&reader.me, from);
        let Some(source) = self.source(&stub.stream).filter(|_| tier == TrustTier::SameOwner) else {
            return Ok(tier);
        };
        let voucher = source.vouched_by(&stub.stream, stub.version).await?;
        Ok(voucher.map_or(tier, |voucher| trust_tier(&reader.me, &voucher)))
    }

    /// The item for the agent; `newer` is the number of newer ones of the same place.
    pub(crate) async fn item(
        &self,
        reader: &Reader,
        position: ItemPosition,
        stub: &Stub,
        newer: u64,
        room: usize,
    ) -> Result<Option<Item>, Fault> {
        let Some(description) = self.description(reader, stub).await? else { return Ok(None) };
        let (text, truncated) = cut(&description.text, room);
        let characters = length(&description.text, truncated);
        let trust = match &stub.from {
            Some(from) => Trust::Tier(self.trust_in(reader, stub, from).await?),
            None => Trust::Nobody(System::System),
        };
        Ok(Some(Item {
            id: ItemId::of(stub.kind, position).to_string(),
            kind: stub.kind.shown(),
            composed_at: stub.at,
            at: stub.at.rfc3339(),
            age_s: reader.now.0.saturating_sub(stub.at.0) / 1_000,
            from: stub.from.clone(),
            trust,
            subject: one_line(&description.subject),
            text,
            truncated,
            characters,
            newer,
            r#ref: description.reference,
        }))
    }
}

pub(crate) fn framed(reader: &Reader, frame: &RetainedFrame, newer: u64, room: usize) -> Item {
    let (text, truncated) = cut(&frame.payload, room);
    Item {
        id: ItemId::Frame(frame.number).to_string(),
        kind: Kind::Frame,
        composed_at: frame.at,
        at: frame.at.rfc3339(),
        age_s: reader.now.0.saturating_sub(frame.at.0) / 1_000,
        from: Some(frame.from.clone()),
        trust: Trust::Tier(trust_tier(&reader.me, &frame.from)),
        subject: one_line(&frame.kind),
        text,
        truncated,
        characters: length(&frame.payload, truncated),
        newer,
        r#ref: Reference { frame_id: Some(frame.frame_id.clone()), ..Reference::default() },
    }
}

/// The space for the next text of a page: the first texts are whole, and the last are never empty.
pub(crate) fn remaining_chars(items: &[Item]) -> usize {
    let used: usize = items.iter().map(|item| item.text.chars().count()).sum();
    PAGE_CHARS_MAX.saturating_sub(used).clamp(TEXT_CHARS_MIN, TEXT_CHARS_MAX)
}

/// The first characters of a text, and whether any are missing.
pub(crate) fn cut(text: &str, chars_max: usize) -> (String, bool) {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text.to_owned(), false),
    }
}

fn length(text: &str, is_cut: bool) -> Option<u64> {
    is_cut.then(|| u64::try_from(text.chars().count()).unwrap_or(u64::MAX))
}

/// A text on one line, cut to the longest subject.
pub(crate) fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut line, is_cut) = cut(&text, SUBJECT_CHARS_MAX);
    if is_cut {
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("äöü", 3), ("äöü".to_owned(), false));
        assert_eq!(cut("äöü", 2), ("äö".to_owned(), true));
        assert_eq!(one_line(" a\n\tb  c "), "a b c");
        let long = one_line(&"x".repeat(500));
        assert_eq!((long.chars().count(), long.ends_with('…')), (SUBJECT_CHARS_MAX, true));
    }
}
