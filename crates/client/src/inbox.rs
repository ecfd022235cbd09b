//! The inbox: reads, waits for and acknowledges the agent's news, and reads the state of a message.
//! Must not know: the presentation, except the shared digest.

use std::time::Duration;

use plenary_kernel::{AgentHandle, SessionId, TimestampMs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{Client, Reply, Result, client::segment, query::Query};

pub use plenary_kernel::inbox::{DIGEST_CHARS_MAX, digest, whole_digest};

/// How long one request waits: less than the time limit of a request. A longer wait uses several requests.
const SLICE: Duration = Duration::from_secs(20);

/// Selects a part of an inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxQuery {
    /// Only items after the `cursor` of an earlier page; absent: unread items.
    pub after: Option<String>,
    /// Maximum number, 1 to 100; absent: the server's default, 20.
    pub limit: Option<u32>,
    /// Only these kinds, separated by commas.
    pub kinds: Option<String>,
    /// A coding session of the agent: leaves out items for its other coding sessions.
    pub coding_session: Option<String>,
}

/// A page of an inbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InboxPage {
    /// The items, oldest first, each as the server sent it.
    pub items: Vec<Value>,
    /// The number of unread items.
    pub unread: u64,
    /// The cursor for `after` in the next read, and for the acknowledgement.
    pub cursor: String,
    /// Whether more items follow now.
    pub more: bool,
    /// The ids of items up to the cursor that were left out for another session of a coding agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
    /// For a coding session: the items that its attention level holds back, or held back until now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<AttentionDigest>,
    /// Whether a wait ended without a new item.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// The items that an attention level holds back, or held back until now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AttentionDigest {
    /// The current level: `open`, `focus` or `dnd`.
    pub level: String,
    /// The previous level, if the current one is `open`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// When the level ends or ended, RFC 3339, if it has an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The number of unread items.
    pub waited: u64,
    /// Their senders.
    #[serde(default)]
    pub from: Vec<WaitedFrom>,
}

/// A sender of items that were held back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WaitedFrom {
    /// The sender.
    pub agent: AgentHandle,
    /// The number of items.
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
#[derive(Debug, Clone, Deserialize)]
pub struct AckReceipt {
    /// The number of unread items.
    pub unread: u64,
    /// The cursor up to which everything was seen.
    pub seen: String,
}

/// The known state of a message.
#[derive(Debug, Clone, Deserialize)]
pub struct MessageStatus {
    /// The other participants.
    pub recipients: Vec<RecipientStatus>,
    /// Whether a wait ended before the message reached the state for every recipient.
    #[serde(default)]
    pub timed_out: bool,
}

/// The state of a message for one recipient.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecipientStatus {
    /// The recipient.
    pub agent: AgentHandle,
    /// `accepted`, `delivered`, `shown`, `in_context`, `answered`, `acknowledged` or `expired`; a newer server may add
    /// states.
    pub state: String,
    /// When the recipient answered, RFC 3339, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Why the message waits, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<DeliveryDelay>,
    /// How many characters were shown, if the message was cut and the rest is not known to be in a context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_characters: Option<u64>,
    /// How many characters the message has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub characters: Option<u64>,
}

/// Why a message waits for a recipient.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeliveryDelay {
    /// `focus`, `dnd`, `not_joined`, `left`, `rest_unread`, `next_event`, `hooks_off`, `no_live_session`, `peer_unreachable` or
    /// `peer_full`; a newer server may add reasons.
    pub reason: String,
    /// Since when it waits, RFC 3339, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Until when it waits, RFC 3339, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// An item that was shown only in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CutItem {
    /// Its id.
    pub id: String,
    /// How many characters of its text were shown.
    pub shown_characters: u64,
    /// How many characters its text has.
    pub characters: u64,
}

/// A session of a coding agent, by the coding agent's own name for it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CodingSession<'a> {
    /// Its name.
    pub session: &'a str,
    /// The coding agent.
    pub client: &'a str,
}

/// The sessions of an agent's coding agents.
#[derive(Debug, Clone, Deserialize)]
pub struct CodingSessions {
    /// Most recently active first.
    pub sessions: Vec<CodingSessionView>,
}

/// A session of a coding agent.
#[derive(Debug, Clone, Deserialize)]
pub struct CodingSessionView {
    /// The coding agent's name for it.
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
    /// When it was last active, RFC 3339.
    pub worked_at: String,
    /// When it ended or was found gone, RFC 3339.
    pub ended_at: Option<String>,
}

/// The server's answer to an event of a coding session.
#[derive(Debug, Clone, Deserialize)]
pub struct SessionLiveness {
    /// Whether it counts as live.
    pub live: bool,
}

pub(crate) fn path(base: &str, query: &InboxQuery, timeout: Option<Duration>) -> String {
    let InboxQuery { after, limit, kinds, coding_session } = query;
    Query::of(base)
        .with("after", after.as_ref())
        .with("limit", *limit)
        .with("kinds", kinds.as_ref())
        .with("coding_session", coding_session.as_ref())
        .with("timeout_s", timeout.map(|timeout| timeout.as_secs()))
        .path()
}

impl Client {
    /// `GET /inbox`.
    ///
    /// # Errors
    /// 400 `invalid_cursor` if the server never issued `after`.
    pub async fn inbox(&self, query: &InboxQuery) -> Result<Reply<InboxPage>> {
        self.get(&path("/inbox", query, None)).await
    }

    /// `GET /inbox/wait`, repeated until there is an item or the time is over.
    ///
    /// # Errors
    /// As [`Client::inbox`]; 429 `too_many_waits`.
    pub async fn wait_inbox(&self, query: &InboxQuery, timeout: Duration) -> Result<Reply<InboxPage>> {
        let deadline = Instant::now() + timeout;
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            // Rounds a part of a second up to a whole second.
            let slice =
                Duration::from_secs(remaining.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX));
            let page: Reply<InboxPage> =
                self.get(&path("/inbox/wait", query, Some(slice.min(SLICE)))).await?;
            if !page.items.is_empty() || remaining <= SLICE {
                return Ok(page);
            }
        }
    }

    /// `POST /inbox/ack`: everything up to the cursor.
    ///
    /// # Errors
    /// 400 `invalid_cursor` if the server never issued it.
    pub async fn ack_inbox(&self, cursor: &str, state: AckState) -> Result<Reply<AckReceipt>> {
        self.post("/inbox/ack", &json!({"cursor": cursor, "state": state})).await
    }

    /// `POST /inbox/ack`: one event of a session.
    ///
    /// # Errors
    /// 404 `not_found` if the agent takes no part in the session.
    pub async fn ack_event(&self, session: &SessionId, sequence: u64) -> Result<Reply<AckReceipt>> {
        #[derive(Serialize)]
        struct Body<'a> {
            session_id: &'a SessionId,
            after_sequence: u64,
            sequence: u64,
        }
        let after_sequence = sequence.saturating_sub(1);
        self.post("/inbox/ack", &Body { session_id: session, after_sequence, sequence }).await
    }

    /// `POST /inbox/session`: reports an event of a coding agent's session: `start`, `prompt`, `tool`, `stop`,
    /// `compact`, `end`, `alive` or `gone`.
    pub async fn session_moment(
        &self,
        session: CodingSession<'_>,
        event: &str,
    ) -> Result<Reply<SessionLiveness>> {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(flatten)]
            session: CodingSession<'a>,
            event: &'a str,
        }
        self.post("/inbox/session", &Body { session, event }).await
    }

    /// `POST /inbox/address`: reserves the network session's messages for this session of the agent's coding agents.
    ///
    /// # Errors
    /// 404 if it is not a participating agent of the same owner, 409 `session_not_live`.
    pub async fn address_session(
        &self,
        agent: &AgentHandle,
        coding_session: &str,
        session_id: &SessionId,
    ) -> Result<Reply<Value>> {
        let body = json!({"agent": agent, "coding_session": coding_session, "session_id": session_id});
        self.post("/inbox/address", &body).await
    }

    /// `PUT /inbox/session/attention`: sets the attention level of one coding session: `open`, `focus` or `dnd`.
    ///
    /// # Errors
    /// 409 `session_not_live`.
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
    pub async fn coding_sessions(&self) -> Result<Reply<CodingSessions>> {
        self.get("/inbox/sessions").await
    }

    /// `POST /inbox/shown`: reports that the session got these items of a page at that event, some of them `cut`; the items
    /// that the page `held` stay unread.
    ///
    /// # Errors
    /// 429 `too_many_shown`.
    pub async fn shown(
        &self,
        session: CodingSession<'_>,
        event: &str,
        page: &InboxPage,
        cut: &[CutItem],
    ) -> Result<Reply<SessionLiveness>> {
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
        let attention = page.attention.as_ref().is_some_and(|digest| digest.level == "open");
        let items = page.items.iter().filter_map(|item| item["id"].as_str()).collect();
        self.post("/inbox/shown", &Body { session, event, cursor, items, held, cut, attention }).await
    }

    /// `GET /sessions/{id}/messages/{sequence}/status`.
    ///
    /// # Errors
    /// 404 if the caller sees no such message.
    pub async fn message_status(&self, session: &SessionId, sequence: u64) -> Result<Reply<MessageStatus>> {
        self.get(&format!("/sessions/{}/messages/{sequence}/status", segment(session.as_str()))).await
    }

    /// [`Client::message_status`], repeated until the message has reached the state `until` for every recipient, or the
    /// time is over.
    ///
    /// # Errors
    /// As [`Client::message_status`]; 400 `invalid_state`, 429 `too_many_waits`.
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
            let remaining = deadline.saturating_duration_since(Instant::now());
            let slice =
                u64::try_from(remaining.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX).min(SLICE.as_secs());
            let query = format!("?until={}&timeout_s={slice}", segment(until));
            let status: Reply<MessageStatus> = self.get(&format!("{path}{query}")).await?;
            if !status.timed_out || remaining <= SLICE {
                return Ok(status);
            }
        }
    }
}
