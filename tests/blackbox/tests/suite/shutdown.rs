//! SIGTERM: commits under way are finished, sockets closed with 1001, exit 0 within ten seconds (scenario 30; ASP-43).

use blackbox::{Cli, Connection, Sender, Server, check_log, in_time, room};
use futures_util::future::join_all;
use rustix::process::Signal;
use tokio::sync::watch;

/// Sockets are closed with "going away", and the exit is clean.
#[tokio::test]
async fn sockets_are_closed_with_1001() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    alice.say(&id, "hello").await;
    let mut sockets = [alice.connect().await, bob.connect().await, bob.connect().await];
    for socket in &mut sockets {
        socket.until_text("hello").await;
    }
    server.stop().await;
    for socket in &mut sockets {
        let (events, code) = socket.ending().await;
        assert_eq!(code, Some(1001));
        assert!(events.is_empty(), "{events:?}");
    }
}

/// Neither a mute socket nor one that was never read nor half a request holds the exit up.
#[tokio::test]
async fn nobody_holds_the_exit_up() {
    let (mut server, alice, bob, id) = Server::with_pair().await;
    let _mute = bob.connect_mute().await;
    let mut half = Connection::open(server.address().get()).await.expect("a connection");
    half.send(b"POST /sessions HTTP/1.1\r\nHost: localhost\r\n").await.expect("sent");
    let mut idle = Connection::open(server.address().get()).await.expect("a connection");
    idle.round_trip(&alice.request("GET", "/sessions", &[], None)).await.expect("an answer");
    let mut body = Connection::open(server.address().get()).await.expect("a connection");
    let path = format!("/sessions/{id}/messages");
    let request = alice.request("POST", &path, &[("Content-Length", "100")], None);
    body.send(&request).await.expect("sent");
    server.stop().await;
}

/// Everything acknowledged before and while it stops is there afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_under_way_are_kept() {
    let mut server = Server::start().await;
    let mut members = Vec::new();
    for number in 0..4 {
        members.push(server.agent(&format!("@sender.n{number}")).await);
    }
    let id = room(&members.iter().collect::<Vec<_>>()).await;
    let (stop, stopped) = watch::channel(false);
    let mut senders = Vec::new();
    for (number, member) in members.iter().enumerate() {
        senders.push(tokio::spawn(Sender::new(member, &id, &format!("s{number}")).run(stopped.clone())));
    }
    for round in 1..=3 {
        blackbox::eventually("messages flow", || async {
            let page = members[0].get(&format!("/sessions/{id}/events?after_sequence={}", round * 60)).await;
            (!page.ok(200)["events"].as_array()?.is_empty()).then_some(())
        })
        .await;
        server.stop().await;
        server.restart().await;
    }
    stop.send(true).expect("the senders listen");
    let senders: Vec<Sender> =
        join_all(senders).await.into_iter().map(|sender| sender.expect("no panic")).collect();
    check_log(&members[0].history(&id).await, &senders);
}

/// A second SIGTERM does no harm.
#[tokio::test]
async fn a_second_signal_does_no_harm() {
    let (mut server, alice, _, id) = Server::with_pair().await;
    alice.say(&id, "hello").await;
    server.terminate();
    server.terminate();
    let status = server.wait().await;
    assert!(status.code() == Some(0), "{status}");
    server.restart().await;
    alice.say(&id, "again").await;
}

/// A server that still waits for its store ends at once: nothing is under way.
#[tokio::test]
async fn a_server_that_waits_for_its_store_can_be_stopped() {
    let home = Cli::new(&[("PLENARY_OPERATOR_TOKEN", "plo_0123456789abcdef")]);
    let database = ["--database", "postgres://nobody@127.0.0.1:1/none", "--data", "unused"];
    let cluster = ["--cluster", "nats://127.0.0.1:1", "--data", "node"];
    for (store, words) in [(database, "waiting for PostgreSQL"), (cluster, "no NATS server answers yet")] {
        for signal in [Signal::TERM, Signal::INT] {
            let mut serve = home.start(&[&["serve", "--listen", "127.0.0.1:0"], &store[..]].concat());
            serve.note_with(words).await;
            serve.signal(signal);
            let ended = in_time("the server ends", serve.end()).await;
            assert_eq!(ended.code, 0, "{ended:?}");
        }
    }
}
