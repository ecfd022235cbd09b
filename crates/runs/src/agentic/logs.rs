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
    limits::{PAGE_BYTES_MAX, PAGE_EVENTS_MAX},
    lookup::VisibleThread,
    runs::stream,
    state::RunState,
};

/// A page of logs, in order.
#[derive(Debug, Default)]
pub(crate) struct LogPage {
    pub(crate) logs: Vec<Value>,
    /// The version after which the next page starts, if there is one.
    pub(crate) next_after: Option<Version>,
}

impl Runs {
    /// The logs of a thread after a version, one page of them.
    pub(crate) async fn logs(
        &self,
        visible_thread: &VisibleThread,
        after: Version,
    ) -> Result<LogPage, Fault> {
        let stream = stream(visible_thread.source.thread);
        let (mut page, mut size, mut bytes) = (LogPage::default(), PageSize::default(), 0);
        let (mut cursor, mut dialect) = (after, Dialect::default());
        while cursor < visible_thread.head {
            let stored_events = self.log().read_stream(&stream, cursor, size.events()).await?;
            size.learn(&stored_events);
            if stored_events.is_empty() {
                break;
            }
            for stored in stored_events {
                if page.logs.len() >= PAGE_EVENTS_MAX || bytes >= PAGE_BYTES_MAX {
                    page.next_after = Some(cursor);
                    return Ok(page);
                }
                let event = ThreadEvent::decode(&stored)?;
                bytes += stored.payload.len();
                let translated = self.translate(visible_thread, &event, &mut dialect).await?;
                for (nth, (role, dashboard_event)) in translated.iter().enumerate() {
                    let id = format!("{}:{}.{nth}", event.run(), stored.version.0);
                    page.logs.push(log(visible_thread, &id, role, stored.at, dashboard_event));
                }
                cursor = stored.version;
            }
        }
        Ok(page)
    }

    /// The dashboard events for one event of the thread, each with its role.
    async fn translate(
        &self,
        visible_thread: &VisibleThread,
        event: &ThreadEvent,
        dialect: &mut Dialect,
    ) -> Result<Vec<(Value, DashboardEvent)>, Fault> {
        match event {
            ThreadEvent::RunStarted(_) | ThreadEvent::QueuedRunCanceled(_) => {
                dialect.next_run(self.prompt(visible_thread, event).await?);
            }
            ThreadEvent::RunResumed(answer) => {
                return Ok(vec![("user".into(), dialect.resume(request_keys(&answer.request)))]);
            }
            ThreadEvent::RunQueued(_)
            | ThreadEvent::RunReleased(_)
            | ThreadEvent::EventEmitted(_)
            | ThreadEvent::RunCompleted(_)
            | ThreadEvent::CancelRequested(_) => {}
        }
        let mut events = Vec::new();
        for wire in visible_thread.source.events(event) {
            let value: Value = serde_json::from_str(&wire.json).unwrap_or_default();
            let role = if wire.kind == "RunStarted" { "user".into() } else { value["role"].clone() };
            events
                .extend(dialect.translate(wire.kind, &value).into_iter().map(|event| (role.clone(), event)));
        }
        Ok(events)
    }

    /// The prompt of an event's run.
    async fn prompt(&self, visible_thread: &VisibleThread, event: &ThreadEvent) -> Result<Value, Fault> {
        let Some(run) = visible_thread.state.run(event.run()) else { return Ok(Value::Null) };
        self.prompt_at(visible_thread, run.queued).await
    }

    /// The answers to the question with this number in a run, if they have arrived.
    pub(crate) async fn answers(
        &self,
        visible_thread: &VisibleThread,
        run: &RunState,
        question: u64,
    ) -> Result<Option<Value>, Fault> {
        let stream = stream(visible_thread.source.thread);
        let (mut cursor, mut size, mut has_seen_question) = (run.started, PageSize::default(), false);
        while cursor < visible_thread.head {
            let stored_events = self.log().read_stream(&stream, cursor, size.events()).await?;
            size.learn(&stored_events);
            let Some(last) = stored_events.last() else { break };
            cursor = last.version;
            for stored in &stored_events {
                let event = ThreadEvent::decode(stored)?;
                if let ThreadEvent::EventEmitted(event) = &event
                    && event.run == run.id
                {
                    has_seen_question |= event.id == question;
                } else if let ThreadEvent::RunResumed(answer) = &event
                    && has_seen_question
                    && answer.run == run.id
                {
                    return Ok(Some(request_keys(&answer.request)));
                }
            }
        }
        Ok(None)
    }

    /// The prompt of the run that was queued at this version.
    pub(crate) async fn prompt_at(
        &self,
        visible_thread: &VisibleThread,
        queued: Version,
    ) -> Result<Value, Fault> {
        let event = self.event_at(&stream(visible_thread.source.thread), queued).await?;
        Ok(if let ThreadEvent::RunQueued(queued) = event { prompt_of(&queued.request) } else { Value::Null })
    }
}

fn log(
    visible_thread: &VisibleThread,
    id: &str,
    role: &Value,
    at: TimestampMs,
    event: &DashboardEvent,
) -> Value {
    let by = visible_thread.state.opened.as_ref().map(|opened| opened.by.to_string());
    // The dashboards read every time as UTC, so the zone is left out.
    let created = at.rfc3339().trim_end_matches('Z').to_owned();
    json!({
        "id": id, "thread_id": visible_thread.source.thread, "agent_id": visible_thread.source.agent, "user_id": by, "role": role,
        "created_at": created, "event_name": event.kind, "event": event.payload, "depth": event.depth, "version": 1,
    })
}
