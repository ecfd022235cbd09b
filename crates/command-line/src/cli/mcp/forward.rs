//! Forwards each message of the client to the server, and each response to the client, one line each.
//! Must not know: the content of a message.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use http::{HeaderMap, HeaderValue};
use parking_lot::{Mutex, MutexGuard, RwLock};
use plenary_client::{
    Backoff, Client, Error, FaultKind, RawReply,
    mcp::{Answer, Messages},
};
use plenary_mcp::server::LocalAnswers;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::AbortHandle,
    time::{sleep, timeout},
};

use super::{
    coding_session::CodingSession,
    line::{CODING_SESSION, Headers, Message, SESSION},
    session::{Line, RECONNECT_CALL_MAX, Session, is_down, is_lost, time_limit},
};

/// The pauses between two attempts to open the server's stream.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Maximum number of attempts to send a message whose session is lost each time.
const RENEWALS_MAX: usize = 3;
/// How long the server may take to answer before the local answer is used.
const LOCAL_AFTER: Duration = Duration::from_millis(1_500);
const TOOLS_LIST: &str = "tools/list";
const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// The client of the server, with the agent's token.
#[derive(Clone)]
pub(super) struct Speaker {
    pub(super) client: Client,
    /// The source of the coding session that calls the tools.
    pub(super) coding: Option<CodingSession>,
    /// Why there is no server to call, and what to do, if its address is unknown.
    pub(super) absence: Option<String>,
}

/// The forwarder, shared by all messages in progress.
pub(super) struct Forwarder {
    speaker: RwLock<Speaker>,
    /// `/mcp` with its query.
    pub(super) path: String,
    /// Whether the client is offered the channel.
    pub(super) channel: bool,
    /// Lines for the client.
    pub(super) out: mpsc::Sender<String>,
    pub(super) session: Session,
    /// Requests without a session, by the text of their ids; aborting the task cancels the request.
    under_way: Mutex<HashMap<String, AbortHandle>>,
    /// The answers to give if no server answers.
    local: OnceLock<LocalAnswers>,
    local_answers: fn() -> LocalAnswers,
    /// The locally listed tools of the session, until they are compared with the server's.
    listed: Mutex<Option<Value>>,
}

impl Forwarder {
    pub(super) fn new(
        (speaker, local_answers): (Speaker, fn() -> LocalAnswers),
        path: String,
        channel: bool,
        out: mpsc::Sender<String>,
    ) -> Self {
        let speaker = RwLock::new(speaker);
        let (session, under_way) = (Session::default(), Mutex::default());
        let (local, listed) = (OnceLock::new(), Mutex::default());
        Self { speaker, path, channel, out, session, under_way, local, local_answers, listed }
    }

    /// Replaces the speaker, when the agent was created only now.
    pub(super) fn speak_as(&self, speaker: Speaker) {
        *self.speaker.write() = speaker;
    }

    pub(super) fn client(&self) -> Client {
        self.speaker.read().client.clone()
    }

    /// The coding agent's session, once its hooks have recorded it.
    pub(super) fn coding_session(&self) -> Option<String> {
        let coding = self.speaker.read().coding.clone();
        coding?.session()
    }

    fn line(&self) -> Line<'_> {
        Line { client: self.client(), path: &self.path }
    }

    /// The headers, and for a request whose answer a model reads also the coding session.
    fn with_coding(&self, message: &Message, mut headers: Headers) -> Headers {
        let is_read = matches!(message.method.as_str(), "tools/call" | "resources/read" | "prompts/get");
        let session = if is_read { self.coding_session() } else { None };
        let session = session.and_then(|session| HeaderValue::try_from(session).ok());
        headers.extend(session.map(|session| (CODING_SESSION, session)));
        headers
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.under_way.lock()
    }

    /// Sends a line to the client. If nobody reads any more, the process is about to end.
    pub(super) async fn send(&self, line: String) {
        let _ended = self.out.send(line).await;
    }

    /// Records how to cancel a request without a session.
    pub(super) fn record_task(&self, message: &Message, task: AbortHandle) {
        if let (Some(id), Some(_)) = (&message.id, message.version_without_session()) {
            let mut under_way = self.under_way();
            under_way.retain(|_, task| !task.is_finished());
            under_way.insert(id.to_string(), task);
        }
    }

    /// Cancels a request without a session; returns whether it existed. Over HTTP this closes its connection.
    pub(super) fn cancels(&self, message: &Message) -> bool {
        let Some(id) = message.cancels() else { return false };
        match self.under_way().remove(&id.to_string()) {
            Some(task) => {
                task.abort();
                true
            }
            None => false,
        }
    }

    /// Whether a request is refused as unknown, so that a client with the channel falls back to `initialize`: such a client
    /// uses no channel of a server that works without `initialize`.
    pub(super) fn declines(&self, message: &Message) -> bool {
        self.channel && message.is_request() && message.method == "server/discover"
    }

    pub(super) async fn forward(&self, message: &Message) {
        let carried = match message.version_without_session() {
            Some(version) => {
                let headers = self.with_coding(message, message.headers(version));
                self.forward_alone(message, &headers).await
            }
            None if message.method == "initialize" => self.begin(message).await,
            None => self.forward_in_session(message).await,
        };
        if let Err(error) = carried
            && message.is_request()
        {
            let Speaker { client, absence, .. } = self.speaker.read().clone();
            let line = match absence {
                Some(absence) => message.unreachable(&absence),
                None => message.failed(&error, &client.base().to_string()),
            };
            self.send(line).await;
        }
    }

    /// Forwards a message without a session.
    async fn forward_alone(&self, message: &Message, headers: &Headers) -> Result<(), Error> {
        let line = self.line();
        let call = line.post(headers, &message.text, message.is_repeatable(), time_limit(message));
        match self.answer(message, headers, call).await? {
            Answer::Whole(reply) => {
                if let Some(line) = message.answer_line(&reply).filter(|_| message.is_request()) {
                    self.send(line).await;
                }
                Ok(())
            }
            Answer::Stream(messages) => self.relay(messages).await,
        }
    }

    /// Forwards the beginning of a session.
    async fn begin(&self, message: &Message) -> Result<(), Error> {
        self.session.record_initialize(message);
        let line = self.line();
        let call = line.post(&[], &message.text, true, time_limit(message));
        let (headers, answer) = match self.answer(message, &Headers::new(), call).await? {
            Answer::Whole(reply) => {
                let line = message.answer_line(&reply).unwrap_or_default();
                (reply.headers, line)
            }
            Answer::Stream(mut messages) => {
                let line = messages.next().await?.unwrap_or_default();
                (messages.headers, line)
            }
        };
        self.session.opened(headers.get(SESSION), &answer);
        self.send(if self.channel { offering(&answer) } else { answer }).await;
        Ok(())
    }

    async fn forward_in_session(&self, message: &Message) -> Result<(), Error> {
        self.session.record_message(message);
        // The task that renews the session sends this notification.
        if self.session.is_away() && message.method == "notifications/initialized" {
            return Ok(());
        }
        for _ in 0..RENEWALS_MAX {
            let (line, mut headers) = (self.line(), self.session.headers());
            let call = async {
                if self.session.is_away() {
                    let longest =
                        if message.has_equal_answers() { Duration::ZERO } else { RECONNECT_CALL_MAX };
                    self.session.renew(&line, &headers, longest).await.map_err(unsent)?;
                    headers = self.session.headers();
                }
                let sent = self.with_coding(message, headers.clone());
                line.post(&sent, &message.text, message.is_repeatable(), time_limit(message)).await
            };
            match self.answer(message, &self.session.headers(), call).await? {
                Answer::Whole(reply) if is_lost(&reply, &headers) => {
                    self.session.renew(&line, &headers, RECONNECT_CALL_MAX).await?;
                }
                Answer::Whole(reply) => {
                    if let Some(line) = message.answer_line(&reply).filter(|_| message.is_request()) {
                        self.send(line).await;
                    }
                    return Ok(());
                }
                Answer::Stream(messages) => return self.relay(messages).await,
            }
        }
        Err(Error::Unreadable("the server closed the new session at once".into()))
    }

    /// The server's answer; if it is late and all servers give an equal answer, the local one.
    async fn answer(
        &self,
        message: &Message,
        headers: &Headers,
        call: impl Future<Output = Result<Answer, Error>>,
    ) -> Result<Answer, Error> {
        if !message.has_equal_answers() {
            return call.await;
        }
        let answer = timeout(LOCAL_AFTER, call).await.ok();
        if answer.as_ref().is_none_or(is_down)
            && let Some(body) = self.local_answer(message, headers).await
        {
            let (status, headers) = (200, HeaderMap::new());
            return Ok(Answer::Whole(RawReply { status, headers, body: body.into() }));
        }
        answer.unwrap_or_else(|| Err(Error::Unreadable("the server did not answer in time".into())))
    }

    async fn local_answer(&self, message: &Message, headers: &Headers) -> Option<String> {
        let headers: Headers = headers.iter().filter(|(name, _)| *name != SESSION).cloned().collect();
        let local = self.local.get_or_init(self.local_answers);
        let answer = local.answer(&self.path, &headers, &message.text).await?;
        let mut answer: Value = serde_json::from_str(&answer).ok()?;
        let result = answer.get_mut("result").and_then(Value::as_object_mut);
        if let Some(result) = result {
            // The server may have another list.
            result.entry("ttlMs").and_modify(|ttl| *ttl = json!(0));
            let capabilities = result.get_mut("capabilities").filter(|_| message.method == "initialize");
            if let Some(tools) = capabilities.and_then(|members| members.get_mut("tools")) {
                tools["listChanged"] = json!(true);
            }
            if message.method == TOOLS_LIST && message.version_without_session().is_none() {
                *self.listed.lock() = result.get("tools").cloned();
            }
        }
        Some(answer.to_string())
    }

    /// Tells the client to list the tools again, if the server's list differs from the local one.
    async fn compare_tools(&self) {
        let Some(local) = self.listed.lock().take() else { return };
        let listed = self.session.request(&self.line(), TOOLS_LIST).await;
        if listed.is_ok_and(|listed| listed["result"]["tools"] == local) {
            return;
        }
        self.send(TOOLS_CHANGED.to_owned()).await;
    }

    async fn relay(&self, mut messages: Messages) -> Result<(), Error> {
        while let Some(line) = messages.next().await? {
            self.send(line).await;
        }
        Ok(())
    }

    /// Reads the server's own messages in the session, for as long as the client is connected.
    pub(super) async fn listen(self: Arc<Self>) {
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        loop {
            let headers = self.session.headers();
            if self.session.is_away() {
                let renewed = self.session.renew(&self.line(), &headers, Duration::ZERO).await;
                if renewed.is_err() || self.session.is_away() {
                    sleep(backoff.next_wait()).await;
                }
                continue;
            }
            match self.client().listen(&self.path, &headers).await {
                Ok(Answer::Stream(messages)) => {
                    backoff.reset();
                    self.compare_tools().await;
                    let _ended = self.relay(messages).await;
                }
                Ok(Answer::Whole(reply)) if is_lost(&reply, &headers) => {
                    let _renewed = self.session.renew(&self.line(), &headers, RECONNECT_CALL_MAX).await;
                }
                // The server sends no messages of its own.
                Ok(Answer::Whole(reply)) if reply.status == 405 => return,
                Ok(Answer::Whole(_)) | Err(_) => {}
            }
            sleep(backoff.next_wait()).await;
        }
    }

    /// Closes the session.
    pub(super) async fn end(&self) {
        if self.session.is_open() {
            let _closed = self.client().close_mcp_session(&self.path, &self.session.headers()).await;
        }
    }
}

/// The failure of a message that waits for its session: the server has not received it.
fn unsent(error: Error) -> Error {
    match error {
        Error::Network(mut fault) if matches!(fault.kind, FaultKind::Lost | FaultKind::TimedOut) => {
            fault.kind = FaultKind::Unreachable;
            Error::Network(fault)
        }
        Error::Network(_) | Error::Refused(_) | Error::Unreadable(_) | Error::Invalid(_) => error,
    }
}

/// The server's answer to `initialize`, with the channel among its capabilities.
fn offering(answer: &str) -> String {
    let Ok(mut message) = serde_json::from_str::<Value>(answer) else { return answer.to_owned() };
    if message["result"]["capabilities"].is_object() {
        message["result"]["capabilities"]["experimental"]["claude/channel"] = json!({});
    }
    message.to_string()
}
