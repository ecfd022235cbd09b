//! A request that is carried out once, even if it is repeated: each of its commands claims a key, derived from the
//! request's own, in the command's own append. When it is repeated after a crash, completed commands return their
//! first reply, and the others are carried out.
//! Must not know: the request, or its transport.

use std::{collections::HashMap, future::Future, sync::Arc};

use parking_lot::Mutex;
use plenary_kernel::json::digest;

use crate::{Command, KeyUse, Room};

tokio::task_local! {
    static REQUEST: Arc<IdempotentRequest>;
}

/// The name under which secrets are counted.
const SECRET: &str = "secret";

/// A request with an idempotency key.
#[derive(Debug)]
pub struct IdempotentRequest {
    request: KeyUse,
    secret: Option<[u8; 32]>,
    /// The number of commands of each kind, and of secrets, that it has used so far.
    counts: Mutex<HashMap<String, u32>>,
}

impl IdempotentRequest {
    /// A request under a key. `secret` is a value that only the sender knows, if there is one.
    pub fn new(request: KeyUse, secret: Option<[u8; 32]>) -> Arc<Self> {
        Arc::new(Self { request, secret, counts: Mutex::default() })
    }

    /// Runs the work of the request. Commands without a key of their own get a derived one.
    pub async fn carry_out<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        REQUEST.scope(self.clone(), future).await
    }

    /// The number of secrets that its work has made so far.
    pub fn secrets_made(&self) -> u32 {
        self.counts.lock().get(SECRET).copied().unwrap_or(0)
    }

    /// The 32 bytes of its nth secret, from 1, derived from the sender's secret. `None` without one.
    pub fn secret(&self, nth: u32) -> Option<[u8; 32]> {
        let inner = self.secret?;
        let KeyUse { scope, key, digest: request_digest } = &self.request;
        let input = format!("{}:{scope}{}:{key}{nth}", scope.len(), key.len());
        let outer = digest(&[input.as_bytes(), request_digest].concat());
        // Both inputs are digests of 32 bytes, so the hashed text can't be extended.
        Some(digest(&[inner, outer].concat()))
    }

    fn nth(&self, what: &str) -> u32 {
        let mut counts = self.counts.lock();
        let nth = counts.entry(what.to_owned()).or_default();
        *nth += 1;
        *nth
    }

    fn step(&self, kind: &str) -> KeyUse {
        let scope = format!("{}#{kind}.{}", self.request.scope, self.nth(kind));
        KeyUse { scope, ..self.request.clone() }
    }
}

/// Makes a future that runs elsewhere part of the current request.
pub fn of_request<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let request = REQUEST.try_with(Arc::clone).ok();
    async move {
        match request {
            Some(request) => REQUEST.scope(request, future).await,
            None => future.await,
        }
    }
}

/// The key of the next command of this kind, if the current request has one.
pub(crate) fn step<R: Room, C: Command<R>>() -> Option<KeyUse> {
    REQUEST.try_with(|request| request.step(&format!("{}-{}", R::CATEGORY, C::NAME))).ok()
}

/// The 32 bytes of a new secret, derived from the sender's secret, so that a repeated request gets the
/// same one. `None` outside such a request.
pub fn secret_of_request() -> Option<[u8; 32]> {
    REQUEST.try_with(|request| request.secret(request.nth(SECRET))).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(key: &str) -> KeyUse {
        KeyUse { scope: "s".into(), key: key.into(), digest: [7; 32] }
    }

    #[tokio::test]
    async fn the_same_request_makes_the_same_secrets_and_another_bearer_others() {
        let secrets = async || [secret_of_request(), secret_of_request()];
        let first = IdempotentRequest::new(request("k"), Some([1; 32])).carry_out(secrets()).await;
        assert_eq!(first, IdempotentRequest::new(request("k"), Some([1; 32])).carry_out(secrets()).await);
        assert_ne!(first[0], first[1]);
        let others = [
            IdempotentRequest::new(request("l"), Some([1; 32])),
            IdempotentRequest::new(request("k"), Some([2; 32])),
        ];
        for other in others {
            assert_ne!(first, other.carry_out(secrets()).await);
        }
        assert_eq!(IdempotentRequest::new(request("k"), None).carry_out(secrets()).await, [None, None]);
        assert_eq!(secrets().await, [None, None]);
        let again = IdempotentRequest::new(request("k"), Some([1; 32]));
        assert_eq!((again.secret(1), again.secret(2)), (first[0], first[1]), "without the work");
        assert_eq!(again.secrets_made(), 0);
        again.carry_out(secrets()).await;
        assert_eq!(again.secrets_made(), 2);
    }
}
