//! The room's handle, and its observer of committed events.
//! Must not know: HTTP.

use std::{collections::HashSet, sync::Arc};

use parking_lot::{Mutex, RwLock};
use plenary_accounts::{Accounts, Authority};
use plenary_edge::operations::Operations;
use plenary_engine::{ExecuteError, Streams};
use plenary_frames::Frames;
use plenary_hub::Observer;
use plenary_kernel::{AccordId, Clock, OwnerName, Shares, TimestampMs};
use plenary_log::{Fault, Log, StoredEvent};
use plenary_outward::{
    TlsFault, client_config,
    guard::{Guard, GuardedPool},
};
use plenary_room::async_trait;
use plenary_sessions::Sessions;
use tokio::sync::{OnceCell, Semaphore, watch};

use crate::{
    Config, NetworkUrl,
    accord::{
        AccordRoom, DoAccord, PEERS,
        decide::{AccordStep, AffectedAccord, Rejection},
        state::PeersState,
    },
    key::NetworkKey,
    limits::{
        GUEST_REQUESTS_AT_ONCE_MAX, GUEST_REQUESTS_PER_MINUTE_MAX, GUEST_REQUESTS_PER_PEER_MAX,
        GUESTS_OUT_MAX, GUESTS_OUT_PER_OWNER_MAX, GUESTS_OUT_PER_PEER_MAX, LEAVING_MAX,
        LEAVING_PER_OWNER_MAX, LEAVING_PER_PEER_MAX, NEWS_PER_PEER_MAX, REDEEMED_AT_ONCE_MAX,
        REQUESTS_AT_ONCE_MAX, REQUESTS_PER_PEER_MAX, SESSION_REQUESTS_AT_ONCE_MAX,
        SESSION_REQUESTS_PER_MINUTE_MAX, SESSION_REQUESTS_PER_PEER_MAX,
    },
    quota::{FullPeers, Outages, PeerUsage, Quotas},
    sessions::due::DueCopies,
};

/// Links to other networks. Cheap to clone.
#[derive(Clone)]
pub struct Links(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    accounts: Accounts,
    pub(crate) peers: Streams<AccordRoom>,
    /// The key of this network, after its first use.
    pub(crate) key: OnceCell<NetworkKey>,
    /// The connections to other networks; `None` if TLS cannot be set up.
    pub(crate) pool: Option<GuardedPool>,
    /// Whether `http` is permitted too.
    pub(crate) allows_http: bool,
    pub(crate) quotas: Quotas,
    pub(crate) at_once: Shares<AccordId>,
    pub(crate) redemptions: Semaphore,
    /// The networks with which this process is making an accord.
    pub(crate) ceremonies: Mutex<HashSet<NetworkUrl>>,
    pub(crate) frames: Frames,
    /// Outgoing frames and session requests, counted by the owner of their agent and by the peer.
    pub(crate) outgoing_calls: Shares<OwnerName>,
    pub(crate) outgoing_calls_to: Shares<AccordId>,
    /// Notified when the state of a peer changes.
    pub(crate) changed: watch::Sender<()>,
    pub(crate) sessions: Sessions,
    pub(crate) session_quotas: Quotas,
    pub(crate) sessions_at_once: Shares<AccordId>,
    pub(crate) news_at_once: Shares<AccordId>,
    pub(crate) copied_bytes: PeerUsage,
    pub(crate) full: FullPeers,
    pub(crate) outages: Outages,
    pub(crate) due: DueCopies,
    /// The operations that guests call, while the server runs.
    pub(crate) operations: RwLock<Option<Operations>>,
    pub(crate) guest_quotas: Quotas,
    pub(crate) guests_at_once: Shares<AccordId>,
    pub(crate) guest_bytes: PeerUsage,
    /// Forwarded requests, counted by the owner of their agent and by the peer.
    pub(crate) guests_out: Shares<OwnerName>,
    pub(crate) guests_out_to: Shares<AccordId>,
    /// Notified when this network takes an invitation of a peer for its agents.
    pub(crate) expecting: watch::Sender<()>,
    /// Whether the server is shutting down.
    pub(crate) closed: watch::Sender<bool>,
}

impl Links {
    /// The room of a log. If the system has no certificate authorities, every request to another network fails with that
    /// reason.
    ///
    /// # Errors
    /// The file of certificate authorities cannot be used.
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
            allows_http: *private_addresses,
            quotas: Quotas::default(),
            at_once: Shares::new(REQUESTS_AT_ONCE_MAX, REQUESTS_PER_PEER_MAX),
            redemptions: Semaphore::new(REDEEMED_AT_ONCE_MAX),
            ceremonies: Mutex::default(),
            frames,
            outgoing_calls: Shares::new(LEAVING_MAX, LEAVING_PER_OWNER_MAX),
            outgoing_calls_to: Shares::new(LEAVING_MAX, LEAVING_PER_PEER_MAX),
            changed: watch::Sender::new(()),
            sessions,
            session_quotas: Quotas::new(SESSION_REQUESTS_PER_MINUTE_MAX),
            sessions_at_once: Shares::new(SESSION_REQUESTS_AT_ONCE_MAX, SESSION_REQUESTS_PER_PEER_MAX),
            news_at_once: Shares::new(SESSION_REQUESTS_AT_ONCE_MAX, NEWS_PER_PEER_MAX),
            copied_bytes: PeerUsage::default(),
            full: FullPeers::default(),
            outages: Outages::default(),
            due: DueCopies::default(),
            operations: RwLock::default(),
            guest_quotas: Quotas::new(GUEST_REQUESTS_PER_MINUTE_MAX),
            guests_at_once: Shares::new(GUEST_REQUESTS_AT_ONCE_MAX, GUEST_REQUESTS_PER_PEER_MAX),
            guest_bytes: PeerUsage::default(),
            guests_out: Shares::new(GUESTS_OUT_MAX, GUESTS_OUT_PER_OWNER_MAX),
            guests_out_to: Shares::new(GUESTS_OUT_MAX, GUESTS_OUT_PER_PEER_MAX),
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

    /// The current peers, including changes of other processes.
    pub(crate) async fn peers(&self) -> Result<Arc<PeersState>, Fault> {
        Ok(self.0.peers.fresh(PEERS).await?.0)
    }

    /// Returns when an accord is no longer active. Subscribe `changes` before the accord is checked.
    pub(crate) async fn accord_end(&self, mut changes: watch::Receiver<()>, accord: &AccordId) {
        while changes.changed().await.is_ok() {
            // If the store fails, the accord counts as active.
            if self.peers().await.is_ok_and(|peers| peers.of_accord(accord).is_none()) {
                return;
            }
        }
    }

    /// Executes a command on a peer. Without an authority it acts for a peer or for the server itself.
    pub(crate) async fn execute(
        &self,
        authority: Option<Authority>,
        step: AccordStep,
    ) -> Result<AffectedAccord, ExecuteError<Rejection>> {
        let command = DoAccord { links: self, authority, step };
        Ok(self.0.peers.execute(PEERS, &command, None).await?.reply)
    }
}

#[async_trait]
impl Observer for Links {
    async fn committed(&self, events: &[StoredEvent]) {
        for event in events.iter().filter(|event| is_of_peers(event)) {
            self.0.peers.observe(event);
            self.0.changed.send_replace(());
        }
    }
}

fn is_of_peers(event: &StoredEvent) -> bool {
    use plenary_engine::Room as _;
    event.stream.category() == AccordRoom::CATEGORY
}
