//! Finds the last message: the one that `reply` answers.
//! Must not know: the answer.

use plenary_client::{
    Client,
    inbox::InboxQuery,
    sessions::{EventsQuery, Message, SessionState, SessionsQuery},
};
use plenary_kernel::{SessionId, TimestampMs};
use serde_json::Value;

use super::talk::{SentMessage, message};
use crate::{
    cli::{failure::Failure, inbox::carries_message, say},
    out::{Out, clean},
};

/// Maximum number of pages of unread news that are searched.
const UNREAD_PAGES_MAX: usize = 10;
/// The number of newest sessions searched if nothing is unread, and the maximum number of pages of events in all.
const SESSIONS_MAX: u32 = 20;
const EVENT_PAGES_MAX: usize = 40;
/// The number of newest events read of a session whose invitation was answered, and of its messages that are shown.
const WRITTEN_EVENTS_MAX: u32 = 100;
const WRITTEN_SHOWN_MAX: usize = 3;
/// Maximum number of characters of the message that are shown.
const SHOWN_CHARS_MAX: usize = 80;

/// The last message, or an invitation.
pub(super) struct LastMessage {
    pub(super) session: SessionId,
    /// Its sequence number in the session; an invitation has none, because it does not show the session's messages.
    pub(super) sequence: Option<u64>,
    /// The sequence number of the invitation, if it carried the message of a session that ended with it.
    pub(super) sent_with: Option<u64>,
    /// Who sent what, in one line.
    pub(super) summary: String,
}

/// The newest unread message or invitation, else the newest message in the latest sessions.
pub(super) async fn last(out: &Out, client: &Client) -> Result<LastMessage, Failure> {
    if let Some(message) = unread(client).await? {
        return Ok(message);
    }
    latest(out, client).await?.ok_or_else(|| {
        Failure::usage(
            "there is no message to answer",
            "write to somebody with `plenary send @OWNER.NAME TEXT`, or name the session with --to",
        )
    })
}

async fn unread(client: &Client) -> Result<Option<LastMessage>, Failure> {
    let kinds = Some("session.message,session.invited".to_owned());
    let mut query = InboxQuery { limit: Some(100), kinds, ..InboxQuery::default() };
    let mut newest: Option<(String, SessionId, Value)> = None;
    for _ in 0..UNREAD_PAGES_MAX {
        let page = client.inbox(&query).await?.value;
        // Invitations of strangers come last in the inbox, however old they are, so messages are compared by time.
        for item in &page.items {
            let (Some(sent_at), Some(id)) = (item["at"].as_str(), item["ref"]["session_id"].as_str()) else {
                continue;
            };
            if let Ok(session) = id.parse()
                && newest.as_ref().is_none_or(|(newest_at, ..)| newest_at.as_str() <= sent_at)
            {
                newest = Some((sent_at.to_owned(), session, item.clone()));
            }
        }
        if !page.more {
            break;
        }
        query.after = Some(page.cursor);
    }
    let Some((_, session, item)) = newest else { return Ok(None) };
    let is_message = item["kind"] == "session.message";
    let sequence = item["ref"]["sequence"].as_u64();
    let sent_with = if !is_message && carries_message(client, &item).await { sequence } else { None };
    let summary = summary(&item, is_message || sent_with.is_some());
    Ok(Some(LastMessage { session, sequence: sequence.filter(|_| is_message), sent_with, summary }))
}

/// Prints the newest messages before the answer to an invitation, unless the invitation showed them. Returns their sequence
/// numbers.
pub(super) async fn print_written(
    out: &Out,
    client: &Client,
    last: &LastMessage,
    sent: &SentMessage,
) -> Result<Vec<u64>, Failure> {
    const FIRST: u64 = 1;
    if last.sent_with.is_some() {
        return Ok(vec![FIRST]);
    }
    let after_sequence = sent.sequence.saturating_sub(u64::from(WRITTEN_EVENTS_MAX) + 1);
    let query = EventsQuery { after_sequence, limit: Some(WRITTEN_EVENTS_MAX) };
    let page = client.events(&last.session, query).await?.value;
    let before = |written: &&Message| written.sequence < sent.sequence && written.sender != sent.from;
    let written: Vec<&Message> = page.events.iter().filter_map(message).filter(before).collect();
    let (earlier, shown) = written.split_at(written.len().saturating_sub(WRITTEN_SHOWN_MAX));
    if after_sequence > 0 || !earlier.is_empty() {
        out.note(&format!("`plenary session events {}` shows the messages before these", last.session));
    }
    for written in shown {
        let text = say::content(out, &written.content);
        out.note(&format!("{} had written: {}", clean(written.sender.as_str()), clean(&text)));
    }
    Ok(shown.iter().map(|written| written.sequence).collect())
}

/// An item of the inbox in words.
fn summary(item: &Value, is_message: bool) -> String {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    if is_message {
        quoted("the message of", text("from"), text("text"))
    } else {
        quoted("the invitation of", text("from"), text("subject"))
    }
}

fn quoted(what: &str, from: &str, text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut excerpt: String = line.chars().take(SHOWN_CHARS_MAX).collect();
    if excerpt.len() < text.trim_end().len() {
        excerpt.push('…');
    }
    let colon = if excerpt.is_empty() { "" } else { ": " };
    format!("{what} {}{colon}{}", clean(from), clean(&excerpt))
}

async fn latest(out: &Out, client: &Client) -> Result<Option<LastMessage>, Failure> {
    let me = client.me().await?.value.handle;
    let list = client.sessions(&SessionsQuery { before: None, limit: Some(SESSIONS_MAX) }).await?.value;
    let mut newest: Option<(TimestampMs, LastMessage)> = None;
    let mut pages = EVENT_PAGES_MAX;
    for session in list.sessions.iter().filter(|session| session.state == SessionState::Active) {
        let mut after = Some(0);
        while let Some(after_sequence) = after.filter(|_| pages > 0) {
            pages -= 1;
            let page =
                client.events(&session.id, EventsQuery { after_sequence, limit: Some(1000) }).await?.value;
            let received = page.events.iter().filter_map(message).filter(|message| message.sender != me);
            if let Some(message) = received.max_by_key(|message| message.created_at)
                && newest.as_ref().is_none_or(|(newest_at, _)| *newest_at < message.created_at)
            {
                let text = say::content(out, &message.content);
                let summary = quoted("the message of", message.sender.as_str(), &text);
                let (session, sequence) = (session.id.clone(), Some(message.sequence));
                let last = LastMessage { session, sequence, sent_with: None, summary };
                newest = Some((message.created_at, last));
            }
            after = page.next_cursor;
        }
    }
    Ok(newest.map(|(_, message)| message))
}
