//! The position that a ping confirms, with a socket in memory.

use std::task::{Context, Poll};

use plenary_accounts::TokenDigest;
use plenary_kernel::Version;
use plenary_log::rigged::Store;

use super::*;
use crate::{
    command::CreateBody,
    tests::{coming_and_going::Server, sentences::draft},
};

/// A socket that takes everything and hears nothing.
#[derive(Default)]
struct SilentSocket(Vec<Message>);

impl Stream for SilentSocket {
    type Item = Result<Message, axum::Error>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

impl Sink<Message> for SilentSocket {
    type Error = axum::Error;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Self::Error> {
        self.0.push(message);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }
}

/// The marks cover the events up to a position; an event behind it may follow one of another stream that was not sent.
#[tokio::test(start_paused = true)]
async fn asp_43_a_ping_confirms_at_most_what_the_marks_cover() {
    let server = Server::on(&Store::new()).await;
    server.register().await;
    let body = || CreateBody { initial_message: Some(draft("hello")), ..CreateBody::default() };
    let (first, second) = (server.open_session(body()).await, server.open_session(body()).await);
    let streams = [&first, &second].map(|id| SessionRoom::stream(id.as_str()));
    let position = async |stream: &StreamName| {
        let events = server.sessions.log().read_stream(stream, Version(0), 10).await.unwrap();
        events.last().unwrap().position
    };
    let (older, newer) = (position(&streams[0]).await, position(&streams[1]).await);
    assert!(older < newer);
    let connection = server.connect().await;
    let caller = AgentCaller { handle: connection.handle.clone(), token: TokenDigest::of("ann") };
    for (covered, confirms) in [(None, Position(0)), (Some(older), older), (Some(newer), newer)] {
        let mut socket = SilentSocket::default();
        let mut pump =
            Pump::start(&server.sessions, &caller, &connection, Form::Both, &mut socket).await.unwrap();
        pump.sent_position = Position(0);
        let marks = streams.clone().map(|stream| (stream, Version(1)));
        pump.deliver(marks.into_iter(), ReadLimit::Committed, covered).await.unwrap();
        pump.tick().await.unwrap();
        let Confirmation { ping, uncovered_since, newest, .. } = &pump.confirmation;
        assert_eq!(ping.map(|(position, _)| position), Some(confirms), "{covered:?}");
        assert_eq!((*newest, uncovered_since.is_some()), (newer, confirms < newer), "{covered:?}");
        drop(pump);
        assert_eq!(socket.0.len(), 3, "two events and a ping");
    }
}

/// While a block has yet to take the agent out of a session, its events there wait, and no ping confirms a position beyond
/// them. Then they are sent from the first one on, although a later one is marked.
#[tokio::test(start_paused = true)]
async fn asp_80_events_that_wait_for_an_ejection_are_neither_skipped_nor_confirmed() {
    let server = Server::on(&Store::new()).await;
    server.register().await;
    let body = CreateBody { initial_message: Some(draft("hello")), ..CreateBody::default() };
    let stream = SessionRoom::stream(server.open_session(body).await.as_str());
    let events = server.sessions.log().read_stream(&stream, Version(0), 10).await.unwrap();
    let last = events.last().unwrap();
    let connection = server.connect().await;
    let caller = AgentCaller { handle: connection.handle.clone(), token: TokenDigest::of("ann") };
    let mut socket = SilentSocket::default();
    let mut pump =
        Pump::start(&server.sessions, &caller, &connection, Form::Both, &mut socket).await.unwrap();
    pump.sent_position = Position(0);
    // Whoever is present will do: the session has only this agent.
    pump.blockers = vec![connection.handle.clone()];
    let marks = |version| [(stream.clone(), version)].into_iter();
    pump.deliver(marks(Version(1)), ReadLimit::Committed, Some(last.position)).await.unwrap();
    pump.cover(last.position);
    assert_eq!((pump.sent_position, pump.socket.0.len()), (Position(0), 0));
    pump.blockers.clear();
    pump.deliver(marks(last.version.next()), ReadLimit::Committed, Some(last.position)).await.unwrap();
    assert_eq!((pump.sent_position, pump.socket.0.len()), (last.position, 1));
}
