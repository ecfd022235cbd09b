//! The rejections of this room for well-formed requests.
//! Must not know: HTTP.

use std::time::Duration;

/// A normal "no" (section 10 of the memo).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A handle in the frame is not the submitter's own principal (FO-9, FO-77).
    #[error("`{field}` is not the principal that the token belongs to")]
    SenderIdentityMismatch {
        /// Which field says so.
        field: String,
    },
    /// The submitter may not address the scope, or the reader not read there. One and the same answer whether the
    /// thing exists (FO-47, wire.md D.5).
    #[error("not authorised")]
    ScopeUnauthorised,
    /// The scope's form is not done where no networks are linked (FO-52).
    #[error("accord scopes are not implemented")]
    ScopeUnimplemented,
    /// The network of the peer did not take the frame.
    #[error("the peer cannot be reached")]
    PeerUnreachable,
    /// The scope would reach more sessions than one frame may (FO-79).
    #[error("the scope reaches too many sessions")]
    ScopeTooBroad,
    /// The sender has sent too many frames (FO-78).
    #[error("too many frames")]
    RateLimited {
        /// After how long the next one is taken.
        retry_after: Duration,
    },
    /// The agent has as many streams open as it may.
    #[error("too many streams")]
    TooManyStreams,
    /// The server is going down.
    #[error("the server is shutting down")]
    ShuttingDown,
}
