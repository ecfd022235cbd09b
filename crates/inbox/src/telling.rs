//! What a piece of news says to its agent, by the rules of the room that it stands in, at the time of reading.
//! Must not know: what has been seen.

use plenary_accounts::{Known, contact_asked, may_contact, trust_tier};
use plenary_channels::news::Mention;
use plenary_context::news::ReviewAsked;
use plenary_frames::news::Retained;
use plenary_kernel::{AgentHandle, TimestampMs, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_runs::news::Waiting;
use plenary_sessions::event::sequence;

use crate::{
    Inbox, SUBJECT_CHARS_MAX, TEXT_CHARS_MAX,
    cursor::Place,
    gathering::Source,
    kind::Kind,
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

impl Reader {
    /// Whether the reader and another agent are across a block now.
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
        let rooms = &self.0.rooms;
        match Source::of(&stub.stream) {
            Some(Source::Session(id)) => {
                rooms.sessions.is_open_to(&reader.me.handle, &id, &reader.blockers).await
            }
            Some(Source::Contacts) => {
                let asked = self.event(stub).await?.as_ref().map(contact_asked).transpose()?.flatten();
                match asked {
                    Some(asked) => rooms.accounts.awaits_answer(&asked.request).await,
                    None => Ok(false),
                }
            }
            // Who may not reach the agent does not reach it by a channel either.
            Some(Source::Channel) => {
                let reaches = match &stub.from {
                    Some(from) => may_contact(&reader.me, &rooms.accounts.agent(from).await?),
                    None => true,
                };
                Ok(reaches && rooms.channels.is_open_to(&reader.me.handle, &stub.stream).await?)
            }
            Some(Source::Package | Source::Thread) => {
                let is_hidden = stub.from.as_ref().is_some_and(|from| reader.is_blocked(from));
                Ok(!is_hidden && self.told(reader, stub).await?.is_some())
            }
            None => Ok(false),
        }
    }

    /// What it says; `None` when the agent may not read it now, or it is settled.
    async fn told(&self, reader: &Reader, stub: &Stub) -> Result<Option<Told>, Fault> {
        let (rooms, me, at) = (&self.0.rooms, &reader.me.handle, stub.version);
        Ok(match Source::of(&stub.stream) {
            Some(Source::Session(session)) => {
                let said = rooms.sessions.said(me, &session, at).await?;
                said.map(|said| Told {
                    subject: said.topic.unwrap_or_default(),
                    text: said.text,
                    reference: Reference {
                        session_id: Some(session),
                        sequence: Some(sequence(at)),
                        ..Reference::default()
                    },
                })
            }
            Some(Source::Contacts) => {
                let asked = self.event(stub).await?.as_ref().map(contact_asked).transpose()?.flatten();
                asked.map(|asked| Told {
                    subject: format!("{} asks for contact", asked.from),
                    text: asked.message.unwrap_or_default(),
                    reference: Reference { request_id: Some(asked.request), ..Reference::default() },
                })
            }
            Some(Source::Channel) => rooms.channels.mention(me, &stub.stream, at).await?.map(mentioned),
            Some(Source::Package) => {
                let asked = rooms.context.review_asked(me, &stub.stream).await?;
                asked.filter(|asked| asked.event.version == at).map(reviewed)
            }
            Some(Source::Thread) => rooms.runs.waiting(me, &stub.stream, at).await?.map(waited),
            None => None,
        })
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
            kind: stub.kind.shown(),
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

/// A frame as the agent gets it.
pub(crate) fn framed(reader: &Reader, frame: &Retained, newer: u64) -> Item {
    let (text, truncated) = cut(&frame.payload, TEXT_CHARS_MAX);
    Item {
        id: format!("f{}", frame.number),
        kind: Kind::Frame,
        at: frame.at.rfc3339(),
        age_s: reader.now.0.saturating_sub(frame.at.0) / 1_000,
        from: Some(frame.from.clone()),
        trust: Trust::Tier(trust_tier(&reader.me, &frame.from)),
        subject: one_line(&frame.kind),
        text,
        truncated,
        newer,
        r#ref: Reference { frame_id: Some(frame.frame_id.clone()), ..Reference::default() },
    }
}

fn mentioned(mention: Mention) -> Told {
    let channel_id = Some(mention.channel.to_string());
    let subject = if mention.title.is_empty() { mention.kind } else { mention.title };
    let reference = Reference { channel_id, event_id: Some(mention.event_id), ..Reference::default() };
    Told { subject, text: mention.text, reference }
}

fn reviewed(asked: ReviewAsked) -> Told {
    let (project_id, package_id) = (Some(asked.project_id), Some(asked.package_id));
    let reference = Reference { project_id, package_id, ..Reference::default() };
    Told { subject: asked.title, text: asked.text, reference }
}

fn waited(waiting: Waiting) -> Told {
    let reference = Reference {
        agent: Some(waiting.agent),
        run_id: Some(waiting.run.to_string()),
        thread_id: Some(waiting.thread.to_string()),
        ..Reference::default()
    };
    Told { subject: waiting.title.unwrap_or_default(), text: waiting.text, reference }
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
