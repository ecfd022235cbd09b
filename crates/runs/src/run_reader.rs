//! The events of a run or a thread, in order, read from the log on request (SC-36, SC-38, SC-42); the state of a run
//! (SC-40), and the threads of an agent (SC-41).
//! Must not know: HTTP.

use plenary_accounts::Actor;
use plenary_kernel::Version;
use plenary_log::{Fault, Order, PageSize};

use crate::{
    Runs,
    access::may_configure,
    event::ThreadEvent,
    id::{RunId, ThreadId},
    limits::{PAGE_BYTES_MAX, PAGE_EVENTS_MAX},
    lookup::VisibleThread,
    refusals::{self, RunRefusal},
    registry::Agent,
    room::{OPENED, THREADS},
    runner::FinishReason,
    runs::stream,
    state::{RunState, RunStatus},
    wire::{RunReport, Source, ThreadReport, WireEvent},
};

/// Most bytes of a thread on the wire, without its runs.
const THREAD_BYTES: usize = 1 << 10;
/// Bytes of a run's id in a list on the wire.
const RUN_ID_BYTES: usize = 40;

/// The event after which a reader continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Since {
    /// From the first event.
    #[default]
    Start,
    /// After the event of this number: of a run, or of the first run of a thread.
    Id(u64),
    /// After an event of a thread: its run and its number.
    Place(RunId, u64),
}

impl Since {
    /// Reads `7` or `<run>:7`; an empty text is the start.
    pub(crate) fn read(text: Option<&str>) -> Option<Self> {
        let text = text.map(str::trim).unwrap_or_default();
        if text.is_empty() {
            return Some(Self::Start);
        }
        if let Some((run, id)) = text.split_once(':') {
            return Some(Self::Place(run.parse().ok()?, number(id)?));
        }
        number(text).map(Self::Id)
    }

    /// The number of the cursor's event within a run.
    pub(crate) fn number_in(self, run: RunId) -> u64 {
        match self {
            Self::Id(id) => id,
            Self::Place(cursor_run, id) if cursor_run == run => id,
            Self::Start | Self::Place(..) => 0,
        }
    }

    /// Resolves the cursor to a run, within a thread or a single run. Event numbers are per run, so in a thread a
    /// bare number refers to the first run; no later event is skipped.
    ///
    /// # Errors
    /// If it names a run that does not exist.
    pub(crate) fn resolve(self, visible_thread: &VisibleThread) -> Result<Self, RunRefusal> {
        let first = || visible_thread.run.or_else(|| visible_thread.state.runs.first().map(|run| run.id));
        match self {
            Self::Id(0) | Self::Start => Ok(Self::Start),
            Self::Id(id) => Ok(first().map_or(Self::Start, |run| Self::Place(run, id))),
            Self::Place(run, id) => {
                let exists = visible_thread.run.is_none_or(|only| only == run)
                    && visible_thread.state.run(run).is_some();
                if exists { Ok(Self::Place(run, id)) } else { Err(refusals::run_not_found()) }
            }
        }
    }

    /// Like [`Since::resolve`], for live streams: the event must exist, otherwise the reader would miss events up to
    /// it.
    ///
    /// # Errors
    /// If there is no such event yet.
    pub(crate) fn require_reached(self, visible_thread: &VisibleThread) -> Result<Self, RunRefusal> {
        let Self::Place(run, id) = self else { return Ok(self) };
        let last = visible_thread.state.run(run).map_or(0, |run| run.last_event_id);
        if id <= last {
            return Ok(self);
        }
        let text = format!(
            "the run has no event {id}; its last event is {last}. Leave out `since` to read from the start"
        );
        Err(refusals::shape("invalid_since", text))
    }
}

/// Lets the events after a cursor pass, of those that are read from [`Passage::begin`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    since: Since,
    /// In a thread the event of the cursor, or 0 for the start of its run: events of other runs before it are also
    /// before the cursor.
    cursor_event: Option<(RunId, u64)>,
}

impl Passage {
    /// For a run, or for a thread.
    pub(crate) fn new(since: Since, visible_thread: &VisibleThread) -> Self {
        let cursor_event = match since {
            Since::Place(run, id) if visible_thread.run.is_none() => {
                let last = visible_thread.state.run(run).map_or(0, |run| run.last_event_id);
                Some((run, id.min(last)))
            }
            Since::Start | Since::Id(_) | Since::Place(..) => None,
        };
        Self { since, cursor_event }
    }

    /// A version before all events that pass.
    pub(crate) fn begin(self, visible_thread: &VisibleThread) -> Version {
        match (visible_thread.run(), self.cursor_event) {
            (Some(run), _) => begin(run, self.since.number_in(run.id)),
            // The event of the cursor is read too.
            (None, Some((run, id))) => {
                visible_thread.state.run(run).map_or(Version::ZERO, |run| begin(run, id.saturating_sub(1)))
            }
            (None, None) => Version::ZERO,
        }
    }

    /// Whether an event is after the cursor. Must be called for every event, in order.
    pub(crate) fn includes(&mut self, event: &WireEvent) -> bool {
        if let Some((run, id)) = self.cursor_event {
            if event.run != run || event.id < id {
                return false;
            }
            self.cursor_event = None;
        }
        match self.since {
            Since::Id(id) => event.id > id,
            Since::Place(run, id) if run == event.run => event.id > id,
            Since::Start | Since::Place(..) => true,
        }
    }
}

/// Reads a whole number; one that is too large becomes `u64::MAX`.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// A version before the events of a run after number `since`. Each event has at least one version, so event `n`
/// cannot precede the run's start plus `n` versions.
fn begin(run: &RunState, since: u64) -> Version {
    let before = run.started.0.saturating_sub(1).saturating_add(since);
    let last = if run.ended == Version::ZERO { before } else { run.ended.0 - 1 };
    Version(before.min(last))
}

/// Events in order, and whether there are more.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) events: Vec<WireEvent>,
    pub(crate) has_more: bool,
}

impl Runs {
    /// The events of a run or a thread after `since`, one page of them.
    pub(crate) async fn page(&self, visible_thread: &VisibleThread, since: Since) -> Result<Page, Fault> {
        let end = match visible_thread.run() {
            Some(run) if run.started == Version::ZERO => return Ok(Page::default()),
            Some(run) if run.ended != Version::ZERO => run.ended,
            Some(_) | None => visible_thread.head,
        };
        let mut passage = Passage::new(since, visible_thread);
        let mut cursor = passage.begin(visible_thread);
        let stream = stream(visible_thread.source.thread);
        let (mut page, mut size, mut bytes) = (Page::default(), PageSize::default(), 0);
        while cursor < end {
            let stored_events = self.log().read_stream(&stream, cursor, size.events()).await?;
            size.learn(&stored_events);
            let Some(last) = stored_events.last() else { break };
            cursor = last.version;
            for stored in stored_events.iter().filter(|stored| stored.version <= end) {
                let event = ThreadEvent::decode(stored)?;
                if visible_thread.run.is_some_and(|run| run != event.run()) {
                    continue;
                }
                for event in
                    visible_thread.source.events(&event).into_iter().filter(|event| passage.includes(event))
                {
                    if page.events.len() >= PAGE_EVENTS_MAX || bytes >= PAGE_BYTES_MAX {
                        page.has_more = true;
                        return Ok(page);
                    }
                    bytes += event.json.len();
                    page.events.push(event);
                }
            }
        }
        Ok(page)
    }

    /// The report about a run.
    pub(crate) async fn report(
        &self,
        visible_thread: &VisibleThread,
        run: &RunState,
    ) -> Result<RunReport, Fault> {
        let mut report = RunReport::of(&visible_thread.source, run);
        let stream = stream(visible_thread.source.thread);
        if let ThreadEvent::RunQueued(queued) = self.event_at(&stream, run.queued).await? {
            report.request = serde_json::from_slice(&queued.request).unwrap_or_default();
        }
        if run.status == RunStatus::Waiting
            && let ThreadEvent::EventEmitted(event) = self.event_at(&stream, run.waits).await?
        {
            let members = serde_json::from_slice::<serde_json::Value>(&event.members).unwrap_or_default();
            let object = |name: &str| members.get(name).and_then(|value| value.as_object().cloned());
            (report.request_keys, report.options) = (object("request_keys"), object("options"));
            report.form = object("form");
            report.message = members["message"].as_str().filter(|_| report.form.is_some()).map(str::to_owned);
            report.event_id = Some(run.asks);
        }
        if run.status.is_over() {
            // A run that was canceled while queued has no other end.
            report.finish_reason = Some(FinishReason::Canceled);
            if let ThreadEvent::RunCompleted(event) = self.event_at(&stream, run.ended).await? {
                report.finish_reason = Some(event.finish_reason);
                let text = || String::from_utf8_lossy(&event.result).into_owned();
                report.result = event.has_result.then(text);
                (report.error, report.rejected) = (event.why, event.rejected);
            }
        }
        Ok(report)
    }

    /// The last wire event of the stored event at a version.
    pub(crate) async fn wire_at(&self, source: &Source, at: Version) -> Result<WireEvent, Fault> {
        let event = self.event_at(&stream(source.thread), at).await?;
        let last = source.events(&event).pop();
        last.ok_or_else(|| Fault::Corrupt(format!("no event of a run stands at {at} of {}", source.thread)))
    }

    /// The threads of an agent that the caller may read, newest first, from before `before`.
    pub(crate) async fn threads(
        &self,
        actor: &Actor,
        agent: &Agent,
        before: Option<ThreadId>,
        limit: usize,
    ) -> Result<(Vec<ThreadReport>, bool), RunRefusal> {
        let (index, prefix) = if may_configure(actor, &agent.owner()) {
            (THREADS, format!("{}/", agent.name()))
        } else {
            (OPENED, format!("{actor}/{}/", agent.name()))
        };
        let before = match before {
            Some(before) => {
                let visible_thread =
                    self.find_thread(actor, agent, before).await?.ok_or_else(refusals::thread_not_found)?;
                let opened = visible_thread.state.opened.as_ref().map_or(0, |opened| opened.at.0);
                Some(format!("{prefix}{opened:014}/{before}"))
            }
            None => None,
        };
        let mut rows = self.log().index_rows_after(index, &prefix, before, Order::Descending);
        let (mut threads, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next().await? {
            if threads.len() == limit {
                return Ok((threads, true));
            }
            let id = row.key.rsplit('/').next().and_then(|id| id.parse().ok());
            let id = id.ok_or_else(|| Fault::Corrupt(format!("{} in {index}", row.key)))?;
            let state = Fault::skip_corrupt(self.fresh(id).await, "a damaged thread is left out of a list")?;
            let report = state.and_then(|state| ThreadReport::of(id, &state));
            bytes += report.as_ref().map_or(0, |report| THREAD_BYTES + report.runs.len() * RUN_ID_BYTES);
            if bytes > PAGE_BYTES_MAX && !threads.is_empty() {
                return Ok((threads, true));
            }
            threads.extend(report);
        }
        Ok((threads, false))
    }
}
