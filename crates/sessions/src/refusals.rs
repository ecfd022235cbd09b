//! One exhaustive mapping from what went wrong to what the peer is told (wire.md D.3, D.9).

use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_room::House;

use crate::{decide::Rejection, views::ReadError};

/// A refusal on its way out.
pub(crate) type Refused = plenary_room::Refused<House>;

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        Self::new(match rejection {
            Rejection::Unauthenticated => Refusal::new(
                Class::Unauthenticated,
                ErrorCode::InvalidAuthorization,
                "The token is not valid any more.",
            ),
            Rejection::NotFound => Refusal::not_found(),
            Rejection::Body(refusal) => refusal,
            Rejection::NotJoined => Refusal::conflict(
                ErrorCode::NotJoined,
                "You are not joined in this session; a joined participant can invite you.",
            ),
            Rejection::SessionEnded => Refusal::conflict(
                ErrorCode::SessionEnded,
                "The session has ended; whoever was joined at the end can reopen it.",
            ),
            Rejection::SessionActive => {
                Refusal::conflict(ErrorCode::SessionActive, "The session is active already.")
            }
            Rejection::NotReopenable => Refusal::conflict(
                ErrorCode::NotReopenable,
                "Only an agent that was joined when the session ended can reopen it.",
            ),
            Rejection::TooManyInvitations => Refusal::new(
                Class::TooMany,
                ErrorCode::TooManyInvitations,
                "Too many of your owner's invitations wait for an answer of an agent that does not list you; it has to \
                 join or to list you first.",
            ),
            Rejection::SessionFull => Refusal::conflict(
                ErrorCode::SessionFull,
                "The session has as many participants as it may have.",
            ),
        })
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Refused(refusal) => Self::new(refusal),
            ReadError::Fault(fault) => fault.into(),
        }
    }
}
