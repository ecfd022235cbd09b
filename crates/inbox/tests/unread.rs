//! What a read of an inbox costs, counted in reads of the store: not more for many unread items than for few.
//! Must not know: how the inbox finds items.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use axum::{Router, body::Body};
use http::{Request, header};
use http_body_util::BodyExt as _;
use plenary_accounts::{Accounts, TokenDigest};
use plenary_context::Context;
use plenary_edge::Metrics;
use plenary_engine::SystemClock;
use plenary_frames::Frames;
use plenary_hub::{Cursors, Observer, Presence, dispatch};
use plenary_inbox::{Inbox, Rooms};
use plenary_kernel::Clock;
use plenary_log::rigged::{FaultControl, Process, Store};
use plenary_requests::Requests;
use plenary_runs::{Agent, Echo, Quotas, Registry, RunLimits, Runs};
use plenary_sessions::Sessions;
use serde_json::{Value, json};
use tower::ServiceExt as _;

const OPERATOR: &str = "plo_test0000000000";

/// One process with the rooms that have news; its reads of the store are counted.
struct House {
    router: Router,
    rigging: FaultControl,
}

impl House {
    async fn new() -> Self {
        let Process { log, feed, rigging } = Store::new().process(false);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of(OPERATOR));
        accounts.begin().await.unwrap();
        let presence = Arc::new(Presence::default());
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        let (l, c, a) = (log.clone(), clock.clone(), accounts.clone());
        let (present, at) = (presence.clone(), cursors.clone());
        let sessions = Sessions::new(l, c, a, present, at, plenary_sessions::Config::default());
        let (l, c, a, signals) = (log.clone(), clock.clone(), accounts.clone(), log.signals().clone());
        let frames = Frames::new(l, signals, c, a, plenary_frames::Config::default());
        let (l, c, a) = (log.clone(), clock.clone(), accounts.clone());
        let index = plenary_retrieval_sqlite::open_memory().unwrap();
        let context = Context::new(l, c, a, index, None, plenary_context::Config::default());
        let echo = Agent::new("@nick.echo".parse().unwrap(), Arc::new(Echo::default()), RunLimits::default());
        let agents = (Registry::new(vec![echo.open()]).unwrap(), Quotas::default());
        let (l, c, a, spans) =
            (log.clone(), clock.clone(), accounts.clone(), plenary_telemetry::Spans::off());
        let runs = Runs::new(l, c, a, cursors.clone(), None, agents, spans);
        let requests = Requests::new(log.clone(), clock.clone(), accounts.clone());
        let rooms = Rooms {
            accounts: accounts.clone(),
            sessions: sessions.clone(),
            frames,
            sources: vec![
                Arc::new(accounts.clone()),
                Arc::new(sessions.clone()),
                Arc::new(context.clone()),
                Arc::new(runs.clone()),
                Arc::new(requests.clone()),
            ],
        };
        let inbox = Inbox::new(log, clock, cursors, rooms);
        inbox.begin().await.unwrap();
        let observers: Vec<Arc<dyn Observer>> = vec![
            Arc::new(accounts.clone()),
            Arc::new(sessions),
            Arc::new(context.clone()),
            Arc::new(runs.clone()),
            Arc::new(requests.clone()),
            Arc::new(inbox.clone()),
        ];
        tokio::spawn(dispatch(feed, presence, observers));
        tokio::spawn(runs.running());
        let metrics = Metrics::new();
        let router = plenary_edge::routes(plenary_accounts::operations(), &metrics)
            .unwrap()
            .with_state(accounts)
            .merge(plenary_context::routes(context, &metrics).unwrap())
            .merge(plenary_runs::routes(runs, &metrics).unwrap())
            .merge(
                plenary_edge::routes(plenary_requests::operations(), &metrics).unwrap().with_state(requests),
            )
            .merge(plenary_inbox::routes(inbox, &metrics).unwrap());
        Self { router, rigging }
    }

    async fn send(&self, token: &str, method: &str, path: &str, body: &Value) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(if body.is_null() { Body::empty() } else { Body::from(body.to_string()) })
            .unwrap();
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert!(status.is_success(), "{path}: {status} {body:?}");
        serde_json::from_slice(&body).unwrap_or(Value::Null)
    }

    async fn agent(&self, handle: &str) -> String {
        let body = json!({"handle": handle, "policy": "open", "self_service": true});
        let made = self.send(OPERATOR, "POST", "/_admin/agents", &body).await;
        made["token"].as_str().unwrap().to_owned()
    }

    /// The number of unread items, and the reads of the store that one read of the inbox makes.
    async fn look(&self, me: &str) -> (u64, usize) {
        let (mut unread, mut fewest) = (0, usize::MAX);
        // The first reads look for the items, and other tasks may read as well.
        for _ in 0..6 {
            self.rigging.counted();
            unread = self.send(me, "GET", "/inbox?limit=1", &Value::Null).await["unread"].as_u64().unwrap();
            fewest = fewest.min(self.rigging.counted().reads);
        }
        (unread, fewest)
    }
}

/// What strangers, colleagues and people ask of `@ann.a`, and answer it.
struct Scene {
    house: House,
    me: String,
    owner: String,
    colleague: String,
    items: usize,
}

impl Scene {
    async fn new() -> Self {
        let house = House::new().await;
        let owner = house.send(OPERATOR, "POST", "/_admin/owners", &json!({"owner": "ann"})).await;
        let owner = owner["token"].as_str().unwrap().to_owned();
        let (me, colleague) = (house.agent("@ann.a").await, house.agent("@ann.b").await);
        Self { house, me, owner, colleague, items: 0 }
    }

    /// One more item of each kind whose state is not a session's.
    async fn add(&mut self) {
        let (house, nth) = (&self.house, self.items);
        self.items += 1;
        let stranger = house.agent(&format!("@s{nth}.x")).await;
        house.send(&stranger, "POST", "/contacts", &json!({"to": "@ann.a", "message": "please"})).await;
        let package = json!({
            "package_id": format!("p{nth}"), "project_id": "p", "relay_version": "0.1", "title": "t",
            "status": "awaiting_review", "package_type": "standard", "review_type": "agent",
            "created_at": format!("2026-04-18T20:00:{nth:02}Z"), "created_by": {"id": "@ann.b", "type": "agent"},
            "description": "d", "content_md": "text", "open_questions": [], "decisions_made": [],
        });
        house.send(&self.colleague, "POST", "/v1/projects/p/packages", &package).await;
        let waits = json!({"input": "hi", "request_metadata": {"demo": ["wait_for_input"]}});
        house.send(&self.me, "POST", "/agent/echo/run?wait=result", &waits).await;
        let asked = json!({"kind": "permission", "title": "t", "action": {"name": "Bash", "args": {}}});
        let asked = house.send(&self.me, "POST", "/requests", &asked).await;
        let path = format!("/requests/{}/answer", asked["request_id"].as_str().unwrap());
        let answer = json!({"type": "accept", "version": asked["version"]});
        house.send(&self.owner, "POST", &path, &answer).await;
    }
}

#[tokio::test]
async fn a_read_makes_as_many_reads_of_the_store_for_many_unread_items_as_for_few() {
    let mut scene = Scene::new().await;
    for _ in 0..2 {
        scene.add().await;
    }
    let (unread, few) = scene.house.look(&scene.me).await;
    assert_eq!(unread, 8, "two of each kind");
    for _ in 0..6 {
        scene.add().await;
    }
    assert_eq!(scene.house.look(&scene.me).await, (32, few));
}

/// The answers come from memory, and are still those of this moment.
#[tokio::test]
async fn what_is_settled_or_hidden_is_not_counted() {
    let mut scene = Scene::new().await;
    for _ in 0..2 {
        scene.add().await;
    }
    let Scene { house, me, .. } = &scene;
    assert_eq!(house.look(me).await.0, 8);
    house.send(me, "POST", "/agents/me/blocks", &json!({"handle": "@s0.x"})).await;
    assert_eq!(house.look(me).await.0, 7, "who asks is blocked");
    house.send(OPERATOR, "DELETE", "/_admin/agents/@s1.x", &Value::Null).await;
    assert_eq!(house.look(me).await.0, 6, "who asks is deleted");
    let review = json!({"status": "complete"});
    house.send(me, "POST", "/v1/packages/p0/review?project=p", &review).await;
    assert_eq!(house.look(me).await.0, 5, "it is reviewed");
    house.send(me, "POST", "/agents/me/blocks", &json!({"handle": "@ann.b"})).await;
    assert_eq!(house.look(me).await.0, 4, "who asks for a review is blocked");
    house.send(me, "POST", "/agents/me/blocks", &json!({"handle": "@nick.echo"})).await;
    assert_eq!(house.look(me).await.0, 2, "the agent that asks no longer takes an answer");
}
