//! One exhaustive mapping from failures to responses, in the common form.

use plenary_kernel::{Class, Refusal};
use plenary_room::House;

use crate::{LIMIT_MAX, RETURNED_MAX, WAIT_SECONDS_MAX, WAITS_PER_AGENT_MAX};

/// Why a read is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// `limit` is not a number in its range.
    InvalidLimit,
    /// `timeout_s` is not a number in its range.
    InvalidTimeout,
    /// `until` is not a state of a message.
    InvalidState,
    /// `kinds` names an unknown kind.
    InvalidKinds(String),
    /// The cursor is not one of this agent, or is from another store.
    InvalidCursor,
    /// The query cannot be read.
    InvalidQuery,
    /// The body does not have the required shape.
    InvalidBody(Refusal),
    /// The session or message does not exist for the caller.
    NotFound,
    /// The agent has no live session of that name with hooks.
    SessionNotLive,
    /// The agent has too many concurrent waits.
    TooManyWaits,
    /// Too many items came back from coding agents and were not shown since.
    TooManyShown,
    /// The token was revoked during the wait.
    Revoked,
    /// The server shuts down.
    Stopping,
}

/// The refusal of a request.
pub(crate) type InboxRefusal = plenary_room::ErrorReply<House>;

impl From<Rejection> for InboxRefusal {
    fn from(rejection: Rejection) -> Self {
        Self::new(match rejection {
            Rejection::InvalidLimit => Refusal::malformed(
                "invalid_limit",
                format!("`limit` must be an integer from 1 to {LIMIT_MAX}."),
            ),
            Rejection::InvalidTimeout => Refusal::malformed(
                "invalid_timeout",
                format!("`timeout_s` must be an integer from 0 to {WAIT_SECONDS_MAX}."),
            ),
            Rejection::InvalidState => Refusal::malformed(
                "invalid_state",
                "`until` must be delivered, shown, in_context (or seen), answered or acknowledged.",
            ),
            Rejection::InvalidKinds(name) => {
                Refusal::malformed("invalid_kinds", format!("`{name}` is not a kind of inbox item."))
            }
            Rejection::InvalidCursor => {
                Refusal::malformed("invalid_cursor", "The cursor is not valid; read again without it.")
            }
            Rejection::InvalidQuery => Refusal::malformed("invalid_query", "The query cannot be read."),
            Rejection::InvalidBody(refusal) => refusal,
            Rejection::NotFound => Refusal::not_found(),
            Rejection::SessionNotLive => Refusal::conflict(
                "session_not_live",
                "The agent's coding agent has no live session of that name; `GET /who` lists them.",
            ),
            Rejection::TooManyWaits => Refusal::new(
                Class::TooMany,
                "too_many_waits",
                format!("This agent has {WAITS_PER_AGENT_MAX} open waits, the maximum; end one first."),
            ),
            Rejection::TooManyShown => Refusal::new(
                Class::TooMany,
                "too_many_shown",
                format!(
                    "More than {RETURNED_MAX} items were handed over and are unread again; show, answer or acknowledge those first."
                ),
            ),
            Rejection::Revoked => {
                Refusal::new(Class::Unauthenticated, "invalid_authorization", "The token is no longer valid.")
            }
            Rejection::Stopping => {
                Refusal::new(Class::Unavailable, "stopping", "The server is restarting; retry.")
            }
        })
    }
}
