//! What a piece of news says to its agent, by the rules of the room that it stands in, at the time of reading.
//! Must not know: what has been seen.

use plenary_accounts::{INBOX, Known, contact_asked, trust_tier};
use plenary_kernel::{AgentHandle, TimestampMs, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_sessions::{event::sequence, news::session_of};

use crate::{
    Inbox, SUBJECT_CHARS_MAX, TEXT_CHARS_MAX,
    cursor::Place,
    shelf::Stub,
    wire::{Item, Reference, System, Trust},
};

/// What a room says of a piece of news.
pub(crate) struct Told {
    pub(crate) subject: String,
    pub(crate) text: String,
    pub(crate) reference: Reference,
}

/// Who reads, and when.
pub(crate) struct Reader {
    pub(crate) me: Known,
    /// Who blocks it.
    pub(crate) blockers: Vec<AgentHandle>,
    pub(crate) now: TimestampMs,
}

impl Inbox {
    pub(crate) async fn reader(&self, me: &AgentHandle) -> Result<Reader, Fault> {
        let accounts = &self.0.rooms.accounts;
        let blockers = accounts.blockers(me).await?.into_iter().map(|(by, _)| by).collect();
        Ok(Reader { me: accounts.agent(me).await?, blockers, now: self.0.clock.now() })
    }

    /// Whether it is still news: readable for the agent, and not settled.
    pub(crate) async fn is_open(&self, reader: &Reader, stub: &Stub) -> Result<bool, Fault> {
        if let Some(id) = session_of(&stub.stream) {
            return self.0.rooms.sessions.is_open_to(&reader.me.handle, &id, &reader.blockers).await;
        }
        if stub.stream.category() == INBOX {
            let Some(event) = self.event(stub).await? else { return Ok(false) };
            return match contact_asked(&event)? {
                Some(asked) => self.0.rooms.accounts.awaits_answer(&asked.request).await,
                None => Ok(false),
            };
        }
        Ok(false)
    }

    /// What it says; `None` when the agent may not read it now.
    async fn told(&self, reader: &Reader, stub: &Stub) -> Result<Option<Told>, Fault> {
        if let Some(session) = session_of(&stub.stream) {
            let said = self.0.rooms.sessions.said(&reader.me.handle, &session, stub.version).await?;
            return Ok(said.map(|said| Told {
                subject: said.topic.unwrap_or_default(),
                text: said.text,
                reference: Reference {
                    session_id: Some(session),
                    sequence: Some(sequence(stub.version)),
                    ..Reference::default()
                },
            }));
        }
        if stub.stream.category() == INBOX {
            let Some(event) = self.event(stub).await? else { return Ok(None) };
            return Ok(contact_asked(&event)?.map(|asked| Told {
                subject: format!("{} asks for contact", asked.from),
                text: asked.message.unwrap_or_default(),
                reference: Reference { request_id: Some(asked.request), ..Reference::default() },
            }));
        }
        Ok(None)
    }

    /// The item as the agent gets it; `newer` of the same place follow it.
    pub(crate) async fn item(
        &self,
        reader: &Reader,
        place: Place,
        stub: &Stub,
        newer: u64,
    ) -> Result<Option<Item>, Fault> {
        let Some(told) = self.told(reader, stub).await? else { return Ok(None) };
        let (text, truncated) = cut(&told.text, TEXT_CHARS_MAX);
        let trust = stub.from.as_ref().map(|from| Trust::Tier(trust_tier(&reader.me, from)));
        Ok(Some(Item {
            id: format!("{}.{:x}", place.0, place.1),
            kind: stub.kind,
            at: stub.at.rfc3339(),
            age_s: reader.now.0.saturating_sub(stub.at.0) / 1_000,
            from: stub.from.clone(),
            trust: trust.unwrap_or(Trust::Nobody(System::System)),
            subject: one_line(&told.subject),
            text,
            truncated,
            newer,
            r#ref: told.reference,
        }))
    }

    async fn event(&self, stub: &Stub) -> Result<Option<StoredEvent>, Fault> {
        Ok(self.0.log.read_stream(&stub.stream, Version(stub.version.0 - 1), 1).await?.pop())
    }
}

/// The first characters of a text, and whether any are missing.
pub(crate) fn cut(text: &str, chars_max: usize) -> (String, bool) {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text.to_owned(), false),
    }
}

/// A text on one line, as long as a subject may be.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut line, is_cut) = cut(&words, SUBJECT_CHARS_MAX);
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
