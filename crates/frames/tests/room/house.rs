//! A running room with accounts, and its operations for tests.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use plenary_accounts::{Accounts, TokenDigest};
use plenary_edge::{Metrics, with_fallbacks};
use plenary_engine::SystemClock;
use plenary_frames::{Config, Frames};
use plenary_hub::{Observer, Presence, dispatch};
use plenary_kernel::Clock;
use plenary_log::{Log, Signals, open_memory, signals::Network};
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) const OPERATOR: &str = "plo_test";
pub(crate) const UUID: &str = "7d9a0c9e-3f6b-4c1e-9a51-0c2f6f2f6b11";
/// The time limit of each step.
const PATIENCE: Duration = Duration::from_secs(10);

/// The room of one process.
pub(crate) struct House {
    pub(crate) frames: Frames,
    pub(crate) log: Log,
    router: Router,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// Whether it is this refusal, in the form of the protocol; `-` means no field (FO-73).
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str, field: &str) {
        let body = self.ok(status);
        assert_eq!(body["code"], code, "{self:?}");
        assert_eq!(body["field"].as_str().unwrap_or("-"), field, "{self:?}");
        assert!(!body["message"].as_str().unwrap().is_empty());
        let members = body.as_object().unwrap().len();
        assert_eq!(members, if field == "-" { 2 } else { 3 });
        assert_eq!(self.headers[http::header::CONTENT_TYPE], "application/json");
        if status == 401 {
            assert_eq!(self.headers[http::header::WWW_AUTHENTICATE], "Bearer");
        }
    }

    /// The number of subscriptions that a frame was emitted to.
    #[track_caller]
    pub(crate) fn count(&self) -> u64 {
        let body = self.ok(200);
        assert_eq!(body["delivered_count"], body["recipient_count"]);
        assert_eq!(body.as_object().unwrap().len(), 4);
        body["delivered_count"].as_u64().unwrap()
    }

    #[track_caller]
    pub(crate) fn event_id(&self) -> u64 {
        self.ok(200)["event_id"].as_str().unwrap().parse().unwrap()
    }
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) data: String,
}

/// An open stream.
pub(crate) struct Stream {
    pub(crate) headers: HeaderMap,
    body: Body,
    read: String,
}

impl Stream {
    /// The next block that ends with an empty line; `None` at the end.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.read.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.read = rest;
                return Some(block);
            }
            let next = tokio::time::timeout(PATIENCE, self.body.frame());
            let piece = next.await.expect("the stream goes on in time")?.unwrap().into_data().unwrap();
            self.read.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Event {
        let block = self.block().await.expect("the stream has not ended");
        let (id, data) = block.split_once('\n').expect("an id and a data line");
        assert!(!data.contains(['\n', '\r']), "{block}");
        let id = id.strip_prefix("id: ").unwrap().parse().unwrap();
        Event { id, data: data.strip_prefix("data: ").unwrap().to_owned() }
    }

    /// The tag of the next frame.
    pub(crate) async fn tag(&mut self) -> String {
        let frame: Value = serde_json::from_str(&self.event().await.data).unwrap();
        frame["provenance_basis"].as_str().unwrap().to_owned()
    }
}

impl House {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> Self {
        Self::with_signals([Network::new().join()], config).pop().unwrap()
    }

    /// Two processes on one store.
    pub(crate) fn pair() -> [Self; 2] {
        let network = Network::new();
        let houses = Self::with_signals([network.join(), network.join()], Config::default());
        houses.try_into().unwrap_or_else(|_| panic!("two were made"))
    }

    fn with_signals(signals: impl IntoIterator<Item = Signals>, config: Config) -> Vec<Self> {
        let opened = open_memory();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let accounts = Accounts::new(opened.log.clone(), clock.clone(), TokenDigest::of(OPERATOR));
        let frames: Vec<_> = signals
            .into_iter()
            .map(|signals| Frames::new(opened.log.clone(), signals, clock.clone(), accounts.clone(), config))
            .collect();
        let mut observers: Vec<Arc<dyn Observer>> = vec![Arc::new(accounts.clone())];
        observers.extend(frames.iter().map(|frames| Arc::new(frames.clone()) as Arc<dyn Observer>));
        tokio::spawn(dispatch(opened.feed, Arc::new(Presence::default()), observers));
        let house = |frames: Frames| {
            tokio::spawn(frames.running());
            let metrics = Metrics::new();
            let router = plenary_edge::routes(plenary_accounts::operations(), &metrics)
                .unwrap()
                .with_state(accounts.clone())
                .merge(plenary_frames::routes(frames.clone(), &metrics).unwrap());
            Self { frames, log: opened.log.clone(), router: with_fallbacks(router, &metrics) }
        };
        frames.into_iter().map(house).collect()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub(crate) fn request(
        token: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Request<Body> {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(body.into()).unwrap()
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Answer {
        self.send(Self::request(token, "GET", path, &[], Body::empty())).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: &Value) -> Answer {
        self.send(Self::request(token, "POST", path, &[], body.to_string())).await
    }

    /// Submits a frame; `further` is the query.
    pub(crate) async fn submit(&self, token: &str, further: &str, frame: &Value) -> Answer {
        self.post(token, &format!("/frames{further}"), frame).await
    }

    /// Opens a stream, `path` being `~handle/stream?…`.
    pub(crate) async fn open(&self, token: &str, path: &str) -> Stream {
        self.open_with(token, path, &[]).await
    }

    pub(crate) async fn open_with(&self, token: &str, path: &str, headers: &[(&str, &str)]) -> Stream {
        let request = Self::request(token, "GET", &format!("/handles/{path}"), headers, Body::empty());
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        assert_eq!(parts.status, 200);
        Stream { headers: parts.headers, body, read: String::new() }
    }

    /// Creates an agent; returns its token.
    pub(crate) async fn agent(&self, handle: &str, policy: &str) -> String {
        let created =
            self.post(OPERATOR, "/_admin/agents", &json!({"handle": handle, "policy": policy})).await;
        created.ok(201)["token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn rostered(&self, token: &str, handle: &str) -> Vec<Value> {
        let roster = self.get(token, &format!("/handles/{handle}/roster")).await.ok(200);
        assert_eq!(roster["handle"], handle);
        roster["roster"].as_array().unwrap().clone()
    }

    /// Waits until a handle has this many subscriptions.
    pub(crate) async fn until_rostered(&self, handle: &str, count: usize) {
        let until = async {
            while self.rostered(OPERATOR, handle).await.len() != count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, until).await.expect("so many are subscribed in time");
    }
}

/// A frame from one principal to another, told apart by its tag.
pub(crate) fn frame(from: &str, to: &str, tag: &str) -> Value {
    json!({
        "envelope_version": "1.0", "frame_id": UUID, "kind": "agent_advisory", "sender_handle": from,
        "recipient_handle": to, "created_at": "2026-05-22T10:00:00Z",
        "payload": {"advisory_text": "editing"}, "acted_by": from, "drafted_with": "~cc-model",
        "provenance_compute_location": "local-only", "provenance_method": ["session-context"],
        "provenance_context_check": "passed", "provenance_basis": tag,
    })
}
