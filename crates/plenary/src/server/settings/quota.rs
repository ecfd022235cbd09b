//! `[quota]` in `plenary.toml`: the share of one owner in resources that all owners share.
//! Must not know: how a room counts it.

use anyhow::bail;
use plenary_context::quotas::Quotas;
use plenary_edge::config::PAGE_RESERVED_BYTES;
use plenary_log::{AccountsMax, UsageMax};
use serde::Deserialize;

/// The default limit of stored bytes per owner, and per peer.
const STORED_BYTES_MAX: u64 = 10 << 30;
/// The default limit of stored events per owner, and per peer.
const STORED_EVENTS_MAX: u64 = 10_000_000;

/// The table; an absent value has its default.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Quota {
    /// Maximum bytes of events and blobs stored by one owner's agents [default: 10 GiB]
    pub(crate) stored_bytes_max: Option<u64>,
    /// Maximum number of events stored by one owner's agents [default: 10000000]
    pub(crate) stored_events_max: Option<u64>,
    /// Maximum bytes of events and blobs stored for the agents of one peer [default: 10 GiB]
    pub(crate) peer_stored_bytes_max: Option<u64>,
    /// Maximum number of events stored for the agents of one peer [default: 10000000]
    pub(crate) peer_stored_events_max: Option<u64>,
    /// Maximum number of live streams of one owner, WebSockets and Server-Sent Events [default: 12000]
    pub(crate) streams_per_owner_max: Option<usize>,
    /// Maximum bytes of large answers in progress, of all owners together [default: 128 MiB]
    pub(crate) answer_bytes_max: Option<usize>,
    /// The same for one owner [default: 48 MiB]
    pub(crate) answer_bytes_per_owner_max: Option<usize>,
    /// Maximum number of pending invitations from one owner's agents to an agent that does not list them [default: 1000]
    pub(crate) invitations_unanswered_max: Option<usize>,
    /// Maximum number of concurrent searches of one owner: agents and messages together, and context [default: 4]
    pub(crate) searches_per_owner_max: Option<usize>,
    /// Maximum number of concurrent uploads of one owner's agents [default: 4]
    pub(crate) uploads_per_owner_max: Option<usize>,
    /// Maximum number of concurrent exports of one owner [default: 4]
    pub(crate) exports_per_owner_max: Option<usize>,
    /// Maximum number of open sessions of the Model Context Protocol of one owner and its agents; beyond it the least
    /// recently used is closed [default: 1024]
    pub(crate) mcp_sessions_per_owner_max: Option<usize>,
}

impl Quota {
    /// The same values, once they are checked.
    pub(super) fn checked(self) -> anyhow::Result<Self> {
        let least = PAGE_RESERVED_BYTES;
        if [self.answer_bytes_max, self.answer_bytes_per_owner_max]
            .iter()
            .flatten()
            .any(|bytes| *bytes < least)
        {
            bail!("`answer_bytes_max` and `answer_bytes_per_owner_max` in [quota] must be at least {least}");
        }
        let counts = [
            ("streams_per_owner_max", self.streams_per_owner_max),
            ("uploads_per_owner_max", self.uploads_per_owner_max),
            ("mcp_sessions_per_owner_max", self.mcp_sessions_per_owner_max),
        ];
        match counts.iter().find(|(_, count)| *count == Some(0)) {
            Some((name, _)) => bail!("`{name}` in [quota] must be at least 1"),
            None => Ok(self),
        }
    }

    /// The storage limits of owners and peers.
    pub(crate) fn stored(&self) -> AccountsMax {
        let max = |bytes: Option<u64>, events: Option<u64>| UsageMax {
            bytes: bytes.unwrap_or(STORED_BYTES_MAX),
            events: events.unwrap_or(STORED_EVENTS_MAX),
        };
        AccountsMax {
            owner: max(self.stored_bytes_max, self.stored_events_max),
            peer: max(self.peer_stored_bytes_max, self.peer_stored_events_max),
        }
    }

    /// The maximum number of sessions of the Model Context Protocol per owner.
    pub(crate) fn mcp_sessions_per_owner_max(&self) -> usize {
        self.mcp_sessions_per_owner_max.unwrap_or(plenary_mcp::server::SESSIONS_PER_OWNER_MAX)
    }

    /// The limits of the context room.
    pub(super) fn context(&self) -> Quotas {
        let default = Quotas::default();
        Quotas {
            searches_per_owner_max: self.searches_per_owner_max.unwrap_or(default.searches_per_owner_max),
            exports_per_owner_max: self.exports_per_owner_max.unwrap_or(default.exports_per_owner_max),
        }
    }

    /// Sets the limits of the HTTP edge.
    pub(super) fn limit(&self, config: &mut plenary_edge::Config) {
        let Self { streams_per_owner_max, answer_bytes_max, answer_bytes_per_owner_max, .. } = *self;
        config.streams_max = config.streams_max.min(config.connections_max);
        for (limit, set) in [
            (&mut config.streams_per_payer_max, streams_per_owner_max),
            (&mut config.answer_bytes_max, answer_bytes_max),
            (&mut config.answer_bytes_per_payer_max, answer_bytes_per_owner_max),
        ] {
            *limit = set.unwrap_or(*limit);
        }
    }

    /// The maximum number of concurrent searches of one owner, for agents and messages.
    pub(crate) fn searches_per_owner_max(&self) -> usize {
        self.searches_per_owner_max.unwrap_or(plenary_accounts::limits::SEARCHES_PER_OWNER_MAX)
    }

    /// The maximum number of concurrent uploads of one owner's agents.
    pub(crate) fn uploads_per_owner_max(&self) -> usize {
        self.uploads_per_owner_max.unwrap_or(plenary_sessions::files::UPLOADS_PER_OWNER_MAX)
    }

    /// The maximum number of unanswered invitations from one owner to one agent.
    pub(crate) fn invitations_unanswered_max(&self) -> usize {
        self.invitations_unanswered_max.unwrap_or(plenary_sessions::INVITATIONS_UNANSWERED_MAX)
    }
}
