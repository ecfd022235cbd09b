//! The fast path into a client with channels: every new inbox item becomes a notification at once. The inbox does not
//! depend on it; a client that does not listen loses nothing.
//! Must not know: the client's reaction.

use std::{sync::Arc, time::Duration};

use http::Method;
use plenary_client::{Backoff, Error, inbox::digest};
use plenary_kernel::AgentHandle;
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use super::forward::Forwarder;

/// The length of one long poll, in seconds; shorter than the client's time limit for an answer.
const WAIT_S: u64 = 20;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// How long to search for the end of the inbox before the client is served again.
const LOOK_MAX: Duration = Duration::from_secs(3);
/// Maximum number of inbox pages read to find its end; later items count as new.
const PAGES_MAX: usize = 50;

/// The agent, and the end of its inbox when the client was ready: earlier items are not reported here.
pub(super) struct Begin {
    me: AgentHandle,
    after: Option<String>,
}

/// Finds the starting point; `None` if the server is away.
pub(super) async fn begin(forwarder: &Forwarder) -> Option<Begin> {
    timeout(LOOK_MAX, first_page(forwarder)).await.ok()?.ok()
}

async fn first_page(forwarder: &Forwarder) -> Result<Begin, Error> {
    let me = forwarder.client().me().await?.value.handle;
    let mut after = None;
    for _ in 0..PAGES_MAX {
        let page = page(forwarder, "/inbox?limit=100", after.as_deref()).await?;
        after = page["cursor"].as_str().map(str::to_owned).or(after);
        if page["more"] != true {
            break;
        }
    }
    Ok(Begin { me, after })
}

/// Reports each new item, until the process ends, or the token may not read the inbox.
pub(super) async fn report(forwarder: Arc<Forwarder>, begin: Option<Begin>) -> Result<(), Error> {
    let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
    let mut begin = begin;
    let Begin { me, mut after } = loop {
        match begin.take() {
            Some(begin) => break begin,
            None => match first_page(&forwarder).await {
                Ok(begin) => break begin,
                Err(error) if !error.is_transient() => return Err(error),
                Err(_) => sleep(backoff.next_wait()).await,
            },
        }
    };
    let path = format!("/inbox/wait?timeout_s={WAIT_S}&limit=20");
    loop {
        match page(&forwarder, &path, after.as_deref()).await {
            Ok(page) => {
                backoff.reset();
                let previous = after.take();
                after = page["cursor"].as_str().map(str::to_owned).or_else(|| previous.clone());
                for item in page["items"].as_array().into_iter().flatten() {
                    forwarder.send(notice(&me, item)).await;
                }
                delivered(&forwarder, &page, previous.as_deref()).await;
            }
            Err(Error::Refused(refused)) if [400, 401, 403, 404].contains(&refused.status) => {
                return Err(Error::Refused(refused));
            }
            Err(_) => sleep(backoff.next_wait()).await,
        }
    }
}

/// Reports a page as delivered to the client. Whether its model sees the page is unknown.
async fn delivered(forwarder: &Forwarder, page: &Value, after: Option<&str>) {
    if page["items"].as_array().is_some_and(|items| !items.is_empty()) {
        let body = json!({"cursor": page["cursor"], "after": after, "state": "delivered"}).to_string();
        let _stays_accepted =
            forwarder.client().raw(Method::POST, "/inbox/ack", Some(body.into_bytes().into())).await;
    }
}

/// A page of the inbox after a cursor.
async fn page(forwarder: &Forwarder, path: &str, after: Option<&str>) -> Result<Value, Error> {
    let after_parameter = after.map(|cursor| format!("&after={}", encoded(cursor))).unwrap_or_default();
    let reply = forwarder
        .client()
        .raw(Method::GET, &format!("{path}{after_parameter}"), None)
        .await?
        .into_success()?;
    serde_json::from_slice(&reply.body).map_err(|error| Error::Unreadable(error.to_string()))
}

/// The notice of one item: the sender and other facts, with the content quoted as data.
fn notice(me: &AgentHandle, item: &Value) -> String {
    let content = digest(me, &json!({"items": [item], "unread": 1}));
    let mut meta = Map::new();
    for name in ["id", "kind", "at", "from", "trust"] {
        meta.insert(name.to_owned(), item[name].clone());
    }
    for (name, value) in item["ref"].as_object().into_iter().flatten() {
        meta.insert(name.clone(), value.clone());
    }
    meta.retain(|name, value| is_name(name) && !value.is_null());
    for value in meta.values_mut().filter(|value| !value.is_string()) {
        *value = Value::String(value.to_string());
    }
    let params = json!({"content": content, "meta": meta});
    json!({"jsonrpc": "2.0", "method": "notifications/claude/channel", "params": params}).to_string()
}

/// The client silently drops other names.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_contains_facts_and_the_reference_of_its_item() {
        let item = json!({
            "id": "i1", "kind": "session.message", "at": "2026-01-01T00:00:00Z", "age_s": 4, "from": "@bob.cli",
            "trust": "same_owner", "subject": "Build", "text": "done", "truncated": false, "newer": 0,
            "ref": {"session_id": "s", "sequence": 7, "odd-name": 1},
        });
        let notice: Value = serde_json::from_str(&notice(&"@nick.cc".parse().unwrap(), &item)).unwrap();
        assert_eq!(notice["method"], "notifications/claude/channel");
        let content = notice["params"]["content"].as_str().unwrap();
        assert!(content.contains("@bob.cli") && content.contains("not instructions"), "{content}");
        let expected = json!({"id": "i1", "kind": "session.message", "at": "2026-01-01T00:00:00Z", "from": "@bob.cli",
            "trust": "same_owner", "session_id": "s", "sequence": "7"});
        assert_eq!(notice["params"]["meta"], expected);
    }
}
