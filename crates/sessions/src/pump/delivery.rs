//! Delivery: reads marked streams to their end, and writes the events that the agent may see.
//! Must not know: confirmation.

use axum::extract::ws::Utf8Bytes;
use plenary_accounts::INBOX;
use plenary_kernel::{Position, SessionId, Version};
use plenary_log::{Fault, StoredEvent, StreamName};

use super::{
    End, Pump, READINGS_MAX, Socket, TAIL_PAGE,
    pages::{PageRow, Pages},
};
use crate::{
    Sessions,
    session_reader::{ReadPosition, Step},
    wire::Form,
};

/// How far a session is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadLimit {
    /// To the last event on disk, dispatched or not.
    Committed,
    /// To the last dispatched event; later events are marked again.
    Observed,
}

impl<S: Socket> Pump<'_, S> {
    /// Reads the marked streams. The marks, with those read before, cover every event up to `covered_position`; `None` if older
    /// events of other streams are still to be read.
    pub(super) async fn deliver(
        &mut self,
        marks: impl ExactSizeIterator<Item = (StreamName, Version)> + Send,
        limit: ReadLimit,
        covered_position: Option<Position>,
    ) -> Result<(), End> {
        let mut remaining = marks.len();
        let mut has_shown = false;
        for (stream, first) in marks {
            remaining -= 1;
            let result = if stream.category() == INBOX {
                self.read_inbox(&stream, first).await
            } else {
                self.read_session(&stream, first, limit, covered_position.filter(|_| remaining == 0)).await
            };
            has_shown |= match result {
                // A damaged stream can't be read; the others are still read.
                Err(End::DAMAGED) => true,
                result => result?,
            };
        }
        if has_shown {
            self.flush().await?;
        }
        Ok(())
    }

    /// Reads one session to its end; whether anything was shown. Everything up to `covered_position` on all other streams has
    /// been sent, so a ping may confirm what is sent here up to that position.
    async fn read_session(
        &mut self,
        stream: &StreamName,
        first: Version,
        limit: ReadLimit,
        covered_position: Option<Position>,
    ) -> Result<bool, End> {
        let Ok(id) = stream.id().parse::<SessionId>() else { return Ok(false) };
        let first = self.held.remove(stream).map_or(first, |held| held.min(first));
        let streams = &self.sessions.0.streams;
        let (mut has_shown, mut is_later_page, mut pages) = (false, false, Pages::new(self.sessions, stream));
        loop {
            let (state, observed) = streams.observed(stream.id()).await?;
            let Some(participant) = state.participant(&self.connection.handle) else { return Ok(has_shown) };
            if state.awaits_ejection(&self.connection.handle, &self.blockers) {
                // The host of a copy may be unreachable for long.
                if state.host().is_none() {
                    self.held.insert(stream.clone(), first);
                }
                return Ok(has_shown);
            }
            let mut reading = match self.readings.get(stream) {
                Some(reading) => *reading,
                None => ReadPosition::start(participant, Version(first.0.saturating_sub(1)), observed),
            };
            let is_readable = |next: &Version| limit == ReadLimit::Committed || *next <= observed;
            let Some(next) = reading.next(participant).filter(is_readable) else {
                return Ok(has_shown);
            };
            if std::mem::replace(&mut is_later_page, true) {
                self.serve_between_pages().await?;
            }
            let rows = pages.after(reading.skip_to(next)).await?;
            let topic = state.created.as_ref().and_then(|created| created.topic.as_deref());
            for row in &rows {
                let StoredEvent { version, position, .. } = *row.event();
                match reading.pass(participant, version) {
                    Step::Skip => {}
                    Step::Restart => break,
                    Step::Show => {
                        let text = self.sessions.text(&id, topic, stream, row, self.form).await?;
                        self.feed(text, position).await?;
                        has_shown = true;
                    }
                }
                if let Some(covered_position) = covered_position {
                    self.cover(position.min(covered_position));
                }
            }
            self.store_reading(stream, reading);
            if rows.is_empty() || (limit == ReadLimit::Committed && pages.has_ended) {
                return Ok(has_shown);
            }
        }
    }

    fn store_reading(&mut self, stream: &StreamName, reading: ReadPosition) {
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
        let mut has_shown = false;
        loop {
            let events = self.sessions.log().read_stream(stream, cursor, TAIL_PAGE).await?;
            let Some(last) = events.last() else { return Ok(has_shown) };
            cursor = last.version;
            for event in &events {
                let text = Utf8Bytes::try_from(plenary_accounts::notice(event)?)
                    .map_err(|error| Fault::Corrupt(error.to_string()))?;
                self.feed(text, event.position).await?;
                has_shown = true;
            }
            self.store_reading(stream, ReadPosition::at(cursor));
        }
    }
}

impl Sessions {
    /// The wire form of an event; written once for all who read it from the tail.
    async fn text(
        &self,
        id: &SessionId,
        topic: Option<&str>,
        stream: &StreamName,
        row: &PageRow,
        form: Form,
    ) -> Result<Utf8Bytes, Fault> {
        if let PageRow::Shared(row) = row
            && let Some(text) = row.encoded.get(form)
        {
            return Ok(text);
        }
        let text = self.write(id, topic, stream, row.event(), form).await?;
        Ok(match row {
            PageRow::Shared(row) => row.encoded.set(form, text),
            PageRow::Single(_) => text.into(),
        })
    }
}
