//! An issuer's metadata (OpenID Connect Discovery) and its keys: fetched, bounded, and cached. No caller can cause
//! more than a few fetches per minute, whatever key ids it sends.
//! Must not know: the content of a token.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::Full;
use parking_lot::RwLock;
use plenary_kernel::TimestampMs;
use plenary_outward::{guard::GuardedPool, within};
use serde::Deserialize;
use tokio::{sync::Mutex, time::timeout};
use url::Url;

use crate::{
    flaw::Flaw,
    keys::Keys,
    limits::{
        ANSWER_WITHIN_S, DOCUMENT_BYTES_MAX, FETCHES_PER_MINUTE_MAX, KEYS_BYTES_MAX, KEYS_FRESH_MS,
        KEYS_KEPT_MS,
    },
};

const MINUTE_MS: u64 = 60_000;

/// The members of the document that this server reads.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Document {
    issuer: String,
    jwks_uri: String,
    /// The endpoint for sign-in; absent at an issuer for programs.
    pub(crate) authorization_endpoint: Option<String>,
    /// The endpoint at which codes are redeemed.
    pub(crate) token_endpoint: Option<String>,
    /// The supported ways to send the client secret.
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// The fetched data of an issuer.
pub(crate) struct KnownIssuer {
    pub(crate) document: Document,
    pub(crate) keys: Keys,
    at: TimestampMs,
}

impl KnownIssuer {
    /// Data that was fetched while the clock was ahead is as old as the clock was ahead.
    fn is_younger(&self, age_ms: u64, now: TimestampMs) -> bool {
        now.0.abs_diff(self.at.0) < age_ms
    }
}

/// The number of fetches in this minute, and the time of the last failure.
#[derive(Debug, Default)]
struct Fetches {
    minute: u64,
    count: u32,
    failed_at: Option<TimestampMs>,
}

impl Fetches {
    /// Counts a fetch. False if that is one too many, or if the caller has usable data and a fetch failed within the last
    /// minute.
    fn may(&mut self, now: TimestampMs, is_served: bool) -> bool {
        if is_served && self.failed_at.is_some_and(|at| now.0.abs_diff(at.0) < MINUTE_MS) {
            return false;
        }
        let minute = now.0 / MINUTE_MS;
        if self.minute != minute {
            (self.minute, self.count) = (minute, 0);
        }
        self.count += 1;
        self.count <= FETCHES_PER_MINUTE_MAX
    }
}

/// The discovery document and the keys of one issuer.
pub(crate) struct Discovery {
    url: String,
    /// Whether plain `http` is allowed, which goes with private addresses.
    plain_too: bool,
    pool: GuardedPool,
    known: RwLock<Option<Arc<KnownIssuer>>>,
    fetches: Mutex<Fetches>,
    /// The number of fetches that have ended, by which a caller knows whether it waited for one.
    ended: AtomicU64,
}

impl Discovery {
    pub(crate) fn new(url: String, plain_too: bool, pool: GuardedPool) -> Self {
        let (known, fetches, ended) = (RwLock::default(), Mutex::default(), AtomicU64::default());
        Self { url, plain_too, pool, known, fetches, ended }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The data of the issuer, with the key of this id if the issuer has it. A caller whose key is cached does not wait for the
    /// issuer, except one caller that refreshes old data, at most once a minute after a failure.
    ///
    /// # Errors
    /// `Unavailable` if no usable data is cached, or if the key is not cached and the last fetch failed: the key may be new.
    pub(crate) async fn known(&self, key: Option<&str>, now: TimestampMs) -> Result<Arc<KnownIssuer>, Flaw> {
        let cached = || self.known.read().clone();
        let is_enough =
            |known: &Arc<KnownIssuer>| known.is_younger(KEYS_FRESH_MS, now) && known.keys.has(key);
        if let Some(known) = cached().filter(is_enough) {
            return Ok(known);
        }
        let usable = || cached().filter(|known| known.is_younger(KEYS_KEPT_MS, now));
        let serves = usable().filter(|known| known.keys.has(key));
        // One fetch at a time; callers that waited use its result, so that nobody waits longer than for one fetch.
        let ended = self.ended.load(Ordering::Acquire);
        let mut fetches = match (self.fetches.try_lock(), &serves) {
            (Ok(fetches), _) => fetches,
            (Err(_), Some(known)) => return Ok(known.clone()),
            (Err(_), None) => self.fetches.lock().await,
        };
        if let Some(known) = cached().filter(is_enough) {
            return Ok(known);
        }
        let has_waited = self.ended.load(Ordering::Acquire) != ended;
        if !has_waited && fetches.may(now, serves.is_some()) {
            let fetched = self.fetched(now).await;
            self.ended.fetch_add(1, Ordering::Release);
            fetches.failed_at = fetched.is_err().then_some(now);
            match fetched {
                Ok(known) => *self.known.write() = Some(Arc::new(known)),
                Err(why) => tracing::warn!(issuer = %self.url, why, "the keys of an issuer were not fetched"),
            }
        }
        let is_away = fetches.failed_at.is_some();
        drop(fetches);
        usable().filter(|known| !is_away || known.keys.has(key)).ok_or(Flaw::Unavailable)
    }

    async fn fetched(&self, now: TimestampMs) -> Result<KnownIssuer, String> {
        let at = format!("{}/.well-known/openid-configuration", self.url.trim_end_matches('/'));
        let document = self.got(&at, DOCUMENT_BYTES_MAX).await?;
        let document: Document =
            serde_json::from_slice(&document).map_err(|error| format!("the document of {at}: {error}"))?;
        if document.issuer != self.url {
            return Err(format!("{at} is the document of another issuer, {:?}", document.issuer));
        }
        let keys = self.got(&document.jwks_uri, KEYS_BYTES_MAX).await?;
        let keys = Keys::read(&keys).ok_or_else(|| format!("{} has no keys", document.jwks_uri))?;
        Ok(KnownIssuer { document, keys, at: now })
    }

    async fn got(&self, url: &str, bytes_max: usize) -> Result<Bytes, String> {
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = self.permitted_url(url)?;
        request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let (status, body) = self.sent(request, bytes_max).await?;
        if status == StatusCode::OK { Ok(body) } else { Err(format!("{url} answers {}", status.as_u16())) }
    }

    /// Parses a URL of the issuer, if it may be called.
    pub(crate) fn permitted_url(&self, url: &str) -> Result<http::Uri, String> {
        let parsed = Url::parse(url).map_err(|_| format!("{url:?} is not a URL"))?;
        if parsed.scheme() != "https" && !(self.plain_too && parsed.scheme() == "http") {
            return Err(format!("{url} is not https"));
        }
        parsed.as_str().parse().map_err(|_| format!("{url} cannot be asked"))
    }

    /// Sends a request and reads the whole answer within the time limit.
    pub(crate) async fn sent(
        &self,
        request: Request<Full<Bytes>>,
        bytes_max: usize,
    ) -> Result<(StatusCode, Bytes), String> {
        let exchange = async {
            let answer = self.pool.send(request).await?;
            let status = answer.status();
            Ok((status, within(answer.into_body(), bytes_max).await?))
        };
        let late = || format!("no answer within {ANSWER_WITHIN_S} seconds");
        timeout(Duration::from_secs(ANSWER_WITHIN_S), exchange).await.map_err(|_| late())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetches_are_a_few_a_minute() {
        let mut fetches = Fetches::default();
        let now = TimestampMs(5 * MINUTE_MS + 1);
        let allowed = (0..100).filter(|_| fetches.may(now, false)).count();
        assert_eq!(u32::try_from(allowed), Ok(FETCHES_PER_MINUTE_MAX));
        assert!(fetches.may(TimestampMs(6 * MINUTE_MS), false));
    }

    const NOW: TimestampMs = TimestampMs(KEYS_KEPT_MS);

    /// An unreachable issuer whose key `a` was fetched this long ago.
    fn away(known_ms_ago: u64) -> Discovery {
        let tls = plenary_outward::client_config(false, None, "").unwrap();
        let pool = GuardedPool::new(plenary_outward::guard::Guard::new(true), tls);
        // No program listens on this port.
        let url = "http://127.0.0.1:9";
        let discovery = Discovery::new(url.to_owned(), true, pool);
        let document = format!(r#"{{"issuer": "{url}", "jwks_uri": "{url}/keys"}}"#);
        let keys = br#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": "AA"}]}"#;
        *discovery.known.write() = Some(Arc::new(KnownIssuer {
            document: serde_json::from_str(&document).unwrap(),
            keys: Keys::read(keys).unwrap(),
            at: TimestampMs(NOW.0 - known_ms_ago),
        }));
        discovery
    }

    async fn at_once<T>(waits: impl Future<Output = T>) -> Option<T> {
        timeout(Duration::ZERO, waits).await.ok()
    }

    #[tokio::test]
    async fn a_caller_with_a_known_key_does_not_wait_for_a_fetch() {
        let discovery = away(KEYS_FRESH_MS);
        let _fetching = discovery.fetches.lock().await;
        assert!(at_once(discovery.known(Some("a"), NOW)).await.is_some_and(|known| known.is_ok()));
        assert!(at_once(discovery.known(None, NOW)).await.is_some_and(|known| known.is_ok()));
        assert!(at_once(discovery.known(Some("b"), NOW)).await.is_none(), "another key may be new");
        let discovery = away(KEYS_KEPT_MS);
        let _fetching = discovery.fetches.lock().await;
        assert!(at_once(discovery.known(Some("a"), NOW)).await.is_none(), "what is a day old is not used");
    }

    #[tokio::test]
    async fn who_waited_for_a_fetch_uses_its_result() {
        let discovery = away(0);
        for failed_at in [None, Some(NOW)] {
            let mut fetches = discovery.fetches.lock().await;
            let mut waits = std::pin::pin!(discovery.known(Some("b"), NOW));
            assert!(at_once(waits.as_mut()).await.is_none());
            fetches.failed_at = failed_at;
            discovery.ended.fetch_add(1, Ordering::Release);
            drop(fetches);
            match waits.await {
                Ok(known) => assert!(failed_at.is_none() && !known.keys.has(Some("b")), "it has no such key"),
                Err(flaw) => assert!(failed_at.is_some() && flaw == Flaw::Unavailable, "{flaw:?}"),
            }
            assert_eq!(discovery.fetches.lock().await.count, 0);
        }
    }

    #[tokio::test]
    async fn known_keys_of_an_unreachable_issuer_are_fetched_once_a_minute() {
        let discovery = away(KEYS_FRESH_MS);
        let count = async |at: u64| {
            assert!(discovery.known(Some("a"), TimestampMs(at)).await.is_ok());
            discovery.fetches.lock().await.count
        };
        assert_eq!(count(NOW.0).await, 1);
        assert_eq!(count(NOW.0 + MINUTE_MS - 1).await, 1);
        assert!(discovery.known(Some("b"), NOW).await.is_err_and(|flaw| flaw == Flaw::Unavailable));
        assert_eq!(count(NOW.0).await, 2, "another key may be new");
        assert_eq!(count(NOW.0 + MINUTE_MS).await, 1, "a minute later");
    }
}
