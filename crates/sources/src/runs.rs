//! Runs that wait for input: requests to the people of the thread's opener; an answer resumes the run.
//! Must not know: how a run continues.

use plenary_kernel::{AskId, Version, form::Form};
use plenary_log::{Fault, StoredEvent};
use plenary_requests::{
    Allow, AnswerType, Content, Detail, Kind, MakeRequest, OnTimeout, Source,
    wire::{Action, RequestView, SourceView},
};
use plenary_runs::{
    ELICITATION,
    event::ThreadEvent,
    id::{RunId, ThreadId},
    state::RunStatus,
};
use serde_json::{Map, Value, json};

use crate::{Sources, later::Share, sources::line};

/// The id of the request for a run that waits since this event.
fn request_of(thread: ThreadId, since: Version) -> AskId {
    AskId::of_source(&format!("runs/{thread}/{}", since.0))
}

/// The input that a run waits for.
#[derive(Debug, Default)]
struct RunQuestion {
    /// The requested keys, each with a description.
    keys: Map<String, Value>,
    /// The message, the schema and the parsed form, if the agent sent a form.
    form: Option<(String, Map<String, Value>, Form)>,
}

fn read_question(event: &StoredEvent) -> Result<RunQuestion, Fault> {
    let ThreadEvent::EventEmitted(emitted) = ThreadEvent::decode(event)? else {
        return Ok(RunQuestion::default());
    };
    let members: Value = serde_json::from_slice(&emitted.members).unwrap_or_default();
    let keys = members["request_keys"].as_object().cloned().unwrap_or_default();
    // Without a valid form, the values are requested by their keys.
    let form = members["form"].as_object().and_then(|schema| {
        let message = members["message"].as_str()?;
        // A form with a value of that name is not usable: the value could not be distinguished from a refusal.
        let form = Form::read(schema).ok().filter(|form| !form.describe().contains_key(ELICITATION))?;
        Some((message.to_owned(), schema.clone(), form))
    });
    Ok(RunQuestion { keys, form })
}

impl Sources {
    /// A run was held, waits, continued or ended.
    pub(crate) async fn run_moved(&self, event: &StoredEvent) -> Result<Option<Share>, Fault> {
        let Ok(thread) = event.stream.id().parse::<ThreadId>() else { return Ok(None) };
        let moved = ThreadEvent::decode(event)?;
        let state = self.0.runs.thread(thread).await?;
        if let ThreadEvent::RunQueued(queued) = &moved {
            return self.run_held(thread, &state, queued).await;
        }
        if let ThreadEvent::QueuedRunCanceled(canceled) = &moved
            && canceled.held
        {
            self.held_run_over(thread, &state, canceled.run).await?;
        }
        // The run may wait for another question by now. The end of a run names no question, and neither did old
        // answers.
        let over = state.run(moved.run()).filter(|run| run.status != RunStatus::Waiting).map(|run| run.waits);
        let over = over.filter(|question| *question != Version::ZERO);
        for question in moved.ends_question().into_iter().chain(over) {
            self.0.requests.give_up(&request_of(thread, question)).await?;
        }
        let waits = self.0.runs.waits_for(&event.stream).await?;
        let Some((opener, since)) = waits else { return Ok(None) };
        let Some(waiting) = self.0.runs.waiting(&opener, &event.stream, since).await? else {
            return Ok(None);
        };
        let RunQuestion { keys, form } = read_question(&waiting.event)?;
        let text = form.as_ref().map_or(&waiting.text, |(message, ..)| message);
        let is_confirmation = form.as_ref().is_some_and(|(.., form)| form.is_empty());
        let allow = Allow {
            accept: is_confirmation,
            edit: !is_confirmation,
            respond: form.is_none() && keys.len() == 1,
            ignore: true,
        };
        let args = if form.is_some() { Map::new() } else { keys };
        let first_paragraph = text.split("\n\n").next().unwrap_or_default();
        let content = Content {
            title: line(&format!("{} waits for input: {first_paragraph}", waiting.agent)),
            on_behalf_of: None,
            action: Some(Action { name: line(&waiting.agent), args }),
            detail: Some(Detail { text: Some(text.clone()), ..Detail::default() }),
            source: Some(SourceView {
                room: "runs".into(),
                id: format!("{thread}/{}", waiting.run),
                url: Some(line(&format!("/agent/{}/runs/{}", waiting.agent, waiting.run))),
            }),
            directory: None,
            choices: Vec::new(),
            form: form.map(|(_, schema, _)| schema.into()).filter(|_| !is_confirmation),
        };
        let command = MakeRequest {
            source: Source::Server,
            agent: opener,
            stranger: None,
            kind: Kind::RunInput,
            to: None,
            allow,
            deadline: None,
            on_timeout: OnTimeout::None,
            tool: None,
            directory: None,
            notifies_inbox: false,
            content: json!(content).to_string().into(),
        };
        self.ask(&request_of(thread, since), command).await
    }

    /// Resumes the run with the answer.
    pub(crate) async fn answer_run(&self, request: &RequestView) -> Result<(), Fault> {
        let Some((thread, run)) = request.source.as_ref().and_then(|source| source.id.split_once('/')) else {
            return Ok(());
        };
        let (Ok(thread), Ok(run)) = (thread.parse::<ThreadId>(), run.parse::<RunId>()) else { return Ok(()) };
        let Some(answer) = &request.answer else { return Ok(()) };
        let arguments = request.action.as_ref().map(|action| &action.args);
        let answer_keys =
            |answer_keys: &str| Map::from_iter([(ELICITATION.to_owned(), Value::from(answer_keys))]);
        let keys = match answer.answer {
            AnswerType::Edit => answer.args.clone(),
            AnswerType::Accept => Some(answer_keys("accept")),
            AnswerType::Ignore if request.form.is_some() || request.allow.accept => {
                Some(answer_keys("decline"))
            }
            AnswerType::Respond => answer
                .text
                .as_ref()
                .zip(arguments.and_then(|arguments| arguments.keys().next()))
                .map(|(text, key)| Map::from_iter([(key.clone(), Value::from(text.as_str()))])),
            AnswerType::Ignore => None,
        };
        let Some(keys) = keys else { return Ok(()) };
        let body = json!({"type": "ResumeWithInput", "run_id": run.to_string(), "request_keys": keys});
        let is_question = |question| request_of(thread, question) == request.request_id;
        self.0.runs.resume_for_person((thread, run), is_question, body.to_string().into()).await
    }
}
