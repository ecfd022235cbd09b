//! A run or a thread read live: the events in the log after a cursor, as Server-Sent Events, and then new ones, with
//! text deltas between them. Catch-up and live share one path; nothing is queued, so a client that does not read
//! delays no other.
//! Must not know: the handling of the connection.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::response::Response;
use bytes::Bytes;
use plenary_accounts::{Principal, Watch};
use plenary_hub::Delivery;
use plenary_kernel::Version;
use plenary_log::{Fault, PageSize, StoredEvent};
use plenary_room::sse::{BURST_BYTES, KEEPALIVE, KEEPALIVE_MS, Pieces, RETRY_MS, pieces};
use tokio::time::{Instant, sleep_until};

use crate::{
    Runs,
    deltas::{DeltaSubscription, Line},
    event::{Leaves, ThreadEvent},
    id::RunId,
    limits::DELTAS_HELD_MAX,
    run_reader::Passage,
    shares::Payer,
    wire::{Source, WireEvent},
};

/// Most events that are read from the shared tail at a time.
const TAIL_PAGE: usize = 128;

/// One live stream.
pub(crate) struct Live {
    pub(crate) runs: Runs,
    pub(crate) source: Source,
    pub(crate) principal: Principal,
    pub(crate) watch: Watch<Payer>,
    pub(crate) delta_subscription: Option<DeltaSubscription>,
    /// The unfinished text at the time of the subscription.
    pub(crate) partial_text: Option<Arc<Line>>,
    /// The followed run; `None` follows all runs of the thread.
    pub(crate) run: Option<RunId>,
    pub(crate) passage: Passage,
    /// The followed run, and the number of the event after which its stream begins.
    pub(crate) last_passed: Option<(RunId, u64)>,
    /// The version after which the stream reads.
    pub(crate) cursor: Version,
    /// The version of the thread when the stream began: no run that ended before ends the stream.
    pub(crate) head: Version,
    /// For a finished run: the version at which the stream ends.
    pub(crate) end: Option<Version>,
}

/// The state of the stream while it is open.
struct LiveState {
    live: Live,
    size: PageSize,
    /// The run and the number of the last event that was sent.
    last_passed: Option<(RunId, u64)>,
    /// Deltas after an event that has not been sent yet.
    held_deltas: VecDeque<Arc<Line>>,
    deliveries: Vec<Delivery<Arc<Line>>>,
    is_new: bool,
    is_over: bool,
    last_write: Instant,
}

impl Live {
    /// The response. It ends with the run, the token, the server, or the client.
    pub(crate) fn into_response(self) -> Response {
        pieces(self.into_pieces())
    }

    /// The stream as text pieces, for callers that write it in another form.
    pub(crate) fn into_pieces(self) -> impl Pieces {
        let last_passed = self.last_passed;
        let is_of_run = |line: &Arc<Line>| self.run.is_none_or(|run| run == line.run);
        let held_deltas = self.partial_text.iter().filter(|line| is_of_run(line)).cloned().collect();
        LiveState {
            live: self,
            size: PageSize::default(),
            last_passed,
            held_deltas,
            deliveries: Vec::new(),
            is_new: true,
            is_over: false,
            last_write: Instant::now(),
        }
    }
}

impl Pieces for LiveState {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        if self.is_over || !self.is_valid().await? {
            return Ok(None);
        }
        let mut text = String::new();
        if std::mem::take(&mut self.is_new) {
            text = format!("retry: {RETRY_MS}\n\n");
        }
        loop {
            let marks = self.live.watch.mailbox().take();
            if marks.recheck && !self.is_valid().await? {
                return Ok(None);
            }
            self.take_deltas(&mut text);
            let has_more = self.read_events(&mut text).await?;
            // When the server stops, the last event of a run is its end, with the reason.
            self.is_over |= marks.closing.is_some();
            self.is_over |= self.live.end.is_some_and(|end| self.live.cursor >= end);
            if !text.is_empty() || self.is_over {
                self.last_write = Instant::now();
                return Ok(if text.is_empty() { None } else { Some(text.into()) });
            }
            // A lost wake-up only delays: the log is read again when the keepalive is due.
            if !has_more && !self.wait_for_news().await {
                self.read_events(&mut text).await?;
                if text.is_empty() {
                    text.push_str(KEEPALIVE);
                }
                self.last_write = Instant::now();
                return Ok(Some(text.into()));
            }
        }
    }
}

impl LiveState {
    /// Waits for news; false if the keepalive is due.
    async fn wait_for_news(&mut self) -> bool {
        let due = self.last_write + Duration::from_millis(KEEPALIVE_MS);
        let (mailbox, deliveries) = (self.live.watch.mailbox(), &mut self.deliveries);
        let Some(delta_subscription) = &mut self.live.delta_subscription else {
            return tokio::time::timeout_at(due, mailbox.wait()).await.is_ok();
        };
        let is_subscribed = tokio::select! {
            () = mailbox.wait() => return true,
            () = sleep_until(due) => return false,
            delivery = delta_subscription.next(deliveries) => delivery.is_ok(),
        };
        if !is_subscribed {
            // The delta subscription stalled, or the server stops: the events continue without deltas.
            self.live.delta_subscription = None;
        }
        true
    }

    async fn is_valid(&self) -> Result<bool, Fault> {
        self.live.runs.accounts().is_valid(&self.live.principal).await
    }

    /// Reads the waiting deltas, and writes those that follow the last event.
    fn take_deltas(&mut self, out: &mut String) {
        if let Some(delta_subscription) = &mut self.live.delta_subscription
            && delta_subscription.try_next(&mut self.deliveries).is_err()
        {
            self.live.delta_subscription = None;
        }
        let run = self.live.run;
        let lines = self.deliveries.drain(..).map(|delivery| delivery.message);
        self.held_deltas.extend(lines.filter(|line| run.is_none_or(|run| run == line.run)));
        self.write_held_deltas(out);
        while self.held_deltas.len() > DELTAS_HELD_MAX {
            self.held_deltas.pop_front();
        }
    }

    /// Writes the deltas that follow the last event, and drops older ones: the event contains their text.
    fn write_held_deltas(&mut self, out: &mut String) {
        let Some((run, id)) = self.last_passed else { return };
        self.held_deltas.retain(|line| {
            if line.run == run && line.after == id {
                out.push_str(&String::from_utf8_lossy(&line.bytes));
            }
            line.run == run && line.after > id || line.run > run
        });
    }

    /// Reads events after the cursor; returns whether there may be more already.
    async fn read_events(&mut self, out: &mut String) -> Result<bool, Fault> {
        let stream = self.live.watch.stream();
        if let Some(rows) = self.live.runs.0.tail.read(stream, self.live.cursor, TAIL_PAGE) {
            let mut has_more = rows.len() == TAIL_PAGE;
            for row in rows {
                self.pass(&row.event, out)?;
                if self.is_over {
                    break;
                }
                if out.len() >= BURST_BYTES {
                    has_more = true;
                    break;
                }
            }
            return Ok(has_more);
        }
        let events_max = self.size.events();
        let stored_events = self.live.runs.log().read_stream(stream, self.live.cursor, events_max).await?;
        self.size.learn(&stored_events);
        for stored in &stored_events {
            self.pass(stored, out)?;
            if self.is_over {
                break;
            }
        }
        Ok(stored_events.len() == events_max)
    }

    /// Passes one event of the thread, and writes its wire form.
    fn pass(&mut self, stored: &StoredEvent, out: &mut String) -> Result<(), Fault> {
        self.live.cursor = stored.version;
        let event = ThreadEvent::decode(stored)?;
        if self.live.run.is_some_and(|run| run != event.run()) {
            return Ok(());
        }
        for event in self.live.source.events(&event) {
            if self.live.passage.includes(&event) {
                self.write(&event, out);
            }
            self.last_passed = Some((event.run, event.id));
            self.write_held_deltas(out);
        }
        self.is_over = match &event {
            ThreadEvent::RunCompleted(event) => self.live.run.is_some() || event.leaves == Leaves::Idle,
            ThreadEvent::QueuedRunCanceled(event) => self.live.run.is_some() || event.idle,
            ThreadEvent::RunQueued(_)
            | ThreadEvent::RunReleased(_)
            | ThreadEvent::RunStarted(_)
            | ThreadEvent::EventEmitted(_)
            | ThreadEvent::RunResumed(_)
            | ThreadEvent::CancelRequested(_) => false,
        } && self.live.end.is_none()
            && stored.version > self.live.head;
        Ok(())
    }

    fn write(&self, event: &WireEvent, out: &mut String) {
        let WireEvent { run, id, kind, json } = event;
        match self.live.run {
            Some(_) => out.push_str(&format!("id: {id}\nevent: {kind}\ndata: {json}\n\n")),
            None => out.push_str(&format!("id: {run}:{id}\nevent: {kind}\ndata: {json}\n\n")),
        }
    }
}
