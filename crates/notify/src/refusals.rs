//! One exhaustive mapping from failures to responses: the common form.
//! Must not know: the request.

use plenary_kernel::{Class, Refusal};
use plenary_room::House;

use crate::{
    MAILS_PER_ADDRESS_MAX, MAILS_PER_OWNER_MAX, SUBSCRIPTIONS_MAX, TESTS_PER_OWNER_MAX,
    delivery::Unauthenticated, subscription::Rejection,
};

/// A refusal in the common form.
pub(crate) type HouseRefusal = plenary_room::ErrorReply<House>;

/// The token was revoked.
fn revoked() -> Refusal {
    Refusal::new(Class::Unauthenticated, "invalid_authorization", "The token is not valid any more.")
}

impl From<Rejection> for HouseRefusal {
    fn from(rejection: Rejection) -> Self {
        Self::new(match rejection {
            Rejection::Unauthenticated => revoked(),
            Rejection::NoSuchSubscription => Refusal::not_found(),
            Rejection::TooMany => Refusal::conflict(
                "too_many_subscriptions",
                format!("An owner may have {SUBSCRIPTIONS_MAX} subscriptions; remove one first."),
            ),
        })
    }
}

impl From<Unauthenticated> for HouseRefusal {
    fn from(Unauthenticated: Unauthenticated) -> Self {
        Self::new(revoked())
    }
}

/// The limit of concurrent tests is reached.
pub(crate) fn too_many_tests() -> Refusal {
    Refusal::new(
        Class::TooMany,
        "too_many_tests",
        format!("{TESTS_PER_OWNER_MAX} tests of one owner run at a time; let one end first."),
    )
}

/// The limit of an owner's mails within an hour is reached.
pub(crate) fn too_many_mails() -> Refusal {
    Refusal::new(
        Class::TooMany,
        "too_many_tests",
        format!(
            "{MAILS_PER_ADDRESS_MAX} mails go to one address within an hour, {MAILS_PER_OWNER_MAX} of one owner to all; wait."
        ),
    )
}
