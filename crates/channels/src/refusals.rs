//! One exhaustive mapping from what went wrong to what the peer is told: `{"detail","code"}` (wire.md D.3, D.6).
//! Must not know: which request is answered.

use axum::response::Response;
use plenary_edge::refused;
use plenary_kernel::{Class, ErrorCode, Refusal};
use plenary_log::Fault;
use plenary_room::{Form, fault_refusal};

use crate::{decide::Rejection, misses::UsedUp, wire::ErrorBody};

/// How this room writes its refusals.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChannelForm;

/// A refusal on its way out.
pub(crate) type Refused = plenary_room::Refused<ChannelForm>;

impl Form for ChannelForm {
    fn response(self, refusal: &Refusal) -> Response {
        let body = ErrorBody { detail: &refusal.message, code: refusal.code };
        refused(refusal.class, serde_json::to_vec(&body).expect("two strings can be written"))
    }

    fn key_reused() -> Refusal {
        let text = "This Idempotency-Key was used by another request; use a new one.";
        Refusal::conflict(ErrorCode::IdempotencyKeyReused, text)
    }
}

/// 404 for an id that no channel has, or that can't be one (CH-30).
pub(crate) fn no_such_channel() -> Refused {
    Refusal::new(Class::NotFound, ErrorCode::NoSuchChannel, "no such channel").into()
}

/// 404 where a channel has no event of that kind yet (CH-23).
pub(crate) fn none_yet(kind: &'static str) -> Refused {
    Refusal::new(Class::NotFound, ErrorCode::NoEventYet, format!("channel has no {kind} event yet")).into()
}

/// 422: not of the shape that is asked for.
pub(crate) fn shape(
    code: impl Into<&'static str>,
    detail: impl Into<std::borrow::Cow<'static, str>>,
) -> Refused {
    Refusal::new(Class::Unprocessable, code, detail).into()
}

/// 429: as many live streams as an owner may have.
pub(crate) fn too_many_streams() -> Refused {
    let text = "This owner's agents have too many live streams open; close some.";
    Refusal::new(Class::TooMany, ErrorCode::TooManyStreams, text).into()
}

/// 503: the server goes down.
pub(crate) fn stopping() -> Refused {
    Refusal::new(Class::Unavailable, ErrorCode::Stopping, "The server stops; connect again.").into()
}

impl From<UsedUp> for Refused {
    fn from(used_up: UsedUp) -> Self {
        let text = "Too many requests for channels that are not there; check the id and try again later, or use the \
                    channel's link with its key.";
        Self::new(Refusal::new(Class::TooMany, ErrorCode::TooManyMisses, text))
            .retry_after(used_up.retry_after_s)
    }
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Unauthenticated => {
                let text = "The token is not valid any more.";
                Refusal::new(Class::Unauthenticated, ErrorCode::InvalidAuthorization, text).into()
            }
            Rejection::NoSuchChannel => no_such_channel(),
            Rejection::NotItsOwner => {
                let text = "Only the owner of the channel changes its key.";
                Refusal::new(Class::Forbidden, ErrorCode::NotItsOwner, text).into()
            }
            // Ids are tried until one is free: whoever asks never meets it.
            Rejection::IdTaken => fault_refusal(&Fault::Overloaded).into(),
            Rejection::ChannelClosed => {
                Refusal::conflict(ErrorCode::ChannelClosed, "The channel is closed and takes no more events.")
                    .into()
            }
            Rejection::Body(refusal) => refusal.into(),
        }
    }
}
