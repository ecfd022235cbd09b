//! A denial reveals nothing, not even by its cost: the store gets the same reads in every case (ASP-18, ASP-19).
//! The tests count reads and returned rows, not time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use axum::{Router, body::Body};
use http::{Request, StatusCode};
use plenary_accounts::{Accounts, TokenDigest};
use plenary_edge::Metrics;
use plenary_engine::{SNAPSHOT_EVERY, SystemClock};
use plenary_hub::{Cursors, Observer, Presence, dispatch};
use plenary_kernel::Clock;
use plenary_log::rigged::{FaultControl, Process, ReadCounts, Store};
use plenary_sessions::{Config, Sessions, routes};
use serde_json::Value;
use tower::ServiceExt;

const OPERATOR: &str = "plo_test0000000000";

/// One process; its reads of the store are counted.
struct Server {
    sessions: Router,
    accounts: Router,
    rigging: FaultControl,
}

/// The response to a request, and its reads.
#[derive(Debug, PartialEq, Eq)]
struct DenialOutcome {
    status: StatusCode,
    body: String,
    read_counts: ReadCounts,
}

impl Server {
    fn on(store: &Store) -> Self {
        let Process { log, feed, rigging } = store.process(false);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of(OPERATOR));
        let presence = Arc::new(Presence::default());
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        let sessions =
            Sessions::new(log, clock, accounts.clone(), presence.clone(), cursors, Config::default());
        let observers: Vec<Arc<dyn Observer>> = vec![Arc::new(accounts.clone()), Arc::new(sessions.clone())];
        tokio::spawn(dispatch(feed, presence, observers));
        let metrics = Metrics::new();
        let surface = plenary_edge::routes(plenary_accounts::operations(), &metrics).unwrap();
        let session_metrics = Metrics::new();
        Self {
            sessions: routes(sessions, &session_metrics).unwrap(),
            accounts: surface.with_state(accounts),
            rigging,
        }
    }

    async fn ask(&self, token: &str, method: &str, path: &str, body: &str) -> DenialOutcome {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("Authorization", format!("Bearer {}", token_of(token)));
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let router = if path.starts_with("/sessions") { &self.sessions } else { &self.accounts };
        let _before = self.rigging.counted();
        let response = router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let read_counts = self.rigging.counted();
        DenialOutcome { status, body: String::from_utf8(body.to_vec()).unwrap(), read_counts }
    }

    async fn create(&self, token: &str, path: &str, body: &str) -> Value {
        let outcome = self.ask(token, "POST", path, body).await;
        assert!(outcome.status.is_success(), "{outcome:?}");
        serde_json::from_str(&outcome.body).unwrap()
    }

    async fn agent(&self, name: &str, policy: &str) {
        let token = token_of(name);
        let body = format!(r#"{{"handle":"@{name}.bot","token":"{token}","policy":"{policy}"}}"#);
        self.create(OPERATOR, "/_admin/agents", &body).await;
    }

    async fn session(&self, token: &str, invite: &str) -> String {
        let reply = self.create(token, "/sessions", &format!(r#"{{"invite":[{invite}]}}"#)).await;
        reply["session_id"].as_str().unwrap().to_owned()
    }
}

/// The token of the agent with this name, padded to the minimum length of a chosen token.
fn token_of(name: &str) -> String {
    format!("{name:0<16}")
}

const ID: &str = "sess_01HW7AB12CDEFGHJKMNPQRSTVW";

#[tokio::test]
async fn asp_18_a_session_of_others_costs_what_no_session_costs() {
    let store = Store::new();
    let server = Server::on(&store);
    for name in ["alice", "bob", "eve"] {
        server.agent(name, "open").await;
    }
    let active_session = server.session("alice", r#""@bob.bot""#).await;
    for n in 0..20 {
        let path = format!("/sessions/{active_session}/messages");
        server.create("alice", &path, &format!(r#"{{"content":"{n}"}}"#)).await;
    }
    let ended_session = server.session("alice", r#""@bob.bot""#).await;
    server.create("alice", &format!("/sessions/{ended_session}/end"), "").await;
    // In memory, and after a restart.
    let restarted = Server::on(&store);
    for (server, situation) in [(&server, "in memory"), (&restarted, "started again")] {
        server.ask("eve", "GET", "/sessions", "").await;
        for (method, path_suffix, body) in [
            ("GET", "", ""),
            ("GET", "/events", ""),
            ("GET", "/events?limit=x", ""),
            ("POST", "/join", ""),
            ("POST", "/leave", ""),
            ("POST", "/end", ""),
            ("POST", "/reopen", ""),
            ("POST", "/invite", r#"{"invite":["@bob.bot"]}"#),
            ("POST", "/invite", r#"{"invite":7}"#),
            ("POST", "/messages", r#"{"content":"x"}"#),
            ("POST", "/messages", r#"{"content":"x","idempotency_key":"k"}"#),
            ("POST", "/messages", r#"{"content":null}"#),
        ] {
            let unknown = server.ask("eve", method, &format!("/sessions/{ID}{path_suffix}"), body).await;
            assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{path_suffix}: {unknown:?}");
            assert_eq!(unknown.read_counts, ReadCounts { reads: 2, rows: 0 }, "{path_suffix} {situation}");
            for id in [&active_session, &ended_session] {
                let denied = server.ask("eve", method, &format!("/sessions/{id}{path_suffix}"), body).await;
                assert_eq!(denied, unknown, "{method} {path_suffix} {body} {situation}");
            }
        }
    }
}

#[tokio::test]
async fn asp_19_an_agent_out_of_reach_costs_what_nobody_costs() {
    let store = Store::new();
    let server = Server::on(&store);
    server.agent("eve", "open").await;
    server.agent("carol", "open").await;
    let own_session = server.session("eve", "").await;
    for name in ["closed", "blocking", "gone"] {
        server.agent(name, if name == "closed" { "allowlist" } else { "open" }).await;
    }
    server.create(OPERATOR, "/_admin/agents/@blocking.bot/blocks", r#"{"handle":"@eve.bot"}"#).await;
    server.ask(OPERATOR, "DELETE", "/_admin/agents/@gone.bot", "").await;

    let (invite, reopen) =
        (format!("/sessions/{own_session}/invite"), format!("/sessions/{own_session}/reopen"));
    let body_for = |path: &str, name: &str| match path {
        "/contacts" => format!(r#"{{"to":"@{name}.bot"}}"#),
        _ => format!(r#"{{"invite":["@{name}.bot"]}}"#),
    };
    server.ask("eve", "POST", &invite, &body_for(&invite, "closed")).await;
    // A handle that was never asked for before, and one that was.
    for (round, path) in ["/sessions", &invite].into_iter().enumerate() {
        let nobody = format!("nobody{round}");
        let unknown = server.ask("eve", "POST", path, &body_for(path, &nobody)).await;
        assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{path}");
        for name in ["closed", "blocking", "gone", &nobody] {
            let denied = server.ask("eve", "POST", path, &body_for(path, name)).await;
            assert_eq!(denied, unknown, "{path} {name}");
        }
    }
    // With somebody who can be reached beside: nobody is told who could not.
    for (nth, name) in ["closed", "blocking", "gone", "nobody1", "nobody-new"].into_iter().enumerate() {
        let body = format!(r#"{{"invite":["@carol.bot","@{name}.bot"]}}"#);
        let id = server.session("eve", "").await;
        let path = format!("/sessions/{id}/invite");
        server.ask("eve", "GET", &format!("/sessions/{id}"), "").await;
        let outcome = server.ask("eve", "POST", &path, &body).await;
        assert_eq!(outcome.body, r#"{"invited":["@carol.bot"]}"#, "{nth}");
        // Carol is asked for in vain too where the other one was; what her strangers offer her is counted.
        assert_eq!(outcome.read_counts, ReadCounts { reads: 5, rows: nth }, "{name}");
    }
    server.create("eve", &format!("/sessions/{own_session}/end"), "").await;
    let mut costs = Vec::new();
    for name in ["closed", "blocking", "gone", "nobody2"] {
        let reopened = server.ask("eve", "POST", &reopen, &body_for(&reopen, name)).await;
        assert_eq!(reopened.status, StatusCode::OK, "{name}");
        server.create("eve", &format!("/sessions/{own_session}/end"), "").await;
        costs.push(reopened.read_counts);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

#[tokio::test]
async fn asp_19_asking_for_contact_costs_the_same_whoever_is_there() {
    let server = Server::on(&Store::new());
    server.agent("eve", "open").await;
    server.agent("open", "open").await;
    server.agent("closed", "allowlist").await;
    server.ask("eve", "GET", "/agents/me", "").await;
    let mut costs = Vec::new();
    for name in ["open", "closed", "nobody"] {
        let outcome = server.ask("eve", "POST", "/contacts", &format!(r#"{{"to":"@{name}.bot"}}"#)).await;
        assert!(outcome.status.is_success(), "{outcome:?}");
        costs.push(outcome.read_counts.reads);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

/// After a start nobody is in memory: reads stay the same; an agent's own events are read once.
#[tokio::test]
async fn asp_19_after_a_start_too_as_many_reads_whoever_is_there() {
    let store = Store::new();
    let first = Server::on(&store);
    first.agent("eve", "open").await;
    first.agent("closed", "allowlist").await;
    let server = Server::on(&store);
    server.ask("eve", "POST", "/sessions", r#"{"invite":["@elsewhere.bot"]}"#).await;
    let mut costs = Vec::new();
    for name in ["closed", "closed", "nobody", "nobody"] {
        let body = format!(r#"{{"invite":["@{name}.bot"]}}"#);
        let denied = server.ask("eve", "POST", "/sessions", &body).await;
        assert_eq!(denied.status, StatusCode::NOT_FOUND, "{denied:?}");
        costs.push(denied.read_counts.reads);
    }
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

/// The snapshot of a long stream is not read either.
#[tokio::test]
async fn asp_19_an_agent_with_many_events_costs_what_nobody_costs() {
    let store = Store::new();
    let server = Server::on(&store);
    server.agent("eve", "open").await;
    server.agent("busy", "open").await;
    for n in 0..=SNAPSHOT_EVERY {
        let policy = if n.is_multiple_of(2) { "allowlist" } else { "open" };
        let body = format!(r#"{{"policy":"{policy}"}}"#);
        let changed = server.ask(OPERATOR, "PATCH", "/_admin/agents/@busy.bot", &body).await;
        assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    }
    // A task of its own writes the snapshot.
    let log = store.process(false).log;
    while log.read_row("snapshot/accounts.agent/@busy.bot").await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    server.ask("eve", "POST", "/sessions", r#"{"invite":["@elsewhere.bot"]}"#).await;
    let mut costs = Vec::new();
    for name in ["nobody", "nobody", "busy"] {
        let body = format!(r#"{{"invite":["@{name}.bot"]}}"#);
        costs.push(server.ask("eve", "POST", "/sessions", &body).await);
    }
    assert_eq!(costs[0].status, StatusCode::NOT_FOUND, "{costs:?}");
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
}

/// Whoever is reached costs nothing more than before.
#[tokio::test]
async fn a_welcome_is_not_asked_in_vain() {
    let server = Server::on(&Store::new());
    server.agent("alice", "open").await;
    server.agent("bob", "open").await;
    let id = server.session("alice", r#""@bob.bot""#).await;
    let path = format!("/sessions/{id}/messages");
    server.create("alice", &path, r#"{"content":"first"}"#).await;
    let sent = server.ask("alice", "POST", &path, r#"{"content":"second"}"#).await;
    assert_eq!((sent.status, sent.read_counts), (StatusCode::CREATED, ReadCounts::default()));
    let created = server.ask("alice", "POST", "/sessions", r#"{"invite":["@bob.bot"]}"#).await;
    assert_eq!((created.status, created.read_counts.rows), (StatusCode::CREATED, 1));
    assert_eq!(
        created.read_counts.reads, 2,
        "its own stream is looked for, and what is offered to bob is counted"
    );
}
