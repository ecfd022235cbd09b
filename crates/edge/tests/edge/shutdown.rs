//! How a server ends: it accepts nothing new, open requests finish, and nothing outlasts the deadline.

use std::time::Duration;

use plenary_edge::{Config, StopReport};
use tokio::{net::TcpStream, time::timeout};

use crate::harness::{PATIENCE, request, start};

#[tokio::test]
async fn a_request_in_flight_finishes_and_its_connection_closes() {
    let server = start(Config::default());
    let mut busy = server.connect().await;
    busy.send(&request("GET", "/gate", "", "")).await;
    server.arrival().await;
    let mut idle = server.connect().await;
    idle.send(&request("GET", "/ok", "", "")).await;
    assert_eq!(idle.reply().await.status, 200);
    let mut fresh = server.connect().await;

    server.stop.cancel();
    idle.closed().await;
    fresh.closed().await;
    server.gate.add_permits(1);
    let reply = busy.reply().await;
    assert_eq!((reply.body.as_str(), reply.header("connection")), ("through", Some("close")));
    busy.closed().await;
    assert_eq!(timeout(PATIENCE, server.served).await.unwrap().unwrap(), StopReport { cut: 0 });
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn what_outlasts_the_deadline_is_cut() {
    let server = start(Config { drain_deadline: Duration::from_millis(50), ..Config::default() });
    let mut stuck = server.connect().await;
    stuck.send(&request("GET", "/gate", "", "")).await;
    server.arrival().await;
    server.stop.cancel();
    assert_eq!(timeout(PATIENCE, server.served).await.unwrap().unwrap(), StopReport { cut: 1 });
    stuck.closed().await;
}

#[tokio::test]
async fn a_server_stopped_at_once_serves_nobody() {
    let server = start(Config::default());
    server.stop.cancel();
    assert_eq!(timeout(PATIENCE, server.served).await.unwrap().unwrap(), StopReport { cut: 0 });
}
