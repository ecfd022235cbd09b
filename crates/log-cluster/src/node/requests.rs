//! The side without the pen: a node sends its appends to the node that has it, one request at a time,
//! and gets the outcome when it has applied the record that names the request. If a record moves the pen
//! before the request is named, the request can't be written any more, as the journal accepts no further
//! record of the earlier pen; it is sent again to the new holder.
//! Must not know: how a group is decided.

use std::time::Duration;

use bytes::Bytes;
use plenary_journal::{RECORD_BYTES_MAX, peers::Address};
use plenary_log::{Fault, PlanResult};
use tokio::time::{Instant, timeout};

use super::{BACK_MAX, Node, Owner, Trouble, Unit, reply};
use crate::{
    messages::{self, Answer},
    pens::Pen,
    record::{Notes, RecordedAnswer},
};

/// How long a request waits before it is sent again, as it may have been lost.
const RESEND_AFTER: Duration = Duration::from_secs(1);
/// How long the node with the pen may leave a request unanswered, while the journal answers but has no
/// new records.
const IGNORED_MAX: Duration = Duration::from_secs(3);
/// How long it may leave a request unanswered while it writes other records.
const UNANSWERED_MAX: Duration = Duration::from_secs(6);

pub(crate) struct PendingRequest {
    unit: Unit,
    serial: u64,
    epoch: u64,
    body: Bytes,
    sent: Instant,
    /// When it was first sent.
    first_sent: Instant,
    pen_active_at: Instant,
    /// The outcome, which applies after a record that is not here yet.
    answer: Option<Answer>,
}

impl Node {
    /// Sends a request to the node with the pen, or checks the pending one.
    pub(super) async fn send_request(&mut self, pen: Pen, now: Instant) -> Result<(), Trouble> {
        let Some(request) = &mut self.waiting.request else { return self.send_next(pen, now).await };
        let is_overdue = now.duration_since(request.first_sent) >= UNANSWERED_MAX;
        if is_overdue || now.duration_since(request.pen_active_at) >= IGNORED_MAX {
            request.pen_active_at = now;
            let has_more = match timeout(BACK_MAX, self.journal.extent()).await {
                Ok(Ok(extent)) => extent.last > self.last.sequence,
                // The journal is unavailable, so no node can write now.
                Ok(Err(_)) | Err(_) => return Ok(()),
            };
            return if has_more && !is_overdue { self.catch_up().await } else { self.take_pen().await };
        }
        if now.duration_since(request.sent) >= RESEND_AFTER {
            request.sent = now;
            if request.epoch == pen.epoch {
                let body = request.body.clone();
                self.peers.send(Address::One(pen.node), body).await;
            } else {
                // The record that took the pen is not here yet.
                return self.catch_up().await;
            }
        }
        Ok(())
    }

    async fn send_next(&mut self, pen: Pen, now: Instant) -> Result<(), Trouble> {
        let Some(unit) = self.waiting.units.pop_front() else { return Ok(()) };
        self.waiting.serial += 1;
        let serial = self.waiting.serial;
        let body = messages::request(self.me, serial, pen.epoch, &unit.batches);
        if body.len() > RECORD_BYTES_MAX {
            let size = body.len();
            let full = Fault::Full(format!("an append of {size} bytes is too large for the journal"));
            unit.end(Err(full));
            return Ok(());
        }
        self.peers.send(Address::One(pen.node), body.clone()).await;
        let epoch = pen.epoch;
        let request = PendingRequest {
            unit,
            serial,
            epoch,
            body,
            sent: now,
            first_sent: now,
            pen_active_at: now,
            answer: None,
        };
        self.waiting.request = Some(request);
        Ok(())
    }

    /// Processes the answer of the node with the pen to a request of which it wrote nothing.
    pub(super) async fn answered(&mut self, answer: Answer) -> Result<(), Trouble> {
        let base = answer.base;
        match &mut self.waiting.request {
            Some(request) if request.serial == answer.serial => request.answer = Some(answer),
            _ => return Ok(()),
        }
        // A caller that decides again must see the state that the refusal was based on.
        if self.last.sequence < base {
            self.take_hints().await?;
        }
        if self.last.sequence < base {
            self.catch_up().await?;
        }
        self.finish_answered();
        Ok(())
    }

    fn finish_answered(&mut self) {
        let last = self.last.sequence;
        let is_here =
            |request: &mut PendingRequest| request.answer.as_ref().is_some_and(|answer| answer.base <= last);
        if let Some(request) = self.waiting.request.take_if(is_here)
            && let Some(answer) = request.answer
        {
            request.unit.end(answer.result);
        }
    }

    /// Processes the notes of a record: its writer, and the outcomes of requests.
    pub(super) fn process_notes(&mut self, notes: Notes) {
        for RecordedAnswer { node, serial, outcomes } in notes.answers {
            let is_it = |request: &mut PendingRequest| node == self.me && request.serial == serial;
            if let Some(request) = self.waiting.request.take_if(is_it) {
                let unknown = || Fault::OutcomeUnknown("its record does not say what came of it".into());
                request.unit.end(outcomes.read().ok_or_else(unknown));
            }
        }
        if let Some(pen) = notes.pen {
            let now = Instant::now();
            self.pens.note_holder(pen, now);
            if let Some(request) = self.waiting.request.as_mut().filter(|request| request.epoch == pen.epoch)
            {
                request.pen_active_at = now;
            }
            // That pen has ended, and no record of it names the request.
            if let Some(request) = self.waiting.request.take_if(|request| request.epoch < pen.epoch) {
                self.waiting.units.push_front(request.unit);
            }
        }
        self.finish_answered();
    }

    /// When the first append of this process will have waited too long.
    pub(super) fn own_deadline(&self) -> Option<Instant> {
        let own = self.waiting.units.iter().filter(|unit| unit.is_own());
        let requested = self.waiting.request.iter().map(|request| &request.unit);
        requested.chain(own).map(|unit| unit.until).min()
    }

    /// Ends units that have waited too long.
    pub(super) fn expire(&mut self, now: Instant) {
        if let Some(request) = self.waiting.request.take_if(|request| request.unit.until <= now) {
            request.unit.end(Err(Fault::OutcomeUnknown("the node with the pen does not answer".into())));
        }
        while let Some(late) = self.waiting.units.pop_front_if(|unit| unit.is_own() && unit.until <= now) {
            late.end(Err(Fault::Unavailable("no node has the pen".into())));
        }
    }

    /// Ends all units of this process that were not sent.
    pub(super) fn refuse_own(&mut self, fault: &Fault) {
        for unit in std::mem::take(&mut self.waiting.units) {
            unit.end(Err(fault.clone()));
        }
    }
}

impl Unit {
    /// Answers the callers of this process; another node gets no answer.
    pub(super) fn end(self, result: Result<Vec<PlanResult>, Fault>) {
        if let Owner::Own(replies) = self.owner {
            reply(replies, result);
        }
    }
}
