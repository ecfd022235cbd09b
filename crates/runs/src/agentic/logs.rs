//! The events of a thread as a list of logs, from the log itself.
//! Must not know: HTTP.

use plenary_kernel::{TimestampMs, Version};
use plenary_log::{Fault, PageSize};
use serde_json::{Value, json};

use super::{
    dialect::{DashboardEvent, Dialect, request_keys},
    prompt_of,
};
use crate::{
    Runs,
    event::ThreadEvent,
    finding::VisibleThread,
    limits::{PAGE_BYTES_MAX, PAGE_EVENTS_MAX},
    runs::stream,
    state::RunState,
};

/// A page of logs, in order.
#[derive(Debug, Default)]
pub(crate) struct LogPage {
    pub(crate) logs: Vec<Value>,
    /// The version after which the next page starts, if there is one.
    pub(crate) rest: Option<Version>,
}

impl Runs {
    /// The logs of a thread after a version, one page of them.
    pub(crate) async fn logs(&self, found: &VisibleThread, after: Version) -> Result<LogPage, Fault> {
        let stream = stream(found.source.thread);
        let (mut page, mut size, mut bytes) = (LogPage::default(), PageSize::default(), 0);
        let (mut cursor, mut dialect) = (after, Dialect::default());
        while cursor < found.head {
            let stored = self.log().read_stream(&stream, cursor, size.events()).await?;
            size.learn(&stored);
            if stored.is_empty() {
                break;
            }
            for stored in stored {
                if page.logs.len() >= PAGE_EVENTS_MAX || bytes >= PAGE_BYTES_MAX {
                    page.rest = Some(cursor);
                    return Ok(page);
                }
                let event = ThreadEvent::decode(&stored)?;
                bytes += stored.payload.len();
                let translated = self.translated(found, &event, &mut dialect).await?;
                for (nth, (role, shown)) in translated.iter().enumerate() {
                    let id = format!("{}:{}.{nth}", event.run(), stored.version.0);
                    page.logs.push(log(found, &id, role, stored.at, shown));
                }
                cursor = stored.version;
            }
        }
        Ok(page)
    }

    /// The dashboard events for one event of the thread, each with its role.
    async fn translated(
        &self,
        found: &VisibleThread,
        event: &ThreadEvent,
        dialect: &mut Dialect,
    ) -> Result<Vec<(Value, DashboardEvent)>, Fault> {
        match event {
            ThreadEvent::RunStarted(_) | ThreadEvent::QueuedRunCanceled(_) => {
                dialect.next_run(self.prompt(found, event).await?);
            }
            ThreadEvent::RunResumed(answer) => {
                return Ok(vec![("user".into(), dialect.resumed(request_keys(&answer.request)))]);
            }
            ThreadEvent::RunQueued(_)
            | ThreadEvent::RunReleased(_)
            | ThreadEvent::EventEmitted(_)
            | ThreadEvent::RunCompleted(_)
            | ThreadEvent::CancelRequested(_) => {}
        }
        let mut events = Vec::new();
        for wire in found.source.events(event) {
            let value: Value = serde_json::from_str(&wire.json).unwrap_or_default();
            let role = if wire.kind == "RunStarted" { "user".into() } else { value["role"].clone() };
            events
                .extend(dialect.translate(wire.kind, &value).into_iter().map(|event| (role.clone(), event)));
        }
        Ok(events)
    }

    /// The prompt of an event's run.
    async fn prompt(&self, found: &VisibleThread, event: &ThreadEvent) -> Result<Value, Fault> {
        let Some(run) = found.state.run(event.run()) else { return Ok(Value::Null) };
        self.prompt_at(found, run.queued).await
    }

    /// The answers to the question with this number in a run, if they have arrived.
    pub(crate) async fn answers(
        &self,
        found: &VisibleThread,
        run: &RunState,
        question: u64,
    ) -> Result<Option<Value>, Fault> {
        let stream = stream(found.source.thread);
        let (mut cursor, mut size, mut is_asked) = (run.started, PageSize::default(), false);
        while cursor < found.head {
            let stored = self.log().read_stream(&stream, cursor, size.events()).await?;
            size.learn(&stored);
            let Some(last) = stored.last() else { break };
            cursor = last.version;
            for stored in &stored {
                let event = ThreadEvent::decode(stored)?;
                if let ThreadEvent::EventEmitted(event) = &event
                    && event.run == run.id
                {
                    is_asked |= event.id == question;
                } else if let ThreadEvent::RunResumed(answer) = &event
                    && is_asked
                    && answer.run == run.id
                {
                    return Ok(Some(request_keys(&answer.request)));
                }
            }
        }
        Ok(None)
    }

    /// The prompt of the run that was queued at this version.
    pub(crate) async fn prompt_at(&self, found: &VisibleThread, queued: Version) -> Result<Value, Fault> {
        let at = self.event_at(&stream(found.source.thread), queued).await?;
        Ok(if let ThreadEvent::RunQueued(queued) = at { prompt_of(&queued.request) } else { Value::Null })
    }
}

fn log(found: &VisibleThread, id: &str, role: &Value, at: TimestampMs, event: &DashboardEvent) -> Value {
    let by = found.state.opened.as_ref().map(|opened| opened.by.to_string());
    // The dashboards read every time as UTC, so the zone is left out.
    let created = at.rfc3339().trim_end_matches('Z').to_owned();
    json!({
        "id": id, "thread_id": found.source.thread, "agent_id": found.source.agent, "user_id": by, "role": role,
        "created_at": created, "event_name": event.kind, "event": event.payload, "depth": event.depth, "version": 1,
    })
}
