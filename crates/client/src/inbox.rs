//! The inbox: reads, waits for and acknowledges news of the agent, and reads the state of a message.
//! Must not know: the presentation, except the shared digest.

use std::time::Duration;

use plenary_kernel::{AgentHandle, SessionId, TimestampMs};
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
    /// Only these kinds, separated by commas.
    pub kinds: Option<String>,
    /// A coding session of the agent: leaves out items for its other coding sessions.
    pub coding_session: Option<String>,
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
    /// The ids of what was left out up to the cursor, for another session of a coding agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
    /// For a coding session: what waits, or waited, because it may not disturb it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<AttentionDigest>,
    /// Whether a wait ended without a new item.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// What waits, or waited, because it may not disturb.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AttentionDigest {
    /// `open`, `focus` or `dnd`: what holds now.
    pub level: String,
    /// What held until now, where all is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Until when it holds or held, RFC 3339, where an end was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// How many unread items.
    pub waited: u64,
    /// The sender.
    #[serde(default)]
    pub from: Vec<WaitedFrom>,
}

/// Whose items waited.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WaitedFrom {
    /// Who.
    pub agent: AgentHandle,
    /// How many.
    pub items: u64,
}

/// The state that an acknowledgement sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AckState {
    /// It is in the model's context.
    Seen,
    /// It was acknowledged.
    Acknowledged,
}

/// The answer to an acknowledgement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AckReceipt {
    /// The number of unread items.
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
    /// The other participants.
    pub recipients: Vec<RecipientStatus>,
    /// Whether a wait ended before it had come so far with everybody.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
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
    pub waiting: Option<DeliveryDelay>,
    /// Where it was cut and no more is known to be in a context: how many characters were shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_characters: Option<u64>,
    /// Of how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub characters: Option<u64>,
}

/// Why a message waits for a recipient.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeliveryDelay {
    /// `focus`, `dnd`, `not_joined`, `rest_unread`, `next_event`, `hooks_off` or `no_live_session`; a newer server may know others.
    pub reason: String,
    /// Since when, RFC 3339, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Until when, RFC 3339, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// An item of which only the beginning was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CutItem {
    /// Its id.
    pub id: String,
    /// How many characters of its text were shown.
    pub shown_characters: u64,
    /// How many it has.
    pub characters: u64,
}

/// A session of a coding agent, as that calls it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CodingSession<'a> {
    /// Its name.
    pub session: &'a str,
    /// The coding agent.
    pub client: &'a str,
}

/// The sessions of an agent's coding agents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CodingSessions {
    /// Most recently active first.
    pub sessions: Vec<CodingSessionView>,
}

/// One of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CodingSessionView {
    /// What the coding agent calls it.
    pub session: String,
    /// The coding agent.
    pub client: String,
    /// Whether it counts as live.
    pub live: bool,
    /// Whether it runs hooks; otherwise it only has tools.
    pub hooks: bool,
    /// Whether a turn of its model is in progress, according to its events.
    #[serde(default)]
    pub working: bool,
    /// When it was first reported, RFC 3339.
    pub began_at: String,
    /// When it was last active, RFC 3339.
    pub worked_at: String,
    /// When it ended or was found gone, RFC 3339.
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
    let InboxQuery { after, limit, kinds, coding_session } = query;
    let members = [
        after.as_ref().map(|after| format!("after={}", segment(after))),
        limit.map(|limit| format!("limit={limit}")),
        kinds.as_ref().map(|kinds| format!("kinds={}", segment(kinds))),
        coding_session.as_ref().map(|session| format!("coding_session={}", segment(session))),
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
    pub async fn ack_inbox(&self, cursor: &str, state: AckState) -> Result<Reply<AckReceipt>> {
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

    /// `POST /inbox/address`: what is said in the session goes to this session of the agent's coding agents.
    ///
    /// # Errors
    /// As every call; 404 where it is no agent of the same owner that takes part, 409 `session_not_live`.
    pub async fn address_session(
        &self,
        agent: &AgentHandle,
        coding_session: &str,
        session_id: &SessionId,
    ) -> Result<Reply<Value>> {
        #[derive(Serialize)]
        struct Body<'a> {
            agent: &'a AgentHandle,
            coding_session: &'a str,
            session_id: &'a SessionId,
        }
        self.post("/inbox/address", &Body { agent, coding_session, session_id }).await
    }

    /// `PUT /inbox/session/attention`: what may disturb one session of a coding agent: `open`, `focus` or `dnd`.
    ///
    /// # Errors
    /// As every call; 409 `session_not_live`.
    pub async fn set_session_attention(
        &self,
        session: &str,
        attention: &str,
        until: Option<TimestampMs>,
    ) -> Result<Reply<Value>> {
        #[derive(Serialize)]
        struct Body<'a> {
            session: &'a str,
            attention: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            attention_until: Option<TimestampMs>,
        }
        self.put("/inbox/session/attention", &Body { session, attention, attention_until: until }).await
    }

    /// `GET /inbox/sessions`.
    ///
    /// # Errors
    /// As every call.
    pub async fn coding_sessions(&self) -> Result<Reply<CodingSessions>> {
        self.get("/inbox/sessions").await
    }

    /// `POST /inbox/shown`: the session was handed these items of a page at that event, some of them `cut`; what the page `held`
    /// stays unread.
    ///
    /// # Errors
    /// As every call; 429 `too_many_shown`.
    pub async fn shown(
        &self,
        session: CodingSession<'_>,
        event: &str,
        page: &InboxPage,
        cut: &[CutItem],
    ) -> Result<Reply<SessionTold>> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(flatten)]
            session: CodingSession<'a>,
            event: &'a str,
            cursor: &'a str,
            items: Vec<&'a str>,
            held: &'a [String],
            #[serde(skip_serializing_if = "<[CutItem]>::is_empty")]
            cut: &'a [CutItem],
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            attention: bool,
        }
        let InboxPage { cursor, held, .. } = page;
        let attention = page.attention.as_ref().is_some_and(|told| told.level == "open");
        let items = page.items.iter().filter_map(|item| item["id"].as_str()).collect();
        self.post("/inbox/shown", &Body { session, event, cursor, items, held, cut, attention }).await
    }

    /// `GET /sessions/{id}/messages/{sequence}/status`.
    ///
    /// # Errors
    /// As every call; 404 where there is no such message for the caller.
    pub async fn message_status(&self, session: &SessionId, sequence: u64) -> Result<Reply<MessageStatus>> {
        self.get(&format!("/sessions/{}/messages/{sequence}/status", segment(session.as_str()))).await
    }

    /// The same, again and again until the message has come as far as `until` with everybody, or the time is over.
    ///
    /// # Errors
    /// The same; 400 `invalid_state`, 429 `too_many_waits`.
    pub async fn wait_message_status(
        &self,
        session: &SessionId,
        sequence: u64,
        until: &str,
        timeout: Duration,
    ) -> Result<Reply<MessageStatus>> {
        let deadline = Instant::now() + timeout;
        let path = format!("/sessions/{}/messages/{sequence}/status", segment(session.as_str()));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let slice =
                u64::try_from(left.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX).min(SLICE.as_secs());
            let query = format!("?until={}&timeout_s={slice}", segment(until));
            let status: Reply<MessageStatus> = self.get(&format!("{path}{query}")).await?;
            if !status.timed_out || left <= SLICE {
                return Ok(status);
            }
        }
    }
}
