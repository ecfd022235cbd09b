//! Tasks of agents that this server runs: a task is a run, a context is a thread, and an answer to a question resumes
//! the run.
//! Must not know: the bindings, or where a run is executed.

use std::{collections::VecDeque, time::Duration};

use a2a::{
    Artifact, ListTasksRequest, ListTasksResponse, Message, Part, PartContent, SendMessageRequest,
    StreamResponse, Task,
};
use axum::{body::BodyDataStream, response::Response};
use chrono::{DateTime, Utc};
use futures_util::StreamExt as _;
use http::Method;
use plenary_outward::sse::{Item, Parser};
use serde_json::{Map, Value, json};

use crate::{
    failure::Failure,
    limits::{
        EVENT_BYTES_MAX, INLINE_BYTES_MAX, LISTED_MAX, PAGE_DEFAULT, PAGE_MAX, REPEATS_MAX, TASK_BYTES_MAX,
    },
    repeats::{MessageKeys, is_replayed},
    rooms::{RoomClient, RoomRefusal, encoded},
    stream::{Follow, Update},
    task::{TaskSnapshot, state_by},
};

/// How long a cancel waits for the run's end: longer than the grace of an agent.
const CANCEL_WAIT: Duration = Duration::from_secs(10);

/// The code of a refusal: the idempotency key was used for another request.
const KEY_REUSED: &str = "idempotency_key_reused";
/// Most questions of a run that are compared with a repeated message.
const QUESTIONS_MAX: usize = 16;

/// The access of one caller to one hosted agent.
#[derive(Clone)]
pub(crate) struct HostedAgent {
    pub(crate) rooms: RoomClient,
    pub(crate) keys: MessageKeys,
    /// The name in paths, `owner.name`.
    pub(crate) name: String,
}

/// The run that a message started or resumed.
struct StartedRun {
    run: String,
    thread: String,
}

impl HostedAgent {
    fn path(&self, rest: &str) -> String {
        format!("/agent/{}{rest}", self.name)
    }

    /// Sends a message and follows its task.
    pub(crate) async fn stream(&self, sent: &SendMessageRequest) -> Result<Follow, Failure> {
        if let Some(task) = &sent.message.task_id {
            let before = self.resume(task, &sent.message).await?;
            return Ok(Follow::Run(Box::new(self.follow(task, before).await?)));
        }
        let response = self.begin("/stream_request", sent).await?;
        let StartedRun { run, thread } = started_run(&response);
        let snapshot = TaskSnapshot::new(&run, &thread, &self.rooms.base_url());
        let body = response.into_body().into_data_stream();
        Ok(Follow::Run(Box::new(RunFeed::new(self.clone(), snapshot, body, 0))))
    }

    /// Sends a message and returns the task at once.
    pub(crate) async fn send(&self, sent: &SendMessageRequest) -> Result<Task, Failure> {
        if let Some(task) = &sent.message.task_id {
            self.resume(task, &sent.message).await?;
            return self.task(task).await;
        }
        let response = self.begin("/run", sent).await?;
        let StartedRun { run, thread } = started_run(&response);
        if is_replayed(response.headers()) {
            return self.task(&run).await;
        }
        let mut snapshot = TaskSnapshot::new(&run, &thread, &self.rooms.base_url());
        snapshot.set_status("queued", Some(Utc::now()));
        Ok(snapshot.task())
    }

    /// Starts a run with a message. Section 3.3.1: a repeated message is the same run as long as that is active;
    /// after its end it starts a new one.
    async fn begin(&self, path: &str, sent: &SendMessageRequest) -> Result<Response, Failure> {
        let (path, body) = (self.path(path), request(sent));
        let (mut over, mut repeats) = (None::<String>, 0);
        loop {
            let key = (repeats < REPEATS_MAX).then(|| self.keys.key(&body, over.as_deref()));
            let response = self.rooms.open(Method::POST, &path, Some(&body), key.as_deref()).await?;
            let run = started_run(&response).run;
            let may_be_over = key.is_some() && !self.keys.is_from_client() && is_replayed(response.headers());
            if !may_be_over || !self.is_over(&run).await? {
                return Ok(response);
            }
            (over, repeats) = (Some(run), repeats + 1);
        }
    }

    /// Whether a run is over or no longer exists.
    async fn is_over(&self, run: &str) -> Result<bool, Failure> {
        match self.report(run).await {
            Ok(report) => Ok(state_by(&report).is_terminal()),
            Err(no) if no.status == http::StatusCode::NOT_FOUND => Ok(true),
            Err(no) => Err(no),
        }
    }

    /// Answers a waiting run. Returns the number of the question's event, or 0 if the message is a repetition: then
    /// the run may wait for something else by now.
    async fn resume(&self, run: &str, message: &Message) -> Result<u64, Failure> {
        let report = self.report(run).await?;
        let thread = report["thread_id"].as_str();
        if message.context_id.as_deref().is_some_and(|context| Some(context) != thread) {
            return Err(Failure::params("`contextId` is not that of the task."));
        }
        if report["status"] == "waiting" {
            let question = report["last_event_id"].as_u64().unwrap_or_default();
            match self.answer(run, message, &report["request_keys"]).await {
                // It may be the repeated answer to an earlier question.
                Err(no) if no.code == KEY_REUSED => {}
                answered => return Ok(if answered? { question } else { 0 }),
            }
        }
        // Section 3.3.1: a repeated message was accepted the first time. Its key matches only if the answer has the
        // same form as then, so it is rebuilt for each earlier question; the run rejects a new message for all of
        // these.
        for (question, keys) in self.questions(run).await?.into_iter().rev() {
            match self.answer(run, message, &keys).await {
                Ok(is_new) => return Ok(if is_new { question } else { 0 }),
                Err(no) if no.code == KEY_REUSED => {}
                Err(no) if no.code == "run_not_active" => break,
                Err(no) => return Err(no.into()),
            }
        }
        Err(match report["status"].as_str().unwrap_or_default() {
            "queued" | "running" => Failure::unsupported("The task does not wait for a message."),
            "waiting" => Failure::params("The `Idempotency-Key` was used for another message."),
            _ => Failure::unsupported("The task is over; send a message without `taskId`."),
        })
    }

    /// Answers a question of a run with a message; false for a repetition.
    async fn answer(&self, run: &str, message: &Message, keys: &Value) -> Result<bool, RoomRefusal> {
        let answers = answers(keys, message);
        let body = json!({"type": "ResumeWithInput", "run_id": run, "request_keys": answers});
        let key = self.keys.key(&json!([run, message]), None);
        let yes = self.rooms.post(&self.path("/run"), &body, Some(&key)).await?;
        Ok(!is_replayed(&yes.headers))
    }

    /// The newest questions of a run, in order: the number of the event, and the requested keys.
    async fn questions(&self, run: &str) -> Result<VecDeque<(u64, Value)>, Failure> {
        let (mut questions, mut last) = (VecDeque::new(), 0);
        loop {
            let path = format!("/get_events?run_id={}&since={last}", encoded(run));
            let page = self.rooms.get(&self.path(&path)).await?;
            let events = page.value.as_array().map(Vec::as_slice).unwrap_or_default();
            for event in events.iter().filter(|event| event["type"] == "WaitForInput") {
                questions
                    .push_back((event["id"].as_u64().unwrap_or_default(), event["request_keys"].clone()));
                if questions.len() > QUESTIONS_MAX {
                    questions.pop_front();
                }
            }
            let next = events.last().and_then(|event| event["id"].as_u64());
            match next.filter(|next| *next > last && page.headers.contains_key(http::header::LINK)) {
                Some(next) => last = next,
                None => return Ok(questions),
            }
        }
    }

    async fn report(&self, run: &str) -> Result<Value, Failure> {
        let yes = self.rooms.get(&self.path(&format!("/runs/{}", encoded(run)))).await?;
        Ok(yes.value)
    }

    /// The current task.
    pub(crate) async fn task(&self, run: &str) -> Result<Task, Failure> {
        Ok(self.filled(run).await?.task())
    }

    /// The task with the content of its small artifacts, as far as they fit into a response.
    async fn filled(&self, run: &str) -> Result<TaskSnapshot, Failure> {
        let mut snapshot = self.load(run).await?;
        for nth in 0..snapshot.artifacts().len() {
            let mut artifact = snapshot.artifacts()[nth].clone();
            if let Some(bytes) = inline_bytes(&artifact).filter(|bytes| snapshot.has_room(*bytes)) {
                self.fill(&mut artifact, bytes).await;
                snapshot.fill(&artifact);
            }
        }
        Ok(snapshot)
    }

    /// The task with all its content.
    async fn load(&self, run: &str) -> Result<TaskSnapshot, Failure> {
        Ok(self.load_until(run, u64::MAX).await?.0)
    }

    /// The task after the event with this number, and the number of the run's last event.
    async fn load_until(&self, run: &str, until: u64) -> Result<(TaskSnapshot, u64), Failure> {
        let report = self.report(run).await?;
        let thread = report["thread_id"].as_str().unwrap_or_default();
        let updated_at = time(&report["updated_at"]);
        let mut snapshot = TaskSnapshot::new(run, thread, &self.rooms.base_url());
        let last = report["last_event_id"].as_u64().unwrap_or_default();
        let until = until.min(last);
        while snapshot.last < until {
            let path = format!("/get_events?run_id={}&since={}", encoded(run), snapshot.last);
            let page = self.rooms.get(&self.path(&path)).await?;
            let events = page.value.as_array().map(Vec::as_slice).unwrap_or_default();
            if events.is_empty() {
                break;
            }
            for event in events.iter().filter(|event| event["id"].as_u64() <= Some(until)) {
                snapshot.apply(event, updated_at.unwrap_or_default());
            }
        }
        if until == last {
            snapshot.set_report(&report, updated_at);
        }
        Ok((snapshot, last))
    }

    /// Follows an active task; `after` is the last event that the client received.
    pub(crate) async fn subscribe(&self, run: &str, after: Option<u64>) -> Result<Follow, Failure> {
        let (snapshot, last) = self.load_until(run, after.unwrap_or(u64::MAX)).await?;
        if snapshot.is_over() {
            return Err(Failure::unsupported("The task is over."));
        }
        // A new subscriber finds a pending question in the task itself; a resuming client gets it with the last
        // event.
        let before = if snapshot.last < last { last - 1 } else { snapshot.last };
        Ok(Follow::Run(Box::new(self.feed(run, snapshot, before).await?)))
    }

    /// Follows a task to its end, or to a question after the event `before`: earlier ones are answered.
    async fn follow(&self, run: &str, before: u64) -> Result<RunFeed, Failure> {
        self.feed(run, self.load(run).await?, before).await
    }

    async fn feed(&self, run: &str, snapshot: TaskSnapshot, before: u64) -> Result<RunFeed, Failure> {
        let since = if snapshot.last > 0 { format!("&since={}", snapshot.last) } else { String::new() };
        let path = self.path(&format!("/get_events?run_id={}&stream=true{since}", encoded(run)));
        let body = self.rooms.open(Method::GET, &path, None, None).await?.into_body().into_data_stream();
        Ok(RunFeed::new(self.clone(), snapshot, body, before))
    }

    /// Cancels a task, and waits until it is over.
    pub(crate) async fn cancel(&self, run: &str) -> Result<Task, Failure> {
        let body = json!({"type": "CancelRequest", "run_id": run});
        match self.rooms.post(&self.path("/run"), &body, None).await {
            Err(no) if no.code == "run_not_active" => return Err(Failure::not_cancelable()),
            other => other?,
        };
        let mut following = self.follow(run, u64::MAX).await?;
        let over = async { while let Ok(Some(_)) = following.next().await {} };
        // After the time limit the caller gets the current state.
        let _late = tokio::time::timeout(CANCEL_WAIT, over).await;
        self.task(run).await
    }

    /// The tasks that the caller may see, those of the most recently changed thread first.
    pub(crate) async fn list(&self, request: &ListTasksRequest) -> Result<ListTasksResponse, Failure> {
        let size = page_size(request.page_size)?;
        let mut runs = self.runs(request.context_id.as_deref()).await?;
        let total = runs.len();
        if let Some(token) = request.page_token.as_deref().filter(|token| !token.is_empty()) {
            let index = runs.iter().position(|run| run == token);
            let index = index.ok_or_else(|| Failure::params("`pageToken` is none of this list."))?;
            runs.drain(..=index);
        }
        let (mut tasks, mut next, mut bytes) = (Vec::new(), String::new(), 0);
        let mut remaining = runs.iter().peekable();
        while let Some(run) = remaining.next() {
            let report = self.report(run).await?;
            let (state, updated_at) = (state_by(&report), time(&report["updated_at"]));
            let is_listed = request.status.as_ref().is_none_or(|status| *status == state)
                && request.status_timestamp_after.is_none_or(|after| updated_at >= Some(after));
            if !is_listed {
                continue;
            }
            let task = if request.include_artifacts == Some(true) {
                self.filled(run).await?
            } else {
                let thread = report["thread_id"].as_str().unwrap_or_default();
                let mut task = TaskSnapshot::new(run, thread, &self.rooms.base_url());
                task.report(&report, updated_at);
                task
            };
            bytes += task.bytes();
            tasks.push(task.task());
            if tasks.len() == size || bytes >= TASK_BYTES_MAX {
                next = if remaining.peek().is_some() { run.clone() } else { String::new() };
                break;
            }
        }
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        Ok(ListTasksResponse {
            page_size: count(size),
            tasks,
            next_page_token: next,
            total_size: count(total),
        })
    }

    /// The ids of the newest [`LISTED_MAX`] runs, newest first, of one thread or of all.
    async fn runs(&self, context: Option<&str>) -> Result<Vec<String>, Failure> {
        let mut threads: Vec<Value> = Vec::new();
        let mut before = String::new();
        while threads.len() < LISTED_MAX {
            let page = self.rooms.get(&self.path(&format!("/threads?limit=100{before}"))).await?;
            let Value::Array(listed) = page.value else { break };
            let Some(last) = listed.last().and_then(|thread| thread["id"].as_str()) else { break };
            before = format!("&before={}", encoded(last));
            let is_last = !page.headers.contains_key(http::header::LINK);
            threads.extend(listed);
            if is_last {
                break;
            }
        }
        threads.retain(|thread| context.is_none_or(|context| thread["id"] == context));
        threads.sort_by_key(|thread| std::cmp::Reverse(thread["updated_at"].as_str().map(str::to_owned)));
        let runs = threads.iter().flat_map(|thread| thread["runs"].as_array().into_iter().flatten().rev());
        Ok(runs.filter_map(|run| run.as_str().map(str::to_owned)).take(LISTED_MAX).collect())
    }

    /// Replaces the URL of a small artifact by its content, up to `bytes_max`.
    async fn fill(&self, artifact: &mut Artifact, bytes_max: usize) {
        let [part] = &mut artifact.parts[..] else { return };
        let path = format!("/artifacts/{}", encoded(&artifact.artifact_id));
        let Ok(response) = self.rooms.open(Method::GET, &path, None, None).await else { return };
        let Ok(bytes) = plenary_outward::within(response.into_body(), bytes_max).await else { return };
        part.content = content(part.media_type.as_deref().unwrap_or_default(), bytes.into());
    }
}

/// The content of an artifact as that of a part: text and JSON unchanged, all others as bytes.
fn content(media_type: &str, bytes: Vec<u8>) -> PartContent {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence.starts_with("text/") {
        return String::from_utf8(bytes)
            .map_or_else(|no| PartContent::Raw(no.into_bytes()), PartContent::Text);
    }
    // JSON that is not strict, or would lose digits, remains text.
    let is_json = essence == "application/json" || essence.ends_with("+json");
    let value =
        || plenary_kernel::json::check(&bytes).ok().and_then(|()| serde_json::from_slice(&bytes).ok());
    match is_json.then(value).flatten() {
        Some(value) => PartContent::Data(value),
        None => PartContent::Raw(bytes),
    }
}

/// The size of an artifact whose content may be inline; `None` for all others.
fn inline_bytes(artifact: &Artifact) -> Option<usize> {
    let [Part { content: PartContent::Url(_), .. }] = &artifact.parts[..] else { return None };
    let bytes = artifact.metadata.as_ref()?.get("bytes")?.as_u64()?;
    usize::try_from(bytes).ok().filter(|bytes| *bytes <= INLINE_BYTES_MAX)
}

/// A live run.
pub(crate) struct RunFeed {
    hosted: HostedAgent,
    snapshot: TaskSnapshot,
    body: BodyDataStream,
    parser: Parser,
    /// Received items that are not processed yet: a processed event may be a thousand times larger.
    items: VecDeque<Item>,
    waiting: VecDeque<Update>,
    /// Only a question after this event pauses the feed.
    before: u64,
    is_paused: bool,
}

impl RunFeed {
    fn new(hosted: HostedAgent, snapshot: TaskSnapshot, body: BodyDataStream, before: u64) -> Self {
        let waiting = [Update::snapshot(snapshot.task(), snapshot.last)].into();
        let is_paused = snapshot.is_over() || (snapshot.is_paused() && snapshot.last > before);
        let parser = Parser::holding(EVENT_BYTES_MAX);
        Self { hosted, snapshot, body, parser, items: VecDeque::new(), waiting, before, is_paused }
    }

    pub(crate) fn task(&self) -> Task {
        self.snapshot.task()
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Update>, Failure> {
        loop {
            if let Some(update) = self.waiting.pop_front() {
                return Ok(Some(update));
            }
            if self.is_paused {
                return Ok(None);
            }
            if let Some(item) = self.items.pop_front() {
                self.take(item).await;
                continue;
            }
            let Some(Ok(piece)) = self.body.next().await else { return Err(Failure::broken_off()) };
            let mut items = Vec::new();
            self.parser.feed(&piece, &mut items).map_err(|_| Failure::broken_off())?;
            self.items.extend(items);
        }
    }

    async fn take(&mut self, item: Item) {
        let event = match item {
            Item::Comment(_) => return self.waiting.push_back(Update::Alive),
            Item::Event(event) => event,
        };
        let value: Value = serde_json::from_str(&event.data).unwrap_or_default();
        if event.name == "TextDelta" {
            let updates = self.snapshot.apply_delta(&value);
            self.waiting.extend(updates.map(|update| Update::Event(Box::new(update), None)));
            return;
        }
        let time = time_of(&self.hosted, &value).await;
        let mut updates = self.snapshot.apply(&value, time);
        for update in &mut updates {
            if let StreamResponse::ArtifactUpdate(update) = update
                && let Some(bytes) = inline_bytes(&update.artifact)
            {
                self.hosted.fill(&mut update.artifact, bytes).await;
                self.snapshot.fill(&update.artifact);
            }
        }
        self.waiting.extend(Update::numbered(updates, self.snapshot.last));
        self.is_paused =
            self.snapshot.is_over() || (self.snapshot.is_paused() && self.snapshot.last > self.before);
    }
}

/// The time of an event. An event that changes the task's state has the time in the run's report, as in all other
/// reads.
async fn time_of(hosted: &HostedAgent, event: &Value) -> DateTime<Utc> {
    if !matches!(event["type"].as_str(), Some("WaitForInput" | "RunCompleted")) {
        return Utc::now();
    }
    let report = hosted.report(event["run_id"].as_str().unwrap_or_default()).await;
    report.ok().and_then(|report| time(&report["updated_at"])).unwrap_or_else(Utc::now)
}

fn started_run(response: &Response) -> StartedRun {
    let header = |name| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    StartedRun { run: header("x-run-id"), thread: header("x-thread-id") }
}

/// A message as a request to an agent: the text as the input, and the whole message in the metadata.
fn request(sent: &SendMessageRequest) -> Value {
    let mut metadata = Map::new();
    for metadata_part in [&sent.metadata, &sent.message.metadata].into_iter().flatten() {
        metadata.extend(metadata_part.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    metadata.insert("a2a".into(), json!({"message": sent.message}));
    json!({
        "type": "ChatRequest",
        "input": text(&sent.message.parts),
        "thread_id": sent.message.context_id,
        "request_metadata": metadata,
    })
}

/// The parts of a message as one text.
pub(crate) fn text(parts: &[Part]) -> String {
    let part_text = |part: &Part| match &part.content {
        PartContent::Text(text) | PartContent::Url(text) => text.clone(),
        PartContent::Data(value) => value.to_string(),
        PartContent::Raw(bytes) => {
            let name = part.filename.as_deref().unwrap_or("a file");
            format!("[{name}: {} bytes, in request_metadata.a2a.message]", bytes.len())
        }
    };
    parts.iter().map(part_text).collect::<Vec<_>>().join("\n")
}

/// The answer to each key: the data part that contains it, otherwise the text.
fn answers(keys: &Value, message: &Message) -> Map<String, Value> {
    let data_parts = message.parts.iter().filter_map(|part| match &part.content {
        PartContent::Data(data) => data.as_object(),
        PartContent::Text(_) | PartContent::Raw(_) | PartContent::Url(_) => None,
    });
    let data_parts: Vec<_> = data_parts.collect();
    let text = || text(&message.parts).into();
    let answer = |key: &String| {
        let member = data_parts.iter().find_map(|members| {
            members.get("request_keys").and_then(|keys| keys.get(key)).or_else(|| members.get(key))
        });
        member.cloned().unwrap_or_else(text)
    };
    let questions = keys.as_object().into_iter().flatten();
    questions.map(|(key, _)| (key.clone(), answer(key))).collect()
}

fn time(value: &Value) -> Option<DateTime<Utc>> {
    Some(DateTime::parse_from_rfc3339(value.as_str()?).ok()?.to_utc())
}

/// The number of tasks in a page.
pub(crate) fn page_size(requested: Option<i32>) -> Result<usize, Failure> {
    let Some(requested) = requested else { return Ok(PAGE_DEFAULT) };
    let size = usize::try_from(requested).ok().filter(|size| (1..=PAGE_MAX).contains(size));
    size.ok_or_else(|| Failure::params(format!("`pageSize` must be 1 to {PAGE_MAX}.")))
}

#[cfg(test)]
mod tests;
