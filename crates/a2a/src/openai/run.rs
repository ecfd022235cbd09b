//! A run as a stream of text: its output and its end.
//! Must not know: the response formats.

use std::collections::VecDeque;

use axum::body::BodyDataStream;
use futures_util::StreamExt as _;
use http::Method;
use plenary_outward::sse::{Item, Parser, SseEvent};
use serde_json::{Value, json};

use super::{OpenAiError, id::ResponseId};
use crate::{
    limits::{ANSWER_TEXT_BYTES_MAX, EVENT_BYTES_MAX},
    repeats::is_replayed,
    rooms::{RoomClient, RoomRefusal, encoded},
};

/// A piece of a run's output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// A keepalive.
    Alive,
}

/// The end of a run, for this request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Success,
    /// The run asks a question, which was emitted as text.
    Waits,
    Canceled,
    Failed(String),
}

impl End {
    /// The error, if there is no answer.
    pub(super) fn trouble(&self) -> Option<&str> {
        match self {
            Self::Success | Self::Waits => None,
            Self::Canceled => Some("The run was canceled."),
            Self::Failed(why) => Some(why),
        }
    }
}

/// The tokens, as far as the agent reported them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
}

/// A live run.
pub(super) struct RunOutput {
    rooms: RoomClient,
    model: String,
    pub(super) run: String,
    /// Whether the request is a repeated one, and this is its run.
    pub(super) is_replayed: bool,
    body: BodyDataStream,
    parser: Parser,
    pieces: VecDeque<Piece>,
    text: OutputText,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentQuestion {
    /// The number of its event.
    pub(super) number: u64,
    /// The requested values.
    keys: Vec<String>,
}

impl AgentQuestion {
    fn read(event: &Value) -> Self {
        let keys = event["request_keys"].as_object().into_iter().flatten();
        Self {
            number: event["id"].as_u64().unwrap_or_default(),
            keys: keys.map(|(key, _)| key.clone()).collect(),
        }
    }
}

/// The text of a run so far.
#[derive(Debug, Default)]
pub(super) struct OutputText {
    /// The whole text.
    pub(super) text: String,
    /// The unfinished text, as far as it was already sent.
    open: String,
    /// Whether the text exceeded the limit and the rest is omitted.
    pub(super) is_cut: bool,
    pub(super) end: Option<End>,
    /// The question with which it ended.
    pub(super) question: Option<AgentQuestion>,
    pub(super) usage: Usage,
}

impl RunOutput {
    /// Starts a new run; with a key only once.
    pub(super) async fn begin(
        rooms: RoomClient,
        model: &str,
        body: &Value,
        key: Option<&str>,
    ) -> Result<Self, OpenAiError> {
        let path = format!("/agent/{}/stream_request", encoded(model));
        let response = rooms.open(Method::POST, &path, Some(body), key).await?;
        let run =
            response.headers().get("x-run-id").and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned();
        let is_replayed = is_replayed(response.headers());
        Ok(Self::new(rooms, model, (run, is_replayed), response.into_body().into_data_stream()))
    }

    /// Answers this question of a run, and no later one; with a key only once.
    pub(super) async fn resume(
        rooms: RoomClient,
        model: &str,
        (run, question): (&str, &AgentQuestion),
        text: &str,
        key: Option<&str>,
    ) -> Result<Self, OpenAiError> {
        let since = question.number;
        let keys = question.keys.iter().map(|key| (key.clone(), Value::from(text)));
        let answers: Value = keys.collect::<serde_json::Map<_, _>>().into();
        let body =
            json!({"type": "ResumeWithInput", "run_id": run, "event_id": since, "request_keys": answers});
        let answered = rooms.post(&format!("/agent/{}/run", encoded(model)), &body, key).await;
        let answered = answered.map_err(|no| match &*no.code {
            "run_not_active" => {
                let next = ResponseId::new(run, since, model);
                let message = format!(
                    "The question at the end of that response waits for no answer any more. To continue after \
                     it, give `{next}` as `previous_response_id`."
                );
                RoomRefusal { message, ..no }
            }
            _ => no,
        })?;
        let path =
            format!("/agent/{}/get_events?run_id={}&stream=true&since={since}", encoded(model), encoded(run));
        let response = rooms.open(Method::GET, &path, None, None).await?;
        let run = (run.to_owned(), is_replayed(&answered.headers));
        Ok(Self::new(rooms, model, run, response.into_body().into_data_stream()))
    }

    fn new(rooms: RoomClient, model: &str, (run, is_replayed): (String, bool), body: BodyDataStream) -> Self {
        let parser = Parser::holding(EVENT_BYTES_MAX);
        let (pieces, text) = (VecDeque::new(), OutputText::default());
        Self { rooms, model: model.to_owned(), run, is_replayed, body, parser, pieces, text }
    }

    /// Waits until the run is over or asks a question.
    pub(super) async fn followed(&mut self) {
        self.rooms.caller.waits();
        while self.next().await.is_some() {}
    }

    /// The next piece; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Piece> {
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Some(piece);
            }
            if self.text.end.is_some() {
                return None;
            }
            let piece = self.body.next().await?.ok()?;
            let mut items = Vec::new();
            self.parser.feed(&piece, &mut items).ok()?;
            for item in items {
                match item {
                    Item::Comment(_) => self.pieces.push_back(Piece::Alive),
                    Item::Event(event) => {
                        let text = self.text.apply(&event);
                        self.pieces.extend(text.filter(|text| !text.is_empty()).map(Piece::Text));
                    }
                }
            }
        }
    }

    /// The end of the run.
    pub(super) fn end(&self) -> End {
        self.text.end.clone().unwrap_or_else(|| End::Failed("The run was not followed to its end.".into()))
    }

    /// The output so far.
    pub(super) fn output(&self) -> &OutputText {
        &self.text
    }

    /// Whether text was omitted.
    pub(super) fn is_cut(&self) -> bool {
        self.text.is_cut
    }

    /// The whole text.
    pub(super) fn text(&self) -> &str {
        &self.text.text
    }

    pub(super) fn usage(&self) -> Usage {
        self.text.usage
    }

    /// Cancels a run whose question nobody will answer.
    pub(super) async fn give_up(&mut self) {
        let body = json!({"type": "CancelRequest", "run_id": self.run});
        if let Err(no) = self.rooms.post(&format!("/agent/{}/run", encoded(&self.model)), &body, None).await {
            tracing::debug!(code = %no.code, "a run that waits was not given up");
        }
    }
}

impl OutputText {
    /// The output of a run after the event with this number, until it ended or asked a question.
    pub(super) async fn read(
        rooms: &RoomClient,
        model: &str,
        run: &str,
        mut since: u64,
    ) -> Result<Self, RoomRefusal> {
        let mut text = Self::default();
        loop {
            let (model, run) = (encoded(model), encoded(run));
            let page =
                rooms.get(&format!("/agent/{model}/get_events?run_id={run}&since={since}")).await?.value;
            let events = page.as_array().map(Vec::as_slice).unwrap_or_default();
            for event in events {
                let name = event["type"].as_str().unwrap_or_default().to_owned();
                let _added = text.apply(&SseEvent { id: None, name, data: event.to_string() });
            }
            match events.last().and_then(|event| event["id"].as_u64()) {
                Some(last) if text.end.is_none() && last > since => since = last,
                _ => return Ok(text),
            }
        }
    }

    /// Applies the next event; returns the text that it adds.
    fn apply(&mut self, event: &SseEvent) -> Option<String> {
        if self.end.is_some() {
            return None;
        }
        let value: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let added = match &*event.name {
            "TextDelta" => {
                let text = self.fitting(value["content"].as_str()?)?;
                self.open.push_str(&text);
                text
            }
            "TextOutput" => {
                let (text, open) = (value["content"].as_str()?, std::mem::take(&mut self.open));
                // Pieces may be lost; then the whole text is sent again.
                self.fitting(text.strip_prefix(&*open).unwrap_or(text))?
            }
            "CompletionResult" => {
                let count = |names: [&str; 2]| {
                    names.iter().find_map(|name| value["usage"][*name].as_u64()).unwrap_or(0)
                };
                self.usage.input += count(["prompt_tokens", "input_tokens"]);
                self.usage.output += count(["completion_tokens", "output_tokens"]);
                return None;
            }
            "WaitForInput" => {
                (self.end, self.question) = (Some(End::Waits), Some(AgentQuestion::read(&value)));
                let keys = value["request_keys"].as_object().into_iter().flatten();
                let questions = keys.map(|(key, value)| value.as_str().unwrap_or(key).to_owned());
                let questions = questions.collect::<Vec<_>>().join("\n");
                if self.text.is_empty() { questions } else { format!("\n\n{questions}") }
            }
            "RunCompleted" => {
                let why = || value["error"].as_str().unwrap_or("The run failed.").to_owned();
                self.end = Some(match value["finish_reason"].as_str() {
                    Some("success") => End::Success,
                    Some("canceled") => End::Canceled,
                    _ => End::Failed(why()),
                });
                let result = value["result"].as_str().filter(|result| !self.text.contains(result.trim()))?;
                let separator = if self.text.is_empty() { "" } else { "\n\n" };
                self.fitting(&format!("{separator}{result}"))?
            }
            _ => return None,
        };
        self.text.push_str(&added);
        Some(added)
    }

    /// The part of a text that still fits into the response; nothing after a text that was cut.
    fn fitting(&mut self, text: &str) -> Option<String> {
        if self.is_cut {
            return None;
        }
        let room = ANSWER_TEXT_BYTES_MAX - self.text.len();
        let end = text.floor_char_boundary(room);
        self.is_cut = end < text.len();
        Some(text[..end].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output_of(events: &[(&str, Value)]) -> (Vec<String>, OutputText) {
        let mut output = OutputText::default();
        let event = |(name, value): &(&str, Value)| SseEvent {
            id: None,
            name: (*name).into(),
            data: value.to_string(),
        };
        let texts = events.iter().filter_map(|pair| output.apply(&event(pair))).collect();
        (texts, output)
    }

    #[test]
    fn what_was_said_in_pieces_is_not_said_again() {
        let over = ("RunCompleted", json!({"finish_reason": "success", "result": "abc"}));
        let (texts, output) = output_of(&[
            ("TextDelta", json!({"content": "a"})),
            ("TextDelta", json!({"content": "b"})),
            ("CompletionResult", json!({"usage": {"prompt_tokens": 3, "completion_tokens": 2}})),
            ("TextOutput", json!({"content": "abc"})),
            over,
        ]);
        assert_eq!(texts, ["a", "b", "c"]);
        assert_eq!((output.end, output.usage), (Some(End::Success), Usage { input: 3, output: 2 }));
    }

    #[test]
    fn a_result_stands_below_other_text() {
        let result = |result: &str| ("RunCompleted", json!({"finish_reason": "success", "result": result}));
        let (_, output) = output_of(&[("TextOutput", json!({"content": "Hello"})), result("done")]);
        assert_eq!(output.text, "Hello\n\ndone");
        let (_, output) =
            output_of(&[("TextOutput", json!({"content": "Hello, it is done"})), result("done\n")]);
        assert_eq!(output.text, "Hello, it is done");
    }

    #[test]
    fn what_is_too_long_is_cut_and_ends_all_the_same() {
        let piece = "é".repeat(ANSWER_TEXT_BYTES_MAX / 8);
        let mut events = vec![("TextDelta", json!({"content": piece})); 6];
        events.push(("TextDelta", json!({"content": "x"})));
        events.push(("TextOutput", json!({"content": "another"})));
        events.push(("RunCompleted", json!({"finish_reason": "success", "result": "done"})));
        let (texts, output) = output_of(&events);
        assert_eq!(texts.concat().len(), ANSWER_TEXT_BYTES_MAX);
        assert!(output.text.len() <= ANSWER_TEXT_BYTES_MAX && output.open.len() <= ANSWER_TEXT_BYTES_MAX);
        assert!(output.is_cut);
        assert_eq!(output.end, Some(End::Success));
    }

    #[test]
    fn a_question_ends_it_and_a_result_is_said() {
        let asks = ("WaitForInput", json!({"id": 2, "request_keys": {"name": "Who?"}}));
        let (texts, found) = output_of(&[asks]);
        assert_eq!((texts, found.end), (vec!["Who?".to_owned()], Some(End::Waits)));
        assert_eq!(found.question, Some(AgentQuestion { number: 2, keys: vec!["name".into()] }));
        let (texts, _) =
            output_of(&[("RunCompleted", json!({"finish_reason": "success", "result": "done"}))]);
        assert_eq!(texts, ["done"]);
        let (_, found) = output_of(&[("RunCompleted", json!({"finish_reason": "error", "error": "why"}))]);
        assert_eq!(found.end, Some(End::Failed("why".into())));
    }
}
