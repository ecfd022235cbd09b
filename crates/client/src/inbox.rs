//! The inbox: what is new for the agent, read, awaited and acknowledged; and what became of a message.
//! Must not know: how it is shown, but for the digest that others show too.

use std::time::Duration;

use plenary_kernel::{AgentHandle, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::{Client, Reply, Result, client::segment};

pub use plenary_kernel::inbox::{DIGEST_CHARS_MAX, digest};

/// How long one request waits: less than a request may take. A longer wait is several.
const SLICE: Duration = Duration::from_secs(20);

/// Which part of an inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxQuery {
    /// Only what is behind the `cursor` of an earlier page; absent: what is unread.
    pub after: Option<String>,
    /// At most so many, 1 to 100; absent: the server's default, 20.
    pub limit: Option<u32>,
    /// Only these kinds, with commas between them.
    pub kinds: Option<String>,
}

/// A page of an inbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InboxPage {
    /// Oldest first; each as the server gave it.
    pub items: Vec<Value>,
    /// How many are unread.
    pub unread: u64,
    /// `after` of the next read, and what to acknowledge.
    pub cursor: String,
    /// Whether there are more behind it now.
    pub more: bool,
    /// Whether a wait ended without anything new.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// How far an acknowledgement goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AckState {
    /// It was put before the model.
    Seen,
    /// It was taken note of.
    Acknowledged,
}

/// The answer to an acknowledgement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Acked {
    /// How many are unread now.
    pub unread: u64,
    /// Up to here everything was seen.
    pub seen: String,
    /// Up to here everything was acknowledged.
    pub acknowledged: String,
}

/// What is known to have become of a message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MessageStatus {
    /// When it was written, RFC 3339.
    pub accepted_at: String,
    /// Whoever else takes part.
    pub recipients: Vec<RecipientStatus>,
}

/// The same, with one recipient.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecipientStatus {
    /// Who.
    pub agent: AgentHandle,
    /// `accepted`, `delivered`, `shown`, `in_context`, `answered`, `acknowledged` or `expired`; a newer server may know
    /// others.
    pub state: String,
    /// When it answered, RFC 3339, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Why it waits, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

/// Why a message waits with a recipient.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Waiting {
    /// `not_joined`, `next_event`, `hooks_off` or `no_live_session`; a newer server may know others.
    pub reason: String,
    /// Since when, RFC 3339, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// A session of a coding agent, as that calls it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CodingSession<'a> {
    /// Its name.
    pub session: &'a str,
    /// Which coding agent it is.
    pub client: &'a str,
}

/// The sessions of an agent's coding agents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CodingSessions {
    /// Those that worked last first.
    pub sessions: Vec<CodingSessionView>,
}

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CodingSessionView {
    /// What the coding agent calls it.
    pub session: String,
    /// Which coding agent it is.
    pub client: String,
    /// Whether it counts as live.
    pub live: bool,
    /// Whether it runs hooks; else it has tools alone.
    pub hooks: bool,
    /// When it was first heard of, RFC 3339.
    pub began_at: String,
    /// When something last happened in it, RFC 3339.
    pub worked_at: String,
    /// When it ended or was found to be gone, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

/// What the server knows of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionTold {
    /// Whether it counts as live.
    pub live: bool,
}

pub(crate) fn path(base: &str, query: &InboxQuery, timeout: Option<Duration>) -> String {
    let InboxQuery { after, limit, kinds } = query;
    let members = [
        after.as_ref().map(|after| format!("after={}", segment(after))),
        limit.map(|limit| format!("limit={limit}")),
        kinds.as_ref().map(|kinds| format!("kinds={}", segment(kinds))),
        timeout.map(|timeout| format!("timeout_s={}", timeout.as_secs())),
    ];
    let members: Vec<String> = members.into_iter().flatten().collect();
    if members.is_empty() { base.to_owned() } else { format!("{base}?{}", members.join("&")) }
}

impl Client {
    /// `GET /inbox`.
    ///
    /// # Errors
    /// As every call; 400 `invalid_cursor` where `after` was never given.
    pub async fn inbox(&self, query: &InboxQuery) -> Result<Reply<InboxPage>> {
        self.get(&path("/inbox", query, None)).await
    }

    /// `GET /inbox/wait`, again and again until there is an item or the time is over.
    ///
    /// # Errors
    /// As [`Client::inbox`]; 429 `too_many_waits`.
    pub async fn wait_inbox(&self, query: &InboxQuery, timeout: Duration) -> Result<Reply<InboxPage>> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // Whole seconds: the last part of one is waited whole.
            let slice = Duration::from_secs(left.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX));
            let page: Reply<InboxPage> =
                self.get(&path("/inbox/wait", query, Some(slice.min(SLICE)))).await?;
            if !page.items.is_empty() || left <= SLICE {
                return Ok(page);
            }
        }
    }

    /// `POST /inbox/ack`: everything up to the cursor.
    ///
    /// # Errors
    /// As every call; 400 `invalid_cursor` where it was never given.
    pub async fn ack_inbox(&self, cursor: &str, state: AckState) -> Result<Reply<Acked>> {
        #[derive(Serialize)]
        struct Body<'a> {
            cursor: &'a str,
            state: AckState,
        }
        self.post("/inbox/ack", &Body { cursor, state }).await
    }

    /// `POST /inbox/session`: something happened in a session of a coding agent: `start`, `prompt`, `tool`, `stop`,
    /// `compact`, `end`, `alive` or `gone`.
    ///
    /// # Errors
    /// As every call.
    pub async fn session_moment(
        &self,
        session: CodingSession<'_>,
        event: &str,
    ) -> Result<Reply<SessionTold>> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(flatten)]
            session: CodingSession<'a>,
            event: &'a str,
        }
        self.post("/inbox/session", &Body { session, event }).await
    }

    /// `GET /inbox/sessions`.
    ///
    /// # Errors
    /// As every call.
    pub async fn coding_sessions(&self) -> Result<Reply<CodingSessions>> {
        self.get("/inbox/sessions").await
    }

    /// `POST /inbox/shown`: the session was handed these items of a page at that event.
    ///
    /// # Errors
    /// As every call; 429 `too_many_shown`.
    pub async fn shown(
        &self,
        session: CodingSession<'_>,
        event: &str,
        cursor: &str,
        items: &[String],
    ) -> Result<Reply<SessionTold>> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(flatten)]
            session: CodingSession<'a>,
            event: &'a str,
            cursor: &'a str,
            items: &'a [String],
        }
        self.post("/inbox/shown", &Body { session, event, cursor, items }).await
    }

    /// `GET /sessions/{id}/messages/{sequence}/status`.
    ///
    /// # Errors
    /// As every call; 404 where there is no such message for the caller.
    pub async fn message_status(&self, session: &SessionId, sequence: u64) -> Result<Reply<MessageStatus>> {
        self.get(&format!("/sessions/{}/messages/{sequence}/status", segment(session.as_str()))).await
    }
}
