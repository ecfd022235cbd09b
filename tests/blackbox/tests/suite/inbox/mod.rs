//! The inbox as the real server speaks it: what is new for an agent, and how far it has got.

mod attention;
mod cluster;
mod cursors;
mod looking;
mod mentions;
mod reading;
mod sent_and_ended;
mod states;
mod strangers;
mod visibility;
mod waiting;

use blackbox::Agent;
use serde_json::{Value, json};

/// `GET /inbox` with a query.
async fn inbox(agent: &Agent, query: &str) -> Value {
    agent.get(&format!("/inbox{query}")).await.ok(200)
}

/// What is unread of a page: kinds and texts.
fn kinds_and_texts(page: &Value) -> Vec<(String, String)> {
    let text = |item: &Value, member: &str| item[member].as_str().expect(member).to_owned();
    let items = page["items"].as_array().expect("items is a list");
    items.iter().map(|item| (text(item, "kind"), text(item, "text"))).collect()
}

fn texts(page: &Value) -> Vec<String> {
    kinds_and_texts(page).into_iter().map(|(_, text)| text).collect()
}

fn cursor(page: &Value) -> String {
    page["cursor"].as_str().expect("a page has a cursor").to_owned()
}

/// Acknowledges a page; the answer.
async fn ack(agent: &Agent, page: &Value) -> Value {
    agent.post("/inbox/ack", json!({"cursor": page["cursor"]})).await.ok(200)
}

/// The state of a message with its one recipient.
async fn state(sender: &Agent, session: &str, sequence: i64) -> String {
    let status = sender.get(&format!("/sessions/{session}/messages/{sequence}/status")).await.ok(200);
    let recipients = status["recipients"].as_array().expect("recipients is a list");
    assert_eq!(recipients.len(), 1, "{status}");
    recipients[0]["state"].as_str().expect("a state").to_owned()
}
