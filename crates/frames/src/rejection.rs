//! The rejections of this room for well-formed requests.
//! Must not know: HTTP.

use std::time::Duration;

/// A normal "no" (section 10 of the memo).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A handle in the frame is not the submitter's own principal (FO-9, FO-77).
    #[error("`{field}` is not the principal that the token belongs to")]
    SenderIdentityMismatch {
        /// The field.
        field: String,
    },
    /// The submitter may not address the scope, or the reader may not read it. The answer is the same
    /// whether or not it exists (FO-47, wire.md D.5).
    #[error("not authorised")]
    ScopeUnauthorised,
    /// Accord scopes are not implemented without linked networks (FO-52).
    #[error("accord scopes are not implemented")]
    ScopeUnimplemented,
    /// The peer's network did not accept the frame.
    #[error("the peer cannot be reached")]
    PeerUnreachable,
    /// The scope would reach more sessions than the limit of one frame (FO-79).
    #[error("the scope reaches too many sessions")]
    ScopeTooBroad,
    /// The sender has sent too many frames (FO-78).
    #[error("too many frames")]
    RateLimited {
        /// The time until the next frame is accepted.
        retry_after: Duration,
    },
    /// The agent has the maximal number of open streams.
    #[error("too many streams")]
    TooManyStreams,
    /// The server shuts down.
    #[error("the server is shutting down")]
    ShuttingDown,
}
