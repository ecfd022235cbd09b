//! A running room with accounts, and the requests of tests to it.

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use plenary_accounts::{Accounts, TokenDigest};
use plenary_blobs::Blobs;
use plenary_edge::{Metrics, with_fallbacks};
use plenary_engine::SystemClock;
use plenary_hub::{Cursors, Observer, Presence, dispatch};
use plenary_kernel::Clock;
use plenary_log::open_memory;
use plenary_runs::{Agent, Echo, Quotas, Registry, RunLimits, Runner, Runs};
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) const OPERATOR: &str = "plo_test";

/// The room of one process, with the agent `@nick.echo`, further agents of the test, and three callers.
pub(crate) struct House {
    pub(crate) runs: Runs,
    pub(crate) metrics: Metrics,
    router: Router,
    /// The token of `@acme.w`.
    pub(crate) acme: String,
    /// The token of `@acme.other`.
    pub(crate) other: String,
    /// The token of `~nick`.
    pub(crate) owner: String,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StreamEvent {
    pub(crate) id: Option<String>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

impl Answer {
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// Asserts a refusal in the common form; returns its text.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> String {
        let body = self.ok(status);
        assert_eq!(body["code"], code, "{self:?}");
        assert_eq!(body.as_object().unwrap().len(), 2);
        assert_eq!(self.headers[http::header::CONTENT_TYPE], "application/json");
        if status == 401 {
            assert_eq!(self.headers[http::header::WWW_AUTHENTICATE], "Bearer");
        }
        body["detail"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> String {
        self.headers[name].to_str().unwrap().to_owned()
    }

    /// The events of a stream that has ended.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<StreamEvent> {
        assert_eq!(self.header("content-type"), "text/event-stream", "{self:?}");
        events_in(&self.body)
    }
}

pub(crate) fn events_in(text: &str) -> Vec<StreamEvent> {
    let field = |frame: &str, name: &str| {
        frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    let frames = text.split("\n\n").filter(|frame| frame.contains("data: "));
    frames
        .map(|frame| StreamEvent {
            id: field(frame, "id"),
            event: field(frame, "event").unwrap(),
            data: serde_json::from_str(&field(frame, "data").unwrap()).unwrap(),
        })
        .collect()
}

/// The types of events, in order.
pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// An agent of `nick`, open to everybody.
pub(crate) fn agent(name: &str, runner: Arc<dyn Runner>, limits: RunLimits) -> Agent {
    Agent::new(format!("@nick.{name}").parse().unwrap(), runner, limits).open()
}

/// The agent that every house has.
pub(crate) fn echo() -> Agent {
    agent("echo", Arc::new(Echo::default()), RunLimits::default())
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with(vec![echo()]).await
    }

    pub(crate) async fn with(agents: Vec<Agent>) -> Self {
        let opened = open_memory();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let accounts = Accounts::new(opened.log.clone(), clock.clone(), TokenDigest::of(OPERATOR));
        let cursors = Arc::new(Cursors::new(opened.log.clone(), clock.clone()));
        let registry = Registry::new(agents).unwrap();
        let blobs = Some(Blobs::in_memory());
        let runs = Runs::new(
            opened.log.clone(),
            clock,
            accounts.clone(),
            cursors,
            blobs,
            (registry, Quotas::default()),
            plenary_telemetry::Spans::off(),
        );
        let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(accounts.clone()), Arc::new(runs.clone())];
        tokio::spawn(dispatch(opened.feed, Arc::new(Presence::default()), observers));
        tokio::spawn(runs.running());
        runs.resume().await.unwrap();
        let metrics = Metrics::new();
        runs.register(&metrics);
        let router = plenary_edge::routes(plenary_accounts::operations(), &metrics)
            .unwrap()
            .with_state(accounts)
            .merge(plenary_runs::routes(runs.clone(), &metrics).unwrap());
        let router = with_fallbacks(router, &metrics);
        let (acme, other, owner) = (String::new(), String::new(), String::new());
        let mut house = Self { runs, metrics, router, acme, other, owner };
        let made = house.post(OPERATOR, "/_admin/owners", &json!({"owner": "nick"})).await;
        house.owner = made.ok(201)["token"].as_str().unwrap().to_owned();
        house.acme = house.register("@acme.w").await;
        house.other = house.register("@acme.other").await;
        house
    }

    /// Creates the account of an agent; returns its token.
    pub(crate) async fn register(&self, handle: &str) -> String {
        let made = self.post(OPERATOR, "/_admin/agents", &json!({"handle": handle})).await;
        made.ok(201)["token"].as_str().unwrap().to_owned()
    }

    fn request(token: &str, method: &str, path: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
        let mut request = Request::builder().method(method).uri(path);
        if !token.is_empty() {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(body).unwrap()
    }

    pub(crate) async fn send(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let request = Self::request(token, method, path, headers, body.into());
        let answering = async {
            let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
            (parts, body.collect().await.unwrap().to_bytes())
        };
        let answered = tokio::time::timeout(Duration::from_secs(20), answering).await;
        let (parts, body) = answered.unwrap_or_else(|_| panic!("no answer to {method} {path}"));
        let body = String::from_utf8(body.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// Opens a stream that is read in pieces.
    pub(crate) async fn open(&self, token: &str, method: &str, path: &str, body: &Value) -> Open {
        let body = if body.is_null() { Body::empty() } else { body.to_string().into() };
        let request = Self::request(token, method, path, &[], body);
        let response = self.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        let headers = response.headers().clone();
        Open { headers, body: response.into_body(), text: String::new(), consumed: 0 }
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Answer {
        self.send(token, "GET", path, &[], Body::empty()).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: &Value) -> Answer {
        self.send(token, "POST", path, &[], body.to_string()).await
    }

    /// Starts a run of the echo agent, as `@acme.w`; returns the ids of the run and its thread.
    pub(crate) async fn start_run(&self, body: &Value) -> (String, String) {
        self.start_run_of("echo", body).await
    }

    pub(crate) async fn start_run_of(&self, agent: &str, body: &Value) -> (String, String) {
        let answer = self.post(&self.acme, &format!("/agent/{agent}/run"), body).await;
        answer.ok(202);
        (answer.header("x-run-id"), answer.header("x-thread-id"))
    }

    /// All events of a run of `@acme.w`, up to its end or its question.
    pub(crate) async fn all_events(&self, agent: &str, run: &str) -> Vec<Value> {
        let path = format!("/agent/{agent}/get_events/{run}?stream=true");
        let events = self.get(&self.acme, &path).await.events();
        events.into_iter().filter(|event| event.event != "TextDelta").map(|event| event.data).collect()
    }

    /// The report of a run.
    pub(crate) async fn status(&self, agent: &str, run: &str) -> Value {
        self.get(&self.acme, &format!("/agent/{agent}/runs/{run}")).await.ok(200)
    }
}

/// An open stream.
pub(crate) struct Open {
    pub(crate) headers: HeaderMap,
    body: Body,
    text: String,
    consumed: usize,
}

impl Open {
    /// The next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(end) = self.text[self.consumed..].find("\n\n") {
                let frame = &self.text[self.consumed..self.consumed + end + 2];
                let events = events_in(frame);
                self.consumed += end + 2;
                match events.into_iter().next() {
                    Some(event) => return Some(event),
                    None => continue,
                }
            }
            let frame = tokio::time::timeout(Duration::from_secs(20), self.body.frame()).await;
            let data = frame.expect("the stream goes on or ends")?.unwrap().into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    /// Reads on until an event of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        while let Some(event) = self.next().await {
            if event.event == kind {
                return event.data;
            }
        }
        panic!("the stream ended before {kind}");
    }
}
