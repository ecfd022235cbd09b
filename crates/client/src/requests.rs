//! Requests to people: asking, waiting, answering, and subscriptions to notifications.
//! Must not know: the person who answers.

use std::time::Duration;

use plenary_kernel::{AskId, NoticeId, RuleId, SubscriptionId};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    Client, IdempotencyKey, Reply, Result,
    client::{json as json_bytes, segment},
    query::Query,
};

/// The longest wait of one request: well within its time limit.
const SLICE: Duration = Duration::from_secs(20);

/// Selects requests.
#[derive(Debug, Clone, Default)]
pub struct RequestsQuery {
    /// `open`, `snoozed`, `answered`, `withdrawn` or `expired`.
    pub state: Option<String>,
    /// Only requests of this kind.
    pub kind: Option<String>,
    /// Only requests of this agent.
    pub agent: Option<String>,
    /// Only requests that are given to this person.
    pub to: Option<String>,
    /// Only requests to this owner.
    pub owner: Option<String>,
}

fn request_path(id: &AskId, below: &str) -> String {
    format!("/requests/{}{below}", segment(id.as_str()))
}

impl Client {
    /// `POST /requests`, retried on transient failures.
    pub async fn make_request(&self, body: &Value, key: &IdempotencyKey) -> Result<Reply<Value>> {
        Reply::read(self.post_once("/requests", Some(json_bytes(body)?), key).await?)
    }

    /// `GET /requests/{id}`, waiting up to a number of seconds for an answer.
    pub async fn request(&self, id: &AskId, wait: Option<u64>) -> Result<Reply<Value>> {
        self.get(&Query::of(request_path(id, "")).with("wait", wait).path()).await
    }

    /// `GET /requests/{id}`, repeated until the answer is final or the deadline passes.
    pub async fn wait_request(&self, id: &AskId, timeout: Duration) -> Result<Reply<Value>> {
        let deadline = Instant::now() + timeout;
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            let slice = remaining.min(SLICE).as_millis().div_ceil(1_000);
            let reply = self.request(id, u64::try_from(slice).ok()).await?;
            let is_open = matches!(reply.value["state"].as_str(), Some("open" | "snoozed"));
            let is_settled = !is_open && reply.value["answer"]["undo_until"].is_null();
            if is_settled || remaining <= SLICE {
                return Ok(reply);
            }
        }
    }

    /// `DELETE /requests/{id}`.
    pub async fn withdraw_request(&self, id: &AskId) -> Result<Reply<Value>> {
        self.delete(&request_path(id, "")).await
    }

    /// `GET /requests`, one page.
    pub async fn requests(&self, query: &RequestsQuery, cursor: Option<&str>) -> Result<Reply<Value>> {
        let RequestsQuery { state, kind, agent, to, owner } = query;
        let query = Query::of("/requests")
            .with("state", state.as_ref())
            .with("kind", kind.as_ref())
            .with("agent", agent.as_ref())
            .with("to", to.as_ref())
            .with("owner", owner.as_ref())
            .with("cursor", cursor);
        self.get(&query.path()).await
    }

    /// `POST /requests/{id}/answer`.
    ///
    /// # Errors
    /// 409 `already_answered` if somebody else answered first.
    pub async fn answer_request(&self, id: &AskId, answer: &Value) -> Result<Reply<Value>> {
        self.post(&request_path(id, "/answer"), answer).await
    }

    /// `POST /requests/{id}/undo`.
    ///
    /// # Errors
    /// 409 `too_late` if the agent has received the answer.
    pub async fn undo_request(&self, id: &AskId) -> Result<Reply<Value>> {
        self.post_empty(&request_path(id, "/undo")).await
    }

    /// `POST /requests/{id}/snooze`, until epoch milliseconds.
    pub async fn snooze_request(&self, id: &AskId, until: u64) -> Result<Reply<Value>> {
        self.post(&request_path(id, "/snooze"), &json!({"until": until})).await
    }

    /// `POST /requests/{id}/delegate`.
    pub async fn delegate_request(&self, id: &AskId, to: &str) -> Result<Reply<Value>> {
        self.post(&request_path(id, "/delegate"), &json!({"to": to})).await
    }

    /// `POST /requests/{id}/link`.
    pub async fn link_request(&self, id: &AskId) -> Result<Reply<Value>> {
        self.post_empty(&request_path(id, "/link")).await
    }

    /// `GET /requests/rules`; the operator names the owner.
    pub async fn request_rules(&self, owner: Option<&str>) -> Result<Reply<Value>> {
        self.get(&of_owner("/requests/rules", owner)).await
    }

    /// `DELETE /requests/rules/{id}`.
    pub async fn remove_request_rule(&self, rule: &RuleId, owner: Option<&str>) -> Result<Reply<Value>> {
        self.delete(&of_owner(&format!("/requests/rules/{}", segment(rule.as_str())), owner)).await
    }
}

/// `GET`, `PATCH`, `DELETE`, `POST …/test` of `/notifications`: people's subscriptions to notifications of requests.
impl Client {
    /// `GET /notifications`; the operator names the owner.
    pub async fn subscriptions(&self, owner: Option<&str>) -> Result<Reply<Value>> {
        self.get(&of_owner("/notifications", owner)).await
    }

    /// `POST /notifications`, retried on transient failures.
    pub async fn make_subscription(
        &self,
        body: &Value,
        owner: Option<&str>,
        key: &IdempotencyKey,
    ) -> Result<Reply<Value>> {
        let path = of_owner("/notifications", owner);
        Reply::read(self.post_once(&path, Some(json_bytes(body)?), key).await?)
    }

    /// `GET /notifications/{id}`.
    pub async fn subscription(&self, id: &SubscriptionId, owner: Option<&str>) -> Result<Reply<Value>> {
        self.get(&subscription(id, "", owner)).await
    }

    /// `PATCH /notifications/{id}`.
    pub async fn change_subscription(
        &self,
        id: &SubscriptionId,
        change: &Value,
        owner: Option<&str>,
    ) -> Result<Reply<Value>> {
        self.patch(&subscription(id, "", owner), change).await
    }

    /// `DELETE /notifications/{id}`.
    pub async fn remove_subscription(
        &self,
        id: &SubscriptionId,
        owner: Option<&str>,
    ) -> Result<Reply<Value>> {
        self.delete(&subscription(id, "", owner)).await
    }

    /// `POST /notifications/{id}/test`: returns the result.
    pub async fn test_subscription(&self, id: &SubscriptionId, owner: Option<&str>) -> Result<Reply<Value>> {
        self.post_empty(&subscription(id, "/test", owner)).await
    }

    /// `GET /notifications/dead`.
    pub async fn dead_notifications(&self, owner: Option<&str>) -> Result<Reply<Value>> {
        self.get(&of_owner("/notifications/dead", owner)).await
    }

    /// `POST /notifications/dead/{id}/retry`.
    pub async fn retry_notification(&self, id: &NoticeId, owner: Option<&str>) -> Result<Reply<Value>> {
        let path = format!("/notifications/dead/{}/retry", segment(id.as_str()));
        self.post_empty(&of_owner(&path, owner)).await
    }
}

fn subscription(id: &SubscriptionId, below: &str, owner: Option<&str>) -> String {
    of_owner(&format!("/notifications/{}{below}", segment(id.as_str())), owner)
}

fn of_owner(path: &str, owner: Option<&str>) -> String {
    Query::of(path).with("owner", owner).path()
}
