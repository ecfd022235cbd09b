//! One exhaustive mapping from what went wrong to what the peer is told (wire.md D.3, D.9).

use axum::response::{IntoResponse, Response};
use plenary_accounts::{asp_error, fault_refusal};
use plenary_engine::ExecuteError;
use plenary_kernel::{Class, Refusal};
use plenary_log::Fault;

use crate::{decide::Rejection, views::ReadError};

/// A refusal on its way out.
pub(crate) struct Refused(pub(crate) Refusal);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        asp_error(self.0)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        Self(match rejection {
            Rejection::Unauthenticated => Refusal::new(
                Class::Unauthenticated,
                "invalid_authorization",
                "The token is not valid any more.",
            ),
            Rejection::NotFound => Refusal::not_found(),
            Rejection::Body(refusal) => refusal,
            Rejection::NotJoined => Refusal::conflict(
                "not_joined",
                "You are not joined in this session; a joined participant can invite you.",
            ),
            Rejection::SessionEnded => Refusal::conflict(
                "session_ended",
                "The session has ended; whoever was joined at the end can reopen it.",
            ),
            Rejection::SessionActive => Refusal::conflict("session_active", "The session is active already."),
            Rejection::NotReopenable => Refusal::conflict(
                "not_reopenable",
                "Only an agent that was joined when the session ended can reopen it.",
            ),
            Rejection::TooManyInvitations => Refusal::new(
                Class::TooMany,
                "too_many_invitations",
                "Too many of your owner's invitations wait for an answer of an agent that does not list you; it has to \
                 join or to list you first.",
            ),
            Rejection::SessionFull => {
                Refusal::conflict("session_full", "The session has as many participants as it may have.")
            }
        })
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self(fault_refusal(&fault))
    }
}

impl<J: Into<Self>> From<ExecuteError<J>> for Refused {
    fn from(error: ExecuteError<J>) -> Self {
        match error {
            ExecuteError::Rejected(rejection) => rejection.into(),
            ExecuteError::KeyReused => Self(Refusal::conflict(
                "idempotency_key_reused",
                "This idempotency key was used by another request; use a new one.",
            )),
            ExecuteError::Fault(fault) => fault.into(),
        }
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Refused(refusal) => Self(refusal),
            ReadError::Fault(fault) => fault.into(),
        }
    }
}
