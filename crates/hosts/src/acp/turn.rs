//! One prompt, from the caller's text to the stop reason.
//! Must not know: processes, except for stopping an unresponsive one.

use std::{collections::VecDeque, future::pending, pin::Pin};

use plenary_runs::{EmitError, Event, Input, Output, RunEnd, RunSignal};
use serde_json::{Map, Value, json};

use super::{
    content::{self, Piece},
    link::Link,
    question::{AgentQuestion, Question},
    tools::Tools,
    wire::{CANCEL_REQUEST, Message, text_block},
};

/// Longest text in one event, in bytes; a longer one is split.
pub(super) const TEXT_BYTES_MAX: usize = 128 << 10;
/// Most pending questions of the agent; more are answered with `cancelled`.
const QUESTIONS_MAX: usize = 16;

/// How a turn ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    /// The session can be used again.
    Ended(RunEnd),
    /// The session cannot be used again.
    Lost(RunEnd),
    /// The program has ended.
    Gone,
}

/// Why a turn ended without an answer.
#[derive(Debug)]
enum TurnCut {
    /// The log accepts no more events.
    Over,
    /// Messages can no longer be sent to the program.
    InputClosed(String),
}

impl From<String> for TurnCut {
    fn from(error: String) -> Self {
        Self::InputClosed(error)
    }
}

/// An active turn.
pub(super) struct Turn<'a> {
    link: &'a mut Link,
    output: Output,
    /// Received text that is not emitted yet.
    text: String,
    tools: Tools,
    /// The caller has been asked the first one.
    questions: VecDeque<Question>,
    is_canceled: bool,
}

impl<'a> Turn<'a> {
    pub(super) fn new(link: &'a mut Link, output: Output) -> Self {
        let (tools, questions) = (Tools::default(), VecDeque::new());
        Self { link, output, text: String::new(), tools, questions, is_canceled: false }
    }

    pub(super) async fn carry_out(&mut self, text: &str, input: &mut Input) -> TurnEnd {
        match self.follow(text, input).await {
            Ok(end) => end,
            Err(TurnCut::Over) => TurnEnd::Lost(RunEnd::canceled()),
            Err(TurnCut::InputClosed(error)) => TurnEnd::Lost(RunEnd::error(error)),
        }
    }

    async fn follow(&mut self, text: &str, input: &mut Input) -> Result<TurnEnd, TurnCut> {
        let prompt = Map::from_iter([("prompt".to_owned(), json!([text_block(text)]))]);
        let prompt = self.link.ask("session/prompt", &self.link.of_session(prompt))?;
        let group = self.link.group();
        let mut stopping: Option<Pin<Box<dyn Future<Output = ()> + Send>>> = None;
        loop {
            let message = tokio::select! {
                biased;
                signal = input.wait(), if !self.is_canceled => {
                    match signal {
                        RunSignal::Resume(answer) => self.take_answer(&answer).await?,
                        RunSignal::Cancel => {
                            self.cancel()?;
                            let group = group.clone();
                            stopping = Some(Box::pin(async move { group.stop().await }));
                        }
                    }
                    continue;
                }
                () = async { match &mut stopping { Some(stop) => stop.await, None => pending().await } } => {
                    self.flush_text().await?;
                    return Ok(TurnEnd::Lost(RunEnd::canceled()));
                }
                message = self.link.next() => message,
            };
            match message {
                Some(Message::Answer { id, result }) if id == prompt => {
                    self.flush_text().await?;
                    return Ok(TurnEnd::Ended(end_of(result)));
                }
                Some(Message::Notice { method, params })
                    if method == "session/update" && self.link.is_of_session(&params) =>
                {
                    self.update(&params["update"]).await?;
                }
                Some(Message::Notice { method, params }) if method == CANCEL_REQUEST => {
                    self.withdraw(&params["requestId"]).await?;
                }
                Some(Message::Request { id, method, params }) => {
                    match AgentQuestion::read(&method, &params, &self.tools) {
                        Some(Ok(question)) if self.link.is_of_session(&params) => {
                            self.question(Question { id, question }).await?;
                        }
                        Some(Ok(question)) => self.link.answer(&id, &question.cancelled())?,
                        Some(Err(error)) => self.link.refuse_params(&id, &error)?,
                        None => self.link.refuse(&id)?,
                    }
                }
                Some(Message::Answer { .. } | Message::Notice { .. }) => {}
                None => {
                    self.flush_text().await?;
                    return Ok(TurnEnd::Gone);
                }
            }
        }
    }

    async fn update(&mut self, update: &Value) -> Result<(), TurnCut> {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => match content::piece(&update["content"]) {
                Some(Piece::Text(text)) => {
                    self.output.emit_delta(&text);
                    self.text.push_str(&text);
                    if self.text.len() >= TEXT_BYTES_MAX { self.flush_text().await } else { Ok(()) }
                }
                Some(Piece::Document(event)) => {
                    self.flush_text().await?;
                    self.emit(event).await
                }
                None => Ok(()),
            },
            Some("tool_call" | "tool_call_update") => {
                self.flush_text().await?;
                for event in self.tools.update(update) {
                    self.emit(event).await?;
                }
                Ok(())
            }
            // Thoughts, plans, modes, and updates of later versions.
            _ => Ok(()),
        }
    }

    /// Emits the received text.
    async fn flush_text(&mut self) -> Result<(), TurnCut> {
        let text = std::mem::take(&mut self.text);
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, remainder) = rest.split_at(rest.floor_char_boundary(TEXT_BYTES_MAX));
            rest = remainder;
            self.emit(Event::text(piece)).await?;
        }
        Ok(())
    }

    async fn emit(&mut self, event: Event) -> Result<(), TurnCut> {
        match self.output.emit(event).await {
            Ok(()) => Ok(()),
            Err(EmitError::Over) => Err(TurnCut::Over),
            Err(fault @ EmitError::TooLarge) => {
                tracing::warn!(%fault, "a report of a coding agent is ignored");
                Ok(())
            }
        }
    }

    async fn question(&mut self, question: Question) -> Result<(), TurnCut> {
        if self.is_canceled || self.questions.len() >= QUESTIONS_MAX {
            return Ok(self.link.answer(&question.id, &question.question.cancelled())?);
        }
        self.questions.push_back(question);
        if self.questions.len() == 1 { self.ask().await } else { Ok(()) }
    }

    /// Asks the caller the first question, if there is one. A question too large for an event is answered as cancelled:
    /// nobody can see it.
    async fn ask(&mut self) -> Result<(), TurnCut> {
        self.flush_text().await?;
        while let Some(question) = self.questions.front() {
            match self.output.emit(question.question.event()).await {
                Ok(()) => break,
                Err(EmitError::Over) => return Err(TurnCut::Over),
                Err(fault @ EmitError::TooLarge) => {
                    tracing::warn!(%fault, "a question of a coding agent is refused");
                    self.link.answer(&question.id, &question.question.cancelled())?;
                    self.questions.pop_front();
                }
            }
        }
        Ok(())
    }

    /// An answer that does not match the question grants nothing; the question is repeated.
    async fn take_answer(&mut self, answer: &Map<String, Value>) -> Result<(), TurnCut> {
        if let Some(question) = self.questions.front()
            && let Some(outcome) = question.question.outcome(answer)
        {
            self.link.answer(&question.id, &outcome)?;
            self.questions.pop_front();
        }
        self.ask().await
    }

    /// The agent takes a question back. The run waits no longer than until its next question or its end.
    async fn withdraw(&mut self, id: &Value) -> Result<(), TurnCut> {
        let Some(index) = self.questions.iter().position(|question| question.id == *id) else {
            return Ok(());
        };
        self.questions.remove(index);
        self.link.refuse_canceled(id)?;
        if index > 0 {
            return Ok(());
        }
        self.flush_text().await?;
        self.emit(Event::tool_text("The agent has withdrawn its question.")).await?;
        self.ask().await
    }

    fn cancel(&mut self) -> Result<(), TurnCut> {
        self.is_canceled = true;
        self.link.notify("session/cancel", &self.link.of_session(Map::new()))?;
        for question in self.questions.drain(..) {
            self.link.answer(&question.id, &question.question.cancelled())?;
        }
        Ok(())
    }
}

/// The end of a run for the response to a prompt.
fn end_of(result: Result<Value, String>) -> RunEnd {
    match result {
        Err(error) => RunEnd::error(error),
        Ok(answer) => match answer["stopReason"].as_str() {
            Some("end_turn") => RunEnd::success(),
            Some("cancelled") => RunEnd::canceled(),
            Some("refusal") => RunEnd::error("the agent refused"),
            Some("max_tokens") => RunEnd::error("the agent reached its maximum number of tokens"),
            Some("max_turn_requests") => {
                RunEnd::error("the agent reached its maximum number of requests in one turn")
            }
            Some(other) => {
                RunEnd::error(format!("the agent stopped with a reason of another version: {other}"))
            }
            None => RunEnd::error("the agent stopped without a reason"),
        },
    }
}
