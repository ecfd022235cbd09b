//! A session of the editor as a thread of an agent that the server runs: a prompt is a run, or the answer to a
//! waiting one.
//! Must not know: lines, or the open sessions.

use std::{future::pending, sync::Arc, time::Duration};

use plenary_client::{
    Error, IdempotencyKey, Signal, StreamOptions,
    runs::{Chat, EventBody, FinishReason, RunEvent, RunOrThread, RunReport, RunStatus, RunStream},
};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    asker::{AgentCaller, is_missing},
    editor::{Editor, EditorRequest},
    fault::Fault,
    question::{Question, Reply},
    sessions::Session,
    unread::{LastRead, unread},
    updates::{EditorView, agent_text, call_id, user_text},
};

/// How long a run may take to end after a cancellation; the server gives it eight seconds.
const CANCEL_MAX: Duration = Duration::from_secs(10);
/// The largest document that is shown whole; for a larger one the editor gets the URL.
const DOCUMENT_BYTES_MAX: usize = 64 << 10;

/// Why a turn ended, in the protocol's terms.
pub(super) type StopReason = &'static str;
pub(super) const END_TURN: StopReason = "end_turn";
pub(super) const CANCELLED: StopReason = "cancelled";

/// A session and its participants.
pub(super) struct ThreadSession {
    pub(super) asker: Arc<AgentCaller>,
    pub(super) editor: Arc<Editor>,
    pub(super) session: Arc<Session>,
}

/// A question that the editor is showing.
struct OpenQuestion {
    question: Question,
    is_form: bool,
    request: EditorRequest,
}

/// The run being followed.
struct FollowedRun<'a> {
    session: &'a ThreadSession,
    run: String,
    cancel: &'a CancellationToken,
    view: EditorView,
    open_question: Option<OpenQuestion>,
    /// The deadline of a run that was asked to stop.
    stop: Option<Instant>,
}

impl ThreadSession {
    /// Sends a prompt to the agent, and shows what the agent does.
    pub(super) async fn prompt(&self, text: &str, cancel: &CancellationToken) -> Result<StopReason, Fault> {
        let question = self.session.question.lock().take();
        let (run, after) = match question {
            None => (self.start(text).await?, None),
            Some(mut question) => {
                let unanswered = question.clone();
                let Some(answers) = question.answer_with(text) else {
                    self.send(&agent_text(&question.text())).await;
                    *self.session.question.lock() = Some(question);
                    return Ok(END_TURN);
                };
                match self.resume(&question, &answers).await {
                    Ok(true) => {}
                    Ok(false) => {
                        let text = "This was answered elsewhere, and the run has gone on.\n\n";
                        self.send(&agent_text(text)).await;
                    }
                    Err(fault) => {
                        *self.session.question.lock() = Some(unanswered);
                        return Err(fault);
                    }
                }
                (question.run, Some(question.event))
            }
        };
        self.follow(run, after, cancel).await
    }

    async fn start(&self, text: &str) -> Result<String, Fault> {
        let asker = &self.asker;
        let is_of_same_owner = asker.is_of_same_owner().await;
        // The directory may contain a user's name, so agents of other owners do not get it.
        let metadata = json!({"cwd": self.session.cwd()}).as_object().cloned();
        let metadata = metadata.filter(|_| is_of_same_owner);
        let chat = Chat {
            input: text.to_owned(),
            thread_id: Some(self.session.id.clone()),
            if_not_exists: Some("create"),
            request_metadata: metadata,
        };
        let key = IdempotencyKey::random();
        Ok(asker.call(|| asker.client.start_run(asker.name(), &chat, &key)).await?.run_id)
    }

    /// Answers this question of a run, and no later one; false if the run no longer waits for it. The events that follow
    /// show the effect.
    async fn resume(&self, question: &Question, answers: &Map<String, Value>) -> Result<bool, Fault> {
        let (asker, event) = (&self.asker, Some(question.event));
        match asker.call(|| asker.client.resume_run(asker.name(), &question.run, event, answers)).await {
            Err(Error::Refused(refused)) if refused.status == 409 => Ok(false),
            reply => Ok(reply.map(|_| true)?),
        }
    }

    async fn send(&self, update: &Value) {
        self.editor.update(&self.session.id, update).await;
    }

    async fn follow(
        &self,
        run: String,
        after: Option<u64>,
        cancel: &CancellationToken,
    ) -> Result<StopReason, Fault> {
        let options = StreamOptions { wait_for_server: true, ..StreamOptions::default() };
        let mut stream = self.asker.client.follow_run(self.asker.name(), &run, after, options);
        let mut followed = FollowedRun {
            session: self,
            run,
            cancel,
            view: EditorView::default(),
            open_question: None,
            stop: None,
        };
        let ended = tokio::select! {
            ended = followed.follow(&mut stream) => ended,
            () = self.session.replaced.cancelled() => Ok(CANCELLED),
        };
        followed.withdraw().await;
        ended
    }

    /// Reads the thread from its beginning, and shows it. Follows the run in progress.
    pub(super) async fn load(&self, is_shown: bool) -> Result<(), Fault> {
        let (asker, id) = (&self.asker, &self.session.id);
        let (mut view, mut since, mut last) = (EditorView::default(), None, None);
        loop {
            let read = || asker.client.run_events(asker.name(), RunOrThread::Thread(id), since.as_deref());
            let page = match asker.call(read).await {
                Err(error) if is_missing(&error) => return Err(Fault::no_session(id)),
                page => page?,
            };
            for event in &page.events {
                if is_shown {
                    self.replay(event, &mut view).await?;
                }
                last = Some(LastRead::new(event));
            }
            since = page.next;
            if since.is_none() {
                break;
            }
        }
        self.read_on(self.unread_runs(last.as_ref()).await?, is_shown);
        Ok(())
    }

    /// The runs of the thread that were not read to their end, oldest first, each with the last event that was read. A run
    /// that is queued has no events yet, so that only the list of threads names it.
    async fn unread_runs(&self, last: Option<&LastRead>) -> Result<Vec<(RunReport, Option<u64>)>, Fault> {
        let (asker, id) = (&self.asker, &self.session.id);
        let page = asker.call(|| asker.client.threads(asker.name(), None, None)).await?;
        let thread = page.reply.value.into_iter().find(|thread| thread.thread_id == *id);
        let runs = thread.map(|thread| thread.runs).unwrap_or_default();
        let mut reports = Vec::new();
        for (run, after) in unread(&runs, last) {
            reports.push((asker.call(|| asker.client.run_report(asker.name(), &run)).await?.value, after));
        }
        Ok(reports)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other events change nothing")]
    async fn replay(&self, event: &RunEvent, view: &mut EditorView) -> Result<(), Fault> {
        let asker = &self.asker;
        match &event.body {
            EventBody::RunStarted => {
                let report = asker.call(|| asker.client.run_report(asker.name(), &event.run_id)).await?;
                if let Some(text) = report.request["input"].as_str() {
                    self.send(&user_text(text)).await;
                }
                *view = EditorView::default();
            }
            EventBody::WaitForInput { .. } => {
                self.send(&agent_text(&question(event).text())).await;
            }
            _ => self.show(event, view).await,
        }
        if let EventBody::RunCompleted { error: Some(error), .. } = &event.body {
            self.send(&agent_text(&format!("The run failed: {error}"))).await;
        }
        Ok(())
    }

    /// Follows these runs, each after its last event that was read, one after the other, up to a question.
    fn read_on(&self, runs: Vec<(RunReport, Option<u64>)>, is_shown: bool) {
        if let Some((report, after)) = runs.first()
            && report.status == RunStatus::Waiting
            && *after >= report.event_id
        {
            let position = (report.run_id.as_str(), report.event_id.unwrap_or(report.last_event_id));
            let members = json!({"request_keys": report.request_keys, "options": report.options,
                "form": report.form, "message": report.message});
            *self.session.question.lock() = Some(Question::new(position, &members));
            return;
        }
        let (asker, editor) = (self.asker.clone(), self.editor.clone());
        let followed = Self { asker, editor, session: self.session.clone() };
        tokio::spawn(async move {
            let cancel = followed.session.background.clone();
            for (report, after) in runs {
                // The replay has shown the prompts of the runs of which it has read something.
                let prompt = report.request["input"].as_str().filter(|_| after.is_none() && is_shown);
                if let Some(prompt) = prompt {
                    followed.send(&user_text(prompt)).await;
                }
                if let Err(fault) = followed.follow(report.run_id, after, &cancel).await {
                    followed.send(&agent_text(&fault.text)).await;
                }
                let is_over = cancel.is_cancelled() || followed.session.replaced.is_cancelled();
                if is_over || followed.session.question.lock().is_some() {
                    return;
                }
            }
        });
    }

    async fn show(&self, event: &RunEvent, view: &mut EditorView) {
        for update in view.event(event) {
            self.send(&update).await;
        }
        if let EventBody::ArtifactGenerated { name, mime_type, url, artifact_id } = &event.body {
            let server =
                if url.starts_with('/') { self.asker.client.base().to_string() } else { String::new() };
            let link = json!({"type": "resource_link", "name": name, "mimeType": mime_type,
                "uri": format!("{server}{url}")});
            let content = self.document(artifact_id.as_deref(), &link).await.unwrap_or(link);
            self.send(&json!({"sessionUpdate": "agent_message_chunk", "content": content})).await;
        }
    }

    /// The whole of a short text document: an editor has no token to fetch it with.
    async fn document(&self, id: Option<&str>, link: &Value) -> Option<Value> {
        let mime_type = link["mimeType"].as_str()?;
        if !mime_type.starts_with("text/") && !mime_type.starts_with("application/json") {
            return None;
        }
        let artifact = self.asker.client.artifact(id?).await.ok()?;
        let text = std::str::from_utf8(&artifact.content).ok()?;
        let resource = json!({"uri": link["uri"], "mimeType": mime_type, "text": text});
        (text.len() <= DOCUMENT_BYTES_MAX).then(|| json!({"type": "resource", "resource": resource}))
    }
}

impl FollowedRun<'_> {
    /// Shows the run's events until it ends or asks a question that the next prompt answers.
    async fn follow(&mut self, stream: &mut RunStream) -> Result<StopReason, Fault> {
        loop {
            let signal = tokio::select! {
                biased;
                () = self.cancel.cancelled(), if self.stop.is_none() => {
                    self.cancel().await;
                    continue;
                }
                () = until(self.stop) => return Ok(CANCELLED),
                reply = replied(&mut self.open_question) => {
                    if let Some(reason) = self.replied(reply).await? {
                        return Ok(reason);
                    }
                    continue;
                }
                signal = stream.next() => signal?,
            };
            match signal {
                None => return Ok(END_TURN),
                Some(Signal::Opened | Signal::Keepalive) => {}
                Some(Signal::Lost { .. }) => self.view.mark_broken(),
                Some(Signal::Unreadable(error)) => return Err(error.into()),
                Some(Signal::Event(event)) => {
                    if let Some(reason) = self.event(&event).await? {
                        return Ok(reason);
                    }
                }
            }
        }
    }

    /// Handles an event; returns the reason if the event ends the turn.
    #[expect(clippy::wildcard_enum_match_arm, reason = "other events are not shown")]
    async fn event(&mut self, event: &RunEvent) -> Result<Option<StopReason>, Fault> {
        if event.id.is_some() && !self.still_waits().await {
            // Somebody else answered the question, or the run is over.
            self.withdraw().await;
        }
        self.session.show(event, &mut self.view).await;
        match &event.body {
            EventBody::WaitForInput { .. } if self.stop.is_none() => {
                Ok(self.show_question(question(event), &call_id(event)).await)
            }
            EventBody::RunCompleted { finish_reason, error, .. } => match finish_reason {
                FinishReason::Canceled => Ok(Some(CANCELLED)),
                _ if self.stop.is_some() => Ok(Some(CANCELLED)),
                FinishReason::Success => Ok(Some(END_TURN)),
                FinishReason::Error => {
                    Err(Fault::internal(error.clone().unwrap_or_else(|| "the run failed".to_owned())))
                }
            },
            _ => Ok(None),
        }
    }

    /// Whether the run still waits for the question that the editor shows. Other events may arrive in the meantime.
    async fn still_waits(&self) -> bool {
        let Some(OpenQuestion { question, .. }) = &self.open_question else { return false };
        let asker = &self.session.asker;
        let report = asker.call(|| asker.client.run_report(asker.name(), &question.run)).await;
        report.is_ok_and(|report| report.value.event_id == Some(question.event))
    }

    async fn show_question(&mut self, question: Question, call: &str) -> Option<StopReason> {
        let (editor, id) = (&self.session.editor, &self.session.session.id);
        let (is_form, request) = if let Some(params) = question.permission(id, call) {
            (false, editor.request("session/request_permission", &params).await)
        } else if editor.has_forms() {
            (true, editor.request("elicitation/create", &question.form(id)).await)
        } else {
            return Some(self.defer(question).await);
        };
        self.open_question = Some(OpenQuestion { question, is_form, request });
        None
    }

    /// Defers the question: the next prompt answers it.
    async fn defer(&self, question: Question) -> StopReason {
        self.session.send(&agent_text(&question.text())).await;
        *self.session.session.question.lock() = Some(question);
        END_TURN
    }

    async fn replied(&mut self, reply: Result<Value, String>) -> Result<Option<StopReason>, Fault> {
        let Some(OpenQuestion { question, is_form, .. }) = self.open_question.take() else { return Ok(None) };
        let reply = match reply {
            Err(_) => Reply::Later,
            Ok(reply) if is_form => question.filled(&reply),
            Ok(reply) => question.permitted(&reply),
        };
        match reply {
            Reply::Answers(answers) => {
                if let Err(fault) = self.session.resume(&question, &answers).await {
                    *self.session.session.question.lock() = Some(question);
                    return Err(fault);
                }
            }
            Reply::Canceled => self.cancel.cancel(),
            Reply::Later => return Ok(Some(self.defer(question).await)),
        }
        Ok(None)
    }

    /// Withdraws the question that the editor is showing.
    async fn withdraw(&mut self) {
        if let Some(open) = self.open_question.take() {
            self.session.editor.withdraw(open.request).await;
        }
    }

    /// Cancels the run. The turn ends whether that succeeds or not.
    async fn cancel(&mut self) {
        self.stop = Some(Instant::now() + CANCEL_MAX);
        self.withdraw().await;
        let asker = &self.session.asker;
        let request = asker.call(|| asker.client.cancel_run(asker.name(), &self.run));
        let _over_or_away = timeout(CANCEL_MAX, request).await;
    }
}

/// The question of a WaitForInput event.
fn question(event: &RunEvent) -> Question {
    let members: Value = serde_json::from_str(event.json()).unwrap_or_default();
    Question::new((&event.run_id, event.id.unwrap_or_default()), &members)
}

async fn until(stop: Option<Instant>) {
    match stop {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}

async fn replied(open_question: &mut Option<OpenQuestion>) -> Result<Value, String> {
    match open_question {
        Some(open) => open.request.answer().await,
        None => pending().await,
    }
}
