//! Connections that open while the end of the previous one is being written, and stores that refuse the write
//! (ASP-41, ASP-49).

use std::sync::Arc;

use futures_util::FutureExt as _;
use plenary_accounts::{Accounts, Actor, Authority, Policy, TokenDigest, agent::command::RegisterAgent};
use plenary_engine::{Room, SystemClock};
use plenary_hub::{Connection, Cursors, LastClosed, Observer as _, Presence, SILENT_BEATS};
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
        self.open_session(CreateBody::default()).await
    }

    pub(crate) async fn register(&self) {
        let authority = Authority { by: Actor::Operator, token: Some(TokenDigest::of("plo")) };
        let ann = RegisterAgent::new(authority, ann(), TokenDigest::of("ann"));
        let command = RegisterAgent { policy: Policy::Open, ..ann };
        self.sessions.0.accounts.register_agent(command).await.unwrap();
    }

    /// Ann opens a session.
    pub(crate) async fn open_session(&self, body: CreateBody) -> SessionId {
        let caller = Caller { handle: ann(), token: TokenDigest::of("ann") };
        let id = self.sessions.mint(&body.invite).await.unwrap();
        self.sessions.carry_out(&id, CreateSession { caller, body: Ok(body) }, None).await.unwrap();
        id
    }

    pub(crate) async fn connect(&self) -> Connection {
        let presence = &self.sessions.0.presence;
        let connection = presence.open(&ann()).unwrap();
        let cursor = self.sessions.0.cursors.take_up(&ann()).await.unwrap();
        let _start = presence.start_at(&connection, cursor);
        connection
    }

    fn disconnect(&self, connection: &Connection) -> LastClosed {
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
    let (first, second) = (Server::on(&store).await, Server::on(&store).await);
    let id = first.session().await;
    let closed = first.disconnect(&first.connect().await);
    let _connection = first.connect().await;
    first.sessions.handle_offline(&ann(), closed).await.unwrap();
    first.sessions.0.cursors.flush().await.unwrap();
    assert!(second.sessions.0.cursors.is_online_elsewhere(&ann()).await.unwrap());
    // And its last connection to the other process is then no news.
    let closed = second.disconnect(&second.connect().await);
    second.sessions.handle_offline(&ann(), closed).await.unwrap();
    assert_eq!(second.kinds(&id).await, ["SessionCreated"]);
}

/// The new connection opens in the middle of the write.
#[tokio::test]
async fn asp_41_an_agent_that_is_back_meanwhile_stays_online_for_every_process() {
    let store = Store::new();
    let (first, second) = (Server::on(&store).await, Server::on(&store).await);
    first.session().await;
    let closed = first.disconnect(&first.connect().await);
    first.rigging.hold();
    let (handle, sessions) = (ann(), first.sessions.clone());
    let mut disconnecting = std::pin::pin!(sessions.handle_offline(&handle, closed));
    // The write waits; what happens now happens before its answer.
    assert!(disconnecting.as_mut().now_or_never().is_none());
    let connection = first.sessions.0.presence.open(&ann()).unwrap();
    first.rigging.release();
    disconnecting.await.unwrap();
    first.sessions.0.cursors.flush().await.unwrap();
    assert!(second.sessions.0.cursors.is_online_elsewhere(&ann()).await.unwrap());
    drop(connection);
}

/// Without the mark, a ping would confirm the event unsent.
#[tokio::test]
async fn asp_43_an_event_of_a_session_that_cannot_be_read_now_marks_every_connection() {
    let store = Store::new();
    let (first, second) = (Server::on(&store).await, Server::on(&store).await);
    let stream = SessionRoom::stream(first.session().await.as_str());
    let events = first.sessions.log().read_stream(&stream, Version::ZERO, 100).await.unwrap();
    let connection = second.connect().await;
    second.rigging.fail_reads(Some(Fault::Unavailable("gone".into())));
    second.sessions.committed(&events).await;
    assert_eq!(connection.mailbox.take().streams.get(&stream), Some(&Version(1)));
}

/// A disconnect that the store cannot accept is written when it can.
#[tokio::test(start_paused = true)]
async fn asp_49_a_disconnect_that_was_not_written_is_tried_again() {
    let store = Store::new();
    let first = Server::on(&store).await;
    let id = first.session().await;
    let closed = first.disconnect(&first.connect().await);
    let unavailable = || InjectedFault::Before(Fault::Unavailable("gone".into()));
    first.rigging.fail_writes([unavailable(), unavailable(), InjectedFault::Not, unavailable()]);
    first.sessions.handle_offline_with_retries(&ann(), closed).await;
    assert_eq!(first.kinds(&id).await, ["SessionCreated", "AgentDisconnected"]);
}

/// A connection that is gone before its arrival had its turn: the arrival is no news any more, or nothing would ever
/// end the grace window.
#[tokio::test]
async fn asp_50_an_arrival_that_is_over_when_its_turn_comes_is_no_return() {
    let store = Store::new();
    let first = Server::on(&store).await;
    let id = first.session().await;
    let closed = first.disconnect(&first.connect().await);
    first.sessions.handle_offline(&ann(), closed).await.unwrap();
    first.sessions.handle_online(&ann()).await.unwrap();
    assert_eq!(first.kinds(&id).await, ["SessionCreated", "AgentDisconnected"]);
    let _connection = first.connect().await;
    first.sessions.handle_online(&ann()).await.unwrap();
    assert_eq!(first.kinds(&id).await, ["SessionCreated", "AgentDisconnected", "AgentReconnected"]);
}

/// A process that was cut off finds its agents away, although they were connected to it all the time.
#[tokio::test]
async fn asp_50_agents_of_a_process_that_was_taken_for_dead_return_when_it_is_back() {
    let store = Store::new();
    let (first, second) = (Server::on(&store).await, Server::on(&store).await);
    let id = first.session().await;
    let _connection = first.connect().await;
    second.sessions.adopt_orphans().await.unwrap();
    for _ in 0..SILENT_BEATS {
        second.sessions.0.cursors.beat().await.unwrap();
    }
    second.sessions.adopt_orphans().await.unwrap();
    assert_eq!(first.kinds(&id).await, ["SessionCreated", "AgentDisconnected"]);
    first.sessions.0.cursors.beat().await.unwrap();
    first.sessions.adopt_orphans().await.unwrap();
    first.sessions.0.cursors.flush().await.unwrap();
    assert_eq!(first.kinds(&id).await, ["SessionCreated", "AgentDisconnected", "AgentReconnected"]);
    assert!(second.sessions.0.cursors.is_online_elsewhere(&ann()).await.unwrap());
}
