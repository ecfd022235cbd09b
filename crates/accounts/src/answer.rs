//! What the account surface refuses with: the house form of every refusal (wire.md D.3).
//! Must not know: which request is answered.

use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_room::{House, fault_refusal};

use crate::Failure;

/// A refusal on its way out of a handler.
pub(crate) type Refused = plenary_room::Refused<House>;

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(rejection) => Self::new(rejection.into()),
            Failure::Fault(fault) => Self::new(fault_refusal(&fault)),
        }
    }
}

/// 401: no token came.
pub(crate) fn missing_authorization() -> Refusal {
    let text = "Send Authorization: Bearer with the agent's token.";
    Refusal::new(Class::Unauthenticated, ErrorCode::MissingAuthorization, text)
}

/// 401: a token came, and it is not one that opens this.
pub(crate) fn invalid_authorization() -> Refusal {
    let text = "The token is unknown, revoked, or not one that may ask this.";
    Refusal::new(Class::Unauthenticated, ErrorCode::InvalidAuthorization, text)
}
