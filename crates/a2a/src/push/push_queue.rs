//! Queues push notifications: when a task with a push configuration waits or has ended, it passes the task to the
//! sender. After a crash the next start queues the missing ones; the same task gives the same notification.
//! Must not know: how a notification is sent, signed or retried.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use a2a::{StreamResponse, Task, TaskState};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use http::StatusCode;
use parking_lot::Mutex;
use plenary_accounts::{Accounts, Authority};
use plenary_edge::operations::Caller;
use plenary_engine::{ExecuteError, Room as _, Streams};
use plenary_kernel::{Clock, OwnerName};
use plenary_log::{Fault, Log, Order, StoredEvent};
use plenary_notify::{Notify, Post, PostOrigins};
use plenary_room::async_trait;
use serde_json::json;
use tokio::{
    sync::Notify as Bell,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    PushCommand, PushRoom, PushStep, Rejection, WATCHED,
    event::{PushConfig, PushEvent, PushKey},
    schedule::{Item, Schedule},
};
use crate::{
    A2a,
    access::Backend,
    failure::Failure,
    limits::{PUSH_BYTES_MAX, PUSH_PAUSE},
    repeats::MessageKeys,
    rooms::RoomClient,
    run_tasks::HostedAgent,
    session_tasks::SessionAgent,
};

/// The category of the streams of runs, one per thread.
const THREADS: &str = "runs.thread";
/// The category of the streams of sessions.
const SESSIONS: &str = "sessions.session";

pub(super) fn stream_of(backend: &Backend, task: &Task) -> String {
    let category = match backend {
        Backend::Runs(_) => THREADS,
        Backend::Sessions(_) => SESSIONS,
    };
    format!("{category}/{}", task.context_id)
}

/// By stream: the owner, the task and the id of each push configuration.
type Watched = HashMap<String, BTreeSet<(OwnerName, String, String)>>;

/// The push configurations, and the tasks whose notifications are due.
pub(crate) struct PushBoard {
    pub(super) configs: Arc<Streams<PushRoom>>,
    pub(super) notify: Notify,
    accounts: Accounts,
    /// The unsettled configurations, by the stream of their task.
    watched: Mutex<Watched>,
    due: Mutex<Schedule>,
    bell: Bell,
}

impl PushBoard {
    pub(crate) fn new(log: Log, clock: Arc<dyn Clock>, accounts: Accounts, notify: Notify) -> Self {
        let configs = Arc::new(Streams::new(log, clock));
        notify
            .set_post_origins(Arc::new(PushOrigins { configs: configs.clone(), accounts: accounts.clone() }));
        Self {
            configs,
            notify,
            accounts,
            watched: Mutex::default(),
            due: Mutex::default(),
            bell: Bell::new(),
        }
    }

    pub(super) async fn carry_out(
        &self,
        owner: &OwnerName,
        authority: Option<Authority>,
        step: PushStep,
    ) -> Result<(), ExecuteError<Rejection>> {
        let command = PushCommand { accounts: self.accounts.clone(), authority, step };
        self.configs.execute(owner.as_str(), &command, None).await.map(drop)
    }

    /// Handles an event: marks the tasks whose notifications may be due.
    pub(crate) fn observe(&self, event: &StoredEvent) {
        if event.stream.category() == PushRoom::CATEGORY {
            self.configs.observe(event);
            let (Ok(event), Ok(owner)) = (PushEvent::decode(event), event.stream.id().parse()) else {
                return;
            };
            self.note(&event, &owner);
        } else {
            self.mark(event.stream.as_str());
        }
    }

    fn note(&self, event: &PushEvent, owner: &OwnerName) {
        let PushKey { task, id, stream } = event.key().clone();
        let entry = (owner.clone(), task, id);
        let mut watched = self.watched.lock();
        if matches!(event, PushEvent::PushConfigSet(_)) {
            watched.entry(stream.clone()).or_default().insert(entry);
            drop(watched);
            self.mark(&stream);
        } else if let Some(of_stream) = watched.get_mut(&stream) {
            of_stream.remove(&entry);
            if of_stream.is_empty() {
                watched.remove(&stream);
            }
        }
    }

    /// Marks the watched tasks of a stream as due.
    fn mark(&self, stream: &str) {
        let watched = self.watched.lock();
        let Some(of_stream) = watched.get(stream) else { return };
        let mut due = self.due.lock();
        for (owner, task, id) in of_stream {
            due.mark(owner.clone(), (task.clone(), id.clone()));
        }
        self.bell.notify_one();
    }

    /// Loads the watched tasks from the index.
    async fn load(&self) -> Result<(), Fault> {
        let mut rows = self.configs.log().index_rows(WATCHED, "", Order::Ascending);
        while let Some(row) = rows.next().await? {
            // `<category>/<id>/<owner>/<task>/<configuration>`
            let parts: Vec<&str> = row.key.splitn(5, '/').collect();
            let [category, stream, owner, task, id] = parts[..] else { continue };
            let Ok(owner) = owner.parse() else { continue };
            let stream = format!("{category}/{stream}");
            let entry = (owner, task.to_owned(), id.to_owned());
            self.watched.lock().entry(stream.clone()).or_default().insert(entry);
            self.mark(&stream);
        }
        Ok(())
    }
}

/// Whether a configuration counts: it ends with its agent, and with the token that it was set with.
async fn is_open(accounts: &Accounts, config: &PushConfig) -> Result<bool, Fault> {
    match &config.through {
        Some(name) => accounts.opens(&config.receiver, name).await,
        None => Ok(accounts.fresh_agent(&config.receiver).await?.state.is_live()),
    }
}

/// The configurations of the notifications that are being sent.
struct PushOrigins {
    configs: Arc<Streams<PushRoom>>,
    accounts: Accounts,
}

#[async_trait]
impl PostOrigins for PushOrigins {
    async fn is_wanted(&self, owner: &OwnerName, post: &Post) -> Result<bool, Fault> {
        let origin = post.origin.as_deref().and_then(|origin| serde_json::from_str(origin).ok());
        let Some((task, id)) = origin.map(|(task, id): (String, String)| (task, id)) else {
            return Ok(true);
        };
        let (state, _) = self.configs.fresh(owner.as_str()).await?;
        match state.find(&task, &id).filter(|entry| entry.config.url == post.url) {
            Some(entry) => is_open(&self.accounts, &entry.config).await,
            None => Ok(false),
        }
    }
}

impl A2a {
    /// Queues push notifications until the server stops.
    pub(crate) async fn send_notifications(self, stop: CancellationToken) {
        let sending = async {
            while let Err(fault) = self.0.push.load().await {
                tracing::warn!(%fault, "push configurations are not read yet");
                sleep(PUSH_PAUSE).await;
            }
            let due = &self.0.push.due;
            let mut at_work = FuturesUnordered::new();
            loop {
                while let Some((owner, items)) = { due.lock().begin(Instant::now()) } {
                    at_work.push(self.queue_for_owner(owner, items));
                }
                let next = { due.lock().next() };
                let pause = async {
                    match next {
                        Some(until) => sleep_until(until).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = self.0.push.bell.notified() => {}
                    () = pause => {}
                    Some((owner, unsent)) = at_work.next() => due.lock().end(&owner, unsent, Instant::now()),
                }
            }
        };
        stop.run_until_cancelled(sending).await;
    }

    /// Queues the due notifications of one owner; returns those that could not be queued.
    async fn queue_for_owner(
        &self,
        owner: OwnerName,
        mut items: BTreeSet<Item>,
    ) -> (OwnerName, BTreeSet<Item>) {
        let mut unsent = BTreeSet::new();
        // Tasks are not read if nothing can be queued.
        let mut has_room = self.0.push.notify.has_room(&owner).await.unwrap_or(false);
        while has_room && let Some(item) = items.pop_first() {
            match self.queue_one(&owner, &item.0, &item.1).await {
                Ok(PushOutcome::Done) => {}
                Ok(PushOutcome::NoRoom) => {
                    has_room = false;
                    unsent.insert(item);
                }
                Ok(PushOutcome::NotYet) => drop(unsent.insert(item)),
                Err(fault) => {
                    tracing::warn!(%fault, "a push notification is not sent yet");
                    unsent.insert(item);
                }
            }
        }
        unsent.extend(items);
        (owner, unsent)
    }

    async fn queue_one(&self, owner: &OwnerName, task: &str, id: &str) -> Result<PushOutcome, Fault> {
        let (state, _) = self.0.push.configs.fresh(owner.as_str()).await?;
        let Some(config) = state.find(task, id).filter(|entry| !entry.is_settled) else {
            return Ok(PushOutcome::Done);
        };
        let config = &config.config;
        if !is_open(&self.0.accounts, config).await? {
            return self.finish(owner, PushStep::Delete(config.key.clone())).await;
        }
        let task = match self.task_of(config).await {
            Ok(task) => task,
            Err(failure) if is_permanent(failure.status) => {
                return self.finish(owner, PushStep::Settle(config.key.clone())).await;
            }
            Err(_) => return Ok(PushOutcome::NotYet),
        };
        let state = task.status.state.clone();
        let is_over = state.is_terminal();
        if !is_over && !matches!(state, TaskState::InputRequired | TaskState::AuthRequired) {
            return Ok(PushOutcome::Done);
        }
        if !self.0.push.notify.post(&source(owner, config, &task), owner, post(config, task)).await? {
            return Ok(PushOutcome::NoRoom);
        }
        if !is_over {
            return Ok(PushOutcome::Done);
        }
        self.finish(owner, PushStep::Settle(config.key.clone())).await
    }

    /// Ends a configuration.
    async fn finish(&self, owner: &OwnerName, step: PushStep) -> Result<PushOutcome, Fault> {
        match self.0.push.carry_out(owner, None, step).await {
            Err(ExecuteError::Fault(fault)) => Err(fault),
            _ => Ok(PushOutcome::Done),
        }
    }

    /// The task, read on behalf of the configuration's agent.
    async fn task_of(&self, config: &PushConfig) -> Result<Task, Failure> {
        let operations = self.0.operations.read().clone().ok_or_else(Failure::stopping)?;
        let acting = self.0.accounts.acting_for_person(&config.receiver);
        let rooms = RoomClient { operations, caller: Caller::default().known_as(acting) };
        let keys = MessageKeys::default();
        if config.key.stream.starts_with(THREADS) {
            let name = config.agent.as_str().trim_start_matches('@').to_owned();
            return HostedAgent { rooms, keys, name }.task(&config.key.task).await;
        }
        let (wakeups, stop) = (self.0.wakeups.clone(), self.0.stop.clone());
        let (me, handle) = (Some(config.receiver.clone()), config.agent.clone());
        SessionAgent { wakeups, stop, rooms, keys, me, handle }.task(&config.key.task).await
    }
}

/// The result for one due notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PushOutcome {
    /// It is queued, or not needed.
    Done,
    /// The owner's queue is full.
    NoRoom,
    /// The task cannot be read now.
    NotYet,
}

/// Whether the failure is permanent: the task or the reader is gone.
fn is_permanent(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}

/// The id of a notification, so that each is sent once. Another URL counts as another receiver.
fn source(owner: &OwnerName, config: &PushConfig, task: &Task) -> String {
    let changed_ms = task.status.timestamp.map(|time| time.timestamp_millis()).unwrap_or_default();
    let (id, state, url) = (&config.key.id, &task.status.state, digest(&config.url));
    format!("a2a/{owner}/{}/{id}/{state:?}/{changed_ms}/{url}", task.id)
}

/// A short name for a URL.
pub(super) fn digest(url: &str) -> String {
    let digest = plenary_kernel::json::digest(url.as_bytes());
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The request that reports a task.
fn post(config: &PushConfig, task: Task) -> Post {
    let mut headers = BTreeMap::from([
        ("a2a-version".to_owned(), crate::access::VERSION.to_owned()),
        ("content-type".to_owned(), "application/a2a+json".to_owned()),
    ]);
    headers.extend(config.token.iter().map(|token| ("x-a2a-notification-token".to_owned(), token.clone())));
    if let Some(scheme) = &config.scheme {
        let credentials = config.credentials.as_deref().unwrap_or_default();
        headers.insert("authorization".to_owned(), format!("{scheme} {credentials}").trim_end().to_owned());
    }
    let title = format!("A2A: task {} of {}", task.id, config.agent);
    let origin = Some(json!([config.key.task, config.key.id]).to_string());
    let (url, secret) = (config.url.clone(), config.token.clone());
    Post { title, url, secret, headers, body: body(task), origin }
}

/// The task within the size limit: without its artifacts, then also without its messages.
fn body(mut task: Task) -> String {
    let written = |task: &Task| json!(StreamResponse::Task(task.clone())).to_string();
    let mut body = written(&task);
    if body.len() > PUSH_BYTES_MAX {
        task.artifacts = None;
        body = written(&task);
    }
    if body.len() > PUSH_BYTES_MAX {
        (task.history, task.status.message) = (None, None);
        body = written(&task);
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(message_len: usize, artifact_len: usize) -> serde_json::Value {
        let task = json!({
            "id": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED",
                "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "a".repeat(message_len)}]}},
            "artifacts": [{"artifactId": "a", "parts": [{"text": "b".repeat(artifact_len)}]}],
        });
        let body = body(serde_json::from_value(task).unwrap());
        assert!(body.len() <= PUSH_BYTES_MAX, "{} bytes", body.len());
        serde_json::from_str::<serde_json::Value>(&body).unwrap()["task"].clone()
    }

    #[test]
    fn what_is_too_large_is_left_out() {
        let has = |task: &serde_json::Value| {
            assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
            (task["status"].get("message").is_some(), task.get("artifacts").is_some())
        };
        assert_eq!(has(&sent(10, 10)), (true, true));
        assert_eq!(has(&sent(10, PUSH_BYTES_MAX)), (true, false));
        assert_eq!(has(&sent(PUSH_BYTES_MAX, 10)), (false, false));
    }

    #[test]
    fn a_refusal_is_for_good_unless_it_passes() {
        for status in [400, 401, 403, 404, 410] {
            assert!(is_permanent(StatusCode::from_u16(status).unwrap()), "{status}");
        }
        for status in [408, 429, 500, 503] {
            assert!(!is_permanent(StatusCode::from_u16(status).unwrap()), "{status}");
        }
    }
}
