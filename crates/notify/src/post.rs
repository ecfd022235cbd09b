//! Requests that another room sends to URLs of its own clients: signed, retried and abandoned like notifications,
//! within the same limits of the owner.
//! Must not know: the content, or the recipient.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use plenary_engine::Room as _;
use plenary_kernel::{NoticeId, OwnerName, Stamp, SubscriptionId, TimestampMs, Version};
use plenary_log::Fault;
use plenary_room::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    Notify,
    delivery::{
        DeliveryRoom,
        decide::{AttemptRecord, DeliveryStep, NewItem, Outcome},
        event::{DeliveryEvent, DeliverySubject},
    },
    sender::AttemptResult,
    signature::PREFIX,
};

/// One request to a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// The title that people see if it is not delivered.
    pub title: String,
    /// The URL.
    pub url: String,
    /// The secret for the signature of Standard Webhooks; without the prefix `whsec_` its bytes are the key. Without
    /// a secret the request is not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The headers by lower-case name, with `content-type`.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
    /// What the room knows it by, see [`PostOrigins`]; `None` if it is always sent, or if it is older than this member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// The room of the requests. It is asked before each attempt, because an attempt may follow a day after the request was made.
#[async_trait]
pub trait PostOrigins: Send + Sync {
    /// Whether the request is still to be sent.
    async fn is_wanted(&self, owner: &OwnerName, post: &Post) -> Result<bool, Fault>;
}

/// The stored form of a post, in place of a notice.
#[derive(Debug, Serialize, Deserialize)]
struct StoredPost {
    post: Post,
}

/// The subscription id of a post: older than any id of a subscription, so that none has it.
pub(crate) fn no_subscription() -> SubscriptionId {
    SubscriptionId::mint(&Stamp::new(TimestampMs(0), [0; 10]), 0)
}

impl Post {
    /// The secret in the form of Standard Webhooks.
    pub(crate) fn secret(&self) -> Option<String> {
        let secret = self.secret.as_ref()?;
        let is_one = secret.strip_prefix(PREFIX).is_some_and(|key| STANDARD.decode(key).is_ok());
        Some(if is_one { secret.clone() } else { format!("{PREFIX}{}", STANDARD.encode(secret)) })
    }
}

impl Notify {
    /// Whether a URL may be sent to.
    ///
    /// # Errors
    /// Why it may not, for people.
    pub fn check_url(&self, url: &str) -> Result<(), String> {
        self.0.sender.guard().url(url).map(drop).map_err(str::to_owned)
    }

    /// Whether the owner may have one more notification in the queue.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn has_room(&self, owner: &OwnerName) -> Result<bool, Fault> {
        Ok(self.room(owner, false).await? > 0)
    }

    /// Queues a request, once per `source`; `false` if the owner's queue is full and it is not sent.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn post(&self, source: &str, owner: &OwnerName, post: Post) -> Result<bool, Fault> {
        let id = NoticeId::of_source(source);
        if self.0.deliveries.fresh(id.as_str()).await?.0.subject.is_some() {
            return Ok(true);
        }
        if self.room(owner, false).await? == 0 {
            return Ok(false);
        }
        let notice = serde_json::to_vec(&StoredPost { post }).expect("strings can be written");
        let subject =
            DeliverySubject { owner: owner.clone(), subscription: no_subscription(), created: self.now() };
        let new = NewItem { subject, item: 0, digest: None, stranger: None, notice: Bytes::from(notice) };
        self.handle(&id, DeliveryStep::Add(new)).await?;
        Ok(true)
    }

    /// The request with this id.
    pub(crate) async fn post_of(&self, id: &NoticeId) -> Result<Post, Fault> {
        let stored = self.log().read_stream(&DeliveryRoom::stream(id.as_str()), Version::ZERO, 1).await?;
        let first = stored.first().map(DeliveryEvent::decode).transpose()?;
        let Some(DeliveryEvent::NoticeAdded(added)) = first else {
            return Err(Fault::Corrupt(format!("{id} does not begin with what it says")));
        };
        let stored: Result<StoredPost, _> = serde_json::from_slice(&added.notice);
        stored.map(|stored| stored.post).map_err(|error| Fault::Corrupt(format!("{id}: {error}")))
    }

    /// Sets the room of the requests. The first call counts.
    pub fn set_post_origins(&self, origins: Arc<dyn PostOrigins>) {
        let _first = self.0.post_origins.set(origins);
    }

    async fn is_wanted(&self, owner: &OwnerName, post: &Post) -> Result<bool, Fault> {
        match self.0.post_origins.get().filter(|_| post.origin.is_some()) {
            Some(origins) => origins.is_wanted(owner, post).await,
            None => Ok(true),
        }
    }

    /// Makes one attempt if it is due, unless another task or process does.
    pub(crate) async fn attempt_post(&self, id: &NoticeId, owner: &OwnerName) -> Result<(), Fault> {
        let Outcome::Begun(until) = self.handle(id, DeliveryStep::Begin).await? else { return Ok(()) };
        let post = self.post_of(id).await?;
        if !self.is_wanted(owner, &post).await? {
            self.handle(id, DeliveryStep::End(until, AttemptRecord::Needless)).await?;
            return Ok(());
        }
        let attempted = match self.0.sender.send_post(id.as_str(), &post, self.now()).await {
            AttemptResult::Accepted => AttemptRecord::Accepted,
            AttemptResult::Failed(why, retry_after) => AttemptRecord::Failed(why, retry_after),
            AttemptResult::Gone(why) => AttemptRecord::Refused(why),
        };
        self.handle(id, DeliveryStep::End(until, attempted)).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_any_form_becomes_one_of_standard_webhooks() {
        let secret = |text: Option<&str>| {
            let secret = text.map(str::to_owned);
            let (title, url, body) = (String::new(), String::new(), String::new());
            Post { title, url, secret, headers: BTreeMap::new(), body, origin: None }.secret()
        };
        assert_eq!(secret(Some("whsec_AAAA")).as_deref(), Some("whsec_AAAA"));
        assert_eq!(secret(Some("a token")).as_deref(), Some("whsec_YSB0b2tlbg=="));
        assert_eq!(secret(Some("whsec_?")).as_deref(), Some("whsec_d2hzZWNfPw=="));
        assert_eq!(secret(None), None);
    }
}
