//! One-tap links: the secret in a link's URL, and the request that it belongs to.
//! Must not know: HTTP.

mod fields;
mod page;

use std::sync::Arc;

use plenary_accounts::{Actor, Authority, TokenDigest};
use plenary_edge::Origin;
use plenary_engine::{ExecuteError, Room as _};
use plenary_kernel::{AskId, OwnerName, SubscriptionId, TimestampMs, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order};
use plenary_room::async_trait;

use crate::{
    Requests, TAP_MS_MAX,
    command::{HandleRequest, Handling, NewLink},
    event::{LinkMade, RequestEvent},
    request_view::RequestReading,
    room::{LINKS, RequestRoom},
};

pub(crate) use fields::answer_of_form;
pub(crate) use page::{Page, page};

/// The secret in a link's URL: 256 random bits.
pub(crate) struct Secret(String);

impl Secret {
    /// A new secret; equal for repetitions of the same request.
    pub(crate) fn random() -> Self {
        let random = || {
            let mut bytes = [0; 32];
            getrandom::fill(&mut bytes).expect("the system has randomness");
            bytes
        };
        Self(hex::encode(plenary_engine::secret_of_request().unwrap_or_else(random)))
    }

    /// A secret that a caller stores.
    pub(crate) fn of(bytes: [u8; 32]) -> Self {
        Self(hex::encode(bytes))
    }

    pub(crate) fn digest(&self) -> TokenDigest {
        TokenDigest::of(&self.0)
    }
}

/// The part of the server that sends links to receivers. It is asked when a link is used.
#[async_trait]
pub trait LinkReceivers: Send + Sync {
    /// Whether an owner still has this subscription, and what it depends on.
    async fn has(&self, owner: &OwnerName, receiver: &SubscriptionId) -> Result<bool, Fault>;
}

impl Requests {
    /// Sets the part of the server that sends links. The first call counts.
    pub fn set_link_receivers(&self, receivers: Arc<dyn LinkReceivers>) {
        let _first = self.0.link_receivers.set(receivers);
    }

    /// Sets the origin of the links' URLs.
    pub(crate) fn set_origin(&self, origin: &Origin) {
        let _first = self.0.origin.set(origin.clone());
    }

    pub(crate) fn tap_url(&self, secret: &Secret) -> String {
        let unknown_peer = std::net::SocketAddr::from(([0; 4], 0));
        let base = self.0.origin.get().map(|origin| origin.base_url(unknown_peer, &http::HeaderMap::new()));
        format!("{}/tap/{}", base.unwrap_or_default(), secret.0)
    }

    /// The URL of a one-tap link for the receiver of a subscription, with a secret that its part of the server stores; an
    /// equal secret gives the same link. `None` if the request no longer waits, or was changed too often. The link is valid
    /// while the subscription is.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn link_of(
        &self,
        id: &AskId,
        secret: [u8; 32],
        receiver: &SubscriptionId,
    ) -> Result<Option<String>, Fault> {
        let secret = Secret::of(secret);
        // An expired link is created again.
        if self.request_of_link(&secret.0).await?.is_none() {
            let link = NewLink {
                digest: secret.digest(),
                until: TimestampMs(self.now().0.saturating_add(TAP_MS_MAX)),
                through: None,
                person: None,
                receiver: Some(receiver.clone()),
            };
            let authority = Authority { by: Actor::Operator, token: None };
            let command = HandleRequest { authority, handling: Handling::Link(link) };
            if ExecuteError::skip_refused(self.handle(id, command).await)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(self.tap_url(&secret)))
    }

    /// The request of a link, if the link is still valid.
    pub(crate) async fn request_of_link(&self, secret: &str) -> Result<Option<RequestReading>, Fault> {
        let digest = TokenDigest::of(secret);
        let rows = self.log().read_index(LINKS, &digest.hex(), None, 1, Order::Ascending).await?;
        let Some(id) = rows.first().and_then(|row| std::str::from_utf8(&row.value).ok()) else {
            return Ok(None);
        };
        let Ok(id) = id.parse::<AskId>() else { return Ok(None) };
        let stream = RequestRoom::stream(id.as_str());
        let now = self.now();
        for stored_event in self.log().read_stream(&stream, Version::ZERO, READ_ROWS_MAX).await? {
            if let RequestEvent::LinkMade(event) = RequestEvent::decode(&stored_event)?
                && event.digest.matches(&digest)
                && is_open(now, event.until)
                && self.counts(&event).await?
            {
                return self.read(&id).await;
            }
        }
        Ok(None)
    }

    /// Whether everything that a link ends with still exists.
    async fn counts(&self, link: &LinkMade) -> Result<bool, Fault> {
        let owner = link.subject.agent.owner_name();
        if !self.accounts().still_counts(&owner, link.through.as_ref(), link.person.as_ref()).await? {
            return Ok(false);
        }
        match (&link.receiver, self.0.link_receivers.get()) {
            (Some(receiver), Some(receivers)) => receivers.has(&owner, receiver).await,
            (None, _) | (Some(_), None) => Ok(true),
        }
    }
}

fn is_open(now: TimestampMs, until: TimestampMs) -> bool {
    now < until
}
