//! Who asks, and by which URL they reach the server (CH-8, CH-36; wire.md D.6).
//! Must not know: what is asked.

use axum::extract::FromRequestParts;
use http::request::Parts;
use plenary_accounts::{Actor, Authority, Credentials, Principal, Who, identify};
use plenary_edge::Peer;

use crate::{command::Caller, misses::Guesser, refusals::Refused, routes::Surface, state::owner_of};

/// The code of the refusal where no token came at all.
const NO_TOKEN: &str = "missing_authorization";

/// The sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    /// The bearer of its token; none where none is needed and none came.
    pub(crate) principal: Option<Principal>,
    /// How it reaches the server.
    pub(crate) base_url: String,
    /// Whose budget its misses are on.
    pub(crate) guesser: Guesser,
}

/// The same for a live stream, where `?ticket=` stands in for a header that a browser can't send.
#[derive(Debug, Clone)]
pub(crate) struct Watching(pub(crate) Asking);

impl Asking {
    /// As commands want it.
    pub(crate) fn caller(&self) -> Caller {
        Caller { authority: self.principal.clone().map(Authority::from) }
    }

    /// Within what its idempotency keys are unique.
    pub(crate) fn scope(&self) -> String {
        self.caller().via().map_or_else(|| "anyone".into(), Actor::to_string)
    }

    /// Whether the owners that take part in a channel include its own; everything is the operator's.
    pub(crate) fn takes_part(&self, owners: &std::collections::BTreeSet<plenary_kernel::OwnerName>) -> bool {
        let via = self.principal.clone().map(|principal| Authority::from(principal).by);
        let is_operator = matches!(self.principal, Some(Principal { who: Who::Operator, .. }));
        is_operator || owner_of(via.as_ref()).is_some_and(|owner| owners.contains(&owner))
    }

    async fn identified(parts: &Parts, surface: &Surface, credentials: Credentials) -> Result<Self, Refused> {
        let principal = match identify(parts, surface.channels.accounts(), credentials).await {
            Ok(principal) => Some(principal),
            Err(refusal) if refusal.code == NO_TOKEN && surface.channels.config().open => None,
            Err(refusal) => return Err(refusal.into()),
        };
        let Peer(peer) = parts.extensions.get().copied().unwrap_or(Peer(([0; 4], 0).into()));
        let guesser = match &principal {
            Some(principal) => Guesser::Token(principal.token),
            None => Guesser::Address(peer.ip()),
        };
        Ok(Self { principal, base_url: surface.origin.base_url(peer, &parts.headers), guesser })
    }
}

impl FromRequestParts<Surface> for Asking {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, surface: &Surface) -> Result<Self, Refused> {
        Self::identified(parts, surface, Credentials::Header).await
    }
}

impl FromRequestParts<Surface> for Watching {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, surface: &Surface) -> Result<Self, Refused> {
        Asking::identified(parts, surface, Credentials::HeaderOrTicket).await.map(Self)
    }
}
