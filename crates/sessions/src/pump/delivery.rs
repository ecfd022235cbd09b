//! Delivery: reads marked streams to their end, and writes the events that the agent may see.
//! Must not know: confirmation.

use axum::extract::ws::Utf8Bytes;
use plenary_accounts::INBOX;
use plenary_hub::Row;
use plenary_kernel::{AgentHandle, Position, SessionId, Version};
use plenary_log::{Fault, StreamName};

use super::{End, Pump, READINGS_MAX, Socket, TAIL_PAGE, pages::Pages};
use crate::{
    Sessions,
    reading::{ReadPosition, Step},
    state::SessionState,
    wire::{EncodedEvent, Form},
};

/// How far a session is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadLimit {
    /// To the end of what is on disk, handed out or not.
    Committed,
    /// To what was handed out; a mark comes for whatever follows.
    Observed,
}

impl<S: Socket> Pump<'_, S> {
    /// Reads the marked streams. The marks, with those read before, cover every event up to `covered`; `None` if older
    /// events of other streams are still to be read.
    pub(super) async fn deliver(
        &mut self,
        marks: impl ExactSizeIterator<Item = (StreamName, Version)> + Send,
        until: ReadLimit,
        covered: Option<Position>,
    ) -> Result<(), End> {
        let mut left = marks.len();
        let mut shown = false;
        for (stream, first) in marks {
            left -= 1;
            let read = if stream.category() == INBOX {
                self.read_inbox(&stream, first).await
            } else {
                self.read_session(&stream, first, until, covered.filter(|_| left == 0)).await
            };
            shown |= match read {
                // What is damaged can't be had; everything else goes on.
                Err(End::DAMAGED) => true,
                read => read?,
            };
        }
        if shown {
            self.flush().await?;
        }
        Ok(())
    }

    /// Reads one session to its end; whether anything was shown. Everything up to `covered` on all other streams has
    /// been sent, so a ping may confirm what is sent here up to that position.
    async fn read_session(
        &mut self,
        stream: &StreamName,
        first: Version,
        until: ReadLimit,
        covered: Option<Position>,
    ) -> Result<bool, End> {
        let Ok(id) = stream.id().parse::<SessionId>() else { return Ok(false) };
        let streams = &self.sessions.0.streams;
        let (mut shown, mut again, mut pages) = (false, false, Pages::new(self.sessions, stream));
        loop {
            let (state, observed) = streams.observed(stream.id()).await?;
            let Some(participant) = state.participant(&self.connection.handle) else { return Ok(shown) };
            if participant.is_present() && self.blockers.iter().any(|by| is_present(&state, by)) {
                return Ok(shown);
            }
            let mut reading = match self.readings.get(stream) {
                Some(reading) => *reading,
                None => ReadPosition::start(participant, Version(first.0.saturating_sub(1)), observed),
            };
            let readable = |next: &Version| until == ReadLimit::Committed || *next <= observed;
            let Some(next) = reading.next(participant).filter(readable) else {
                return Ok(shown);
            };
            if std::mem::replace(&mut again, true) {
                self.serve_between_pages().await?;
            }
            let rows = pages.after(reading.skip_to(next)).await?;
            let topic = state.created.as_ref().and_then(|created| created.topic.as_deref());
            for row in &rows {
                match reading.pass(participant, row.event.version) {
                    Step::Skip => {}
                    Step::Restart => break,
                    Step::Show => {
                        let text = self.sessions.text(&id, topic, stream, row, self.form).await?;
                        self.feed(text, row.event.position).await?;
                        shown = true;
                    }
                }
                if let Some(covered) = covered {
                    self.sent = self.sent.max(row.event.position.min(covered));
                }
            }
            self.keep(stream, reading);
            if rows.is_empty() || (until == ReadLimit::Committed && pages.ended) {
                return Ok(shown);
            }
        }
    }

    fn keep(&mut self, stream: &StreamName, reading: ReadPosition) {
        if self.readings.len() >= READINGS_MAX && !self.readings.contains_key(stream) {
            self.readings.clear();
        }
        self.readings.insert(stream.clone(), reading);
    }

    async fn read_inbox(&mut self, stream: &StreamName, first: Version) -> Result<bool, End> {
        let mut cursor = match self.readings.get(stream) {
            Some(reading) => reading.cursor(),
            None => Version(first.0.saturating_sub(1)),
        };
        let mut shown = false;
        loop {
            let events = self.sessions.log().read_stream(stream, cursor, TAIL_PAGE).await?;
            let Some(last) = events.last() else { return Ok(shown) };
            cursor = last.version;
            for event in &events {
                let text = Utf8Bytes::try_from(plenary_accounts::notice(event)?)
                    .map_err(|error| Fault::Corrupt(error.to_string()))?;
                self.feed(text, event.position).await?;
                shown = true;
            }
            self.keep(stream, ReadPosition::at(cursor));
        }
    }
}

impl Sessions {
    /// The wire form of an event, written once for all who read it from the tail.
    async fn text(
        &self,
        id: &SessionId,
        topic: Option<&str>,
        stream: &StreamName,
        row: &Row<EncodedEvent>,
        form: Form,
    ) -> Result<Utf8Bytes, Fault> {
        match row.encoded.get(form) {
            Some(text) => Ok(text),
            None => Ok(row.encoded.set(form, self.write(id, topic, stream, &row.event, form).await?)),
        }
    }
}

fn is_present(state: &SessionState, handle: &AgentHandle) -> bool {
    state.participant(handle).is_some_and(crate::state::Participant::is_present)
}
