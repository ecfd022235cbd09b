//! Runs that wait for input: asked of the people of whoever opened the thread, and answered into the run.
//! Must not know: how a run goes on.

use plenary_kernel::{AskId, Version};
use plenary_log::{Fault, StoredEvent};
use plenary_requests::{
    Allow, AnswerType, Content, Detail, Kind, MakeRequest, OnTimeout, Source,
    wire::{Action, RequestView, SourceView},
};
use plenary_runs::{
    event::ThreadEvent,
    id::{RunId, ThreadId},
    state::RunStatus,
};
use serde_json::{Map, Value, json};

use crate::{Sources, later::Share, sources::line};

/// The request of a run that waits since an event.
fn request_of(thread: ThreadId, since: Version) -> AskId {
    AskId::of_source(&format!("runs/{thread}/{}", since.0))
}

/// What a run that waits asks for, by name.
fn keys(event: &StoredEvent) -> Result<Map<String, Value>, Fault> {
    let ThreadEvent::EventEmitted(emitted) = ThreadEvent::decode(event)? else { return Ok(Map::new()) };
    let members: Value = serde_json::from_slice(&emitted.members).unwrap_or_default();
    Ok(members.get("request_keys").and_then(Value::as_object).cloned().unwrap_or_default())
}

impl Sources {
    /// A run waits, goes on or is over.
    pub(crate) async fn run_moved(&self, event: &StoredEvent) -> Result<Option<Share>, Fault> {
        let Ok(thread) = event.stream.id().parse::<ThreadId>() else { return Ok(None) };
        let state = self.0.runs.thread(thread).await?;
        for run in state.runs.iter().filter(|run| run.waits != Version::ZERO) {
            if run.status != RunStatus::Waiting {
                self.0.requests.give_up(&request_of(thread, run.waits)).await?;
            }
        }
        let waits = self.0.runs.waits_for(&event.stream).await?;
        let Some((opener, since)) = waits else { return Ok(None) };
        let Some(waiting) = self.0.runs.waiting(&opener, &event.stream, since).await? else {
            return Ok(None);
        };
        let asked = keys(&waiting.event)?;
        let content = Content {
            title: line(&format!("{} waits for input: {}", waiting.agent, waiting.text)),
            on_behalf_of: None,
            action: Some(Action { name: line(&waiting.agent), args: asked.clone() }),
            detail: Some(Detail { text: Some(waiting.text.clone()), ..Detail::default() }),
            source: Some(SourceView {
                room: "runs".into(),
                id: format!("{thread}/{}", waiting.run),
                url: Some(line(&format!("/agent/{}/get_run?run_id={}", waiting.agent, waiting.run))),
            }),
            directory: None,
            choices: Vec::new(),
        };
        let command = MakeRequest {
            source: Source::Server,
            agent: opener,
            stranger: None,
            kind: Kind::RunInput,
            to: None,
            allow: Allow { accept: false, edit: true, respond: asked.len() == 1, ignore: true },
            deadline: None,
            on_timeout: OnTimeout::None,
            tool: None,
            directory: None,
            told: false,
            content: json!(content).to_string().into(),
        };
        self.ask(&request_of(thread, since), command).await
    }

    /// The answer goes into the run.
    pub(crate) async fn answer_run(&self, request: &RequestView) -> Result<(), Fault> {
        let Some((thread, run)) = request.source.as_ref().and_then(|source| source.id.split_once('/')) else {
            return Ok(());
        };
        let (Ok(thread), Ok(run)) = (thread.parse::<ThreadId>(), run.parse::<RunId>()) else { return Ok(()) };
        let Some(answer) = &request.answer else { return Ok(()) };
        let asked = request.action.as_ref().map(|action| &action.args);
        let keys = match answer.answer {
            AnswerType::Edit => answer.args.clone(),
            AnswerType::Respond => answer
                .text
                .as_ref()
                .zip(asked.and_then(|asked| asked.keys().next()))
                .map(|(text, key)| Map::from_iter([(key.clone(), Value::from(text.as_str()))])),
            AnswerType::Accept | AnswerType::Ignore => None,
        };
        let Some(keys) = keys else { return Ok(()) };
        let body = json!({"type": "ResumeWithInput", "run_id": run.to_string(), "request_keys": keys});
        self.0.runs.resume_for_person(thread, run, body.to_string().into()).await
    }
}
