//! A call that nobody waits for any more is dropped: over HTTP by hanging up, in a session by saying so.

use blackbox::{Agent, Connection, Response, Server, eventually};
use serde_json::{Value, json};

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

/// A request with the id of the slow call.
fn slow(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": "slow", "method": method, "params": {"name": "test_waiting"}})
}

/// Calls the tool that waits in a session, and returns once the call has begun: one that is canceled before never begins.
async fn slow_call(server: &Server, agent: &Agent, session: &Session<'_>) -> (Connection, Response) {
    let [id, version] = session.headers();
    let call = slow("tools/call").to_string();
    let request = agent.request("POST", "/mcp", &[ACCEPT, id, version], Some(call.as_bytes()));
    let mut connection = sent(server, &request).await;
    let head = connection.response_head().await.expect("a stream");
    assert_eq!(head.status, 200);
    eventually_says(agent, "1 begun, 0 canceled").await;
    (connection, head)
}

async fn cancel_slow_call(session: &Session<'_>) {
    let notice =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}});
    assert_eq!(session.send(&notice).await.status, 202);
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
    let (_connection, _) = slow_call(&server, &agent, &session).await;
    cancel_slow_call(&session).await;
    eventually_says(&agent, "1 begun, 1 canceled").await;
}

/// A request with the id of a pending one is refused: one of the two would never get its answer.
#[tokio::test]
async fn the_id_of_a_pending_request_is_not_taken_twice() {
    let server = served().await;
    let agent = server.agent("@nick.bot").await;
    let session = Session::open(&agent).await;
    let (mut connection, head) = slow_call(&server, &agent, &session).await;
    let again = session.send(&slow("tools/call")).await;
    assert_eq!((again.status, code(&again), &again.json()["id"]), (400, -32_600, &json!("slow")), "{again}");
    cancel_slow_call(&session).await;
    connection.complete(head).await.expect("the end of the stream");
    assert_eq!(session.send(&slow("ping")).await.status, 200, "afterwards it is free");
}
