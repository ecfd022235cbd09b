//! The error responses to operators and peers, one for each failure.
//! Must not know: the request.

use plenary_kernel::{Class, Refusal};
use plenary_room::House;

use crate::{
    accord::decide::Rejection, ceremony::CeremonyFailure, limits::PEERS_MAX, nonces::NotGood,
    quota::QuotaUsed,
};

/// A refusal in the common form.
pub(crate) type HouseRefusal = plenary_room::ErrorReply<House>;

impl From<Rejection> for HouseRefusal {
    fn from(rejection: Rejection) -> Self {
        Self::new(match rejection {
            Rejection::Unauthenticated => Refusal::new(
                Class::Unauthenticated,
                "invalid_authorization",
                "The token is not valid any more.",
            ),
            Rejection::Absent => Refusal::not_found(),
            Rejection::NameTaken => Refusal::conflict(
                "peer_exists",
                "Another network has or had that name here; choose another name.",
            ),
            Rejection::AlreadyLinked { peer, is_active } => {
                let text = if is_active {
                    format!("This network already has an accord with that network, under the name `{peer}`.")
                } else {
                    format!("This network has already invited that network, under the name `{peer}`.")
                };
                Refusal::conflict("already_linked", text)
            }
            Rejection::TooMany => Refusal::conflict(
                "too_many_peers",
                format!("This network has {PEERS_MAX} accords and open invitations, the maximum."),
            ),
        })
    }
}

impl From<CeremonyFailure> for HouseRefusal {
    fn from(failure: CeremonyFailure) -> Self {
        Self::new(match failure {
            CeremonyFailure::Execute(error) => return error.into(),
            CeremonyFailure::Signature(not_good) => return not_good.into(),
            CeremonyFailure::TooMany(used) => return used.into(),
            CeremonyFailure::Unreachable(why) => peer_unreachable(&format!(
                "{why}. Repeat the request: the code of the invitation stays valid"
            )),
            CeremonyFailure::NoInvitation => Refusal::conflict(
                "no_invitation",
                "The other network knows no such invitation: it was for another network, is over, or was taken back.",
            ),
            CeremonyFailure::Unproven => Refusal::new(
                Class::Forbidden,
                "network_unproven",
                "The key that signs is not among those of the network at its domain.",
            ),
        })
    }
}

impl From<QuotaUsed> for HouseRefusal {
    fn from(used: QuotaUsed) -> Self {
        Self::new(too_many_requests()).retry_after(used.retry_after_s)
    }
}

/// 409: this server does not know its own URL.
pub(crate) fn no_public_url() -> Refusal {
    Refusal::conflict(
        "no_public_url",
        "Other networks know this one by its URL: set `public_url` to an origin, without a path.",
    )
}

impl From<NotGood> for HouseRefusal {
    fn from(not_good: NotGood) -> Self {
        Self::new(match not_good {
            NotGood::Expired => Refusal::new(
                Class::Unauthenticated,
                "signature_expired",
                "The signature is not good at this time; look at the clocks.",
            ),
            NotGood::Used => {
                Refusal::conflict("signature_used", "This signed request was made before; sign it anew.")
            }
            NotGood::Fault(fault) => return fault.into(),
        })
    }
}

/// 403: there is no such grant, or no agent under it admits the sender.
pub(crate) fn not_granted() -> Refusal {
    let text = "Nobody under a grant of this name admits the sender.";
    Refusal::new(Class::Forbidden, "not_granted", text)
}

/// 400: the frame is malformed, or it does not belong to its sender.
pub(crate) fn invalid_frame() -> Refusal {
    Refusal::malformed("invalid_frame", "The frame is not valid here, or not its sender's own.")
}

/// 503: the frame did not reach all processes of this network.
pub(crate) fn not_handed_out() -> Refusal {
    Refusal::new(Class::Unavailable, "unavailable", "The frame was not handed out to all; try again later.")
}

/// 503: this server starts or stops.
pub(crate) fn unavailable() -> Refusal {
    Refusal::new(Class::Unavailable, "unavailable", "The server starts or stops; try again later.")
}

/// 503: the other network gave no usable response.
pub(crate) fn peer_unreachable(why: &str) -> Refusal {
    let text = format!("The other network does not answer: {why}.");
    Refusal::new(Class::Unavailable, "peer_unreachable", text)
}

/// 429: the peer exceeds its quota.
pub(crate) fn too_many_requests() -> Refusal {
    Refusal::new(Class::TooMany, "too_many_requests", "The peer asks too often, or too much at a time.")
}
