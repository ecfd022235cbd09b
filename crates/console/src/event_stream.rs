//! The stream of all events that a caller may see, in log order: read from a cursor, woken by events that concern the
//! caller, filtered by the rooms.
//! It never passes the position up to which the rooms have received the events.
//! Must not know: the connection.

use std::time::Duration;

use bytes::Bytes;
use plenary_accounts::{AccountEvent, Principal, TokenOwner, Watch, recheck};
use plenary_hub::{Marks, Observer};
use plenary_kernel::{AgentHandle, Position};
use plenary_log::{Fault, PageSize, StoredEvent};
use plenary_retrieval::{Change, Query};
use plenary_room::{BURST_BYTES, Onlooker, OnlookerEvent, Teller, async_trait, sse::Pieces, text_of, texts};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::{Console, ephemeral::EphemeralReader, limits::WATCH_DATA_BYTES_MAX};

/// The interval without an event after which the stream reports the head of the log.
const HEAD_EVERY: Duration = Duration::from_secs(5);

/// The filter of a watcher. An empty list does not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WatchFilter {
    pub(crate) rooms: Vec<String>,
    pub(crate) kinds: Vec<String>,
    pub(crate) agents: Vec<AgentHandle>,
    /// Only events that contain all of these words.
    pub(crate) query: Option<Query>,
    /// Only events of this trace.
    pub(crate) trace: Option<String>,
}

impl WatchFilter {
    fn has_room(&self, room: &str) -> bool {
        self.rooms.is_empty() || self.rooms.iter().any(|named| named == room)
    }

    pub(crate) fn has(&self, event: &OnlookerEvent) -> bool {
        let family = event.kind.split_once('.').map_or(&*event.kind, |(family, _)| family);
        let is_kind = |kind: &String| *kind == event.kind || kind == family;
        (self.kinds.is_empty() || self.kinds.iter().any(is_kind))
            && (self.agents.is_empty() || event.agents.iter().any(|agent| self.agents.contains(agent)))
            && (self.trace.is_none() || self.trace == event.trace)
    }
}

/// The caller's view; `None` for the operator, who sees everything.
pub(crate) fn onlooker(principal: &Principal) -> Option<Onlooker> {
    match &principal.who {
        TokenOwner::Operator => None,
        TokenOwner::Owner(owner) => Some(Onlooker::Owner(owner.clone())),
        TokenOwner::Agent(agent) => Some(Onlooker::Agent(agent.clone())),
    }
}

/// One running `/watch` stream.
pub(crate) struct Watcher {
    pub(crate) console: Console,
    pub(crate) principal: Principal,
    pub(crate) onlooker: Option<Onlooker>,
    pub(crate) filter: WatchFilter,
    /// Everything up to here has been read, or does not concern the reader.
    pub(crate) cursor: Position,
    /// The events up to here must be read one by one.
    pub(crate) unread_to: Position,
    /// Between those and here, nothing concerns the reader.
    pub(crate) quiet_to: Position,
    pub(crate) watch: Watch<String>,
    /// The ephemeral events, if an owner requested them.
    pub(crate) ephemeral: Option<EphemeralReader>,
    pub(crate) greeted: bool,
    /// The head of the log at the greeting, until everything up to there has been read.
    pub(crate) backlog_to: Option<Position>,
    pub(crate) sent_at: Instant,
    pub(crate) size: PageSize,
}

impl Pieces for Watcher {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        if !self.is_allowed().await? {
            return Ok(None);
        }
        if !std::mem::replace(&mut self.greeted, true) {
            self.backlog_to = Some(self.console.handed()).filter(|head| self.cursor < *head);
            return Ok(Some(self.position_event("hello")));
        }
        let mut is_due = false;
        loop {
            let marks = self.take_marks();
            if marks.closing.is_some() || (marks.recheck && !self.is_allowed().await?) {
                return Ok(None);
            }
            let text = self.ephemeral_text();
            let (text, more) = self.look(text).await?;
            if !text.is_empty() {
                // The permission may have ended before these events.
                let is_allowed = self.is_allowed().await?;
                self.sent_at = Instant::now();
                return Ok(is_allowed.then(|| Bytes::from(text)));
            }
            let due = self.sent_at + HEAD_EVERY;
            // A reader that wants few of the events would not know that no more of them are to come.
            let has_caught_up = self.backlog_to.take_if(|head| *head <= self.cursor).is_some();
            if is_due || has_caught_up || more && Instant::now() >= due {
                return Ok(Some(self.position_event("head")));
            }
            if more {
                tokio::task::yield_now().await;
                continue;
            }
            // What does not concern the reader wakes nobody: the cursor passes it after this wait.
            is_due = timeout_at(due, self.wait_for_wakeup()).await.is_err();
        }
    }
}

impl Watcher {
    async fn is_allowed(&self) -> Result<bool, Fault> {
        self.console.accounts().is_valid(&self.principal).await
    }

    /// Reports the cursor and the head of the log. The difference shows how far the stream is behind.
    fn position_event(&mut self, kind: &str) -> Bytes {
        self.sent_at = Instant::now();
        let (cursor, head) = (self.cursor.0, self.console.handed().0);
        let data = json!({"kind": kind, "cursor": cursor.to_string(), "head": head.to_string()});
        Bytes::from(format!("id: {cursor}\ndata: {data}\n\n"))
    }

    /// Waits for a wake-up.
    async fn wait_for_wakeup(&self) {
        match &self.ephemeral {
            None => self.watch.mailbox().wait().await,
            Some(ephemeral) => tokio::select! {
                () = self.watch.mailbox().wait() => {}
                () = ephemeral.mailbox().wait() => {}
            },
        }
    }

    /// New ephemeral events. They have no position in the log, so their `id` is the stream's cursor.
    fn ephemeral_text(&mut self) -> String {
        let cursor = self.cursor.0;
        let ephemeral = self.ephemeral.as_mut();
        let events =
            ephemeral.map(|ephemeral| ephemeral.read(&self.console, &self.filter)).unwrap_or_default();
        let mut text = String::new();
        events.iter().for_each(|json| text.push_str(&format!("id: {cursor}\ndata: {json}\n\n")));
        text
    }

    /// Takes the marks since the last look, and notes what must be read.
    fn take_marks(&mut self) -> Marks {
        // Before the marks: they include those for all events up to here.
        let marked = self.console.wakes().marked();
        let marks = self.watch.mailbox().take();
        match marks.streams.values().min() {
            Some(first) => {
                self.quiet_to = self.quiet_to.max(Position(first.0.saturating_sub(1)));
                self.pass_quiet();
                self.unread_to = self.console.handed();
            }
            None => self.quiet_to = self.quiet_to.max(marked),
        }
        marks
    }

    /// Passes what does not concern the reader.
    fn pass_quiet(&mut self) {
        if self.cursor >= self.unread_to {
            self.cursor = self.cursor.max(self.quiet_to);
        }
    }

    /// Appends the next events that must be read to a text. Also returns whether there are more.
    async fn look(&mut self, mut text: String) -> Result<(String, bool), Fault> {
        self.pass_quiet();
        let (handed, before) = (self.unread_to, self.cursor);
        if self.cursor >= handed {
            return Ok((text, false));
        }
        let (events, until) = self.console.log().read_past_damage(self.cursor, self.size.events()).await?;
        self.size.learn(&events);
        for event in events.iter().filter(|event| event.position <= handed) {
            if let Some(json) = self.frame_of(event).await? {
                text.push_str(&format!("id: {}\ndata: {json}\n\n", event.position.0));
            }
            self.cursor = event.position;
            if text.len() >= BURST_BYTES {
                return Ok((text, true));
            }
        }
        // Skip the damaged part of the log.
        self.cursor = self.cursor.max(until.min(handed));
        self.pass_quiet();
        let more = self.cursor > before && self.cursor < handed;
        Ok((text, more))
    }

    async fn frame_of(&self, event: &StoredEvent) -> Result<Option<Value>, Fault> {
        let Some(teller) = self.console.teller(&event.stream) else { return Ok(None) };
        if !self.filter.has_room(teller.room()) {
            return Ok(None);
        }
        let reported = match teller.tell(event).await {
            Ok(Some(reported)) => self.for_onlooker(reported),
            Ok(None) => return Ok(None),
            // An unreadable event must not stop the stream.
            Err(fault @ Fault::Corrupt(_)) => {
                tracing::warn!(%fault, "an event was not reported to watchers");
                return Ok(None);
            }
            Err(fault) => return Err(fault),
        };
        let may_know = match &self.onlooker {
            Some(onlooker) => (reported.audience)(onlooker) && teller.is_shown(event, onlooker).await?,
            None => true,
        };
        let matches =
            may_know && self.filter.has(&reported) && self.matches_query(&**teller, event, &reported).await?;
        Ok(matches.then(|| shown(event, teller.room(), reported)))
    }

    /// Removes what an agent may not know of an event that it may see: the trace.
    fn for_onlooker(&self, reported: OnlookerEvent) -> OnlookerEvent {
        let is_agent = matches!(self.onlooker, Some(Onlooker::Agent(_)));
        OnlookerEvent { trace: reported.trace.filter(|_| !is_agent), ..reported }
    }

    /// Whether an event contains all words of the query: in its indexed text, or else in the texts of its data and of what it
    /// is about.
    async fn matches_query(
        &self,
        teller: &dyn Teller,
        event: &StoredEvent,
        reported: &OnlookerEvent,
    ) -> Result<bool, Fault> {
        let Some(query) = &self.filter.query else { return Ok(true) };
        let change = match self.console.findable(&event.stream) {
            Some(room) => room.change(event).await?,
            None => None,
        };
        let text = match change.and_then(Change::document) {
            Some(document) => text_of(&document.sections),
            None => {
                let about =
                    Fault::skip_corrupt(teller.text(event).await, "an event was matched without its text")?;
                format!("{}\n{}", texts(&reported.data), about.flatten().unwrap_or_default())
            }
        };
        Ok(query.coverage(&text) >= 1.0)
    }
}

/// The data of an event, or a placeholder if it is too large.
pub(crate) fn limited(data: Value) -> Value {
    if data.to_string().len() <= WATCH_DATA_BYTES_MAX { data } else { json!({"truncated": true}) }
}

/// An event in the form of `/watch`.
fn shown(event: &StoredEvent, room: &str, reported: OnlookerEvent) -> Value {
    let data = limited(reported.data);
    let mut shown = json!({
        "cursor": event.position.0.to_string(),
        "at": event.at.0,
        "room": room,
        "kind": reported.kind,
        "stream": reported.stream,
        "agents": reported.agents,
        "data": data,
    });
    if let Some(trace) = reported.trace {
        shown["trace_id"] = trace.into();
    }
    shown
}

#[async_trait]
impl Observer for Console {
    async fn committed(&self, events: &[StoredEvent]) {
        if let Some(last) = events.last() {
            self.0.handed.raise(last.position);
        }
        for change in events.iter().filter_map(AccountEvent::of) {
            recheck(&self.0.watchers, &change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, agents: &[&str]) -> OnlookerEvent {
        OnlookerEvent {
            kind: kind.into(),
            stream: String::new(),
            agents: agents.iter().map(|agent| agent.parse().unwrap()).collect(),
            data: Value::Null,
            trace: None,
            audience: Box::new(|_| true),
        }
    }

    #[test]
    fn what_is_wanted_is_named_by_room_kind_and_agent() {
        let filter = WatchFilter {
            rooms: vec!["sessions".into()],
            kinds: vec!["session.message".into(), "run".into()],
            agents: vec!["@a.b".parse().unwrap()],
            query: None,
            trace: None,
        };
        assert!(filter.has_room("sessions") && !filter.has_room("runs"));
        assert!(
            filter.has(&event("session.message", &["@x.y", "@a.b"]))
                && filter.has(&event("run.queued", &["@a.b"]))
        );
        assert!(
            !filter.has(&event("session.joined", &["@a.b"])) && !filter.has(&event("run.queued", &["@x.y"]))
        );
        let of_trace = |trace: &str| OnlookerEvent { trace: Some(trace.into()), ..event("any", &[]) };
        let filter = WatchFilter { trace: Some("4b".into()), ..WatchFilter::default() };
        assert!(
            filter.has(&of_trace("4b")) && !filter.has(&of_trace("4c")) && !filter.has(&event("any", &[]))
        );
        assert!(WatchFilter::default().has_room("runs") && WatchFilter::default().has(&event("any", &[])));
    }
}
