//! Finds the last message: the one that `reply` answers.
//! Must not know: the answer.

use plenary_client::{
    Client,
    inbox::InboxQuery,
    sessions::{EventsQuery, SessionState, SessionsQuery},
};
use plenary_kernel::{SessionId, TimestampMs};

use super::talk::message;
use crate::cli::failure::Failure;

/// Maximum number of pages of unread news that are searched.
const UNREAD_PAGES_MAX: usize = 10;
/// The number of newest sessions searched if nothing is unread, and the maximum number of pages of events in all.
const SESSIONS_MAX: u32 = 20;
const EVENT_PAGES_MAX: usize = 40;

/// The session of the newest unread message, else of the newest message in the latest sessions.
pub(super) async fn session(client: &Client) -> Result<SessionId, Failure> {
    if let Some(id) = unread(client).await? {
        return Ok(id);
    }
    latest(client).await?.ok_or_else(|| {
        Failure::usage(
            "nothing has come that could be answered",
            "write to somebody with `plenary send @OWNER.NAME TEXT`, or name the session with --to",
        )
    })
}

async fn unread(client: &Client) -> Result<Option<SessionId>, Failure> {
    let kinds = Some("session.message,session.invited".to_owned());
    let mut query = InboxQuery { limit: Some(100), kinds, ..InboxQuery::default() };
    let mut newest: Option<(String, SessionId)> = None;
    for _ in 0..UNREAD_PAGES_MAX {
        let page = client.inbox(&query).await?.value;
        // Invitations of strangers come last in the inbox, however old they are, so messages are compared by time.
        for item in &page.items {
            let (Some(at), Some(id)) = (item["at"].as_str(), item["ref"]["session_id"].as_str()) else {
                continue;
            };
            if let Ok(id) = id.parse()
                && newest.as_ref().is_none_or(|(known, _)| known.as_str() <= at)
            {
                newest = Some((at.to_owned(), id));
            }
        }
        if !page.more {
            break;
        }
        query.after = Some(page.cursor);
    }
    Ok(newest.map(|(_, id)| id))
}

async fn latest(client: &Client) -> Result<Option<SessionId>, Failure> {
    let me = client.me().await?.value.handle;
    let list = client.sessions(&SessionsQuery { before: None, limit: Some(SESSIONS_MAX) }).await?.value;
    let mut newest: Option<(TimestampMs, SessionId)> = None;
    let mut pages = EVENT_PAGES_MAX;
    for session in list.sessions.iter().filter(|session| session.state == SessionState::Active) {
        let mut after = Some(0);
        while let Some(after_sequence) = after.filter(|_| pages > 0) {
            pages -= 1;
            let page =
                client.events(&session.id, EventsQuery { after_sequence, limit: Some(1000) }).await?.value;
            let came = page.events.iter().filter_map(message).filter(|message| message.sender != me);
            if let Some(at) = came.map(|message| message.created_at).max()
                && newest.as_ref().is_none_or(|(known, _)| *known < at)
            {
                newest = Some((at, session.id.clone()));
            }
            after = page.next_cursor;
        }
    }
    Ok(newest.map(|(_, id)| id))
}
