//! What black-box tests cannot set: an owner from an old store, a paused clock, coarse counts.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use plenary_accounts::{
    Accounts, Actor, OwnerRoom, TokenDigest,
    owner::event::{OwnerEvent, OwnerRegistered},
};
use plenary_edge::{Metrics, with_fallbacks};
use plenary_engine::{Room as _, SystemClock};
use plenary_frames::{ArrivingFrame, Config, Frames, ReceiveError};
use plenary_hub::{Observer, Presence, dispatch};
use plenary_kernel::Clock;
use plenary_log::{Batch, Log, Outcome, open_memory, signals::Network};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const OPERATOR: &str = "plo_test";

/// The room of one process, with accounts.
struct House {
    frames: Frames,
    log: Log,
    router: Router,
}

impl House {
    fn with(config: Config) -> Self {
        let opened = open_memory();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let accounts = Accounts::new(opened.log.clone(), clock.clone(), TokenDigest::of(OPERATOR));
        let signals = Network::new().join();
        let frames = Frames::new(opened.log.clone(), signals, clock, accounts.clone(), config);
        let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(accounts.clone()), Arc::new(frames.clone())];
        tokio::spawn(dispatch(opened.feed, Arc::new(Presence::default()), observers));
        tokio::spawn(frames.running());
        let metrics = Metrics::new();
        let router = plenary_edge::routes(plenary_accounts::operations(), &metrics)
            .unwrap()
            .with_state(accounts)
            .merge(plenary_frames::routes(frames.clone(), &metrics).unwrap());
        Self { frames, log: opened.log, router: with_fallbacks(router, &metrics) }
    }

    async fn ask(&self, token: &str, method: &str, path: &str, body: String) -> (HeaderMap, Body) {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("Authorization", format!("Bearer {token}"));
        let request = request.body(Body::from(body)).unwrap();
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        assert!(parts.status.is_success(), "{method} {path}: {}", parts.status);
        (parts.headers, body)
    }

    async fn post(&self, token: &str, path: &str, body: &Value) -> Value {
        let (_, body) = self.ask(token, "POST", path, body.to_string()).await;
        serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap()
    }

    /// Submits a frame; the number of subscriptions that it was emitted to.
    async fn submit(&self, token: &str, frame: &Value) -> u64 {
        self.post(token, "/frames", frame).await["delivered_count"].as_u64().unwrap()
    }

    async fn open(&self, token: &str, handle: &str) -> Stream {
        let path = format!("/handles/{handle}/stream");
        let (headers, body) = self.ask(token, "GET", &path, String::new()).await;
        Stream { headers, body, read: String::new() }
    }

    /// Creates an agent; returns its token.
    async fn agent(&self, handle: &str, policy: &str) -> String {
        let body = json!({"handle": handle, "policy": policy});
        self.post(OPERATOR, "/_admin/agents", &body).await["token"].as_str().unwrap().to_owned()
    }
}

/// An open stream.
struct Stream {
    headers: HeaderMap,
    body: Body,
    read: String,
}

impl Stream {
    /// The next block that ends with an empty line.
    async fn block(&mut self) -> String {
        loop {
            if let Some((block, rest)) = self.read.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.read = rest;
                return block;
            }
            let next = tokio::time::timeout(Duration::from_secs(10), self.body.frame());
            let piece = next.await.expect("the stream goes on in time").expect("it has not ended");
            self.read.push_str(std::str::from_utf8(&piece.unwrap().into_data().unwrap()).unwrap());
        }
    }

    /// The tag of the next frame.
    async fn tag(&mut self) -> String {
        let block = self.block().await;
        let frame: Value = serde_json::from_str(block.split_once("\ndata: ").unwrap().1).unwrap();
        frame["provenance_basis"].as_str().unwrap().to_owned()
    }
}

/// A frame from one principal to another, told apart by its tag.
fn frame(from: &str, to: &str, tag: &str) -> Value {
    json!({
        "envelope_version": "1.0", "frame_id": "7d9a0c9e-3f6b-4c1e-9a51-0c2f6f2f6b11",
        "kind": "agent_advisory", "sender_handle": from, "recipient_handle": to,
        "created_at": "2026-05-22T10:00:00Z", "payload": {"advisory_text": "editing"}, "acted_by": from,
        "drafted_with": "~cc-model", "provenance_compute_location": "local-only",
        "provenance_method": ["session-context"], "provenance_context_check": "passed",
        "provenance_basis": tag,
    })
}

/// An owner with a name that new owners can't have.
async fn from_an_old_store(house: &House, owner: &str) {
    let event = OwnerEvent::OwnerRegistered(OwnerRegistered { by: Actor::Operator, token: None });
    let events = vec![(OwnerRoom::stream(owner), OwnerRoom::encode(&event))];
    let outcome = house.log.append(Batch { events, ..Batch::default() }).await.unwrap();
    assert!(matches!(outcome, Outcome::Appended(_)));
}

#[tokio::test]
async fn fo_51_nobody_elsewhere_speaks_under_the_name_of_an_owner_of_this_network() {
    let house = House::with(Config::default());
    let ida = house.agent("@ida.bot", "allowlist").await;
    let entries = json!({"entries": ["@nick-at-acme.*", "@old-at-acme.*"]});
    house.post(OPERATOR, "/_admin/agents/@ida.bot/allowlist", &entries).await;
    from_an_old_store(&house, "old-at-acme").await;
    let mut of_ida = house.open(&ida, "~ida").await;
    let (peer, owners) = ("acme".parse().unwrap(), BTreeSet::from(["ida".parse().unwrap()]));
    let receive = async |owner: &str| {
        let text = Bytes::from(frame(&format!("~{owner}"), "~rose", owner).to_string());
        let agent = format!("@{owner}.cc").parse().unwrap();
        house
            .frames
            .receive(&ArrivingFrame { peer: &peer, agent: &agent, tool: "cc", text: &text }, &owners)
            .await
    };
    assert!(matches!(receive("old").await, Err(ReceiveError::Unauthorised)));
    assert!(matches!(receive("nick-at-rose").await, Err(ReceiveError::Malformed)));
    assert!(matches!(receive("nick").await, Ok(1)));
    assert_eq!(of_ida.tag().await, "nick");
}

#[tokio::test]
async fn fo_57_a_stream_says_that_it_is_alive() {
    let house = House::with(Config::default());
    let token = house.agent("@nick.a", "open").await;
    tokio::time::pause();
    let mut stream = house.open(&token, "~nick").await;
    assert_eq!(stream.headers["cache-control"], "no-store");
    let started_at = tokio::time::Instant::now();
    for nth in 1..=3 {
        // Events in between do not delay it.
        assert_eq!(house.submit(&token, &frame("~nick", "~nick", "x")).await, 1);
        assert_eq!(stream.tag().await, "x");
        tokio::time::advance(Duration::from_secs(8)).await;
        assert_eq!(stream.block().await, ": keepalive");
        assert_eq!(started_at.elapsed().as_secs(), nth * 15);
    }
}

#[tokio::test]
async fn fo_85_a_count_may_be_coarse() {
    let house = House::with(Config { coarse_counts: true, ..Default::default() });
    let token = house.agent("@nick.a", "open").await;
    let mut streams = Vec::new();
    for expected in [0, 1, 1, 1] {
        assert_eq!(house.submit(&token, &frame("~nick", "~nick", "x")).await, expected);
        streams.push(house.open(&token, "~nick").await);
    }
}
