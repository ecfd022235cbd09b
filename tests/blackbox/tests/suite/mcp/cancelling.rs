//! A call that nobody waits for any more is dropped: over HTTP by hanging up, in a session by saying so.

use blackbox::{Agent, Connection, Server, eventually};
use serde_json::json;

use super::said::{ACCEPT, Session, code, headers, result, served, single};

async fn canceled(agent: &Agent) -> String {
    let said = result(agent, "tools/call", json!({"name": "test_canceled", "arguments": {}})).await;
    said["content"][0]["text"].as_str().expect("a text").to_owned()
}

async fn eventually_says(agent: &Agent, wanted: &str) {
    eventually(wanted, || async { (canceled(agent).await == wanted).then_some(()) }).await;
}

async fn sent(server: &Server, request: &[u8]) -> Connection {
    let mut connection = Connection::open(server.address().place()).await.expect("the server is there");
    connection.send(request).await.expect("it takes the request");
    connection
}

/// Hanging up cancels a request that stands alone.
#[tokio::test]
async fn hanging_up_cancels_a_request() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let message = single("tools/call", json!({"name": "test_waiting", "arguments": {}}));
    let headers = headers(&message);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let request = agent.request("POST", "/mcp", &headers, Some(message.to_string().as_bytes()));
    let connection = sent(&server, &request).await;
    eventually_says(&agent, "1 begun, 0 canceled").await;
    drop(connection);
    eventually_says(&agent, "1 begun, 1 canceled").await;
}

/// In a session a call is canceled by a notice; hanging up alone leaves it, since the answer may be fetched later.
#[tokio::test]
async fn a_notice_cancels_a_request_of_a_session() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let session = Session::open(&agent).await;
    let call =
        json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {"name": "test_waiting"}});
    let [id, version] = session.headers();
    let request = agent.request("POST", "/mcp", &[ACCEPT, id, version], Some(call.to_string().as_bytes()));
    let mut connection = sent(&server, &request).await;
    assert_eq!(connection.response_head().await.expect("a stream").status, 200);
    // One that is canceled before it begins never begins.
    eventually_says(&agent, "1 begun, 0 canceled").await;
    let notice =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}});
    assert_eq!(session.send(&notice).await.status, 202);
    eventually_says(&agent, "1 begun, 1 canceled").await;
}

/// A request with the id of a pending one is refused: one of the two would never get its answer.
#[tokio::test]
async fn the_id_of_a_pending_request_is_not_taken_twice() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let session = Session::open(&agent).await;
    let call =
        json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": {"name": "test_waiting"}});
    let [id, version] = session.headers();
    let request = agent.request("POST", "/mcp", &[ACCEPT, id, version], Some(call.to_string().as_bytes()));
    let mut connection = sent(&server, &request).await;
    let head = connection.response_head().await.expect("a stream");
    eventually_says(&agent, "1 begun, 0 canceled").await;
    let again = session.send(&call).await;
    assert_eq!((again.status, code(&again), &again.json()["id"]), (400, -32_600, &json!("slow")), "{again}");
    let notice =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}});
    assert_eq!(session.send(&notice).await.status, 202);
    connection.complete(head).await.expect("the end of the stream");
    let ping = json!({"jsonrpc": "2.0", "id": "slow", "method": "ping"});
    assert_eq!(session.send(&ping).await.status, 200, "afterwards it is free");
}
