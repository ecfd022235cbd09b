//! A live run as the events of LangGraph.
//! Must not know: how a run is started.

use std::collections::VecDeque;

use axum::body::BodyDataStream;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Method, StatusCode, header};
use plenary_log::Fault;
use plenary_outward::sse::{Item, Parser, SseEvent};
use plenary_room::sse::{KEEPALIVE, Pieces, pieces};
use serde_json::{Value, json};

use super::{
    Answer, LangGraphError, Request,
    input::{Act, Modes, RunAsk},
    output::{End, RunText},
    runs::{StartedRun, of_thread, set},
    state::{RunView, ThreadView, ai, human, interrupt_id, values},
};
use crate::{
    limits::EVENT_BYTES_MAX,
    rooms::{RoomClient, encoded},
    rpc::replayed,
};

/// The `Last-Event-ID` of a client that has no event yet.
const FROM_START: &str = "-1";

/// The events of a run from the room of runs.
struct RunEvents {
    body: BodyDataStream,
    parser: Parser,
    items: VecDeque<Item>,
}

impl RunEvents {
    fn new(body: BodyDataStream) -> Self {
        Self { body, parser: Parser::holding(EVENT_BYTES_MAX), items: VecDeque::new() }
    }

    async fn open(rooms: &RoomClient, run: &StartedRun) -> Result<Self, LangGraphError> {
        let (agent, id, after) = (encoded(&run.agent), encoded(&run.run), run.after);
        let path = format!("/agent/{agent}/get_events?run_id={id}&stream=true&since={after}");
        let response = rooms.open(Method::GET, &path, None, None).await.map_err(of_thread)?;
        Ok(Self::new(response.into_body().into_data_stream()))
    }

    async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Some(item);
            }
            let piece = self.body.next().await?.ok()?;
            let mut items = Vec::new();
            self.parser.feed(&piece, &mut items).ok()?;
            self.items.extend(items);
        }
    }
}

impl Request<'_> {
    /// Waits until a run is over or asks a question.
    pub(super) async fn followed(&self, run: &StartedRun) -> Result<(), LangGraphError> {
        self.until(run, |end| end.is_some()).await
    }

    /// Waits until a run is over.
    pub(super) async fn ended(&self, run: &StartedRun) -> Result<(), LangGraphError> {
        self.until(run, |end| end.is_some_and(|end| !matches!(end, End::Waits(_)))).await
    }

    async fn until(
        &self,
        run: &StartedRun,
        is_over: impl Fn(Option<&End>) -> bool,
    ) -> Result<(), LangGraphError> {
        let mut events = RunEvents::open(&self.rooms, run).await?;
        self.rooms.caller.waits();
        while let Some(item) = events.next().await {
            let Item::Event(event) = item else { continue };
            let mut text = RunText::default();
            text.apply(&event.name, &serde_json::from_str(&event.data).unwrap_or_default());
            if is_over(text.end.as_ref()) {
                return Ok(());
            }
        }
        let text = "The run was not followed to its end.";
        Err(LangGraphError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", text))
    }

    pub(super) async fn stream(&self, thread: Option<&str>) -> Answer {
        let ask = RunAsk::read(&self.body)?;
        let (run, events, text) = match (&ask.act, thread) {
            (Act::Start(input), _) => {
                let path = format!("/agent/{}/stream_request", encoded(&ask.assistant));
                let body = ask.request(input, thread);
                let response =
                    self.rooms.open(Method::POST, &path, Some(&body), self.key).await.map_err(of_thread)?;
                let run = ask.started(input, response.headers());
                (run, RunEvents::new(response.into_body().into_data_stream()), RunText::default())
            }
            (Act::Resume(answer), Some(thread)) => {
                let run = ask.resume(&self.rooms, thread, answer, self.key).await?;
                let events = RunEvents::open(&self.rooms, &run).await?;
                let text = self.text_until(&run, run.after, ask.modes).await?;
                (run, events, text)
            }
            (Act::Resume(_), None) => {
                return Err(LangGraphError::invalid("Only a run of a thread can be resumed."));
            }
        };
        let answered = run.after;
        self.stream_response(run, (events, text), answered, ask.modes).await
    }

    pub(super) async fn join_stream(&self, thread: &str, run: &str) -> Answer {
        if self.query.one("cancel_on_disconnect").is_some_and(|value| value != "false" && value != "0") {
            return Err(LangGraphError::unsupported(
                "`cancel_on_disconnect` is not supported: cancel the run.",
            ));
        }
        let (mut known, report) = self.known(thread, run).await?;
        if let Some(last) = self.last_event.filter(|last| *last != FROM_START) {
            known.after = last
                .parse()
                .map_err(|_| LangGraphError::invalid("`Last-Event-ID` is no id of such a stream."))?;
        }
        let number = |name: &str| report[name].as_u64().unwrap_or_default();
        // The event with which the stream ends, if it is there.
        let last = match report["status"].as_str() {
            Some("waiting") => Some(number("event_id")),
            Some("queued" | "running") => None,
            Some(_) | None => Some(number("last_event_id")),
        };
        // All questions up to here are answered.
        let answered = match report["status"] == "waiting" {
            true => number("event_id").saturating_sub(1),
            false => number("last_event_id"),
        };
        // A client that has the last event may lack the end that follows it.
        let after = last.filter(|last| (*last..=number("last_event_id")).contains(&known.after));
        let after = after.map_or(known.after, |last| last.saturating_sub(1));
        let modes = Modes::from_names(&self.query.all("stream_mode"))?;
        let events = RunEvents::open(&self.rooms, &StartedRun { after, ..known.clone() }).await?;
        let text = self.text_until(&known, after, modes).await?;
        self.stream_response(known, (events, text), answered, modes).await
    }

    /// The text of a run up to an event, which later events continue, if one of the modes shows text.
    async fn text_until(&self, run: &StartedRun, last: u64, modes: Modes) -> Result<RunText, LangGraphError> {
        let mut text = RunText::default();
        if last == 0 || !(modes.messages || modes.tuples) {
            return Ok(text);
        }
        let mut events = RunEvents::open(&self.rooms, &StartedRun { after: 0, ..run.clone() }).await?;
        while let Some(item) = events.next().await {
            let Item::Event(event) = item else { continue };
            let value: Value = serde_json::from_str(&event.data).unwrap_or_default();
            let id = value["id"].as_u64();
            if id.is_some_and(|id| id > last) {
                break;
            }
            // Questions up to this event are answered.
            if event.name != "WaitForInput" {
                text.apply(&event.name, &value);
            }
            if id == Some(last) {
                break;
            }
        }
        Ok(text)
    }

    async fn stream_response(
        &self,
        run: StartedRun,
        (events, text): (RunEvents, RunText),
        answered: u64,
        modes: Modes,
    ) -> Answer {
        let mut before = Vec::new();
        if modes.values {
            let thread = ThreadView::find(&self.rooms, &run.thread).await?;
            let runs = thread.runs();
            let index = runs.iter().position(|known| *known == run.run).unwrap_or_default();
            if let Some(last) = index.checked_sub(1).map(|last| runs[last]) {
                let views = thread.views(&self.rooms, Some(last)).await?;
                before = values(&views)["messages"].as_array().cloned().unwrap_or_default();
            }
            if !run.input.is_null() {
                before.push(human(&run.run, run.input.as_str().unwrap_or_default()));
            }
        }
        let (thread, id, is_replayed) = (run.thread.clone(), run.run.clone(), run.is_replayed);
        let query = modes.query();
        let is_resumed = run.after > 0;
        let rooms = self.rooms.clone();
        let (is_open, is_over) = (false, false);
        let stream =
            RunStream { rooms, run, events, modes, before, answered, text, is_open, is_resumed, is_over };
        let mut response = pieces(stream);
        let path = format!("/threads/{thread}/runs/{id}");
        set(&mut response, header::LOCATION, &format!("{path}/stream?{query}"));
        set(&mut response, header::CONTENT_LOCATION, &path);
        Ok(replayed(response, is_replayed))
    }
}

/// The events of a run, in the requested modes.
struct RunStream {
    rooms: RoomClient,
    run: StartedRun,
    events: RunEvents,
    modes: Modes,
    /// The messages before the agent's output.
    before: Vec<Value>,
    /// Questions up to this event are answered.
    answered: u64,
    text: RunText,
    /// Whether the first events were sent.
    is_open: bool,
    /// Whether the client received the first events before.
    is_resumed: bool,
    is_over: bool,
}

impl Pieces for RunStream {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let mut out = String::new();
        if !std::mem::replace(&mut self.is_open, true) {
            self.begin(&mut out);
        }
        while out.is_empty() && !self.is_over {
            match self.events.next().await {
                Some(Item::Comment(_)) => out.push_str(KEEPALIVE),
                Some(Item::Event(event)) => self.pass(&event, &mut out).await,
                None => self.break_off(&mut out).await,
            }
        }
        Ok((!out.is_empty()).then(|| out.into()))
    }
}

/// Appends an event to the stream.
fn push_event(out: &mut String, id: Option<&str>, kind: &str, data: &Value) {
    if let Some(id) = id {
        out.push_str(&format!("id: {id}\n"));
    }
    out.push_str(&format!("event: {kind}\ndata: {data}\n\n"));
}

impl RunStream {
    fn begin(&self, out: &mut String) {
        let StartedRun { run, thread, .. } = &self.run;
        push_event(out, None, "metadata", &json!({"run_id": run, "thread_id": thread, "attempt": 1}));
        if self.modes.values && !self.is_resumed {
            push_event(out, None, "values", &json!({"messages": self.before}));
        }
        if self.modes.messages {
            let about = json!({format!("{run}:output"): {"metadata": self.about()}});
            push_event(out, None, "messages/metadata", &about);
        }
    }

    /// The metadata of each message.
    fn about(&self) -> Value {
        let StartedRun { run, thread, agent, .. } = &self.run;
        json!({"run_id": run, "thread_id": thread, "graph_id": agent, "assistant_id": agent, "langgraph_node": agent})
    }

    async fn pass(&mut self, event: &SseEvent, out: &mut String) {
        let value: Value = serde_json::from_str(&event.data).unwrap_or_default();
        // A piece of text has no number, but the parser still returns that of the event before it.
        let number = value["id"].as_u64().map(|number| number.to_string());
        let id = number.as_deref();
        let is_known = value["id"].as_u64().is_some_and(|number| number <= self.run.after);
        if self.modes.custom && id.is_some() && !is_known {
            push_event(out, id, "custom", &value);
        }
        if event.name == "WaitForInput" && value["id"].as_u64().is_some_and(|id| id <= self.answered) {
            return;
        }
        if let Some(added) = self.text.apply(&event.name, &value).filter(|_| !is_known) {
            if self.modes.tuples {
                let chunk = json!([ai(&self.run.run, "AIMessageChunk", &added), self.about()]);
                push_event(out, id, "messages", &chunk);
            }
            if self.modes.messages {
                push_event(out, id, "messages/partial", &json!([ai(&self.run.run, "ai", &self.text.text)]));
            }
        }
        if let Some(end) = self.text.end.clone() {
            self.is_over = true;
            self.end(&end, id, out).await;
        }
    }

    /// Ends a stream whose events broke off. If the run goes on, nothing says so: the SDKs take `end` and `error` for the end of
    /// the run, and follow it further at `Location` after neither.
    async fn break_off(&mut self, out: &mut String) {
        self.is_over = true;
        let report = async {
            let thread = ThreadView::find(&self.rooms, &self.run.thread).await?;
            thread.run(&self.rooms, &self.run.run).await
        };
        match report.await {
            Ok(report) => {
                if let Some(end) = End::of(&report) {
                    self.end(&end, None, out).await;
                }
            }
            Err(no) if no.status.is_client_error() => {
                push_event(out, None, "error", &json!({"error": no.code, "message": no.message}));
            }
            // The server stops, or its store is away.
            Err(no) => tracing::debug!(code = %no.code, "a run was not followed further"),
        }
    }

    async fn end(&mut self, end: &End, id: Option<&str>, out: &mut String) {
        let StartedRun { run, agent, .. } = &self.run;
        // A stream from the middle of a run does not have the whole text; the state does.
        let views = match self.modes.values || self.modes.updates || self.modes.messages {
            true => views(self.rooms.clone(), self.run.thread.clone(), run.clone()).await,
            false => Vec::new(),
        };
        let output = views.last().map_or(&self.text.text, |last| &last.output);
        let message = ai(run, "ai", output);
        let has_output = !output.is_empty();
        if self.modes.messages && has_output {
            push_event(out, id, "messages/complete", &json!([message]));
        }
        if self.modes.updates && has_output {
            push_event(out, id, "updates", &json!({agent: {"messages": [message]}}));
        }
        let question = match end {
            End::Waits(event) => {
                json!([{"value": event["request_keys"], "id": interrupt_id(run, &event["id"])}])
            }
            End::Success | End::Canceled | End::Failed(_) => Value::Null,
        };
        if self.modes.updates && !question.is_null() {
            push_event(out, id, "updates", &json!({"__interrupt__": question}));
        }
        if self.modes.values {
            let mut values = values(&views);
            if !question.is_null() {
                values["__interrupt__"] = question;
            }
            push_event(out, id, "values", &values);
        }
        if let End::Failed(why) = end {
            push_event(out, id, "error", &json!({"error": "RunFailed", "message": why}));
        }
        push_event(out, None, "end", &Value::Null);
    }
}

/// The runs of a thread up to `run`; empty if they cannot be read.
async fn views(rooms: RoomClient, thread: String, run: String) -> Vec<RunView> {
    let found = async {
        let thread = ThreadView::find(&rooms, &thread).await?;
        thread.views(&rooms, Some(&run)).await
    };
    found.await.unwrap_or_else(|wrong: LangGraphError| {
        tracing::debug!(code = %wrong.code, "the state of a thread was not read");
        Vec::new()
    })
}
