//! The challenge of a 403: the scope that would have been sufficient (RFC 6750, 3.1), whatever the form
//! of the refusal.
//! Must not know: the permissions of a scope.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use parking_lot::Mutex;

/// Where the check of a token's scope reports the missing scope; an extension of every request to an
/// operation.
#[derive(Debug, Clone, Default)]
pub struct ScopeChallenge(Arc<Mutex<Option<String>>>);

impl ScopeChallenge {
    /// Reports the scope that would have been sufficient.
    pub fn misses(&self, scope: &str) {
        *self.0.lock() = Some(scope.to_owned());
    }

    /// Adds the challenge to a 403 that has none with a scope.
    pub(crate) fn put(&self, response: &mut Response) {
        if response.status() != StatusCode::FORBIDDEN {
            return;
        }
        let header = response.headers().get(header::WWW_AUTHENTICATE).and_then(|header| header.to_str().ok());
        if header.is_some_and(|header| header.contains("scope=\"")) {
            return;
        }
        let Some(scope) = self.0.lock().take() else { return };
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
        if let Ok(challenge) = HeaderValue::from_str(&challenge) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
    }
}
