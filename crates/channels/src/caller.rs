//! The caller, and the base URL by which it reaches the server (CH-8, CH-36; wire.md D.6).
//! Must not know: the operation.

use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use plenary_accounts::{Actor, Authority, Credentials, Principal, admit, identify};
use plenary_edge::Peer;
use plenary_kernel::OwnerName;
use serde::Deserialize;

use crate::{
    channels::Watcher, command::Caller, misses::Guesser, refusals::ChannelRefusal, routes::Surface,
    state::owner_of,
};

/// The code of the refusal of a request without a token.
const NO_TOKEN: &str = "missing_authorization";

/// The sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestCaller {
    /// The caller as commands take it.
    caller: Caller,
    /// The base URL by which the caller reaches the server.
    pub(crate) base_url: String,
    /// The budgets that its misses count against.
    pub(crate) guessers: Vec<Guesser>,
    /// The budget that its live streams count against.
    pub(crate) watcher: Watcher,
    /// The principal of its token; `None` if it sent no token and needs none.
    pub(crate) principal: Option<Principal>,
    /// Whether it may also write: its token's scope admits it, and it is no viewer of the console. A read then shows it the
    /// key, and a key that it shows admits its owner.
    pub(crate) may_write: bool,
}

/// The query of a channel's link.
#[derive(Deserialize)]
struct Link {
    key: Option<String>,
}

/// The caller of a live stream. A browser, which cannot send the header, passes `?ticket=` instead.
#[derive(Debug, Clone)]
pub(crate) struct StreamCaller(pub(crate) RequestCaller);

impl RequestCaller {
    /// The caller as commands take it.
    pub(crate) fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// The owner of its token.
    pub(crate) fn owner(&self) -> Option<OwnerName> {
        owner_of(self.caller.via())
    }

    /// The scope in which its idempotency keys are unique.
    pub(crate) fn scope(&self) -> String {
        self.caller.via().map_or_else(|| "anyone".into(), Actor::to_string)
    }

    async fn identified(
        parts: &Parts,
        surface: &Surface,
        credentials: Credentials,
    ) -> Result<Self, ChannelRefusal> {
        let open = surface.channels.config().open;
        let principal = match identify(parts, surface.channels.accounts(), credentials).await {
            Ok(principal) => Some(principal),
            Err(refusal) if refusal.code == NO_TOKEN && open => {
                admit(parts, None).await?;
                None
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let may_write = match &principal {
            Some(principal) if parts.method.is_safe() => {
                surface.channels.accounts().may_write(parts, principal, "channels").await?
            }
            Some(_) | None => true,
        };
        let Peer(peer) = parts.extensions.get().copied().unwrap_or(Peer(([0; 4], 0).into()));
        let address = surface.origin.client_address(peer, &parts.headers);
        let link = Query::<Link>::try_from_uri(&parts.uri).ok();
        let key = link.and_then(|Query(link)| link.key?.parse().ok());
        let caller = Caller { authority: principal.clone().map(Authority::from), key, open };
        let owner = owner_of(caller.via());
        let watcher = match (&principal, &owner) {
            (_, Some(owner)) => Watcher::Owner(owner.clone()),
            (Some(_), None) => Watcher::Operator,
            (None, None) => Watcher::Address(address),
        };
        // The operator may see all channels, so it has nothing to guess.
        let guessers = match watcher {
            Watcher::Operator => Vec::new(),
            Watcher::Owner(_) | Watcher::Address(_) => {
                owner.map(Guesser::Owner).into_iter().chain(address.map(Guesser::Address)).collect()
            }
        };
        let base_url = surface.origin.base_url(peer, &parts.headers);
        Ok(Self { caller, base_url, guessers, watcher, principal, may_write })
    }
}

impl FromRequestParts<Surface> for RequestCaller {
    type Rejection = ChannelRefusal;

    async fn from_request_parts(parts: &mut Parts, surface: &Surface) -> Result<Self, ChannelRefusal> {
        Self::identified(parts, surface, Credentials::Header).await
    }
}

impl FromRequestParts<Surface> for StreamCaller {
    type Rejection = ChannelRefusal;

    async fn from_request_parts(parts: &mut Parts, surface: &Surface) -> Result<Self, ChannelRefusal> {
        RequestCaller::identified(parts, surface, Credentials::HeaderOrTicket).await.map(Self)
    }
}
