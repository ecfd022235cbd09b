//! One exhaustive mapping from what went wrong to what the client is told, in the house form.

use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_room::House;

use crate::{LIMIT_MAX, WAIT_SECONDS_MAX, WAITS_PER_AGENT_MAX};

/// Why a read is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// `limit` is no number in its range.
    InvalidLimit,
    /// `timeout_s` is no number in its range.
    InvalidTimeout,
    /// `kinds` names a kind that there is not.
    InvalidKinds(String),
    /// No cursor of this agent looks like this, or it is of another store.
    InvalidCursor,
    /// The query can't be read.
    InvalidQuery,
    /// The body is no object of the shape that is asked for.
    InvalidBody(Refusal),
    /// The session, or the message in it, is not there for the caller.
    NotFound,
    /// The agent waits too often at a time.
    TooManyWaits,
    /// The token died while it waited.
    Revoked,
    /// The server goes down.
    Stopping,
}

/// A refusal on its way out.
pub(crate) type Refused = plenary_room::Refused<House>;

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        Self::new(match rejection {
            Rejection::InvalidLimit => Refusal::malformed(
                ErrorCode::InvalidLimit,
                format!("`limit` must be an integer from 1 to {LIMIT_MAX}."),
            ),
            Rejection::InvalidTimeout => Refusal::malformed(
                ErrorCode::InvalidTimeout,
                format!("`timeout_s` must be an integer from 0 to {WAIT_SECONDS_MAX}."),
            ),
            Rejection::InvalidKinds(name) => {
                Refusal::malformed(ErrorCode::InvalidKinds, format!("`{name}` is not a kind of news."))
            }
            Rejection::InvalidCursor => Refusal::malformed(
                ErrorCode::InvalidCursor,
                "The cursor was never given; read again without it.",
            ),
            Rejection::InvalidQuery => {
                Refusal::malformed(ErrorCode::InvalidQuery, "The query can't be read.")
            }
            Rejection::InvalidBody(refusal) => refusal,
            Rejection::NotFound => Refusal::not_found(),
            Rejection::TooManyWaits => Refusal::new(
                Class::TooMany,
                ErrorCode::TooManyWaits,
                format!("{WAITS_PER_AGENT_MAX} waits of this agent are open; let one end first."),
            ),
            Rejection::Revoked => Refusal::new(
                Class::Unauthenticated,
                ErrorCode::InvalidAuthorization,
                "The token is not valid any more.",
            ),
            Rejection::Stopping => {
                Refusal::new(Class::Unavailable, ErrorCode::Stopping, "The server restarts; ask again.")
            }
        })
    }
}
