//! The refusals of the account operations, in the common form (wire.md D.3).
//! Must not know: the request.

use plenary_kernel::{Class, Refusal};
use plenary_room::{House, fault_refusal};

use crate::Failure;
use plenary_engine::quota_refusal;

/// The refusal that a handler returns.
pub(crate) type AccountRefusal = plenary_room::ErrorReply<House>;

impl From<Failure> for AccountRefusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(rejection) => Self::new(rejection.into()),
            Failure::OverQuota(exceeded) => Self::new(quota_refusal(exceeded)),
            Failure::Fault(fault) => Self::new(fault_refusal(&fault)),
        }
    }
}

/// 401: the request has no token.
pub(crate) fn missing_authorization() -> Refusal {
    let text = "Send the header Authorization: Bearer with the agent's token.";
    Refusal::new(Class::Unauthenticated, "missing_authorization", text)
}

/// 403: a write with a cookie, but not from a page of the console.
pub(crate) fn csrf() -> Refusal {
    let text = "A write with a cookie needs the console's Origin and the session's X-Plenary-CSRF.";
    Refusal::new(Class::Forbidden, "csrf", text)
}

/// 403: a write by a viewer.
pub(crate) fn read_only() -> Refusal {
    Refusal::new(
        Class::Forbidden,
        "read_only",
        "This session may only read; sign in with a link of the role owner.",
    )
}

/// 403: a person may not act as this agent, whether or not it exists.
pub(crate) fn foreign_agent() -> Refusal {
    let text = "X-ASP-Agent must name an agent or person of the session's owner.";
    Refusal::new(Class::Forbidden, "foreign_agent", text)
}

/// 403: only the agent itself may do this.
pub fn token_required() -> Refusal {
    let text =
        "A connection acts as the agent: open it with the agent's token. With a cookie, follow GET /watch.";
    Refusal::new(Class::Forbidden, "token_required", text)
}

/// 401: the token is invalid here.
pub(crate) fn invalid_authorization() -> Refusal {
    let text = "The token is unknown, expired or revoked, or may not be used for this operation.";
    Refusal::new(Class::Unauthenticated, "invalid_authorization", text)
}

/// 401: the passkey is invalid, for whatever reason.
pub(crate) fn passkey_invalid() -> Refusal {
    let text =
        "The passkey was not accepted: it is unknown or removed, or what it signed has expired or was used.";
    Refusal::new(Class::Unauthenticated, "passkey_invalid", text)
}

/// 403: the operation is outside the token's scope. `is_limited` if only its limit to sessions, channels and projects excludes it.
pub(crate) fn insufficient_scope(scope: &str, is_limited: bool) -> Refusal {
    let mut text = format!("The token's scope does not admit this; it takes one with {scope}.");
    if is_limited {
        text.push_str(" The words `session:`, `channel:` and `project:` of its own exclude everything else, also lists.");
    }
    Refusal::new(Class::Forbidden, "insufficient_scope", text)
}
