//! Requests to people: asking, waiting, answering, and subscriptions to notifications.
//! Must not know: the person who answers.

use std::time::Duration;

use plenary_kernel::{AskId, NoticeId, RuleId, SubscriptionId};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{Client, IdempotencyKey, Reply, Result, client::segment};

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
        Reply::read(self.post_once("/requests", Some(crate::client::json(body)?), key).await?.into_success()?)
    }

    /// `GET /requests/{id}`, waiting up to a number of seconds for an answer.
    pub async fn request(&self, id: &AskId, wait: Option<u64>) -> Result<Reply<Value>> {
        let wait = wait.map(|seconds| format!("?wait={seconds}")).unwrap_or_default();
        self.get(&request_path(id, &wait)).await
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
        let pairs = [
            ("state", state.as_deref()),
            ("kind", kind.as_deref()),
            ("agent", agent.as_deref()),
            ("to", to.as_deref()),
            ("owner", owner.as_deref()),
            ("cursor", cursor),
        ];
        let pairs = pairs.iter().filter_map(|(name, value)| Some(format!("{name}={}", segment((*value)?))));
        self.get(&format!("/requests?{}", pairs.collect::<Vec<_>>().join("&"))).await
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
        self.get(&format!("/requests/rules{}", of_owner(owner))).await
    }

    /// `DELETE /requests/rules/{id}`.
    pub async fn remove_request_rule(&self, rule: &RuleId, owner: Option<&str>) -> Result<Reply<Value>> {
        self.delete(&format!("/requests/rules/{}{}", segment(rule.as_str()), of_owner(owner))).await
    }
}

/// `GET`, `PATCH`, `DELETE`, `POST …/test` of `/notifications`: people's subscriptions to notifications of requests.
impl Client {
    /// `GET /notifications`; the operator names the owner.
    pub async fn subscriptions(&self, owner: Option<&str>) -> Result<Reply<Value>> {
        self.get(&format!("/notifications{}", of_owner(owner))).await
    }

    /// `POST /notifications`, retried on transient failures.
    pub async fn make_subscription(
        &self,
        body: &Value,
        owner: Option<&str>,
        key: &IdempotencyKey,
    ) -> Result<Reply<Value>> {
        let path = format!("/notifications{}", of_owner(owner));
        Reply::read(self.post_once(&path, Some(crate::client::json(body)?), key).await?.into_success()?)
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
        self.get(&format!("/notifications/dead{}", of_owner(owner))).await
    }

    /// `POST /notifications/dead/{id}/retry`.
    pub async fn retry_notification(&self, id: &NoticeId, owner: Option<&str>) -> Result<Reply<Value>> {
        let path = format!("/notifications/dead/{}/retry{}", segment(id.as_str()), of_owner(owner));
        self.post_empty(&path).await
    }

    /// `GET /notifications/push-key`.
    pub async fn push_key(&self) -> Result<Reply<Value>> {
        self.get("/notifications/push-key").await
    }
}

fn subscription(id: &SubscriptionId, below: &str, owner: Option<&str>) -> String {
    format!("/notifications/{}{below}{}", segment(id.as_str()), of_owner(owner))
}

fn of_owner(owner: Option<&str>) -> String {
    owner.map(|owner| format!("?owner={}", segment(owner))).unwrap_or_default()
}
