//! Agents whose process died, where the store fails the survivor at any moment: each is told to be disconnected once,
//! in every session, sooner or later (ASP-49).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::{Router, body::Body};
use http::Request;
use plenary_accounts::{Accounts, Authority, Policy, TokenDigest, agent::command::RegisterAgent};
use plenary_edge::Metrics;
use plenary_hub::{Cursors, Presence, SILENT_BEATS};
use plenary_kernel::{Clock, Stamp, TimestampMs, Version};
use plenary_log::{
    Fault, Log, StreamName,
    rigged::{FaultControl, InjectedFault, Process, Store},
};
use plenary_sessions::{Config, Sessions, routes};
use tower::ServiceExt;

/// More writes than the survivor makes for the two agents.
const WRITES_MAX: usize = 14;

/// A clock that stands, and ids that differ.
#[derive(Default)]
struct StandingClock {
    stamps: AtomicU64,
}

impl Clock for StandingClock {
    fn now(&self) -> TimestampMs {
        TimestampMs(1_000_000)
    }
    fn stamp(&self) -> Stamp {
        let mut entropy = [0; 10];
        entropy[2..].copy_from_slice(&self.stamps.fetch_add(1, Ordering::SeqCst).to_be_bytes());
        Stamp::new(self.now(), entropy)
    }
}

struct Server {
    accounts: Accounts,
    sessions: Sessions,
    cursors: Arc<Cursors>,
    log: Log,
    rigging: FaultControl,
    router: Router,
}

impl Server {
    async fn on(store: &Store, clock: &Arc<StandingClock>) -> Self {
        let Process { log, rigging, .. } = store.process(true);
        let clock: Arc<dyn Clock> = clock.clone();
        let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of("plo"));
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        let presence = Arc::new(Presence::default());
        let config = Config { grace: std::time::Duration::from_secs(3_600), ..Config::default() };
        let sessions = Sessions::new(log.clone(), clock, accounts.clone(), presence, cursors.clone(), config);
        let router = routes(sessions.clone(), &Metrics::new()).unwrap();
        cursors.beat().await.unwrap();
        Self { accounts, sessions, cursors, log, rigging, router }
    }

    async fn agent(&self, name: &str) {
        let authority = Authority { by: "operator".parse().unwrap(), token: Some(TokenDigest::of("plo")) };
        let handle = format!("@{name}.bot").parse().unwrap();
        let agent = RegisterAgent::new(authority, handle, TokenDigest::of(name));
        let command = RegisterAgent { policy: Policy::Open, ..agent };
        self.accounts.register_agent(command).await.unwrap();
    }

    /// A session of this agent alone; its stream.
    async fn session(&self, name: &str) -> StreamName {
        let request = Request::post("/sessions").header("Authorization", format!("Bearer {name}"));
        let answer = self.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let reply: serde_json::Value = serde_json::from_slice(&body).unwrap();
        StreamName::new("sessions.session", reply["session_id"].as_str().unwrap())
    }

    async fn kinds(&self, stream: &StreamName) -> Vec<String> {
        let events = self.log.read_stream(stream, Version::ZERO, 100).await.unwrap();
        events.iter().map(|event| event.kind.to_string()).collect()
    }
}

#[tokio::test]
async fn asp_49_what_a_fault_left_undone_of_a_dead_process_is_done_next_time() {
    let fault = || Fault::Unavailable("gone".into());
    let unknown = || Fault::OutcomeUnknown("gone".into());
    for nth in 0..WRITES_MAX {
        for failing in [InjectedFault::Before(fault()), InjectedFault::After(unknown())] {
            let (store, clock) = (Store::new(), Arc::<StandingClock>::default());
            let (dead, survivor) = (Server::on(&store, &clock).await, Server::on(&store, &clock).await);
            let mut streams = Vec::new();
            for name in ["ann", "bob"] {
                dead.agent(name).await;
                streams.extend([dead.session(name).await, dead.session(name).await]);
                dead.cursors.take_up(&format!("@{name}.bot").parse().unwrap()).await.unwrap();
            }
            survivor.cursors.alive().await.unwrap();
            for _ in 0..SILENT_BEATS {
                survivor.cursors.beat().await.unwrap();
            }

            let mut writes = vec![InjectedFault::Not; nth];
            writes.push(failing.clone());
            survivor.rigging.fail_writes(writes);
            let _may_fail = survivor.sessions.adopt_orphans().await;
            survivor.rigging.fail_writes([]);
            survivor.sessions.adopt_orphans().await.unwrap();
            for stream in &streams {
                let kinds = survivor.kinds(stream).await;
                assert_eq!(kinds, ["SessionCreated", "AgentDisconnected"], "{failing:?} at write {nth}");
            }
            assert!(survivor.cursors.orphans().await.unwrap().is_empty());
        }
    }
}
