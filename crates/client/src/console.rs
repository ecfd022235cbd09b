//! The console: sign-in links for a browser, and the one stream of all events that the caller may see.
//! Must not know: the use of an event.

use plenary_kernel::{AgentHandle, OwnerName, TimestampMs};
use serde::{Deserialize, Serialize};

use crate::{Client, Reply, Result, StreamOptions, context::ContextStream, feed::Feed, query::Query};

/// Largest event in bytes: the server cuts longer ones.
const EVENT_BYTES_MAX: usize = 64 << 10;

/// A sign-in link to create.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewLink {
    /// The owner whose console opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerName>,
    /// The role of its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The person who signs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<AgentHandle>,
}

/// A sign-in link.
#[derive(Debug, Clone, Deserialize)]
pub struct Link {
    /// The URL; it signs a browser in once.
    pub url: String,
    /// Its validity in seconds.
    pub expires_in: u64,
    /// The role of its session.
    pub role: String,
}

/// A passkey of people.
#[derive(Debug, Clone, Deserialize)]
pub struct Passkey {
    /// Its id.
    pub passkey_id: String,
    /// Its name.
    pub name: String,
    /// The role of its sessions.
    pub role: String,
    /// The person who signs in with it.
    pub person: Option<AgentHandle>,
    /// When it was added.
    pub created_at: TimestampMs,
    /// When it was last used.
    pub last_used_at: Option<TimestampMs>,
    /// Whether it may be used.
    pub usable: bool,
}

/// The passkeys of an owner or the operator.
#[derive(Debug, Clone, Deserialize)]
pub struct Passkeys {
    /// The passkeys, oldest first.
    pub passkeys: Vec<Passkey>,
}

/// The path of an owner's passkeys.
fn passkeys(below: &str, owner: Option<&OwnerName>) -> String {
    Query::of(format!("/console/passkeys{below}")).with("owner", owner).path()
}

/// Filters for the stream; an absent filter admits everything.
#[derive(Debug, Clone, Default)]
pub struct WatchQuery {
    /// Rooms, separated by commas.
    pub rooms: Option<String>,
    /// Kinds or families of kinds.
    pub kinds: Option<String>,
    /// Agents.
    pub agents: Option<String>,
    /// Words that an event must all contain.
    pub q: Option<String>,
    /// Only events of the trace with this id.
    pub trace: Option<String>,
    /// Also the frames of the owner's agents, which are in no log: each connection repeats those that are still retained.
    pub frames: bool,
}

impl Client {
    /// `POST /console/links`.
    pub async fn console_link(&self, link: &NewLink) -> Result<Reply<Link>> {
        self.post("/console/links", link).await
    }

    /// `GET /console/passkeys`.
    pub async fn passkeys(&self, owner: Option<&OwnerName>) -> Result<Reply<Passkeys>> {
        self.get(&passkeys("", owner)).await
    }

    /// `DELETE /console/passkeys/{id}`.
    ///
    /// # Errors
    /// 404 if it does not exist.
    pub async fn remove_passkey(&self, id: &str, owner: Option<&OwnerName>) -> Result<Reply<()>> {
        self.delete(&passkeys(&format!("/{}", crate::client::segment(id)), owner)).await
    }

    /// Follows everything that the caller may see, after a cursor if given, and reconnects after every failure.
    pub fn watch(&self, query: &WatchQuery, after: Option<String>, options: StreamOptions) -> ContextStream {
        let path = Query::of("/watch")
            .with("rooms", query.rooms.as_ref())
            .with("kinds", query.kinds.as_ref())
            .with("agents", query.agents.as_ref())
            .with("q", query.q.as_ref())
            .with("trace", query.trace.as_ref())
            .with("frames", query.frames.then_some(true))
            .path();
        ContextStream::of(Feed::new(self.clone(), path, after, EVENT_BYTES_MAX, options))
    }
}
