//! The room as everybody else holds it, and how it hears of what is committed.
//! Must not know: HTTP.

use std::{
    future::{Future, ready},
    pin::Pin,
    sync::Arc,
};

use plenary_accounts::{Accounts, Authority};
use plenary_engine::{ExecuteError, Streams};
use plenary_frames::Frames;
use plenary_hub::Observer;
use plenary_kernel::{AccordId, Clock, OwnerName, Shares, TimestampMs};
use plenary_log::{Fault, Log, StoredEvent};
use plenary_outward::{
    TlsFault, client_config,
    guard::{Guard, GuardedPool},
};
use plenary_sessions::Sessions;
use tokio::sync::{OnceCell, Semaphore, watch};

use crate::{
    Config,
    accord::{
        AccordRoom, DoAccord, PEERS,
        decide::{AccordStep, Concerned, Rejection},
        state::PeersState,
    },
    key::NetworkKey,
    limits::{
        LEAVING_MAX, LEAVING_PER_OWNER_MAX, LEAVING_PER_PEER_MAX, NEWS_PER_PEER_MAX, REDEEMED_AT_ONCE_MAX,
        REQUESTS_AT_ONCE_MAX, REQUESTS_PER_PEER_MAX, SESSION_REQUESTS_AT_ONCE_MAX,
        SESSION_REQUESTS_PER_MINUTE_MAX, SESSION_REQUESTS_PER_PEER_MAX,
    },
    quota::{PeerUsage, Quotas},
};

/// Links to other networks. Cheap to clone.
#[derive(Clone)]
pub struct Links(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    accounts: Accounts,
    pub(crate) peers: Streams<AccordRoom>,
    /// The key of this network, once it was needed.
    pub(crate) key: OnceCell<NetworkKey>,
    /// How other networks are asked; not at all where TLS cannot be set up.
    pub(crate) pool: Option<GuardedPool>,
    /// Whether networks are asked over `http` too.
    pub(crate) plain_too: bool,
    pub(crate) quotas: Quotas,
    pub(crate) at_once: Shares<AccordId>,
    pub(crate) redeemed: Semaphore,
    pub(crate) frames: Frames,
    /// Frames on their way to peers, by the owner of their agent and by the peer.
    pub(crate) leaving: Shares<OwnerName>,
    pub(crate) leaving_to: Shares<AccordId>,
    /// Marked when something became of a peer.
    pub(crate) changed: watch::Sender<()>,
    pub(crate) sessions: Sessions,
    pub(crate) session_quotas: Quotas,
    pub(crate) sessions_at_once: Shares<AccordId>,
    pub(crate) news_at_once: Shares<AccordId>,
    pub(crate) copied_bytes: PeerUsage,
    /// Marked when agents of this network took an invitation of a peer.
    pub(crate) expecting: watch::Sender<()>,
    /// Whether the server ends.
    pub(crate) closed: watch::Sender<bool>,
}

impl Links {
    /// The room in a log. Without certificate authorities it asks no other network, and says so when it is to.
    ///
    /// # Errors
    /// The file of certificate authorities cannot be used; for people.
    pub fn new(
        log: Log,
        clock: Arc<dyn Clock>,
        (accounts, frames, sessions): (Accounts, Frames, Sessions),
        config: &Config,
    ) -> Result<Self, TlsFault> {
        let Config { private_addresses, ca_file } = config;
        let pool = match client_config(true, ca_file.as_deref(), "with `ca_file` or SSL_CERT_FILE") {
            Ok(tls) => Some(GuardedPool::new(Guard::new(*private_addresses), tls)),
            Err(fault) if ca_file.is_some() => return Err(fault),
            Err(fault) => {
                tracing::warn!(%fault, "other networks are not asked");
                None
            }
        };
        Ok(Self(Arc::new(Inner {
            accounts,
            peers: Streams::new(log, clock),
            key: OnceCell::new(),
            pool,
            plain_too: *private_addresses,
            quotas: Quotas::default(),
            at_once: Shares::new(REQUESTS_AT_ONCE_MAX, REQUESTS_PER_PEER_MAX),
            redeemed: Semaphore::new(REDEEMED_AT_ONCE_MAX),
            frames,
            leaving: Shares::new(LEAVING_MAX, LEAVING_PER_OWNER_MAX),
            leaving_to: Shares::new(LEAVING_MAX, LEAVING_PER_PEER_MAX),
            changed: watch::Sender::new(()),
            sessions,
            session_quotas: Quotas::new(SESSION_REQUESTS_PER_MINUTE_MAX),
            sessions_at_once: Shares::new(SESSION_REQUESTS_AT_ONCE_MAX, SESSION_REQUESTS_PER_PEER_MAX),
            news_at_once: Shares::new(SESSION_REQUESTS_AT_ONCE_MAX, NEWS_PER_PEER_MAX),
            copied_bytes: PeerUsage::default(),
            expecting: watch::Sender::new(()),
            closed: watch::Sender::new(false),
        })))
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }
    pub(crate) fn log(&self) -> &Log {
        self.0.peers.log()
    }
    pub(crate) fn now(&self) -> TimestampMs {
        self.0.peers.clock().now()
    }

    /// The peers as they are now, whichever process changed them.
    pub(crate) async fn peers(&self) -> Result<Arc<PeersState>, Fault> {
        Ok(self.0.peers.fresh(PEERS).await?.0)
    }

    /// Ends when an accord holds no more. `changes` begins before the accord was seen to hold.
    pub(crate) async fn ended(&self, mut changes: watch::Receiver<()>, accord: &AccordId) {
        while changes.changed().await.is_ok() {
            // While the store fails, nothing is known to have ended.
            if self.peers().await.is_ok_and(|peers| peers.of_accord(accord).is_none()) {
                return;
            }
        }
    }

    /// Does something about a peer; without an authority in the name of a peer, or of the server itself.
    pub(crate) async fn carry_out(
        &self,
        authority: Option<Authority>,
        step: AccordStep,
    ) -> Result<Concerned, ExecuteError<Rejection>> {
        let command = DoAccord { links: self, authority, step };
        Ok(self.0.peers.execute(PEERS, &command, None).await?.reply)
    }
}

impl Observer for Links {
    fn committed<'a>(&'a self, events: &'a [StoredEvent]) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        for event in events.iter().filter(|event| is_of_peers(event)) {
            self.0.peers.observe(event);
            self.0.changed.send_replace(());
        }
        Box::pin(ready(()))
    }
}

fn is_of_peers(event: &StoredEvent) -> bool {
    use plenary_engine::Room as _;
    event.stream.category() == AccordRoom::CATEGORY
}
