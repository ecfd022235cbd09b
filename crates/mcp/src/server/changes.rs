//! Notices that a resource has changed. The inbox wakes whoever waits for it; other resources are looked at again.
//! A notice says that there is something to read, and not what.
//! Must not know: by which request somebody subscribed.

use http::{Method, StatusCode};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

use super::{
    INBOX_PAUSE, INBOX_WAIT_S, LOOK_EVERY,
    resources::{INBOX, find},
};
use crate::operations::{Caller, Operations};

/// Where a follower reads, and in whose name.
#[derive(Clone)]
pub(super) struct Follower {
    pub(super) operations: Operations,
    pub(super) caller: Caller,
}

/// Why a resource is followed no longer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Over;

impl Follower {
    /// Tells each change of one resource until nobody listens, or the caller may not read it any more. `tell` gives
    /// whether somebody still listens.
    pub(super) async fn follow<F: Future<Output = bool>>(&self, uri: &str, tell: impl Fn() -> F) {
        let Over = match find(&self.operations, uri) {
            Some(_) if uri == INBOX => self.inbox(tell).await,
            Some(found) => self.look(&found.watched, tell).await,
            None => Over,
        };
    }

    /// Looks again and again whether the answer is another one.
    async fn look<F: Future<Output = bool>>(&self, path: &str, tell: impl Fn() -> F) -> Over {
        let mut known = None;
        loop {
            match self.ask(path).await {
                Ok(Some(body)) => {
                    let digest = Sha256::digest(&body);
                    if known.replace(digest).is_some_and(|known| known != digest) && !tell().await {
                        return Over;
                    }
                }
                Ok(None) => {}
                Err(over) => return over,
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Waits for what comes behind what is there already.
    async fn inbox<F: Future<Output = bool>>(&self, tell: impl Fn() -> F) -> Over {
        let mut after: Option<String> = None;
        let mut caught_up = false;
        loop {
            let behind =
                after.as_ref().map(|cursor| format!("&after={}", encoded(cursor))).unwrap_or_default();
            let path = if caught_up {
                format!("/inbox/wait?timeout_s={INBOX_WAIT_S}&limit=100{behind}")
            } else {
                format!("/inbox?limit=100{behind}")
            };
            match self.ask(&path).await {
                Ok(Some(body)) => {
                    let page: Value = serde_json::from_slice(&body).unwrap_or_default();
                    let is_news = page["items"].as_array().is_some_and(|items| !items.is_empty());
                    after = page["cursor"].as_str().map(str::to_owned).or(after);
                    if caught_up && is_news && !tell().await {
                        return Over;
                    }
                    caught_up = caught_up || page["more"] != true;
                }
                Ok(None) => sleep(INBOX_PAUSE).await,
                Err(over) => return over,
            }
        }
    }

    /// The body of an answer; `None` when it could not be had now.
    async fn ask(&self, path: &str) -> Result<Option<bytes::Bytes>, Over> {
        let Ok(reply) = self.operations.ask(&self.caller, Method::GET, path, None).await else {
            return Ok(None);
        };
        match reply.status {
            status if status.is_success() => Ok(Some(reply.body)),
            StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::BAD_REQUEST => Err(Over),
            _ => Ok(None),
        }
    }
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
