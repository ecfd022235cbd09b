//! A running room with its router, and what tests ask of it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::{Router, body::Body, routing::get};
use http::{HeaderMap, Request, StatusCode};
use plenary_accounts::{Accounts, ConnectCaller, TokenDigest, operations};
use plenary_edge::{Metrics, routes, with_fallbacks};
use plenary_engine::SystemClock;
use plenary_hub::{Observer, Presence, dispatch};
use plenary_kernel::{Clock, Stamp, TimestampMs};
use plenary_log::{Log, open_memory};
use serde_json::Value;
use tower::ServiceExt;

pub(crate) const OPERATOR: &str = "plo_test-of-the-operator";

/// The room of one process, and the log below.
pub(crate) struct House {
    pub(crate) accounts: Accounts,
    pub(crate) log: Log,
    pub(crate) presence: Arc<Presence>,
    router: Router,
}

/// An answer, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// The JSON of an answer with this status.
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// Whether it refuses with this status and code, in the one form of refusals.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) {
        let body = self.ok(status);
        assert_eq!(body["error"]["code"], code, "{self:?}");
        let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(members(&body), ["error"]);
        assert_eq!(members(&body["error"]), ["code", "message"]);
        assert_eq!(self.headers[http::header::CONTENT_TYPE], "application/json");
        if status == 401 {
            assert_eq!(self.headers[http::header::WWW_AUTHENTICATE], "Bearer");
        }
    }
}

impl House {
    /// An empty room.
    pub(crate) fn new() -> Self {
        Self::with(Arc::new(SystemClock))
    }

    /// An empty room whose time the test sets.
    pub(crate) fn with_clock() -> (Self, Arc<HandClock>) {
        let clock = Arc::new(HandClock::default());
        (Self::with(clock.clone()), clock)
    }

    fn with(clock: Arc<dyn Clock>) -> Self {
        let opened = open_memory();
        let accounts = Accounts::new(opened.log.clone(), clock, TokenDigest::of(OPERATOR));
        let presence = Arc::new(Presence::default());
        let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(accounts.clone())];
        tokio::spawn(dispatch(opened.feed, presence.clone(), observers));
        let router = router(&accounts);
        Self { accounts, log: opened.log, presence, router }
    }

    /// The room on a log of which it hears nothing but what it does itself.
    pub(crate) fn on_log(log: Log) -> Self {
        let accounts = Accounts::new(log.clone(), Arc::new(SystemClock), TokenDigest::of(OPERATOR));
        let router = router(&accounts);
        Self { accounts, log, presence: Arc::new(Presence::default()), router }
    }

    /// The room as another process on the same log has it; this one hears of its events.
    pub(crate) fn neighbour(&self) -> Self {
        let accounts = Accounts::new(self.log.clone(), Arc::new(SystemClock), TokenDigest::of(OPERATOR));
        let router = router(&accounts);
        Self { accounts, log: self.log.clone(), presence: self.presence.clone(), router }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// Sends `body` (`""`: none) with a token (`""`: none).
    pub(crate) async fn call(&self, token: &str, method: &str, path: &str, body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Answer {
        self.call(token, "GET", path, "").await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: &str) -> Answer {
        self.call(token, "POST", path, body).await
    }

    /// Makes an agent from the members of a body besides the handle; its token.
    pub(crate) async fn agent(&self, handle: &str, further: &str) -> String {
        let comma = if further.is_empty() { "" } else { "," };
        let body = format!("{{\"handle\":\"{handle}\"{comma}{further}}}");
        let agent = self.post(OPERATOR, "/_admin/agents", &body).await.ok(201);
        agent["token"].as_str().unwrap().to_owned()
    }

    /// Makes an owner; its token.
    pub(crate) async fn owner(&self, owner: &str) -> String {
        let created =
            self.post(OPERATOR, "/_admin/owners", &format!("{{\"owner\":\"{owner}\"}}")).await.ok(201);
        created["token"].as_str().unwrap().to_owned()
    }
}

/// A clock that is moved by hand.
#[derive(Default)]
pub(crate) struct HandClock(AtomicU64);

impl HandClock {
    pub(crate) fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> TimestampMs {
        TimestampMs(1_000_000 + self.0.load(Ordering::SeqCst))
    }
    fn stamp(&self) -> Stamp {
        Stamp::new(self.now(), [7; 10])
    }
}

fn router(accounts: &Accounts) -> Router {
    let metrics = Metrics::new();
    let connect = |ConnectCaller(caller): ConnectCaller| async move { caller.handle.to_string() };
    let router = routes(operations(), &metrics).unwrap().route("/connect", get(connect));
    with_fallbacks(router, &metrics).with_state(accounts.clone())
}
