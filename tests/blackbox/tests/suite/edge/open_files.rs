//! A server that has no file descriptor for another connection serves those that it has, says so once, and goes on.
//! Must not know: how the server counts its files.

use blackbox::{Connection, Server, in_time};

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn a_server_without_another_file_serves_its_connections_and_says_so_once() {
    let (server, alice, _, id) = Server::with_pair().await;
    let open = async || Connection::open(server.address().get()).await.expect("a connection");
    let mut first = open().await;
    assert_eq!(first.round_trip(HEALTH).await.expect("an answer").status, 200);
    server.leave_open_files(2);
    let mut more = Vec::new();
    for _ in 0..8 {
        more.push(open().await);
    }
    server.wait_for_log("connections wait, as none can be accepted").await;
    let path = format!("/sessions/{id}/messages");
    for number in 0..20 {
        let body = format!("{{\"content\":\"{number}\"}}");
        let request = alice.request("POST", &path, &[], Some(body.as_bytes()));
        let stored = in_time("it is answered", first.round_trip(&request)).await.expect("an answer");
        assert_eq!(stored.status, 201, "{stored}");
    }
    server.leave_open_files(20);
    for connection in &mut more {
        let answer = in_time("the waiting ones are accepted", connection.round_trip(HEALTH)).await;
        assert_eq!(answer.expect("an answer").status, 200);
    }
    assert_eq!(server.log_text().matches("none can be accepted").count(), 1, "{}", server.log_text());
}
