//! Messages to others: in the session with exactly them, or in a new one.
//! Must not know: command lines, or the output.

use plenary_client::{
    Client, Error, Event, EventBody, IdempotencyKey,
    sessions::{
        Content, CreateSession, EventsQuery, InitialMessage, Message, Part, ParticipantStatus, ReopenSession,
        SendMessage, Session, SessionState, SessionsQuery,
    },
};
use plenary_kernel::{
    AgentHandle, SessionId, first_message_key, inbox::CODING_SESSION_TOPIC, is_untitled, opening,
    takes_untitled,
};
use serde_json::{Map, Value};

use super::{Recipient, suggestions};
use crate::{
    cli::{context::Context, failure::Failure},
    out::clean,
};

/// The page size of the session search, and the maximum number of pages; beyond them a new session is created.
const PAGE: u32 = 100;
const PAGES_MAX: usize = 5;
/// Maximum number of sessions whose first message is read; beyond them a new session is created.
const FIRST_MESSAGES_MAX: usize = 20;

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

#[derive(Debug)]
pub(super) struct SentMessage {
    pub(super) from: AgentHandle,
    pub(super) session: SessionId,
    pub(super) sequence: u64,
    pub(super) to: Vec<AgentHandle>,
    /// The recipients that were invited to the session before, and have not joined it.
    pub(super) not_joined: Vec<AgentHandle>,
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
        topic: draft.topic.clone().or_else(|| opening(&text_of(&draft.content))),
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
            let (session, to, not_joined) = (created.value.session_id, to.clone(), Vec::new());
            Ok(SentMessage { from: me, session, sequence, to, not_joined })
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
    if agent == me {
        return Err(Failure::usage(
            format!("you speak as {me}, and a session cannot write to another session of its own agent"),
            format!(
                "speak as another with --as: your person can, `plenary --as @{} send {agent}/{} TEXT`",
                agent.owner(),
                clean(name)
            ),
        ));
    }
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
    let sent = send_to_session(client, me, &session, draft).await?;
    // Its hooks join the session.
    Ok(SentMessage { not_joined: Vec::new(), ..sent })
}

/// Whether the agent is invited and has not joined.
fn is_invited(session: &Session, agent: &AgentHandle) -> bool {
    session.participants.iter().any(|p| p.handle == *agent && p.status == ParticipantStatus::Invited)
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
    let not_joined = to.iter().filter(|agent| is_invited(session, agent)).cloned().collect();
    let (id, sequence) = (session.id.clone(), sent.value.sequence);
    Ok(SentMessage { from: me.clone(), session: id, sequence, to, not_joined })
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
    Ok(SentMessage { from: me, session: session.clone(), sequence, to, not_joined: Vec::new() })
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

/// Finds the newest active session with exactly these agents. With a topic, one with this topic; otherwise one that was opened
/// without a topic, or by another agent.
async fn shared(
    client: &Client,
    me: &AgentHandle,
    to: &[AgentHandle],
    topic: Option<&str>,
) -> Result<SharedSessions, Failure> {
    let (mut query, mut has_joined) = (SessionsQuery { before: None, limit: Some(PAGE) }, false);
    let (mut earlier, mut reads_left) = (None, FIRST_MESSAGES_MAX);
    for _ in 0..PAGES_MAX {
        let page = client.sessions(&query).await?.value;
        let has_topic = |session: &Session| match (topic, session.topic.as_deref()) {
            (Some(topic), named) => named == Some(topic),
            (None, named) => takes_untitled(named) != Some(false),
        };
        for session in page.sessions.into_iter().filter(has_topic) {
            if earlier.is_none() && is_with(&session, me, to) {
                earlier = Some(session.id.clone());
            }
            if !is_open_with(&session, me, to) {
                continue;
            }
            if !is_invited(&session, me) {
                if topic.is_none() && !is_for_untitled(client, me, &session, &mut reads_left).await? {
                    continue;
                }
                return Ok(SharedSessions { session: Some(session), earlier: None });
            }
            // An invited agent does not see the other invited agents. Only the newest invitation is joined to check: others may
            // have sent any number.
            if std::mem::replace(&mut has_joined, true) {
                continue;
            }
            client.join_session(&session.id).await?;
            let session = client.session(&session.id).await?.value;
            if others(&session, me) == to
                && (topic.is_some() || is_for_untitled(client, me, &session, &mut reads_left).await?)
            {
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

/// Whether a message without a topic belongs in a joined session: it was opened without one, or by a message of another agent,
/// which this one may answer. `false` if too many sessions were read for that.
async fn is_for_untitled(
    client: &Client,
    me: &AgentHandle,
    session: &Session,
    reads_left: &mut usize,
) -> Result<bool, Failure> {
    let topic = session.topic.as_deref();
    if let Some(decided) = takes_untitled(topic) {
        return Ok(decided);
    }
    let Some(left) = reads_left.checked_sub(1) else { return Ok(false) };
    *reads_left = left;
    // Each invitation may precede it.
    let limit = u32::try_from(session.participants.len() + 2).ok();
    let query = EventsQuery { after_sequence: 0, limit };
    let page = client.events(&session.id, query).await?.value;
    let first = page.events.iter().find_map(message);
    Ok(first
        .zip(topic)
        .is_some_and(|(first, topic)| first.sender != *me || is_untitled(topic, &text_of(&first.content))))
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

/// The text of a message.
fn text_of(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => {
            let texts = parts
                .iter()
                .filter_map(|part| if let Part::Text { text } = part { Some(text.as_str()) } else { None });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The message of an event, if it is one.
pub(super) fn message(event: &Event) -> Option<&Message> {
    if let EventBody::Message(message) = &event.body { Some(message) } else { None }
}
