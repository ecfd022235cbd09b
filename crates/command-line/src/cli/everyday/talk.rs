//! Messages to others: in the session with exactly them, or in a new one.
//! Must not know: command lines, or the output.

use plenary_client::{
    Client, Error, Event, EventBody, IdempotencyKey,
    sessions::{
        Content, CreateSession, EventsQuery, InitialMessage, Message, Part, ParticipantStatus, ReopenSession,
        SendMessage, Session, SessionState, SessionsQuery,
    },
};
use plenary_kernel::{AgentHandle, SessionId, first_message_key, inbox::CODING_SESSION_TOPIC, text};
use serde_json::{Map, Value};

use super::{Recipient, suggestions};
use crate::{
    cli::{context::Context, failure::Failure},
    out::clean,
};

/// The page size of the session search, and the maximum number of pages; beyond them a new session is created.
const PAGE: u32 = 100;
const PAGES_MAX: usize = 5;
/// Maximum length of a topic that is created from a message, in characters.
const OPENING_CHARS_MAX: usize = 80;

/// A message to send.
#[derive(Debug, Clone)]
pub(super) struct MessageArgs {
    content: Content,
    metadata: Option<Map<String, Value>>,
    topic: Option<String>,
}

impl MessageArgs {
    pub(super) fn new(
        (content, metadata): (Content, Option<Map<String, Value>>),
        topic: Option<String>,
    ) -> Self {
        Self { content, metadata, topic }
    }

    /// Marks the message as urgent if `is_urgent`.
    pub(super) fn urgent(mut self, is_urgent: bool) -> Self {
        if is_urgent {
            self.metadata.get_or_insert_default().insert("urgency".to_owned(), "urgent".into());
        }
        self
    }
}

/// A message that was sent.
#[derive(Debug)]
pub(super) struct SentMessage {
    /// The sender.
    pub(super) from: AgentHandle,
    pub(super) session: SessionId,
    pub(super) sequence: u64,
    pub(super) to: Vec<AgentHandle>,
}

pub(super) async fn send(
    context: &Context,
    client: &Client,
    to: &Recipient,
    draft: MessageArgs,
) -> Result<SentMessage, Failure> {
    let me = client.me().await?.value.handle;
    let to = match to {
        Recipient::Session(id) => {
            let session = client.session(id).await?.value;
            return send_to_session(client, &me, &session, draft).await;
        }
        Recipient::Coding(agent, name) => return send_to_coding(client, &me, agent, name, draft).await,
        Recipient::Agents(to) => to,
    };
    if to.contains(&me) {
        return Err(Failure::usage(
            format!("you speak as {me}"),
            "name others; or speak as another with --as: `--as @OWNER` is the person",
        ));
    }
    let topic = draft.topic.as_deref();
    let shared = shared(client, &me, to, topic).await?;
    if let Some(session) = shared.session {
        return send_to_session(client, &me, &session, draft).await;
    }
    let mut body = CreateSession {
        invite: to.clone(),
        topic: draft.topic.clone().or_else(|| opening(&draft.content)),
        initial_message: Some(InitialMessage {
            content: draft.content.clone(),
            metadata: draft.metadata.clone(),
        }),
        idempotency_key: Some(key(to, topic, shared.earlier.as_ref())),
        attempt: Some(IdempotencyKey::random()),
        ..CreateSession::default()
    };
    let mut created = client.create_session(&body).await;
    if is_reused(&created) {
        // A parallel call has created the session.
        if let Some(session) = self::shared(client, &me, to, topic).await?.session {
            return send_to_session(client, &me, &session, draft).await;
        }
        body.idempotency_key = Some(IdempotencyKey::random());
        created = client.create_session(&body).await;
    }
    match created {
        Ok(created) => {
            let sequence = created.value.sequence.unwrap_or(1);
            Ok(SentMessage { from: me, session: created.value.session_id, sequence, to: to.clone() })
        }
        Err(Error::Refused(refused)) if refused.code == "not_found" => {
            Err(suggestions::unreached(context, client, Error::Refused(refused), to).await)
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether another call used the key.
fn is_reused<T>(created: &Result<T, Error>) -> bool {
    matches!(created, Err(Error::Refused(refused)) if refused.code == "idempotency_key_reused")
}

/// Sends to one session of an agent's coding agents, in a network session that is reserved for it.
async fn send_to_coding(
    client: &Client,
    me: &AgentHandle,
    agent: &AgentHandle,
    name: &str,
    draft: MessageArgs,
) -> Result<SentMessage, Failure> {
    let page = client.who(Some(agent.as_str()), Some(agent.owner()), None, None).await?.value;
    let target = page.agents.iter().find(|listed| listed.handle == *agent);
    let live_sessions = target.map(|listed| listed.sessions.as_slice()).unwrap_or_default();
    let exact = live_sessions.iter().find(|coding| coding.session == name);
    let matching = live_sessions.iter().filter(|coding| coding.session.starts_with(name));
    let matching = exact.map_or_else(|| matching.collect::<Vec<_>>(), |exact| vec![exact]);
    let coding = match matching.as_slice() {
        [only] => only.session.clone(),
        several => {
            let what = match several.len() {
                0 => format!("{agent} has no live session that begins with `{}`", clean(name)),
                many => format!("{many} live sessions of {agent} begin with `{}`", clean(name)),
            };
            return Err(Failure::usage(
                what,
                format!("`plenary who {agent}` lists them; `{agent}` alone means any of them"),
            ));
        }
    };
    let topic = format!("{CODING_SESSION_TOPIC}{coding}");
    let to = std::slice::from_ref(agent);
    let shared = shared(client, me, to, Some(&topic)).await?;
    let session = match shared.session {
        Some(session) => session,
        None => {
            // A parallel call gets the same session.
            let idempotency_key = Some(key(to, Some(&topic), shared.earlier.as_ref()));
            let body = CreateSession {
                invite: to.to_vec(),
                topic: Some(topic),
                idempotency_key,
                ..CreateSession::default()
            };
            let created = client.create_session(&body).await?;
            client.session(&created.value.session_id).await?.value
        }
    };
    // Before the first message, so that no other coding session shows it.
    client.address_session(agent, &coding, &session.id).await?;
    send_to_session(client, me, &session, draft).await
}

/// Whether the caller is invited and has not joined.
fn is_invited(session: &Session, me: &AgentHandle) -> bool {
    session.participants.iter().any(|p| p.handle == *me && p.status == ParticipantStatus::Invited)
}

/// Sends to a session; joins it first if the caller is only invited.
async fn send_to_session(
    client: &Client,
    me: &AgentHandle,
    session: &Session,
    draft: MessageArgs,
) -> Result<SentMessage, Failure> {
    if session.state == SessionState::Active && is_invited(session, me) {
        client.join_session(&session.id).await?;
    }
    let idempotency_key = Some(IdempotencyKey::random());
    let message = SendMessage { content: draft.content, metadata: draft.metadata, idempotency_key };
    let sent = client.send(&session.id, &message).await?;
    let to = others(session, me);
    Ok(SentMessage { from: me.clone(), session: session.id.clone(), sequence: sent.value.sequence, to })
}

/// Answers the message of a session that ended with its invitation: reopens the session with the answer.
pub(super) async fn reopen(
    client: &Client,
    session: &SessionId,
    invitation: u64,
    draft: MessageArgs,
) -> Result<SentMessage, Failure> {
    let me = client.me().await?.value.handle;
    let initial_message = Some(InitialMessage { content: draft.content, metadata: draft.metadata });
    client.reopen_session(session, &ReopenSession { invite: None, initial_message }).await?;
    let mut query = EventsQuery { after_sequence: invitation, limit: Some(1000) };
    let sequence = loop {
        let page = client.events(session, query).await?.value;
        let own = page.events.iter().filter_map(message).find(|message| message.sender == me);
        match (own, page.next_cursor) {
            (Some(own), _) => break own.sequence,
            (None, Some(next)) => query.after_sequence = next,
            (None, None) => return Err(Failure::local("the session does not show the answer".to_owned())),
        }
    };
    let to = others(&client.session(session).await?.value, &me);
    Ok(SentMessage { from: me, session: session.clone(), sequence, to })
}

/// The participants and invited agents other than the caller, in order.
fn others(session: &Session, me: &AgentHandle) -> Vec<AgentHandle> {
    let members =
        session.participants.iter().filter(|p| p.status != ParticipantStatus::Left && p.handle != *me);
    let mut members: Vec<AgentHandle> = members.map(|p| p.handle.clone()).collect();
    members.sort_unstable();
    members
}

/// The sessions of the caller with some agents.
#[derive(Debug, Default)]
struct SharedSessions {
    /// The newest active session with exactly them.
    session: Option<Session>,
    /// Without one: the newest session with them of any state.
    earlier: Option<SessionId>,
}

/// The key under which every call that finds the same sessions creates one session.
fn key(to: &[AgentHandle], topic: Option<&str>, earlier: Option<&SessionId>) -> IdempotencyKey {
    IdempotencyKey::new(first_message_key(to, topic, earlier.map(SessionId::as_str)))
}

/// Finds the newest active session with exactly these agents. With a topic, one with this topic; otherwise one that is not
/// reserved for a coding session.
async fn shared(
    client: &Client,
    me: &AgentHandle,
    to: &[AgentHandle],
    topic: Option<&str>,
) -> Result<SharedSessions, Failure> {
    let (mut query, mut has_joined) = (SessionsQuery { before: None, limit: Some(PAGE) }, false);
    let mut earlier = None;
    for _ in 0..PAGES_MAX {
        let page = client.sessions(&query).await?.value;
        let has_topic = |session: &Session| match (topic, session.topic.as_deref()) {
            (Some(topic), named) => named == Some(topic),
            (None, named) => !named.is_some_and(|named| named.starts_with(CODING_SESSION_TOPIC)),
        };
        for session in page.sessions.into_iter().filter(has_topic) {
            if earlier.is_none() && is_with(&session, me, to) {
                earlier = Some(session.id.clone());
            }
            if !is_open_with(&session, me, to) {
                continue;
            }
            if !is_invited(&session, me) {
                return Ok(SharedSessions { session: Some(session), earlier: None });
            }
            // An invited agent does not see the other invited agents. Only the newest invitation is joined to check: others may
            // have sent any number.
            if std::mem::replace(&mut has_joined, true) {
                continue;
            }
            client.join_session(&session.id).await?;
            let session = client.session(&session.id).await?.value;
            if others(&session, me) == to {
                return Ok(SharedSessions { session: Some(session), earlier: None });
            }
        }
        query.before = page.next_cursor;
        if query.before.is_none() {
            break;
        }
    }
    Ok(SharedSessions { session: None, earlier })
}

/// Whether exactly these agents and the caller were ever in the session.
fn is_with(session: &Session, me: &AgentHandle, to: &[AgentHandle]) -> bool {
    let mut with: Vec<&AgentHandle> =
        session.participants.iter().map(|p| &p.handle).filter(|handle| *handle != me).collect();
    with.sort_unstable();
    with.into_iter().eq(to)
}

/// Whether the session is active, with exactly these agents and the caller in it.
fn is_open_with(session: &Session, me: &AgentHandle, to: &[AgentHandle]) -> bool {
    let mut participants = session.participants.iter();
    session.state == SessionState::Active
        && participants.any(|p| p.handle == *me && p.status != ParticipantStatus::Left)
        && others(session, me) == to
}

/// The beginning of a message, as the topic of a session without one: an invited agent sees only the topic before it joins.
fn opening(content: &Content) -> Option<String> {
    let text = match content {
        Content::Text(text) => text,
        Content::Parts(parts) => {
            parts.iter().find_map(|part| if let Part::Text { text } = part { Some(text) } else { None })?
        }
    };
    let line = text.lines().map(one_line).find(|line| !line.is_empty())?;
    let mut opening: String = line.chars().take(OPENING_CHARS_MAX).collect();
    if opening.len() < line.len() {
        opening.push('…');
    }
    Some(opening)
}

/// A line without escape sequences of a terminal and other characters that no topic may have.
fn one_line(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line.chars());
    while let Some(character) = rest.next() {
        if character == '\u{1b}' {
            // `ESC [ … m`: the letter ends the sequence.
            rest.by_ref().take_while(|next| !next.is_ascii_alphabetic()).for_each(drop);
        } else {
            text.push(if character.is_control() { ' ' } else { character });
        }
    }
    let hidden: Vec<usize> = text::hidden(&text).map(|(index, _)| index).collect();
    let visible = text.char_indices().filter(|(index, _)| !hidden.contains(index));
    visible.map(|(_, character)| character).collect::<String>().trim().to_owned()
}

/// The message of an event, if it is one.
pub(super) fn message(event: &Event) -> Option<&Message> {
    if let EventBody::Message(message) = &event.body { Some(message) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_from_a_message_has_no_character_that_a_topic_may_not_have() {
        for (text, topic) in [
            ("hello", Some("hello")),
            ("\n  a\tb  \nc", Some("a b")),
            ("\u{1b}[01;34mdir\u{1b}[0m", Some("dir")),
            ("\u{feff}\u{202e}hi", Some("hi")),
            ("👩\u{200d}👧 and", Some("👩\u{200d}👧 and")),
            ("\u{1b}[0m\n\u{200b}", None),
        ] {
            let opened = opening(&Content::Text(text.to_owned()));
            assert_eq!(opened.as_deref(), topic, "{text:?}");
            assert!(opened.is_none_or(|topic| text::check_line(&topic).is_ok()));
        }
    }
}
