//! An event of a channel (CH-10).
//! Must not know: kinds; the payload stays unchanged.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Error, Result};

/// One event.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChannelEvent {
    /// Increases across all channels of the server.
    pub id: u64,
    /// Its channel.
    pub channel_id: String,
    /// A free string; `spec`, `state`, `status`, `comms` and `log` have a defined meaning.
    pub kind: String,
    /// The author, by its stable name.
    pub author: String,
    /// The holder of the author's token.
    pub via: Option<String>,
    /// The object, unchanged.
    pub payload: Box<RawValue>,
    /// RFC 3339, UTC.
    pub created_at: String,
}

impl ChannelEvent {
    /// Parses an event.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the text is not an event.
    pub fn read(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|e| Error::Unreadable(format!("not an event of a channel ({e})")))
    }

    /// Its JSON, on one line; the payload is unchanged.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default().replace(['\n', '\r'], " ")
    }
}
