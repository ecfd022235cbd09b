//! One exhaustive mapping from what went wrong to what the peer is told: `{"detail","code"}` (wire.md D.3, D.6).
//! Must not know: which request is answered.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use plenary_accounts::fault_refusal;
use plenary_edge::refused;
use plenary_engine::ExecuteError;
use plenary_kernel::{Class, Refusal};
use plenary_log::Fault;

use crate::{decide::Rejection, misses::UsedUp, wire::ErrorBody};

/// A refusal on its way out.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) refusal: Refusal,
    retry_after_s: Option<u64>,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Refusal { class, code, message } = &self.refusal;
        let body = ErrorBody { detail: message, code };
        let json = serde_json::to_vec(&body).expect("two strings can be written");
        let mut response = refused(*class, json);
        if matches!(class, Class::TooMany | Class::Unavailable) {
            let seconds = HeaderValue::from(self.retry_after_s.unwrap_or(1));
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

impl Refused {
    /// 404 for an id that no channel has, or that can't be one (CH-30).
    pub(crate) fn no_such_channel() -> Self {
        Refusal::new(Class::NotFound, "no_such_channel", "no such channel").into()
    }

    /// 404 where a channel has no event of that kind yet (CH-23).
    pub(crate) fn none_yet(kind: &'static str) -> Self {
        Refusal::new(Class::NotFound, "no_event_yet", format!("channel has no {kind} event yet")).into()
    }

    /// 422: not of the shape that is asked for.
    pub(crate) fn shape(code: &'static str, detail: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Refusal::new(Class::Unprocessable, code, detail).into()
    }

    /// 429: as many live streams as an owner may have.
    pub(crate) fn too_many_streams() -> Self {
        let text = "This owner's agents have too many live streams open; close some.";
        Refusal::new(Class::TooMany, "too_many_streams", text).into()
    }

    /// 503: the server goes down.
    pub(crate) fn stopping() -> Self {
        Refusal::new(Class::Unavailable, "stopping", "The server stops; connect again.").into()
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, retry_after_s: None }
    }
}

impl From<UsedUp> for Refused {
    fn from(used_up: UsedUp) -> Self {
        let text = "Too many requests for channels that are not there; check the id and try again later, or use the \
                    channel's link with its key.";
        let refusal = Refusal::new(Class::TooMany, "too_many_misses", text);
        Self { refusal, retry_after_s: Some(used_up.retry_after_s) }
    }
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Unauthenticated => {
                let text = "The token is not valid any more.";
                Refusal::new(Class::Unauthenticated, "invalid_authorization", text).into()
            }
            Rejection::NoSuchChannel => Self::no_such_channel(),
            Rejection::NotItsOwner => {
                let text = "Only the owner of the channel changes its key.";
                Refusal::new(Class::Forbidden, "not_its_owner", text).into()
            }
            // Ids are tried until one is free: whoever asks never meets it.
            Rejection::IdTaken => fault_refusal(&Fault::Overloaded).into(),
            Rejection::ChannelClosed => {
                Refusal::conflict("channel_closed", "The channel is closed and takes no more events.").into()
            }
            Rejection::Body(refusal) => refusal.into(),
        }
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        fault_refusal(&fault).into()
    }
}

impl From<ExecuteError<Rejection>> for Refused {
    fn from(error: ExecuteError<Rejection>) -> Self {
        match error {
            ExecuteError::Rejected(rejection) => rejection.into(),
            ExecuteError::KeyReused => Refusal::conflict(
                "idempotency_key_reused",
                "This Idempotency-Key was used by another request; use a new one.",
            )
            .into(),
            ExecuteError::Fault(fault) => fault.into(),
        }
    }
}
