//! One exhaustive mapping from failures to responses (wire.md D.3, D.9).

use plenary_kernel::{Class, Refusal};
use plenary_room::House;

use crate::{decide::Rejection, views::ReadError};

/// A refusal on its way out.
pub(crate) type SessionRefusal = plenary_room::ErrorReply<House>;

impl From<Rejection> for SessionRefusal {
    fn from(rejection: Rejection) -> Self {
        Self::new(match rejection {
            Rejection::Unauthenticated => {
                Refusal::new(Class::Unauthenticated, "invalid_authorization", "The token is no longer valid.")
            }
            Rejection::NotFound => Refusal::not_found(),
            Rejection::Body(refusal) => refusal,
            Rejection::NotJoined => Refusal::conflict(
                "not_joined",
                "You are not joined in this session: join it if you are invited, or ask a participant to invite you.",
            ),
            Rejection::CopyOver => Refusal::conflict(
                "not_joined",
                "This session of another network is over here: the accord was revoked, or that network was restored from a \
                 backup. What was said stays readable; begin another session.",
            ),
            Rejection::InvitationHeld => Refusal::conflict(
                "invitation_held",
                "A person of your owner decides about this invitation first; you can take part once it is accepted.",
            ),
            Rejection::SessionEnded => Refusal::conflict(
                "session_ended",
                "The session has ended; a participant that was joined at the end can reopen it.",
            ),
            Rejection::SessionActive => Refusal::conflict("session_active", "The session is active already."),
            Rejection::NotReopenable => Refusal::conflict(
                "not_reopenable",
                "Only an agent that was joined when the session ended can reopen it.",
            ),
            Rejection::TooManyInvitations => Refusal::new(
                Class::TooMany,
                "too_many_invitations",
                "Too many of your owner's invitations to an agent that does not list you are unanswered; that agent must \
                 first join or list you.",
            ),
            // Other networks are asked before the caller gets an answer, so only a failure to reach one remains.
            Rejection::Elsewhere(_) | Rejection::AskElsewhere(_) | Rejection::HostUnreachable => {
                Refusal::new(
                    Class::Unavailable,
                    "peer_unreachable",
                    "The network whose session it is did not answer; try again, with the same idempotency key.",
                )
            }
            Rejection::InviteeUnreachable => Refusal::new(
                Class::Unavailable,
                "peer_unreachable",
                "The network of an invited agent did not answer, and nobody was invited.",
            ),
            Rejection::SessionFull => Refusal::conflict(
                "session_full",
                "The session is full: it has the maximum number of participants.",
            ),
        })
    }
}

impl From<ReadError> for SessionRefusal {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Refused(refusal) => Self::new(refusal),
            ReadError::Fault(fault) => fault.into(),
        }
    }
}
