//! One-tap links: the secret in a link's URL, and the request that it belongs to.
//! Must not know: HTTP.

mod fields;
mod page;

use plenary_accounts::{Actor, Authority, TokenDigest};
use plenary_edge::Origin;
use plenary_engine::{ExecuteError, Room as _};
use plenary_kernel::{AskId, TimestampMs, Version, limits::READ_ROWS_MAX};
use plenary_log::{Fault, Order};

use crate::{
    Requests, TAP_MS_MAX,
    command::{HandleRequest, Handling},
    event::RequestEvent,
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

impl Requests {
    /// Sets the origin of the links' URLs.
    pub(crate) fn set_origin(&self, origin: &Origin) {
        let _first = self.0.origin.set(origin.clone());
    }

    pub(crate) fn tap_url(&self, secret: &Secret) -> String {
        let unknown_peer = std::net::SocketAddr::from(([0; 4], 0));
        let base = self.0.origin.get().map(|origin| origin.base_url(unknown_peer, &http::HeaderMap::new()));
        format!("{}/tap/{}", base.unwrap_or_default(), secret.0)
    }

    /// The URL of a one-tap link with a secret that another part of the server stores; an equal secret gives the same
    /// link. `None` if the request no longer waits, or was changed too often. `through` is the proof of the rule by which the
    /// recipient signed in at an issuer, if it did: the link is valid while the rule exists.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn link_of(
        &self,
        id: &AskId,
        secret: [u8; 32],
        through: Option<TokenDigest>,
    ) -> Result<Option<String>, Fault> {
        let secret = Secret::of(secret);
        // An expired link is created again.
        if self.request_of_link(&secret.0).await?.is_none() {
            let digest = secret.digest();
            let until = TimestampMs(self.now().0.saturating_add(TAP_MS_MAX));
            let authority = Authority { by: Actor::Operator, token: None };
            let command = HandleRequest { authority, handling: Handling::Link { digest, until, through } };
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
                && event.through.is_none_or(|rule| self.accounts().is_issuer_proof(&rule))
            {
                return self.read(&id).await;
            }
        }
        Ok(None)
    }
}

fn is_open(now: TimestampMs, until: TimestampMs) -> bool {
    now < until
}
