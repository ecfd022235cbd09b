//! Tasks of agents that participate in sessions and run elsewhere: a message opens a session, which is the context,
//! and is a task; the agent's next message ends it. A task's id is `<session>.<sequence of the message>`.
//! Must not know: the bindings.

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc, time::Duration};

use a2a::{
    ListTasksRequest, ListTasksResponse, Part, PartContent, SendMessageRequest, StreamResponse, Task,
    TaskState,
};
use chrono::{DateTime, Utc};
use plenary_kernel::AgentHandle;
use plenary_room::KEEPALIVE_MS;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    failure::Failure,
    limits::{LISTED_EVENTS_MAX, LISTED_MAX, REPEATS_MAX, TASK_BYTES_MAX},
    repeats::{MessageKeys, is_replayed},
    rooms::{RoomClient, RoomRefusal, encoded},
    run_tasks::{self, page_size},
    stream::{Follow, Update},
    task::TaskSnapshot,
    wakeups::SessionWakeups,
};

/// Events of a session per request; a response has at most two mebibytes of them.
const PAGE_EVENTS: usize = 1_000;
/// Events of a session per request for a task whose answer is expected soon.
const PAGE_EVENTS_OF_ONE: usize = 50;

/// The access of one caller to one agent.
#[derive(Clone)]
pub(crate) struct SessionAgent {
    pub(crate) wakeups: Arc<SessionWakeups>,
    /// Cancelled when the server is about to stop.
    pub(crate) stop: CancellationToken,
    pub(crate) rooms: RoomClient,
    pub(crate) keys: MessageKeys,
    /// The caller, if it is an agent: only agents send messages.
    pub(crate) me: Option<AgentHandle>,
    pub(crate) handle: AgentHandle,
}

/// The message that is the task.
#[derive(Debug, Clone)]
struct TaskPosition {
    session: String,
    sequence: u64,
}

impl TaskPosition {
    fn read(id: &str) -> Result<Self, Failure> {
        let parts =
            id.rsplit_once('.').and_then(|(session, sequence)| Some((session, sequence.parse().ok()?)));
        let (session, sequence) = parts.ok_or_else(Failure::task_not_found)?;
        Ok(Self { session: session.to_owned(), sequence })
    }

    fn id(&self) -> String {
        format!("{}.{}", self.session, self.sequence)
    }

    fn path(&self, rest: &str) -> String {
        path(&self.session, rest)
    }
}

fn path(session: &str, rest: &str) -> String {
    format!("/sessions/{}{rest}", encoded(session))
}

/// A session that the caller may not read has no tasks of the caller.
fn missing(no: RoomRefusal) -> Failure {
    if no.status == http::StatusCode::NOT_FOUND { Failure::task_not_found() } else { no.into() }
}

/// A task of a list, without content: at its message, and now.
struct ListedTask {
    start: SessionTask,
    now: SessionTask,
}

impl SessionAgent {
    /// Sends a message and follows its task.
    pub(crate) async fn stream(&self, sent: &SendMessageRequest) -> Result<Follow, Failure> {
        let position = self.post_message(sent).await?;
        Ok(Follow::Session(Box::new(self.follow(position, None).await?)))
    }

    /// Sends a message and returns the task at once.
    pub(crate) async fn send(&self, sent: &SendMessageRequest) -> Result<Task, Failure> {
        let position = self.post_message(sent).await?;
        Ok(self.load(position).await?.snapshot.task())
    }

    async fn post_message(&self, sent: &SendMessageRequest) -> Result<TaskPosition, Failure> {
        let message = &sent.message;
        let metadata = json!({"a2a": {"message_id": message.message_id, "metadata": message.metadata}});
        let body = json!({"content": content(&message.parts), "metadata": metadata});
        if let Some(task) = &message.task_id {
            let position = TaskPosition::read(task)?;
            if message.context_id.as_ref().is_some_and(|context| *context != position.session) {
                return Err(Failure::params("`contextId` is not that of the task."));
            }
            let mut earlier = SessionTask::new(position.clone(), self);
            earlier.sought = Some(body.clone());
            let task = self.load_into(earlier).await?;
            // Section 3.3.1: a repeated message was accepted the first time, whatever happened to the task since.
            if task.is_over() && !task.is_sought_found {
                return Err(Failure::unsupported("The task is over; send a message without `taskId`."));
            }
            let key = self.keys.key(&json!([position.id(), body]), None);
            self.rooms.post(&position.path("/messages"), &body, Some(&key)).await.map_err(missing)?;
            return Ok(position);
        }
        if let Some(session) = &message.context_id {
            self.check_session(session).await?;
            return self.post_once(&path(session, "/messages"), &body, message.context_id.as_deref()).await;
        }
        let body = json!({"invite": [self.handle.as_str()], "initial_message": body});
        self.post_once("/sessions", &body, None).await
    }

    /// Posts the message that starts a task, in a session or a new one. Section 3.3.1: a repeated message is the same
    /// task as long as that is active; after its end it starts a new one.
    async fn post_once(
        &self,
        path: &str,
        body: &Value,
        session: Option<&str>,
    ) -> Result<TaskPosition, Failure> {
        let sent = json!([path, body]);
        let (mut over, mut repeats) = (None::<String>, 0);
        loop {
            let key = (repeats < REPEATS_MAX).then(|| self.keys.key(&sent, over.as_deref()));
            let reply = self.rooms.post(path, body, key.as_deref()).await;
            let reply = reply.map_err(|no| if session.is_some() { missing(no) } else { no.into() })?;
            let opened = reply.value["session_id"].as_str();
            let position = TaskPosition {
                session: session.or(opened).unwrap_or_default().to_owned(),
                sequence: reply.value["sequence"].as_u64().unwrap_or(1),
            };
            let may_be_over = key.is_some() && !self.keys.is_from_client() && is_replayed(&reply.headers);
            if !may_be_over || !self.is_over(&position).await? {
                return Ok(position);
            }
            (over, repeats) = (Some(position.id()), repeats + 1);
        }
    }

    /// Whether a task is over or no longer exists.
    async fn is_over(&self, position: &TaskPosition) -> Result<bool, Failure> {
        match self.load(position.clone()).await {
            Ok(task) => Ok(task.is_over()),
            Err(no) if no.status == http::StatusCode::NOT_FOUND => Ok(true),
            Err(no) => Err(no),
        }
    }

    /// Whether a session has or had the agent as a participant.
    async fn check_session(&self, session: &str) -> Result<(), Failure> {
        let shown = self.rooms.get(&path(session, "")).await.map_err(missing)?.value;
        if self.takes_part(&shown) { Ok(()) } else { Err(Failure::task_not_found()) }
    }

    fn takes_part(&self, session: &Value) -> bool {
        let mut participants = session["participants"].as_array().into_iter().flatten();
        participants.any(|participant| participant["handle"] == self.handle.as_str())
    }

    /// Passes the events of a session after `after` to `take`, in order, until that breaks. Only one page at a time
    /// is in memory, since a session may be larger.
    async fn each_event(
        &self,
        session: &str,
        mut after: u64,
        page_max: usize,
        mut take: impl FnMut(&Value) -> ControlFlow<()> + Send,
    ) -> Result<(), Failure> {
        loop {
            let path = path(session, &format!("/events?limit={page_max}&after_sequence={after}"));
            let page = self.rooms.get(&path).await.map_err(missing)?.value;
            let events = page["events"].as_array().map(Vec::as_slice).unwrap_or_default();
            for event in events {
                if take(event).is_break() {
                    return Ok(());
                }
            }
            let last = events.last().and_then(|event| event["sequence"].as_u64());
            match last.filter(|last| *last > after && !page["next_cursor"].is_null()) {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }

    /// Applies new events to a task; returns the updates for a streaming client.
    async fn read_on(&self, task: &mut SessionTask, page_max: usize) -> Result<Vec<Update>, Failure> {
        self.read_until(task, u64::MAX, page_max).await
    }

    /// Like [`SessionAgent::read_on`], up to the event with this sequence.
    async fn read_until(
        &self,
        task: &mut SessionTask,
        until: u64,
        page_max: usize,
    ) -> Result<Vec<Update>, Failure> {
        let mut updates = Vec::new();
        let (session, after) = (task.position.session.clone(), task.snapshot.last);
        let take = |event: &Value| {
            if event["sequence"].as_u64() > Some(until) {
                return ControlFlow::Break(());
            }
            updates.extend(Update::numbered(task.apply(event), task.snapshot.last));
            if task.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        self.each_event(&session, after, page_max, take).await?;
        Ok(updates)
    }

    /// The current task.
    async fn load(&self, position: TaskPosition) -> Result<SessionTask, Failure> {
        self.load_into(SessionTask::new(position, self)).await
    }

    async fn load_into(&self, task: SessionTask) -> Result<SessionTask, Failure> {
        self.load_until(task, u64::MAX).await
    }

    /// The task after the event with this sequence.
    async fn load_until(&self, mut task: SessionTask, until: u64) -> Result<SessionTask, Failure> {
        self.check_session(&task.position.session).await?;
        self.read_until(&mut task, until, PAGE_EVENTS).await?;
        if task.is_found { Ok(task) } else { Err(Failure::task_not_found()) }
    }

    /// The current task.
    pub(crate) async fn task(&self, id: &str) -> Result<Task, Failure> {
        Ok(self.load(TaskPosition::read(id)?).await?.snapshot.task())
    }

    /// Follows an active task; `after` is the last event that the client received.
    pub(crate) async fn subscribe(&self, id: &str, after: Option<u64>) -> Result<Follow, Failure> {
        let following = self.follow(TaskPosition::read(id)?, after).await?;
        if following.task.is_over() {
            return Err(Failure::unsupported("The task is over."));
        }
        Ok(Follow::Session(Box::new(following)))
    }

    async fn follow(&self, position: TaskPosition, after: Option<u64>) -> Result<SessionFeed, Failure> {
        let wakeup = self.wakeups.follow(&position.session);
        let until = after.map_or(u64::MAX, |after| after.max(position.sequence));
        let task = self.load_until(SessionTask::new(position, self), until).await?;
        let waiting = [Update::snapshot(task.snapshot.task(), task.snapshot.last)].into();
        Ok(SessionFeed { agent: self.clone(), task, wakeup, waiting })
    }

    /// Cancels a task by ending its session.
    pub(crate) async fn cancel(&self, id: &str) -> Result<Task, Failure> {
        let position = TaskPosition::read(id)?;
        let mut task = self.load(position.clone()).await?;
        if task.is_over() {
            return Err(Failure::not_cancelable());
        }
        self.rooms.post(&position.path("/end"), &json!({}), None).await.map_err(missing)?;
        self.read_on(&mut task, PAGE_EVENTS).await?;
        Ok(task.snapshot.task())
    }

    /// The caller's tasks for the agent, those of the newest session first.
    pub(crate) async fn list(&self, request: &ListTasksRequest) -> Result<ListTasksResponse, Failure> {
        let size = page_size(request.page_size)?;
        let mut found = self.newest_tasks(request.context_id.as_deref()).await?;
        let total = found.len();
        if let Some(token) = request.page_token.as_deref().filter(|token| !token.is_empty()) {
            let index = found.iter().position(|task| task.now.position.id() == token);
            let index = index.ok_or_else(|| Failure::params("`pageToken` is none of this list."))?;
            found.drain(..=index);
        }
        found.retain(|ListedTask { now, .. }| {
            request.status.as_ref().is_none_or(|status| *status == now.snapshot.state())
                && request.status_timestamp_after.is_none_or(|after| now.snapshot.changed_at() >= Some(after))
        });
        let (mut tasks, mut bytes) = (Vec::new(), 0);
        let mut remaining = found.into_iter().peekable();
        while tasks.len() < size
            && bytes < TASK_BYTES_MAX
            && let Some(ListedTask { start, now }) = remaining.next()
        {
            // An active task has no content yet.
            let mut task = now;
            if task.is_over() {
                task = start;
                self.read_on(&mut task, PAGE_EVENTS_OF_ONE).await?;
            }
            bytes += task.snapshot.bytes();
            let mut task = task.snapshot.task();
            if request.include_artifacts != Some(true) {
                task.artifacts = None;
            }
            tasks.push(task);
        }
        let is_more = remaining.peek().is_some();
        let next = tasks.last().filter(|_| is_more).map(|task| task.id.clone()).unwrap_or_default();
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        Ok(ListTasksResponse {
            tasks,
            next_page_token: next,
            page_size: count(size),
            total_size: count(total),
        })
    }

    /// The newest [`LISTED_MAX`] tasks of the newest sessions; no further session is read after [`LISTED_EVENTS_MAX`] events.
    async fn newest_tasks(&self, context: Option<&str>) -> Result<Vec<ListedTask>, Failure> {
        let listed = self.rooms.get(&format!("/sessions?limit={LISTED_MAX}")).await?.value;
        let sessions = listed["sessions"].as_array().into_iter().flatten();
        let sessions = sessions.filter(|session| self.takes_part(session)).filter_map(|s| s["id"].as_str());
        let sessions: Vec<&str> =
            sessions.filter(|id| context.is_none_or(|context| context == *id)).collect();
        let (mut found, mut read) = (Vec::new(), 0);
        for session in sessions {
            if found.len() >= LISTED_MAX || read >= LISTED_EVENTS_MAX {
                break;
            }
            let mut tasks = VecDeque::<ListedTask>::new();
            let nowhere = TaskPosition { session: session.to_owned(), sequence: u64::MAX };
            let mut before = SessionTask::new(nowhere, self);
            let take = |event: &Value| {
                read += 1;
                // There may be a thousand tasks, and most events are messages of other participants.
                if event["type"] != "session.message" || event["payload"]["sender"] == self.handle.as_str() {
                    tasks.iter_mut().for_each(|task| task.now.apply_without_content(event));
                }
                if before.is_message_of_caller(event) && !event["payload"]["metadata"]["a2a"].is_null() {
                    let start = before.task_started_by(event);
                    tasks.push_back(ListedTask { now: start.clone(), start });
                    if tasks.len() > LISTED_MAX {
                        tasks.pop_front();
                    }
                }
                before.apply(event);
                ControlFlow::Continue(())
            };
            match self.each_event(session, 0, PAGE_EVENTS, take).await {
                Ok(()) => found.extend(tasks.into_iter().rev()),
                // The caller was removed from the session meanwhile.
                Err(failure) if failure.status == http::StatusCode::NOT_FOUND => {}
                Err(failure) => return Err(failure),
            }
        }
        found.truncate(LISTED_MAX);
        Ok(found)
    }
}

/// A task, folded from the events of its session so far.
#[derive(Debug, Clone)]
struct SessionTask {
    position: TaskPosition,
    agent: AgentHandle,
    caller: Option<AgentHandle>,
    snapshot: TaskSnapshot,
    /// Whether the task's message was read and is the caller's.
    is_found: bool,
    /// A message of the caller to search for, and whether it was found.
    sought: Option<Value>,
    is_sought_found: bool,
    /// Whether the agent was invited or joined; the opener of a session was neither.
    was_invited: bool,
    /// Whether the agent left and was not invited again.
    has_left: bool,
}

impl SessionTask {
    fn new(position: TaskPosition, agent: &SessionAgent) -> Self {
        let snapshot = TaskSnapshot::new(&position.id(), &position.session, &agent.rooms.base_url());
        let (agent, caller) = (agent.handle.clone(), agent.me.clone());
        Self {
            position,
            agent,
            caller,
            snapshot,
            is_found: false,
            sought: None,
            is_sought_found: false,
            was_invited: false,
            has_left: false,
        }
    }

    fn is_over(&self) -> bool {
        self.snapshot.is_over()
    }

    fn is_caller(&self, name: &Value) -> bool {
        self.caller.as_ref().is_some_and(|me| *name == me.as_str())
    }

    fn is_message_of_caller(&self, event: &Value) -> bool {
        event["type"] == "session.message" && self.is_caller(&event["payload"]["sender"])
    }

    /// The task that a message starts at this point of the session.
    fn task_started_by(&self, message: &Value) -> Self {
        let sequence = message["sequence"].as_u64().unwrap_or_default();
        let position = TaskPosition { sequence, ..self.position.clone() };
        let mut task = Self { snapshot: self.snapshot.with_id(&position.id()), position, ..self.clone() };
        task.apply(message);
        task
    }

    /// Like [`SessionTask::apply`], without keeping content: a list has thousands of tasks.
    fn apply_without_content(&mut self, event: &Value) {
        if !self.is_over() {
            self.apply(event);
            self.snapshot.drop_content();
        }
    }

    /// Applies the next event of the session, unless it was applied already; returns the updates for a streaming
    /// client.
    fn apply(&mut self, event: &Value) -> Vec<StreamResponse> {
        let sequence = event["sequence"].as_u64().unwrap_or_default();
        if sequence <= self.snapshot.last || self.is_over() {
            return Vec::new();
        }
        self.snapshot.last = sequence;
        let payload = &event["payload"];
        let when = event["created_at"].as_i64().and_then(DateTime::from_timestamp_millis).unwrap_or_default();
        let is_agent = |member: &str| payload[member] == self.agent.as_str();
        let is_later = sequence > self.position.sequence;
        let update = match event["type"].as_str().unwrap_or_default() {
            "session.invited" if is_agent("invitee") => {
                (self.was_invited, self.has_left) = (true, false);
                self.snapshot.set_status("queued", Some(when));
                return Vec::new();
            }
            "session.joined" if is_agent("agent") => {
                (self.was_invited, self.has_left) = (true, false);
                self.snapshot.set_state(TaskState::Working, None, when)
            }
            "session.message" if sequence == self.position.sequence => {
                self.is_found = self.is_message_of_caller(event);
                if self.has_left {
                    // No agent is there to answer.
                    return vec![self.snapshot.set_state(TaskState::Rejected, None, when)];
                }
                if !self.was_invited {
                    self.snapshot.set_status("running", Some(when));
                }
                return Vec::new();
            }
            "session.message" if is_later && is_agent("sender") && answers(payload, &self.position) => {
                return self.reply(payload, when);
            }
            "session.message" if self.sought.is_some() && self.is_message_of_caller(event) => {
                let is_same = |sought: &Value| {
                    sought["content"] == payload["content"]
                        && sought["metadata"]["a2a"]["message_id"] == payload["metadata"]["a2a"]["message_id"]
                };
                self.is_sought_found |= self.sought.as_ref().is_some_and(is_same);
                return Vec::new();
            }
            "session.left" if is_agent("agent") && !is_later => {
                self.has_left = true;
                return Vec::new();
            }
            "session.left" if is_agent("agent") => self.snapshot.set_state(TaskState::Rejected, None, when),
            // No answer reaches a caller that is out of the session: it left, or it was blocked.
            "session.left" if is_later && self.is_caller(&payload["agent"]) => {
                self.snapshot.set_state(TaskState::Canceled, None, when)
            }
            "session.ended" if is_later => {
                let is_declined = is_agent("ended_by");
                let state = if is_declined { TaskState::Rejected } else { TaskState::Canceled };
                self.snapshot.set_state(state, None, when)
            }
            _ => return Vec::new(),
        };
        if is_later { vec![update] } else { Vec::new() }
    }

    fn reply(&mut self, payload: &Value, when: DateTime<Utc>) -> Vec<StreamResponse> {
        let parts = parts(&payload["content"]);
        match payload["metadata"]["code"].as_str() {
            Some("run_failed") => {
                let message = self.snapshot.agent_message(parts);
                vec![self.snapshot.set_state(TaskState::Failed, Some(message), when)]
            }
            _ => self.snapshot.complete_with(parts, when),
        }
    }
}

/// A live task.
pub(crate) struct SessionFeed {
    agent: SessionAgent,
    task: SessionTask,
    wakeup: Arc<Notify>,
    waiting: VecDeque<Update>,
}

impl SessionFeed {
    pub(crate) fn task(&self) -> Task {
        self.task.snapshot.task()
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Update>, Failure> {
        loop {
            if let Some(update) = self.waiting.pop_front() {
                return Ok(Some(update));
            }
            if self.task.is_over() {
                return Ok(None);
            }
            // Register first, then read: an event in between wakes it.
            let wakeup = self.wakeup.notified();
            tokio::pin!(wakeup);
            wakeup.as_mut().enable();
            let updates = self.agent.read_on(&mut self.task, PAGE_EVENTS).await?;
            self.waiting.extend(updates);
            if self.waiting.is_empty() && !self.task.is_over() {
                // A lost wake-up only delays.
                let again = tokio::time::sleep(Duration::from_millis(KEEPALIVE_MS));
                tokio::select! {
                    () = wakeup => {}
                    () = again => return Ok(Some(Update::Alive)),
                    () = self.agent.stop.cancelled() => return Err(Failure::stopping()),
                }
            }
        }
    }
}

/// Whether a message of the agent answers the task: it may name the message that it answers; otherwise it answers
/// everything before it.
fn answers(payload: &Value, position: &TaskPosition) -> bool {
    payload["metadata"]["in_reply_to"].as_u64().is_none_or(|sequence| sequence == position.sequence)
}

/// The parts of a message as the content of a session message.
fn content(parts: &[Part]) -> Value {
    let part = |part: &Part| match &part.content {
        PartContent::Text(text) => json!({"type": "text", "text": text}),
        PartContent::Data(Value::Object(data)) => json!({"type": "data", "data": data}),
        PartContent::Data(data) => json!({"type": "data", "data": {"value": data}}),
        PartContent::Url(url) => file(part, url),
        PartContent::Raw(_) => json!({"type": "text", "text": run_tasks::text(std::slice::from_ref(part))}),
    };
    match parts {
        [Part { content: PartContent::Text(text), .. }] => text.as_str().into(),
        parts => parts.iter().map(part).collect(),
    }
}

fn file(part: &Part, url: &str) -> Value {
    let mut file = json!({"type": "file", "url": url});
    for (name, value) in [("name", &part.filename), ("mime_type", &part.media_type)] {
        if let Some(value) = value {
            file[name] = value.as_str().into();
        }
    }
    file
}

/// The content of a session message as parts.
fn parts(content: &Value) -> Vec<Part> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let part = |part: &Value| {
        let content = match part["type"].as_str()? {
            "text" => PartContent::Text(text(&part["text"])?),
            "data" => PartContent::Data(part["data"].clone()),
            _ => PartContent::Url(text(&part["url"]).or_else(|| text(&part["data_uri"]))?),
        };
        Some(Part {
            content,
            filename: text(&part["name"]),
            media_type: text(&part["mime_type"]),
            metadata: None,
        })
    };
    match content.as_str() {
        Some(text) => vec![Part::text(text)],
        None => content.as_array().into_iter().flatten().filter_map(part).collect(),
    }
}

#[cfg(test)]
mod tests;
