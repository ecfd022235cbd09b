//! The error bodies of the Agent Session Protocol and of the account surface: `{"error":{"code","message"}}`
//! (wire.md D.3). The one 404 is built here and nowhere else (ASP-18, ASP-19).
//! Must not know: which request is answered.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use plenary_edge::refusal_response;
use plenary_kernel::{Class, Refusal};
use plenary_log::Fault;

use crate::Failure;

/// A refusal as a response. Every 404 has the same bytes and headers, whatever the refusal says.
#[expect(clippy::needless_pass_by_value, reason = "a refusal ends here")]
#[must_use]
pub fn asp_error(refusal: Refusal) -> Response {
    let one = Refusal::not_found();
    let mut response = refusal_response(if refusal.class == Class::NotFound { &one } else { &refusal });
    if matches!(refusal.class, Class::TooMany | Class::Unavailable) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// What a peer is told of a fault: neutral, and whether to retry. The fault itself goes to the log.
#[must_use]
pub fn fault_refusal(fault: &Fault) -> Refusal {
    match fault {
        Fault::Unavailable(_) => {
            tracing::warn!(%fault, "a request was refused");
            Refusal::new(
                Class::Unavailable,
                "unavailable",
                "The store can't be reached; nothing was done. Retry.",
            )
        }
        Fault::OutcomeUnknown(_) => {
            tracing::warn!(%fault, "a request has no outcome");
            let text = "The outcome is unknown; retry with the same idempotency key.";
            Refusal::new(Class::Unavailable, "outcome_unknown", text)
        }
        Fault::Overloaded => {
            Refusal::new(Class::Unavailable, "overloaded", "Too much is waiting; nothing was done. Retry.")
        }
        Fault::Full(_) => {
            tracing::error!(%fault, "a request was refused");
            Refusal::new(Class::StorageFull, "storage_full", "The store is full; nothing was done.")
        }
        Fault::Corrupt(_) => {
            tracing::error!(%fault, "a request was refused");
            Refusal::new(
                Class::Internal,
                "corrupt",
                "What is stored of this is damaged; nothing was done. The server's log names the place.",
            )
        }
    }
}

/// A refusal on its way out of a handler.
#[derive(Debug)]
pub(crate) struct Refused(Refusal);

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

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self(match failure {
            Failure::Rejected(rejection) => rejection.into(),
            Failure::Fault(fault) => fault_refusal(&fault),
        })
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self(fault_refusal(&fault))
    }
}

/// 401: no token came.
pub(crate) fn missing_authorization() -> Refusal {
    let text = "Send Authorization: Bearer with the agent's token.";
    Refusal::new(Class::Unauthenticated, "missing_authorization", text)
}

/// 401: a token came, and it is not one that opens this.
pub(crate) fn invalid_authorization() -> Refusal {
    let text = "The token is unknown, revoked, or not one that may ask this.";
    Refusal::new(Class::Unauthenticated, "invalid_authorization", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn parts(refusal: Refusal) -> (http::StatusCode, http::HeaderMap, String) {
        let (parts, body) = asp_error(refusal).into_parts();
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
        let (status, headers, _) = parts(missing_authorization()).await;
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
