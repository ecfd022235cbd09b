//! Held runs: an agent's owner wants people to decide about runs that others request. An accepted run starts; an
//! ignored or unanswered one is canceled.
//! Must not know: why a run is held.

use plenary_accounts::Actor;
use plenary_kernel::{AskId, TimestampMs, Version};
use plenary_log::Fault;
use plenary_requests::{
    Allow, AnswerType, CONTENT_BYTES_MAX, Content, Detail, Kind, MakeRequest, OnTimeout, Source,
    wire::{RequestView, SourceView},
};
use plenary_runs::{
    event::RunQueued,
    id::{RunId, ThreadId},
    state::ThreadState,
};
use serde_json::{Value, json};

use crate::{HOLD_MS, Sources, later::Share, sources::line};

/// The longest part of a run's input in a request; the whole input is in the run.
const INPUT_CHARS_MAX: usize = CONTENT_BYTES_MAX / 8;

/// The id of the request for a held run, from the version of its `RunQueued`.
fn request_of(thread: ThreadId, queued: Version) -> AskId {
    AskId::of_source(&format!("runs/{thread}/{}", queued.0))
}

/// The input of the run, as text.
fn input(request: &[u8]) -> String {
    let request: Value = serde_json::from_slice(request).unwrap_or_default();
    let value = request.get("input").or_else(|| request.get("args")).unwrap_or(&request);
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| serde_json::to_string_pretty(value).unwrap_or_default())
}

impl Sources {
    /// A requested run is held.
    pub(crate) async fn run_held(
        &self,
        thread: ThreadId,
        state: &ThreadState,
        queued: &RunQueued,
    ) -> Result<Option<Share>, Fault> {
        let Some(run) = state.run(queued.run).filter(|run| run.held) else { return Ok(None) };
        let agent = state.opened.as_ref().and_then(|opened| self.0.runs.agents().get(&opened.agent));
        // Nobody can decide about an agent that no longer exists.
        let Some(agent) = agent else { return Ok(None) };
        let sender = queued.trace.as_ref().and_then(|trace| trace.sender.clone());
        let asker = match &queued.by {
            Actor::Agent(by) if *by != agent.handle => Some(by.clone()),
            Actor::Agent(_) => sender,
            Actor::Operator | Actor::Owner(_) | Actor::Seed => None,
        };
        let stranger = queued.payer.clone().or_else(|| queued.by.owner());
        let asker_name = asker.as_ref().map_or_else(|| queued.by.to_string(), ToString::to_string);
        let text: String = input(&queued.request).chars().take(INPUT_CHARS_MAX).collect();
        let content = Content {
            title: line(&format!("{asker_name} asks {} for a run: {text}", agent.handle)),
            on_behalf_of: asker,
            action: None,
            detail: Some(Detail { text: Some(text), ..Detail::default() }),
            source: Some(SourceView {
                room: "runs".into(),
                id: format!("{thread}/{}", run.id),
                url: Some(line(&format!("/agent/{}/runs/{}", agent.name(), run.id))),
            }),
            directory: None,
            choices: Vec::new(),
            form: None,
        };
        let command = MakeRequest {
            source: Source::Server,
            agent: agent.handle.clone(),
            stranger,
            kind: Kind::Hold,
            to: None,
            allow: Allow { accept: true, edit: false, respond: false, ignore: true },
            deadline: Some(TimestampMs(self.0.requests.now().0.saturating_add(HOLD_MS))),
            on_timeout: OnTimeout::Ignore,
            tool: None,
            directory: None,
            notifies_inbox: false,
            content: json!(content).to_string().into(),
        };
        self.ask(&request_of(thread, run.queued), command).await
    }

    /// Withdraws the request for a held run that is over.
    pub(crate) async fn held_run_over(
        &self,
        thread: ThreadId,
        state: &ThreadState,
        run: RunId,
    ) -> Result<(), Fault> {
        let Some(run) = state.run(run) else { return Ok(()) };
        self.0.requests.give_up(&request_of(thread, run.queued)).await?;
        Ok(())
    }

    /// Applies the answer: an accepted run starts, an ignored one is canceled.
    pub(crate) async fn answer_hold(&self, request: &RequestView) -> Result<(), Fault> {
        let Some((thread, run)) = request.source.as_ref().and_then(|source| source.id.split_once('/')) else {
            return Ok(());
        };
        let (Ok(thread), Ok(run)) = (thread.parse::<ThreadId>(), run.parse::<RunId>()) else { return Ok(()) };
        let Some(answer) = &request.answer else { return Ok(()) };
        self.0.runs.settle_held(thread, run, answer.answer == AnswerType::Accept).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_of_a_run_is_shown_as_text() {
        assert_eq!(input(br#"{"type":"ChatRequest","input":"Deploy it"}"#), "Deploy it");
        assert_eq!(input(br#"{"args":["a"]}"#), "[\n  \"a\"\n]");
    }
}
