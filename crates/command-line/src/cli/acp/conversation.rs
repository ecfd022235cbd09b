//! A session of the editor as a session of the network, for an agent that runs elsewhere: a prompt is a message, and
//! the agent's next message is the answer.
//! Must not know: lines, or the open sessions.

use std::sync::Arc;

use plenary_client::{
    Event, EventBody, IdempotencyKey, Signal, StreamOptions,
    console::WatchQuery,
    sessions::{Content, CreateSession, EventsQuery, Message, Part, ParticipantStatus, SendMessage},
};
use plenary_kernel::SessionId;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    asker::{AgentCaller, is_missing},
    editor::Editor,
    fault::Fault,
    sessions::Session,
    thread::{CANCELLED, END_TURN, StopReason},
    updates::{agent_text, user_text},
};

/// A session and its participants.
pub(super) struct Conversation {
    pub(super) asker: Arc<AgentCaller>,
    pub(super) editor: Arc<Editor>,
    pub(super) session: Arc<Session>,
    pub(super) id: SessionId,
}

/// The result of reading new events.
#[derive(Default)]
struct Progress {
    is_answered: bool,
    /// Why no answer can come any more, if so.
    over: Option<String>,
}

impl Conversation {
    /// Opens a session with the agent.
    pub(super) async fn begin(asker: &AgentCaller) -> Result<SessionId, Fault> {
        let body = CreateSession {
            invite: vec![asker.agent.clone()],
            idempotency_key: Some(IdempotencyKey::random()),
            ..CreateSession::default()
        };
        match asker.call(|| asker.client.create_session(&body)).await {
            Ok(created) => Ok(created.value.session_id),
            Err(error) if is_missing(&error) => Err(Fault::params(format!(
                "there is no agent {} that you can reach; `plenary who` lists those that you can",
                asker.agent
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a message and waits for the answer, however long that takes.
    pub(super) async fn prompt(&self, text: &str, cancel: &CancellationToken) -> Result<StopReason, Fault> {
        let asker = &self.asker;
        if self.find().await?.is_some_and(|status| status == ParticipantStatus::Left) {
            return Err(Fault::internal(format!("{} has left the session; begin a new one", asker.agent)));
        }
        let query = WatchQuery {
            rooms: Some("sessions".into()),
            agents: Some(asker.agent.to_string()),
            ..WatchQuery::default()
        };
        let options = StreamOptions { wait_for_server: true, ..StreamOptions::default() };
        let mut wakeups = asker.client.watch(&query, None, options);
        let message = SendMessage::new(text);
        let sent = asker.call(|| asker.client.send(&self.id, &message)).await?.value.sequence;
        loop {
            let progress = self.read_on(sent).await?;
            if progress.is_answered {
                return Ok(END_TURN);
            }
            if let Some(why) = progress.over {
                return Err(Fault::internal(why));
            }
            loop {
                let signal = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Ok(CANCELLED),
                    signal = wakeups.next() => signal?,
                };
                match signal {
                    Signal::Lost { .. } | Signal::Unreadable(_) => {}
                    Signal::Event(event) if !is_of_sessions(&event.json) => {}
                    Signal::Opened | Signal::Keepalive | Signal::Event(_) => break,
                }
            }
        }
    }

    /// Shows the events that the editor has not seen, up to the answer to the message `sent`.
    async fn read_on(&self, sent: u64) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        let mut after = *self.session.seen.lock();
        loop {
            let query = EventsQuery { after_sequence: after, limit: None };
            let page = self.asker.call(|| self.asker.client.events(&self.id, query)).await?.value;
            for event in &page.events {
                after = event.sequence.unwrap_or(after);
                *self.session.seen.lock() = after;
                self.show(event, false).await;
                self.note(event, sent, &mut progress);
                if progress.is_answered {
                    return Ok(progress);
                }
            }
            match page.next_cursor.filter(|next| *next > 0) {
                Some(next) => after = next,
                None => return Ok(progress),
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events change nothing")]
    fn note(&self, event: &Event, sent: u64, progress: &mut Progress) {
        let agent = &self.asker.agent;
        match &event.body {
            EventBody::Message(message) if message.sender == *agent && message.sequence > sent => {
                progress.is_answered = answers(message, sent);
            }
            EventBody::Left { agent: leaver, .. } if leaver == agent => {
                progress.over = Some(format!("{agent} has left the session; begin a new one"));
            }
            EventBody::Joined(joined) if joined == agent => progress.over = None,
            EventBody::Ended(_) => progress.over = Some("the session has ended; begin a new one".to_owned()),
            EventBody::Reopened(_) => progress.over = None,
            _ => {}
        }
    }

    /// The agent's standing in the session; `None` if it is not a participant.
    async fn find(&self) -> Result<Option<ParticipantStatus>, Fault> {
        let session = match self.asker.call(|| self.asker.client.session(&self.id)).await {
            Err(error) if is_missing(&error) => return Err(Fault::no_session(self.id.as_str())),
            session => session?.value,
        };
        let agent = &self.asker.agent;
        let participant = session.participants.into_iter().find(|participant| participant.handle == *agent);
        Ok(participant.map(|participant| participant.status))
    }

    /// Shows the session from its beginning.
    pub(super) async fn load(&self, is_shown: bool) -> Result<(), Fault> {
        if self.find().await?.is_none() {
            return Err(Fault::no_session(self.id.as_str()));
        }
        let mut after = 0;
        loop {
            let query = EventsQuery { after_sequence: after, limit: None };
            let page = self.asker.call(|| self.asker.client.events(&self.id, query)).await?.value;
            for event in &page.events {
                after = event.sequence.unwrap_or(after);
                if is_shown {
                    self.show(event, true).await;
                }
            }
            match page.next_cursor {
                Some(next) => after = next,
                None => break,
            }
        }
        *self.session.seen.lock() = after;
        Ok(())
    }

    /// Shows a message of the agent or of others; with `with_own` also the caller's, which the editor does not know.
    async fn show(&self, event: &Event, with_own: bool) {
        let EventBody::Message(message) = &event.body else { return };
        let text = text(&message.content);
        let update = if message.sender == self.asker.agent {
            agent_text(&text)
        } else if !self.asker.is_me(&message.sender).await {
            agent_text(&format!("{}: {text}\n\n", message.sender))
        } else if with_own {
            user_text(&text)
        } else {
            return;
        };
        self.editor.update(&self.session.id, &update).await;
    }
}

/// Whether an event belongs to a session, and is not only a report of the log's position.
fn is_of_sessions(json: &str) -> bool {
    let event: Value = serde_json::from_str(json).unwrap_or_default();
    !matches!(event["kind"].as_str(), Some("hello" | "head"))
}

/// Whether a message of the agent answers the message `sent`. A message may name another one as the one it answers.
fn answers(message: &Message, sent: u64) -> bool {
    let named = message.metadata.as_ref().and_then(|metadata| metadata.get("in_reply_to")?.as_u64());
    named.is_none_or(|named| named == sent)
}

/// The text of a message, as an editor shows it.
fn text(content: &Content) -> String {
    let parts = match content {
        Content::Text(text) => return text.clone(),
        Content::Parts(parts) => parts,
    };
    let part = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::Image { url: Some(url), name, .. } => {
            format!("![{}]({url})", name.as_deref().unwrap_or("image"))
        }
        Part::Image { name, .. } => format!("[{}]", name.as_deref().unwrap_or("image")),
        Part::File { url, file_id, name, .. } => {
            let address = url.clone().or_else(|| file_id.as_ref().map(ToString::to_string));
            format!("[{}]({})", name.as_deref().unwrap_or("file"), address.unwrap_or_default())
        }
        Part::Data { data } => {
            format!("```json\n{}\n```", serde_json::to_string_pretty(data).unwrap_or_default())
        }
        Part::Unknown(value) => value.to_string(),
    };
    parts.iter().map(part).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_shown_as_text() {
        let content: Content = serde_json::from_value(json!([
            {"type": "text", "text": "See"},
            {"type": "image", "url": "https://a.example/i.png", "name": "i"},
            {"type": "file", "url": "https://a.example/f"},
            {"type": "data", "data": {"a": 1}},
        ]))
        .unwrap();
        let expected =
            "See\n![i](https://a.example/i.png)\n[file](https://a.example/f)\n```json\n{\n  \"a\": 1\n}\n```";
        assert_eq!(text(&content), expected);
        assert_eq!(text(&"plain".into()), "plain");
    }
}
