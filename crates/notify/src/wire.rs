//! The requests and responses. Members are snake_case, times are epoch milliseconds. Pure.
//! Must not know: permissions.

use plenary_kernel::{AgentHandle, AskId, NoticeId, OwnerName, SubscriptionId};
use plenary_requests::{Allow, AnswerType, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{AGENTS_MAX, DIGEST_MINUTES_MAX, URL_BYTES_MAX, WORD_CHARS_MAX};

plenary_kernel::words! {
    /// A change of a request.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "NotifiedEvent")]
    pub enum Event {
        /// The request was made.
        #[serde(rename = "request.created")]
        Created = "request.created",
        /// The request has a final answer.
        #[serde(rename = "request.answered")]
        Answered = "request.answered",
        /// The agent withdrew the request.
        #[serde(rename = "request.withdrawn")]
        Withdrawn = "request.withdrawn",
        /// The deadline of the request passed.
        #[serde(rename = "request.expired")]
        Expired = "request.expired",
    }
}

plenary_kernel::words! {
    /// The urgency of a request.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Urgency {
        /// Reviews, contacts and invitations: another party waits.
        #[default]
        Low = "low",
        /// An agent waits: permissions, questions, runs, held items.
        Normal = "normal",
        /// The deadline was less than 15 minutes away when the request was made.
        High = "high",
    }
}

/// A deadline within this time makes a request urgent.
const URGENT_MS: u64 = 15 * 60_000;

impl Urgency {
    /// The urgency of a request.
    pub const fn of(kind: Kind, created_at: u64, deadline_at: Option<u64>) -> Self {
        match (deadline_at, kind) {
            (Some(deadline), _) if deadline.saturating_sub(created_at) < URGENT_MS => Self::High,
            (_, Kind::Permission | Kind::Question | Kind::RunInput | Kind::Hold) => Self::Normal,
            (_, Kind::Review | Kind::Contact | Kind::Invitation) => Self::Low,
        }
    }
}

/// The receiver of notifications.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "NotificationTarget")]
pub enum Target {
    /// A program: Standard Webhooks, signed.
    Webhook {
        /// The URL.
        #[schemars(length(min = 1, max = URL_BYTES_MAX))]
        url: String,
    },
    /// A topic of ntfy.
    Ntfy {
        /// The topic's URL, such as `https://ntfy.sh/TOPIC`.
        #[schemars(length(min = 1, max = URL_BYTES_MAX))]
        url: String,
        /// An access token for the topic.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    /// An incoming webhook of Slack, or of a service with the same format.
    Slack {
        /// The URL.
        #[schemars(length(min = 1, max = URL_BYTES_MAX))]
        url: String,
    },
    /// A chat with a Telegram bot.
    Telegram {
        /// The bot's token.
        #[schemars(length(min = 1, max = WORD_CHARS_MAX), regex(pattern = "^[!-~]*$"))]
        bot_token: String,
        /// The chat.
        #[schemars(length(min = 1, max = WORD_CHARS_MAX), regex(pattern = "^[!-~]*$"))]
        chat_id: String,
        /// The Bot API, if not `https://api.telegram.org`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// A mailbox.
    Email {
        /// The address.
        to: String,
    },
    /// A browser: the result of `PushManager.subscribe`.
    WebPush {
        /// The URL of the push service.
        #[schemars(length(min = 1, max = URL_BYTES_MAX))]
        endpoint: String,
        /// The browser's key, base64url.
        p256dh: String,
        /// The browser's secret, base64url.
        auth: String,
    },
}

impl Target {
    /// Its kind on the wire.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Webhook { .. } => "webhook",
            Self::Ntfy { .. } => "ntfy",
            Self::Slack { .. } => "slack",
            Self::Telegram { .. } => "telegram",
            Self::Email { .. } => "email",
            Self::WebPush { .. } => "web_push",
        }
    }

    /// The receiver without its secrets, such as URL paths and tokens.
    pub fn redacted(&self) -> String {
        match self {
            Self::Webhook { url } | Self::Ntfy { url, .. } | Self::Slack { url } => origin(url),
            Self::Telegram { chat_id, .. } => chat_id.clone(),
            Self::Email { to } => to.clone(),
            Self::WebPush { endpoint, .. } => origin(endpoint),
        }
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.kind(), self.redacted())
    }
}

/// Scheme, host and port of a URL.
pub(crate) fn origin(url: &str) -> String {
    let begin = url.find("://").map_or(0, |scheme_end| scheme_end + 3);
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    url[..end].to_owned()
}

/// Quiet hours: nothing is sent; one digest follows at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QuietHours")]
pub struct Quiet {
    /// An IANA time zone, such as `Europe/Berlin`.
    pub time_zone: String,
    /// The start, `22:00`.
    pub from: String,
    /// The end, `07:00`; on the next day if it is before `from`.
    pub to: String,
}

const fn yes() -> bool {
    true
}

fn created() -> Vec<Event> {
    vec![Event::Created]
}

/// The body of `POST /notifications`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSubscription {
    /// The receiver of notifications.
    pub target: Target,
    /// A name, for people.
    #[schemars(length(min = 1, max = WORD_CHARS_MAX))]
    #[serde(default)]
    pub name: Option<String>,
    /// The events to send; `request.created` when absent.
    #[serde(default = "created")]
    #[schemars(length(min = 1))]
    pub events: Vec<Event>,
    /// The kinds of requests; all when empty.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// The agents whose requests are sent; all when empty.
    #[serde(default)]
    #[schemars(length(max = AGENTS_MAX))]
    pub agents: Vec<AgentHandle>,
    /// A person: requests to other people are not sent. For everybody when absent.
    #[serde(default)]
    pub person: Option<AgentHandle>,
    /// The least urgency that is sent.
    #[serde(default)]
    pub min_urgency: Urgency,
    /// The quiet hours.
    #[serde(default)]
    pub quiet: Option<Quiet>,
    /// Collect notifications for this many minutes, and send them together.
    #[schemars(range(min = 1, max = DIGEST_MINUTES_MAX))]
    #[serde(default)]
    pub digest_minutes: Option<u32>,
    /// Whether notifications are sent.
    #[serde(default = "yes")]
    pub enabled: bool,
}

/// A member that is present, even as `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// The body of `PATCH /notifications/{id}`: absent members stay unchanged.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SubscriptionChange {
    /// The receiver of notifications.
    pub target: Option<Target>,
    /// A name, for people; `null` for none.
    #[serde(deserialize_with = "present")]
    #[schemars(with = "Option<String>", length(min = 1, max = WORD_CHARS_MAX))]
    pub name: Option<Option<String>>,
    /// The events to send.
    #[schemars(length(min = 1))]
    pub events: Option<Vec<Event>>,
    /// The kinds of requests; all when empty.
    pub kinds: Option<Vec<Kind>>,
    /// The agents whose requests are sent; all when empty.
    #[schemars(length(max = AGENTS_MAX))]
    pub agents: Option<Vec<AgentHandle>>,
    /// The person; `null` for everybody.
    #[serde(deserialize_with = "present")]
    #[schemars(with = "Option<AgentHandle>")]
    pub person: Option<Option<AgentHandle>>,
    /// The least urgency that is sent.
    pub min_urgency: Option<Urgency>,
    /// The quiet hours; `null` for none.
    #[serde(deserialize_with = "present")]
    #[schemars(with = "Option<Quiet>")]
    pub quiet: Option<Option<Quiet>>,
    /// Collect notifications for this many minutes; `null` to send each at once.
    #[serde(deserialize_with = "present")]
    #[schemars(with = "Option<u32>", range(min = 1, max = DIGEST_MINUTES_MAX))]
    pub digest_minutes: Option<Option<u32>>,
    /// Whether notifications are sent.
    pub enabled: Option<bool>,
}

/// A subscription, without its secrets.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Subscription")]
pub struct SubscriptionView {
    /// Its id.
    pub subscription_id: SubscriptionId,
    /// The owner.
    pub owner: OwnerName,
    /// webhook, ntfy, slack, telegram, email or web_push.
    pub kind: String,
    /// The receiver; of a URL only its origin.
    pub to: String,
    /// A name, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The events that are sent.
    pub events: Vec<Event>,
    /// The kinds of requests; all when empty.
    pub kinds: Vec<Kind>,
    /// The agents whose requests are sent; all when empty.
    pub agents: Vec<AgentHandle>,
    /// A person: requests to other people are not sent. For everybody when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<AgentHandle>,
    /// The least urgency that is sent.
    pub min_urgency: Urgency,
    /// The quiet hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
    /// For how many minutes notifications are collected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest_minutes: Option<u32>,
    /// Whether notifications are sent.
    pub enabled: bool,
    /// Whether the receiver reported that it is gone; then nothing is sent.
    pub gone: bool,
    /// When it was created.
    pub created_at: u64,
}

/// A new subscription.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionMade {
    /// The subscription.
    pub subscription: SubscriptionView,
    /// For a webhook: the secret that signs its messages. It is shown only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// The subscriptions of an owner.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionList {
    /// Oldest first.
    pub subscriptions: Vec<SubscriptionView>,
}

/// The result of a test.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TestResult {
    /// Whether the receiver accepted the sample.
    pub delivered: bool,
    /// The error, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The public key for browsers: `applicationServerKey`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PushKey {
    /// Base64url, an uncompressed point on P-256.
    pub public_key: String,
}

/// A notification that did not arrive.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DeadNotification")]
pub struct DeadView {
    /// Its id: `webhook-id` of each attempt.
    pub notice_id: NoticeId,
    /// The subscription; absent if it was a push notification of an Agent2Agent client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<SubscriptionId>,
    /// The number of its events; more than one in a digest.
    pub items: usize,
    /// The first event; absent if it is not about a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    /// The request of that event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<AskId>,
    /// The title of that request.
    pub title: String,
    /// The number of attempts.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: String,
    /// When it was abandoned.
    pub died_at: u64,
}

/// Notifications that did not arrive.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeadList {
    /// Newest first.
    pub notifications: Vec<DeadView>,
}

/// A notification about a request, as it is stored and as webhooks receive it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The event.
    pub event: Event,
    /// When.
    pub at: u64,
    /// The request.
    pub request: RequestSummary,
}

/// A request as a notification shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestSummary {
    /// Its id.
    pub request_id: AskId,
    /// Its kind.
    pub kind: Kind,
    /// Its urgency.
    pub urgency: Urgency,
    /// The question, one line.
    pub title: String,
    /// The agent that asks.
    pub from: AgentHandle,
    /// The person that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentHandle>,
    /// The tool that the agent wants to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The agent's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The beginning of the content to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// The allowed answers.
    pub allow: Allow,
    /// The options of a choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// When it was created.
    pub created_at: u64,
    /// The deadline for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<u64>,
    /// The type of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerType>,
    /// The author of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urgency_follows_from_the_kind_and_the_deadline() {
        assert_eq!(Urgency::of(Kind::Review, 0, None), Urgency::Low);
        assert_eq!(Urgency::of(Kind::Permission, 0, Some(URGENT_MS)), Urgency::Normal);
        assert_eq!(Urgency::of(Kind::Review, 5, Some(URGENT_MS)), Urgency::High);
    }

    #[test]
    fn of_a_target_only_its_origin_is_shown() {
        let slack = Target::Slack { url: "https://hooks.slack.com/services/T/B/secret".into() };
        assert_eq!(format!("{slack:?}"), "slack to https://hooks.slack.com");
        assert_eq!(origin("https://h:8443?x"), "https://h:8443");
    }
}
