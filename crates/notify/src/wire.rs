//! The requests and responses. Members are snake_case, times are epoch milliseconds. Pure.
//! Must not know: permissions.

use plenary_kernel::{AgentHandle, AskId, NoticeId, OwnerName, SubscriptionId};
use plenary_requests::{Allow, AnswerType, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "NotifiedEvent")]
pub enum Event {
    /// It was asked.
    #[serde(rename = "request.created")]
    Created,
    /// An answer stands.
    #[serde(rename = "request.answered")]
    Answered,
    /// Whoever asked gave up.
    #[serde(rename = "request.withdrawn")]
    Withdrawn,
    /// Its deadline passed.
    #[serde(rename = "request.expired")]
    Expired,
}

impl Event {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "request.created",
            Self::Answered => "request.answered",
            Self::Withdrawn => "request.withdrawn",
            Self::Expired => "request.expired",
        }
    }
}

/// How much a request presses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Reviews, contacts and invitations: somebody else waits.
    #[default]
    Low,
    /// An agent waits: permissions, questions, runs, what is held.
    Normal,
    /// Its deadline was less than 15 minutes ahead when it was asked.
    High,
}

/// A deadline that is nearer presses.
const PRESSES_MS: u64 = 15 * 60_000;

impl Urgency {
    /// Of a request.
    #[must_use]
    pub const fn of(kind: Kind, created_at: u64, deadline_at: Option<u64>) -> Self {
        match (deadline_at, kind) {
            (Some(deadline), _) if deadline.saturating_sub(created_at) < PRESSES_MS => Self::High,
            (_, Kind::Permission | Kind::Question | Kind::RunInput | Kind::Hold) => Self::Normal,
            (_, Kind::Review | Kind::Contact | Kind::Invitation) => Self::Low,
        }
    }

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

/// Where notifications go.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "NotificationTarget")]
pub enum Target {
    /// Any program: Standard Webhooks, signed.
    Webhook {
        /// The URL.
        url: String,
    },
    /// A topic of ntfy.
    Ntfy {
        /// The topic's URL, such as `https://ntfy.sh/TOPIC`.
        url: String,
        /// An access token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    /// An incoming webhook of Slack, or of what takes its form.
    Slack {
        /// The URL.
        url: String,
    },
    /// A chat with a bot of Telegram.
    Telegram {
        /// The bot's token.
        bot_token: String,
        /// The chat.
        chat_id: String,
        /// The Bot API, when it is not `https://api.telegram.org`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// A mailbox.
    Email {
        /// The address.
        to: String,
    },
    /// A browser: what `PushManager.subscribe` gives.
    WebPush {
        /// Where messages go.
        endpoint: String,
        /// The browser's key, base64url.
        p256dh: String,
        /// Its secret, base64url.
        auth: String,
    },
}

impl Target {
    /// Its kind on the wire.
    #[must_use]
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

    /// What may be shown of it: paths of URLs and tokens are secrets.
    #[must_use]
    pub fn shown(&self) -> String {
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
        write!(f, "{} to {}", self.kind(), self.shown())
    }
}

/// Scheme, host and port of a URL.
pub(crate) fn origin(url: &str) -> String {
    let begin = url.find("://").map_or(0, |at| at + 3);
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    url[..end].to_owned()
}

/// When nothing is sent; what comes then is one digest at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QuietHours")]
pub struct Quiet {
    /// An IANA time zone, such as `Europe/Berlin`.
    pub time_zone: String,
    /// From then on, `22:00`.
    pub from: String,
    /// Until then, `07:00`; over midnight where it is earlier than `from`.
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
    /// Where notifications go.
    pub target: Target,
    /// What people call it.
    #[serde(default)]
    pub name: Option<String>,
    /// Of what; `request.created` when absent.
    #[serde(default = "created")]
    pub events: Vec<Event>,
    /// Of which kinds of requests; of all when empty.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// Of which agents' requests; of all when empty.
    #[serde(default)]
    pub agents: Vec<AgentHandle>,
    /// Whose it is: what is given to another person is left out. Everybody's when absent.
    #[serde(default)]
    pub person: Option<AgentHandle>,
    /// What presses less is left out.
    #[serde(default)]
    pub min_urgency: Urgency,
    /// When nothing is sent.
    #[serde(default)]
    pub quiet: Option<Quiet>,
    /// Gather notifications for so many minutes, and send them together.
    #[serde(default)]
    pub digest_minutes: Option<u32>,
    /// Whether anything is sent.
    #[serde(default = "yes")]
    pub enabled: bool,
}

/// A member that is there, be it `null`.
fn said<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// The body of `PATCH /notifications/{id}`: what is absent stays as it is.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SubscriptionChange {
    /// Where notifications go.
    pub target: Option<Target>,
    /// What people call it; `null` for nothing.
    #[serde(deserialize_with = "said")]
    #[schemars(with = "Option<String>")]
    pub name: Option<Option<String>>,
    /// Of what.
    pub events: Option<Vec<Event>>,
    /// Of which kinds of requests; of all when empty.
    pub kinds: Option<Vec<Kind>>,
    /// Of which agents' requests; of all when empty.
    pub agents: Option<Vec<AgentHandle>>,
    /// Whose it is; `null` for everybody's.
    #[serde(deserialize_with = "said")]
    #[schemars(with = "Option<AgentHandle>")]
    pub person: Option<Option<AgentHandle>>,
    /// What presses less is left out.
    pub min_urgency: Option<Urgency>,
    /// When nothing is sent; `null` for never.
    #[serde(deserialize_with = "said")]
    #[schemars(with = "Option<Quiet>")]
    pub quiet: Option<Option<Quiet>>,
    /// Gather notifications for so many minutes; `null` to send each at once.
    #[serde(deserialize_with = "said")]
    #[schemars(with = "Option<u32>")]
    pub digest_minutes: Option<Option<u32>>,
    /// Whether anything is sent.
    pub enabled: Option<bool>,
}

/// A subscription as it is shown: without what is secret.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Subscription")]
pub struct SubscriptionView {
    /// Its id.
    pub subscription_id: SubscriptionId,
    /// Whose.
    pub owner: OwnerName,
    /// webhook, ntfy, slack, telegram, email or web_push.
    pub kind: String,
    /// Where to: of a URL its origin only.
    pub to: String,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Of what.
    pub events: Vec<Event>,
    /// Of which kinds of requests; of all when empty.
    pub kinds: Vec<Kind>,
    /// Of which agents' requests; of all when empty.
    pub agents: Vec<AgentHandle>,
    /// Whose it is: what is given to another person is left out. Everybody's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<AgentHandle>,
    /// What presses less is left out.
    pub min_urgency: Urgency,
    /// When nothing is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
    /// For how many minutes notifications are gathered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest_minutes: Option<u32>,
    /// Whether anything is sent.
    pub enabled: bool,
    /// Whether the receiver said that it is gone, and nothing is sent for that.
    pub gone: bool,
    /// When it was made.
    pub created_at: u64,
}

/// A subscription that was made.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionMade {
    /// It.
    pub subscription: SubscriptionView,
    /// Of a webhook: what its messages are signed with. It is shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// The subscriptions of an owner.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionList {
    /// Oldest first.
    pub subscriptions: Vec<SubscriptionView>,
}

/// What came of a test.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TestResult {
    /// Whether the receiver took the sample.
    pub delivered: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The key that browsers are given: `applicationServerKey`.
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
    /// Where it should have gone; absent where a client of Agent2Agent wanted it sent to a URL of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<SubscriptionId>,
    /// Of how many events it tells; of more than one in a digest.
    pub items: usize,
    /// What the first of them is; absent if it is not about a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    /// Of which request that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<AskId>,
    /// Its title.
    pub title: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: String,
    /// When it was given up.
    pub died_at: u64,
}

/// Notifications that did not arrive.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct DeadList {
    /// Newest first.
    pub notifications: Vec<DeadView>,
}

/// What a notification says of a request, as it is stored and as webhooks get it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// What became of it.
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
    /// What it is about.
    pub kind: Kind,
    /// How much it presses.
    pub urgency: Urgency,
    /// One line: what is asked.
    pub title: String,
    /// The agent that asks.
    pub from: AgentHandle,
    /// To which person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentHandle>,
    /// The tool that it wants to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Where the agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The beginning of what is to be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Which answers it takes.
    pub allow: Allow,
    /// What may be chosen from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// When it was asked.
    pub created_at: u64,
    /// Until when an answer is of use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<u64>,
    /// How it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerType>,
    /// Who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_presses_follows_from_the_kind_and_the_deadline() {
        assert_eq!(Urgency::of(Kind::Review, 0, None), Urgency::Low);
        assert_eq!(Urgency::of(Kind::Permission, 0, Some(PRESSES_MS)), Urgency::Normal);
        assert_eq!(Urgency::of(Kind::Review, 5, Some(PRESSES_MS)), Urgency::High);
    }

    #[test]
    fn of_a_target_only_its_origin_is_shown() {
        let slack = Target::Slack { url: "https://hooks.slack.com/services/T/B/secret".into() };
        assert_eq!(format!("{slack:?}"), "slack to https://hooks.slack.com");
        assert_eq!(origin("https://h:8443?x"), "https://h:8443");
    }
}
