//! The health check of the server (wire.md D.1).
//! Must not know: identities; no token is needed.

use http::Method;
use plenary_kernel::TimestampMs;
use serde::Deserialize;
use serde_json::Value;

use crate::{Client, Reply, Result, frames::now};

/// The answer of `GET /healthz`.
#[derive(Debug, Clone, Deserialize)]
pub struct Health {
    /// Whether it is up.
    pub ok: bool,
    /// The status, `ok`.
    #[serde(default)]
    pub status: String,
    /// The network's name; handles are unique within it (ASP-5).
    #[serde(default)]
    pub network: String,
    /// The server's version.
    #[serde(default)]
    pub version: String,
    /// The id of the server's log, whatever its address; absent for an empty log and from older servers.
    pub server_id: Option<String>,
    /// Time since its start, in milliseconds.
    #[serde(default)]
    pub uptime_ms: u64,
}

impl Client {
    /// The server's time, as its last response told it; before the first one, this machine's.
    pub fn now(&self) -> TimestampMs {
        self.http().clock().at(now())
    }

    /// The server's time. If no response has told it yet, this asks; if the server does not answer, it is this machine's.
    pub async fn server_now(&self) -> TimestampMs {
        if !self.http().clock().is_known() {
            // The caller's own request reports the failure.
            let _failed = self.health().await;
        }
        self.now()
    }

    /// `GET /healthz`: whether the server is up.
    pub async fn health(&self) -> Result<Reply<Health>> {
        self.get("/healthz").await
    }

    /// `GET /readyz`: whether the server accepts work.
    ///
    /// # Errors
    /// A server that is not ready answers 503.
    pub async fn ready(&self) -> Result<Reply<Value>> {
        self.get("/readyz").await
    }

    /// `GET /readyz`: why the server takes no writes now, such as `store_full`; `None` if it takes them.
    ///
    /// # Errors
    /// As every call, except that every answer of a server is understood.
    pub async fn unready_reason(&self) -> Result<Option<String>> {
        let reply = self.raw(Method::GET, "/readyz", None).await?;
        let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let is_ready = reply.status != 503;
        Ok((!is_ready).then(|| answer["status"].as_str().unwrap_or("not_ready").to_owned()))
    }
}
