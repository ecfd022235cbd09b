//! One exhaustive mapping from rejections to wire errors: `{"detail","code"}` (wire.md D.3, D.6).
//! Must not know: the request.

use axum::response::Response;
use plenary_edge::refused;
use plenary_kernel::{Class, Refusal};
use plenary_log::Fault;
use plenary_room::{Form, fault_refusal};

use crate::{decide::Rejection, misses::UsedUp, wire::ErrorBody};

/// The form of this room's errors.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChannelForm;

pub(crate) type ChannelRefusal = plenary_room::ErrorReply<ChannelForm>;

impl Form for ChannelForm {
    fn response(self, refusal: &Refusal) -> Response {
        let body = ErrorBody { detail: &refusal.message, code: refusal.code };
        refused(refusal.class, serde_json::to_vec(&body).expect("two strings can be written"))
    }

    fn key_reused() -> Refusal {
        let text = "This Idempotency-Key was used by another request; use a new one.";
        Refusal::conflict("idempotency_key_reused", text)
    }
}

/// 404: no channel has the id, or the text cannot be an id (CH-30).
pub(crate) fn no_such_channel() -> ChannelRefusal {
    Refusal::new(Class::NotFound, "no_such_channel", "no such channel").into()
}

/// 404: the channel has no event of this kind yet (CH-23).
pub(crate) fn none_yet(kind: &'static str) -> ChannelRefusal {
    Refusal::new(Class::NotFound, "no_event_yet", format!("channel has no {kind} event yet")).into()
}

/// 422: the request has the wrong shape.
pub(crate) fn shape(code: &'static str, detail: impl Into<std::borrow::Cow<'static, str>>) -> ChannelRefusal {
    Refusal::new(Class::Unprocessable, code, detail).into()
}

/// 429: the owner has reached its limit of live streams.
pub(crate) fn too_many_streams() -> ChannelRefusal {
    let text = "This owner's agents have too many live streams open; close one and retry.";
    Refusal::new(Class::TooMany, "too_many_streams", text).into()
}

/// 503: the server is shutting down.
pub(crate) fn stopping() -> ChannelRefusal {
    Refusal::new(Class::Unavailable, "stopping", "The server is stopping; connect again.").into()
}

impl From<UsedUp> for ChannelRefusal {
    fn from(used_up: UsedUp) -> Self {
        let text = "Too many requests for channels that do not exist; check the id and try again later, or use the \
                    channel's URL with its key.";
        Self::new(Refusal::new(Class::TooMany, "too_many_misses", text)).retry_after(used_up.retry_after_s)
    }
}

impl From<Rejection> for ChannelRefusal {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Unauthenticated => {
                let text = "The token is no longer valid.";
                Refusal::new(Class::Unauthenticated, "invalid_authorization", text).into()
            }
            Rejection::NoSuchChannel => no_such_channel(),
            Rejection::NotItsOwner => {
                let text = "Only the channel's owner may change its key.";
                Refusal::new(Class::Forbidden, "not_its_owner", text).into()
            }
            // Creation retries with other ids, so no caller ever gets this rejection.
            Rejection::IdTaken => fault_refusal(&Fault::Overloaded).into(),
            Rejection::ChannelClosed => {
                Refusal::conflict("channel_closed", "The channel is closed and accepts no more events.")
                    .into()
            }
            Rejection::Body(refusal) => refusal.into(),
        }
    }
}
