//! Connections that open while the end of the previous one is being written, and stores that refuse the write
//! (ASP-41, ASP-49).

use std::sync::Arc;

use futures_util::FutureExt as _;
use plenary_accounts::{Accounts, Actor, Authority, Policy, TokenDigest, agent::command::RegisterAgent};
use plenary_engine::{Room, SystemClock};
use plenary_hub::{Connection, Cursors, LastClosed, Presence};
use plenary_kernel::{AgentHandle, Clock, SessionId, Version};
use plenary_log::{
    Fault,
    rigged::{FaultControl, InjectedFault, Process, Store},
};

use crate::{
    Config, Sessions,
    command::{Caller, CreateBody, CreateSession},
    room::SessionRoom,
};

pub(crate) struct Server {
    pub(crate) sessions: Sessions,
    rigging: FaultControl,
}

fn ann() -> AgentHandle {
    "@ann.bot".parse().unwrap()
}

impl Server {
    pub(crate) async fn on(store: &Store) -> Self {
        let Process { log, rigging, .. } = store.process(true);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let accounts = Accounts::new(log.clone(), clock.clone(), TokenDigest::of("plo"));
        let cursors = Arc::new(Cursors::new(log.clone(), clock.clone()));
        cursors.beat().await.unwrap();
        let presence = Arc::new(Presence::default());
        Self { sessions: Sessions::new(log, clock, accounts, presence, cursors, Config::default()), rigging }
    }

    /// A session in which Ann is alone.
    async fn session(&self) -> SessionId {
        self.register().await;
        self.opens(CreateBody::default()).await
    }

    pub(crate) async fn register(&self) {
        let command = RegisterAgent {
            authority: Authority { by: Actor::Operator, token: Some(TokenDigest::of("plo")) },
            handle: ann(),
            policy: Policy::Open,
            allowlist: Vec::new(),
            self_service: false,
            token: TokenDigest::of("ann"),
            kind: plenary_accounts::AgentKind::Agent,
            profile: plenary_accounts::ProfileChange::default(),
        };
        self.sessions.0.accounts.register_agent(command).await.unwrap();
    }

    /// Ann opens a session.
    pub(crate) async fn opens(&self, body: CreateBody) -> SessionId {
        let caller = Caller { handle: ann(), token: TokenDigest::of("ann") };
        let id = self.sessions.mint().await.unwrap();
        self.sessions.carry_out(&id, CreateSession { caller, body: Ok(body) }, None).await.unwrap();
        id
    }

    pub(crate) async fn comes(&self) -> Connection {
        let presence = &self.sessions.0.presence;
        let connection = presence.open(&ann()).unwrap();
        let stored = self.sessions.0.cursors.take_up(&ann()).await.unwrap();
        let _start = presence.start_at(&connection, stored);
        connection
    }

    fn goes(&self, connection: &Connection) -> LastClosed {
        self.sessions.0.presence.close(connection).unwrap()
    }

    async fn kinds(&self, id: &SessionId) -> Vec<String> {
        let stream = SessionRoom::stream(id.as_str());
        let events = self.sessions.log().read_stream(&stream, Version::ZERO, 100).await.unwrap();
        events.iter().map(|event| event.kind.to_string()).collect()
    }
}

/// The end of the old connection is written when the new one is there already: no other process may think that the
/// agent is offline.
#[tokio::test]
async fn asp_41_an_agent_that_is_back_at_once_stays_online_for_every_process() {
    let store = Store::new();
    let (here, there) = (Server::on(&store).await, Server::on(&store).await);
    let id = here.session().await;
    let closed = here.goes(&here.comes().await);
    let _back = here.comes().await;
    here.sessions.went_offline(&ann(), closed).await.unwrap();
    here.sessions.0.cursors.flush().await.unwrap();
    assert!(there.sessions.0.cursors.is_online_elsewhere(&ann()).await.unwrap());
    // And its last connection to the other process is then no news.
    let closed = there.goes(&there.comes().await);
    there.sessions.went_offline(&ann(), closed).await.unwrap();
    assert_eq!(there.kinds(&id).await, ["SessionCreated"]);
}

/// The new connection opens in the middle of the write.
#[tokio::test]
async fn asp_41_an_agent_that_is_back_meanwhile_stays_online_for_every_process() {
    let store = Store::new();
    let (here, there) = (Server::on(&store).await, Server::on(&store).await);
    here.session().await;
    let closed = here.goes(&here.comes().await);
    here.rigging.hold();
    let (handle, sessions) = (ann(), here.sessions.clone());
    let mut going = std::pin::pin!(sessions.went_offline(&handle, closed));
    // The write waits; what happens now happens before its answer.
    assert!(going.as_mut().now_or_never().is_none());
    let back = here.sessions.0.presence.open(&ann()).unwrap();
    here.rigging.release();
    going.await.unwrap();
    here.sessions.0.cursors.flush().await.unwrap();
    assert!(there.sessions.0.cursors.is_online_elsewhere(&ann()).await.unwrap());
    drop(back);
}

/// A disconnect that the store cannot accept is written when it can.
#[tokio::test(start_paused = true)]
async fn asp_49_a_disconnect_that_was_not_written_is_tried_again() {
    let store = Store::new();
    let here = Server::on(&store).await;
    let id = here.session().await;
    let closed = here.goes(&here.comes().await);
    let gone = || InjectedFault::Before(Fault::Unavailable("gone".into()));
    here.rigging.fail_writes([gone(), gone(), InjectedFault::Not, gone()]);
    here.sessions.goes_offline(&ann(), closed).await;
    assert_eq!(here.kinds(&id).await, ["SessionCreated", "AgentDisconnected"]);
}

/// A connection that is gone before its arrival had its turn: the arrival is no news any more, or nothing would ever
/// end the grace window.
#[tokio::test]
async fn asp_50_an_arrival_that_is_over_when_its_turn_comes_is_no_return() {
    let store = Store::new();
    let here = Server::on(&store).await;
    let id = here.session().await;
    let closed = here.goes(&here.comes().await);
    here.sessions.went_offline(&ann(), closed).await.unwrap();
    here.sessions.came_online(&ann()).await.unwrap();
    assert_eq!(here.kinds(&id).await, ["SessionCreated", "AgentDisconnected"]);
    let _back = here.comes().await;
    here.sessions.came_online(&ann()).await.unwrap();
    assert_eq!(here.kinds(&id).await, ["SessionCreated", "AgentDisconnected", "AgentReconnected"]);
}
