//! A room on a log in memory, with a clock that tests set, and its requests.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::{Router, body::Body};
use http::{HeaderMap, Request, StatusCode};
use plenary_accounts::{Accounts, Authority, Policy, TokenDigest, agent::command::RegisterAgent};
use plenary_edge::{Metrics, Origin, Peer};
use plenary_hub::{Observer, Presence, dispatch};
use plenary_kernel::{Clock, Stamp, TimestampMs};
use plenary_log::open_memory;
use plenary_telemetry::Spans;
use serde_json::Value;
use tower::ServiceExt;

use crate::{Channels, Config, routes};

pub(super) const OPERATOR: &str = "plo_test";

/// A clock that stands still until a test sets it, with repeatable randomness.
#[derive(Debug)]
pub(super) struct SetClock {
    pub(super) now: AtomicU64,
    entropy: AtomicU64,
    /// The number of consecutive stamps with the same randomness.
    pub(super) repeats: AtomicU64,
}

impl Clock for SetClock {
    fn now(&self) -> TimestampMs {
        TimestampMs(self.now.load(Ordering::Relaxed))
    }
    fn stamp(&self) -> Stamp {
        let n = self.entropy.fetch_add(1, Ordering::Relaxed) / self.repeats.load(Ordering::Relaxed).max(1);
        let mut entropy = [0; 10];
        entropy[2..].copy_from_slice(&n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        Stamp::new(self.now(), entropy)
    }
}

pub(super) struct House {
    pub(super) clock: Arc<SetClock>,
    pub(super) channels: Channels,
    /// The address of the client.
    pub(super) peer: parking_lot::Mutex<Option<std::net::SocketAddr>>,
    accounts: Accounts,
    router: Router,
}

/// A complete response.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    #[track_caller]
    pub(super) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Checks that the response is a refusal with this status and code, in the form of this room.
    #[track_caller]
    pub(super) fn refused(&self, status: u16, code: &str) -> String {
        assert_eq!(self.status, status, "{self:?}");
        let body: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(body["code"], code, "{self:?}");
        assert_eq!(body.as_object().unwrap().len(), 2, "{self:?}");
        body["detail"].as_str().unwrap().to_owned()
    }
}

impl House {
    pub(super) fn new() -> Self {
        Self::with(Config::default(), Spans::off())
    }

    pub(super) fn with(config: Config, spans: Spans) -> Self {
        let clock = Arc::new(SetClock {
            now: AtomicU64::new(1_000_000),
            entropy: AtomicU64::new(1),
            repeats: AtomicU64::new(1),
        });
        let opened = open_memory();
        let accounts = Accounts::new(opened.log.clone(), clock.clone(), TokenDigest::of(OPERATOR));
        let channels = Channels::new(opened.log, clock.clone(), accounts.clone(), spans.clone(), config);
        let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(accounts.clone()), Arc::new(channels.clone())];
        tokio::spawn(dispatch(opened.feed, Arc::new(Presence::default()), observers));
        let origin = Origin::new("http://127.0.0.1:7420", None, vec!["10.0.0.0/8".parse().unwrap()]);
        let router = routes(channels.clone(), origin, &Metrics::with_spans(spans)).unwrap();
        Self { clock, channels, peer: parking_lot::Mutex::default(), accounts, router }
    }

    /// Registers an agent whose token is its handle.
    pub(super) async fn agent(&self, handle: &str) {
        let (name, token) = (handle.parse().unwrap(), TokenDigest::of(handle));
        let command =
            RegisterAgent { policy: Policy::Open, ..RegisterAgent::new(Authority::seed(), name, token) };
        self.accounts.register_agent(command).await.unwrap();
    }

    pub(super) fn set_clock(&self, ms: u64) {
        self.clock.now.store(1_000_000 + ms, Ordering::Relaxed);
    }

    pub(super) async fn ask(
        &self,
        token: &str,
        line: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        if let Some(peer) = *self.peer.lock() {
            request = request.extension(Peer(peer));
        }
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, 64 << 20).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub(super) async fn get(&self, token: &str, path: &str) -> Answer {
        self.ask(token, &format!("GET {path}"), &[], Body::empty()).await
    }

    pub(super) async fn post(&self, token: &str, path: &str, body: &Value) -> Answer {
        self.ask(token, &format!("POST {path}"), &[], body.to_string()).await
    }

    /// Creates a channel and returns its id.
    pub(super) async fn channel(&self, token: &str) -> String {
        let channel = self.post(token, "/agent-channel", &serde_json::json!({"title": "t"})).await.ok();
        channel["id"].as_str().unwrap().to_owned()
    }

    /// Appends an event and returns its id.
    pub(super) async fn append(&self, token: &str, channel: &str, kind: &str, payload: Value) -> u64 {
        let body = serde_json::json!({"kind": kind, "payload": payload});
        let event = self.post(token, &format!("/agent-channel/{channel}/event"), &body).await.ok();
        event["id"].as_u64().unwrap()
    }
}
