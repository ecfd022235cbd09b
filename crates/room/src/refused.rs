//! A refusal in the form of its room, and the response to a fault. The common form is `{"error":{"code","message"}}`
//! (wire.md D.3); its one 404 is built only here (ASP-18, ASP-19).
//! Must not know: the request.

use std::time::{Duration, Instant};

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use plenary_edge::refusal_response;
use plenary_engine::{ExecuteError, quota_refusal};
use plenary_kernel::{Class, LinePause, Refusal};
use plenary_log::Fault;

/// The format of a room's refusals. A value holds what the room adds to the code and the text.
pub trait Form: Default {
    /// Builds the response: status, headers and body.
    fn response(self, refusal: &Refusal) -> Response;

    /// The room's version of a refusal that every room has: credentials, bodies, faults.
    fn of_any_room(refusal: Refusal) -> Refusal {
        refusal
    }

    /// The refusal of an idempotency key that another request has used.
    fn key_reused() -> Refusal {
        let text = "This idempotency key was used by another request; use a new one.";
        Refusal::conflict("idempotency_key_reused", text)
    }
}

/// A refusal in the form of a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReply<F> {
    /// The refusal: status class, code and text.
    pub refusal: Refusal,
    /// The `Retry-After` value in seconds; 1 if absent.
    pub retry_after_s: Option<u64>,
    /// What the room adds.
    pub form: F,
}

impl<F: Form> ErrorReply<F> {
    /// A refusal in the room's format.
    pub fn new(refusal: Refusal) -> Self {
        Self { refusal, retry_after_s: None, form: F::default() }
    }

    /// The same refusal with a `Retry-After` value.
    pub fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }
}

impl<F: Form> IntoResponse for ErrorReply<F> {
    fn into_response(self) -> Response {
        let Self { refusal, retry_after_s, form } = self;
        let mut response = form.response(&refusal);
        if matches!(refusal.class, Class::TooMany | Class::Unavailable) {
            let seconds = HeaderValue::from(retry_after_s.unwrap_or(1));
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

impl<F: Form> From<Refusal> for ErrorReply<F> {
    fn from(refusal: Refusal) -> Self {
        Self::new(F::of_any_room(refusal))
    }
}

/// The refusal without its format.
impl<F> From<ErrorReply<F>> for Refusal {
    fn from(refused: ErrorReply<F>) -> Self {
        refused.refusal
    }
}

impl<F: Form> From<Fault> for ErrorReply<F> {
    fn from(fault: Fault) -> Self {
        fault_refusal(&fault).into()
    }
}

impl<F: Form, J: Into<Self>> From<ExecuteError<J>> for ErrorReply<F> {
    fn from(error: ExecuteError<J>) -> Self {
        match error {
            ExecuteError::Rejected(rejection) => rejection.into(),
            ExecuteError::KeyReused => Self::new(F::key_reused()),
            ExecuteError::OverQuota(exceeded) => quota_refusal(exceeded).into(),
            ExecuteError::Fault(fault) => fault.into(),
        }
    }
}

/// The common format. Every 404 has the same bytes and headers, whatever the refusal says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct House;

impl Form for House {
    fn response(self, refusal: &Refusal) -> Response {
        let one = Refusal::not_found();
        refusal_response(if refusal.class == Class::NotFound { &one } else { refusal })
    }
}

/// The response to a refusal, in the common format.
pub fn house_error(refusal: Refusal) -> Response {
    ErrorReply::<House>::new(refusal).into_response()
}

/// Requests that a store refused that cannot be reached, or is full: both last, and fail every request.
static UNAVAILABLE: LinePause = LinePause::new(REFUSED_LINE_EVERY);
static FULL: LinePause = LinePause::new(REFUSED_LINE_EVERY);
/// How often the log tells of them.
const REFUSED_LINE_EVERY: Duration = Duration::from_secs(10);

/// The refusal that a peer gets for a fault: neutral words, and whether to retry. The fault itself is logged.
pub fn fault_refusal(fault: &Fault) -> Refusal {
    match fault {
        Fault::Unavailable(_) => {
            if let Some(requests) = UNAVAILABLE.count(Instant::now()) {
                tracing::warn!(%fault, requests, "requests are refused");
            }
            Refusal::new(
                Class::Unavailable,
                "unavailable",
                "The store cannot be reached; nothing was done. Retry.",
            )
        }
        Fault::OutcomeUnknown(_) => {
            tracing::warn!(%fault, "the outcome of a request is unknown");
            let text = "The outcome is unknown; retry with the same idempotency key.";
            Refusal::new(Class::Unavailable, "outcome_unknown", text)
        }
        Fault::Overloaded => Refusal::new(
            Class::Unavailable,
            "overloaded",
            "The server is overloaded; nothing was done. Retry.",
        ),
        Fault::Full(_) => {
            if let Some(requests) = FULL.count(Instant::now()) {
                tracing::error!(%fault, requests, "requests are refused");
            }
            Refusal::new(Class::StorageFull, "storage_full", "The store is full; nothing was done.")
        }
        Fault::Corrupt(_) => {
            tracing::error!(%fault, "a request was refused");
            Refusal::new(
                Class::Internal,
                "corrupt",
                "The stored data is damaged; nothing was done. The server's log names the place.",
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn parts(refusal: Refusal) -> (http::StatusCode, http::HeaderMap, String) {
        let (parts, body) = house_error(refusal).into_parts();
        let body = axum::body::to_bytes(body, 10_000).await.unwrap();
        (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn asp_18_every_404_is_one_and_the_same() {
        let one = parts(Refusal::not_found()).await;
        assert_eq!(one.0, 404);
        assert_eq!(one.2, r#"{"error":{"code":"not_found","message":"Not found."}}"#);
        let chatty = Refusal::new(Class::NotFound, "no_such_agent", "There is no @nick.bot");
        assert_eq!(parts(chatty).await, one);
    }

    #[tokio::test]
    async fn a_401_has_its_challenge_and_a_503_says_when_to_retry() {
        let (status, headers, _) =
            parts(Refusal::new(Class::Unauthenticated, "missing_authorization", "Send a token.")).await;
        assert_eq!(
            (status.as_u16(), &headers[header::WWW_AUTHENTICATE]),
            (401, &HeaderValue::from_static("Bearer"))
        );
        let (status, headers, _) = parts(fault_refusal(&Fault::Overloaded)).await;
        assert_eq!((status.as_u16(), &headers[header::RETRY_AFTER]), (503, &HeaderValue::from_static("1")));
    }

    #[test]
    fn a_fault_tells_nothing_of_itself() {
        for fault in [
            Fault::Unavailable("secret".into()),
            Fault::OutcomeUnknown("secret".into()),
            Fault::Overloaded,
            Fault::Full("secret".into()),
            Fault::Corrupt("secret".into()),
        ] {
            assert!(!fault_refusal(&fault).message.contains("secret"));
        }
    }
}
