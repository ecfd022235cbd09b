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
    reading::Passage,
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
    pub(crate) looking: Option<DeltaSubscription>,
    /// The unfinished text at the time of the subscription.
    pub(crate) making: Option<Arc<Line>>,
    /// The followed run; `None` follows all runs of the thread.
    pub(crate) run: Option<RunId>,
    pub(crate) passage: Passage,
    /// The followed run, and the number of the event after which its stream begins.
    pub(crate) passed: Option<(RunId, u64)>,
    /// The version after which the stream reads.
    pub(crate) cursor: Version,
    /// The version of the thread when the stream began: no run that ended before ends the stream.
    pub(crate) head: Version,
    /// For a finished run: the version at which the stream ends.
    pub(crate) until: Option<Version>,
}

/// The state of the stream while it is open.
struct LiveState {
    live: Live,
    size: PageSize,
    /// The run and the number of the last event that was sent.
    passed: Option<(RunId, u64)>,
    /// Deltas after an event that has not been sent yet.
    held: VecDeque<Arc<Line>>,
    taken: Vec<Delivery<Arc<Line>>>,
    is_new: bool,
    is_over: bool,
    spoke: Instant,
}

impl Live {
    /// The response. It ends with the run, the token, the server, or the client.
    pub(crate) fn into_response(self) -> Response {
        pieces(self.into_pieces())
    }

    /// The stream as text pieces, for callers that write it in another form.
    pub(crate) fn into_pieces(self) -> impl Pieces {
        let passed = self.passed;
        let of_this = |line: &Arc<Line>| self.run.is_none_or(|run| run == line.run);
        let held = self.making.iter().filter(|line| of_this(line)).cloned().collect();
        LiveState {
            live: self,
            size: PageSize::default(),
            passed,
            held,
            taken: Vec::new(),
            is_new: true,
            is_over: false,
            spoke: Instant::now(),
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
            let more = self.look(&mut text).await?;
            // When the server stops, the last event of a run is its end, with the reason.
            self.is_over |= marks.closing.is_some();
            self.is_over |= self.live.until.is_some_and(|until| self.live.cursor >= until);
            if !text.is_empty() || self.is_over {
                self.spoke = Instant::now();
                return Ok(if text.is_empty() { None } else { Some(text.into()) });
            }
            // A lost wake-up only delays: the log is read again when the keepalive is due.
            if !more && !self.woken().await {
                self.look(&mut text).await?;
                if text.is_empty() {
                    text.push_str(KEEPALIVE);
                }
                self.spoke = Instant::now();
                return Ok(Some(text.into()));
            }
        }
    }
}

impl LiveState {
    /// Waits for news; false if the keepalive is due.
    async fn woken(&mut self) -> bool {
        let due = self.spoke + Duration::from_millis(KEEPALIVE_MS);
        let (mailbox, taken) = (self.live.watch.mailbox(), &mut self.taken);
        let Some(looking) = &mut self.live.looking else {
            return tokio::time::timeout_at(due, mailbox.wait()).await.is_ok();
        };
        let is_on = tokio::select! {
            () = mailbox.wait() => return true,
            () = sleep_until(due) => return false,
            told = looking.next(taken) => told.is_ok(),
        };
        if !is_on {
            // The delta subscription stalled, or the server stops: the events continue without deltas.
            self.live.looking = None;
        }
        true
    }

    async fn is_valid(&self) -> Result<bool, Fault> {
        self.live.runs.accounts().is_valid(&self.live.principal).await
    }

    /// Reads the waiting deltas, and writes those that follow the last event.
    fn take_deltas(&mut self, out: &mut String) {
        if let Some(looking) = &mut self.live.looking
            && looking.try_next(&mut self.taken).is_err()
        {
            self.live.looking = None;
        }
        let run = self.live.run;
        let taken = self.taken.drain(..).map(|delivery| delivery.message);
        self.held.extend(taken.filter(|line| run.is_none_or(|run| run == line.run)));
        self.write_held_deltas(out);
        while self.held.len() > DELTAS_HELD_MAX {
            self.held.pop_front();
        }
    }

    /// Writes the deltas that follow the last event, and drops older ones: the event contains their text.
    fn write_held_deltas(&mut self, out: &mut String) {
        let Some((run, id)) = self.passed else { return };
        self.held.retain(|line| {
            if line.run == run && line.after == id {
                out.push_str(&String::from_utf8_lossy(&line.bytes));
            }
            line.run == run && line.after > id || line.run > run
        });
    }

    /// Reads events after the cursor; returns whether there may be more already.
    async fn look(&mut self, out: &mut String) -> Result<bool, Fault> {
        let stream = self.live.watch.stream();
        if let Some(rows) = self.live.runs.0.tail.read(stream, self.live.cursor, TAIL_PAGE) {
            let mut more = rows.len() == TAIL_PAGE;
            for row in rows {
                self.pass(&row.event, out)?;
                if self.is_over {
                    break;
                }
                if out.len() >= BURST_BYTES {
                    more = true;
                    break;
                }
            }
            return Ok(more);
        }
        let asked = self.size.events();
        let stored = self.live.runs.log().read_stream(stream, self.live.cursor, asked).await?;
        self.size.learn(&stored);
        for stored in &stored {
            self.pass(stored, out)?;
            if self.is_over {
                break;
            }
        }
        Ok(stored.len() == asked)
    }

    /// Passes one event of the thread, and writes its wire form.
    fn pass(&mut self, stored: &StoredEvent, out: &mut String) -> Result<(), Fault> {
        self.live.cursor = stored.version;
        let event = ThreadEvent::decode(stored)?;
        if self.live.run.is_some_and(|run| run != event.run()) {
            return Ok(());
        }
        for event in self.live.source.events(&event) {
            if self.live.passage.wants(&event) {
                self.write(&event, out);
            }
            self.passed = Some((event.run, event.id));
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
        } && self.live.until.is_none()
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
