//! One attempt to send a notification, to any kind of receiver.
//! Must not know: earlier attempts.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use plenary_kernel::{OwnerName, TimestampMs};
use plenary_outward::{
    TlsFault, client_config,
    guard::{Guard, GuardedPool},
    retry_after,
};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    Config, SEND_TIME_MAX,
    mail::Mail,
    message::Note,
    post::Post,
    push::{Browser, Vapid, sealed},
    signature::Secret,
    subscription::event::Subscription,
    wire::{Target, Urgency, origin},
};

const TELEGRAM: &str = "https://api.telegram.org";
/// How long a push service keeps a message for an offline browser, in seconds.
const PUSH_SECONDS: &str = "86400";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttemptResult {
    /// The receiver accepted it.
    Accepted,
    /// A temporary failure: the error for people, and the least delay of a retry in milliseconds.
    Failed(String, Option<u64>),
    /// The receiver is gone permanently.
    Gone(String),
}

/// A notification with the data for sending it.
pub(crate) struct Letter<'a> {
    /// Its id, the same for each attempt.
    pub(crate) id: &'a str,
    /// The owner of the subscription.
    pub(crate) owner: &'a OwnerName,
    pub(crate) subscription: &'a Subscription,
    pub(crate) note: &'a Note,
    pub(crate) now: TimestampMs,
    /// The key for push services.
    pub(crate) vapid: Option<&'a Vapid>,
}

/// The connections to the receivers.
pub(crate) struct Sender {
    pool: GuardedPool,
    mail: Option<Mail>,
    contact: String,
}

/// An HTTP request to a receiver.
struct OutgoingRequest {
    url: String,
    headers: HeaderMap,
    body: Bytes,
}

impl OutgoingRequest {
    fn json(url: String, body: &Value) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { url, headers, body: body.to_string().into() }
    }

    fn with(mut self, name: &'static str, value: &str) -> Result<Self, AttemptResult> {
        let value = HeaderValue::from_str(value).map_err(|_| failed("a header can't be written"))?;
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(self)
    }

    /// Adds the id and the signature of Standard Webhooks.
    fn signed(self, id: &str, now: TimestampMs, secret: Option<&Secret>) -> Result<Self, AttemptResult> {
        let timestamp = (now.0 / 1_000).to_string();
        let signature = secret.map(|secret| secret.signature(id, &timestamp, &self.body));
        let out = self.with("webhook-id", id)?.with("webhook-timestamp", &timestamp)?;
        match signature {
            Some(signature) => out.with("webhook-signature", &signature),
            None => Ok(out),
        }
    }
}

fn late() -> AttemptResult {
    failed(format!("no answer within {} s", SEND_TIME_MAX.as_secs()))
}

fn failed(why: impl Into<String>) -> AttemptResult {
    AttemptResult::Failed(why.into(), None)
}

/// Splits a topic's URL into server and topic.
pub(crate) fn topic(url: &str) -> Option<(&str, &str)> {
    let (server, topic) = url.trim_end_matches('/').rsplit_once('/')?;
    (server.contains("://") && !server.ends_with('/') && !topic.is_empty()).then_some((server, topic))
}

impl Sender {
    /// A sender with this configuration.
    pub(crate) fn new(config: &Config) -> Result<Self, TlsFault> {
        let ca_file = config.ca_file.as_deref();
        // Without certificate authorities nothing is reachable over TLS; each attempt reports that.
        let tls = match client_config(true, ca_file, "with notify.ca_file") {
            Err(_) if ca_file.is_none() => client_config(false, None, "")?,
            tls => tls?,
        };
        let mail = config.smtp.as_ref().map(|smtp| Mail::new(smtp, ca_file)).transpose()?;
        let contact = config.contact.clone().unwrap_or_else(|| "mailto:operator@localhost".to_owned());
        Ok(Self { pool: GuardedPool::new(Guard::new(config.private_addresses), tls), mail, contact })
    }

    /// Which addresses may be reached.
    pub(crate) const fn guard(&self) -> Guard {
        self.pool.guard()
    }

    /// Whether a mail server is configured.
    pub(crate) const fn has_mail(&self) -> bool {
        self.mail.is_some()
    }

    /// Makes one attempt.
    pub(crate) async fn send(&self, letter: &Letter<'_>) -> AttemptResult {
        timeout(SEND_TIME_MAX, self.attempt(letter)).await.unwrap_or_else(|_| late())
    }

    async fn attempt(&self, letter: &Letter<'_>) -> AttemptResult {
        if let Target::Email { to } = &letter.subscription.target {
            let Some(mail) = &self.mail else { return failed("this server sends no mail") };
            let (subject, text) = (letter.note.title(), letter.note.text(true));
            // A mail names the owner, for readers who did not subscribe themselves.
            let text = format!("{text}\n\n-- \nPlenary sends this for the owner {}.\n", letter.owner);
            return match mail.send(letter.id, to, subject, text).await {
                Ok(()) => AttemptResult::Accepted,
                Err(why) => failed(why),
            };
        }
        match self.outgoing(letter) {
            Ok(outgoing) => {
                let is_push = matches!(letter.subscription.target, Target::WebPush { .. });
                self.post(outgoing, is_push).await
            }
            Err(sent) => sent,
        }
    }

    fn outgoing(&self, letter: &Letter<'_>) -> Result<OutgoingRequest, AttemptResult> {
        let Letter { id, owner: _, subscription, note, now, vapid } = letter;
        match &subscription.target {
            Target::Webhook { url } => OutgoingRequest::json(url.clone(), &note.webhook()).signed(
                id,
                *now,
                Some(&subscription.secret),
            ),
            Target::Ntfy { url, token } => {
                let (server, topic) = topic(url).ok_or_else(|| failed("the URL names no topic"))?;
                let out = OutgoingRequest::json(format!("{server}/"), &note.ntfy(topic));
                match token {
                    Some(token) => out.with("authorization", &format!("Bearer {token}")),
                    None => Ok(out),
                }
            }
            Target::Slack { url } => Ok(OutgoingRequest::json(url.clone(), &note.slack())),
            Target::Telegram { bot_token, chat_id, url } => {
                let api = url.as_deref().unwrap_or(TELEGRAM).trim_end_matches('/');
                Ok(OutgoingRequest::json(
                    format!("{api}/bot{bot_token}/sendMessage"),
                    &note.telegram(chat_id),
                ))
            }
            Target::WebPush { endpoint, p256dh, auth } => {
                let browser =
                    Browser::read(p256dh, auth).ok_or_else(|| failed("the browser's keys are invalid"))?;
                let vapid = vapid.ok_or_else(|| failed("this server has no key"))?;
                let broken = |_| failed("the message can't be sealed");
                let body = sealed(&browser, &note.push()).map_err(broken)?;
                let authorization =
                    vapid.authorization(&origin(endpoint), &self.contact, now.0 / 1_000).map_err(broken)?;
                let urgency = match note.urgency() {
                    Urgency::Low => "low",
                    Urgency::Normal => "normal",
                    Urgency::High => "high",
                };
                OutgoingRequest { url: endpoint.clone(), headers: HeaderMap::new(), body: body.into() }
                    .with("content-type", "application/octet-stream")?
                    .with("content-encoding", "aes128gcm")?
                    .with("ttl", PUSH_SECONDS)?
                    .with("urgency", urgency)?
                    .with("topic", topic_of(id).as_str())?
                    .with("authorization", &authorization)
            }
            Target::Email { .. } => Err(failed("mail is sent by SMTP")),
        }
    }

    /// Makes one attempt to send a request of another room.
    pub(crate) async fn send_post(&self, id: &str, post: &Post, now: TimestampMs) -> AttemptResult {
        let attempt = async {
            let out = OutgoingRequest {
                url: post.url.clone(),
                headers: HeaderMap::new(),
                body: post.body.clone().into(),
            };
            let mut out = match out.signed(id, now, post.secret().map(Secret::chosen).as_ref()) {
                Ok(out) => out,
                Err(sent) => return sent,
            };
            for (name, value) in &post.headers {
                let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) else {
                    return failed("a header can't be written");
                };
                out.headers.insert(name, value);
            }
            self.post(out, false).await
        };
        timeout(SEND_TIME_MAX, attempt).await.unwrap_or_else(|_| late())
    }

    async fn post(&self, outgoing: OutgoingRequest, is_push: bool) -> AttemptResult {
        let OutgoingRequest { url, headers, body } = outgoing;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        match self.guard().url(&url) {
            Ok(uri) => *request.uri_mut() = uri,
            Err(why) => return failed(format!("the URL {why}")),
        }
        *request.headers_mut() = headers;
        let agent = HeaderValue::from_static(concat!("plenary/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(header::USER_AGENT, agent);
        let response = match self.pool.send(request).await {
            Ok(response) => response,
            Err(why) => return failed(why),
        };
        let (status, retry_after) = (response.status(), retry_after(response.headers()));
        if status.is_success() {
            return AttemptResult::Accepted;
        }
        let message = format!("the receiver answered {}", status.as_u16());
        if status == StatusCode::GONE || (is_push && status == StatusCode::NOT_FOUND) {
            return AttemptResult::Gone(message);
        }
        AttemptResult::Failed(
            message,
            retry_after.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        )
    }
}

/// The topic by which a push service recognizes repetitions: at most 32 characters of base64url.
fn topic_of(id: &str) -> String {
    let digest = plenary_kernel::json::digest(id.as_bytes());
    STANDARD.encode(&digest[..15]).replace('+', "-").replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_the_last_part_of_its_url() {
        assert_eq!(topic("https://ntfy.sh/t"), Some(("https://ntfy.sh", "t")));
        assert_eq!(topic("https://h/ntfy/t/"), Some(("https://h/ntfy", "t")));
        for url in ["https://ntfy.sh", "https://ntfy.sh/", "t"] {
            assert_eq!(topic(url), None, "{url}");
        }
    }
}
