//! Decides which found items an agent may see, and which are unread.
//! Must not know: how items are found, or shown.

use std::collections::HashMap;

use plenary_accounts::AttentionLevel;
use plenary_kernel::{Position, SessionId};
use plenary_log::{Fault, StreamName};
use plenary_sessions::{
    event::{FIRST_MESSAGE, sequence},
    news::session_of,
    seen_ranges::Runs,
    urgency::MessageUrgency,
};

use crate::{
    Inbox,
    attention::{HeldBack, Passage},
    cursor::ItemPosition,
    inbox_read::InboxQuery,
    items::Reader,
    kind::Kind,
    marks::Marks,
    shelf::{Shelf, Stub},
};

/// Decides which items the agent may see, with one look-up for each session.
pub(crate) struct Visibility<'a> {
    pub(crate) inbox: &'a Inbox,
    pub(crate) reader: &'a Reader,
    sessions: HashMap<StreamName, bool>,
    reads: HashMap<StreamName, Runs>,
    /// The invitations that carried first messages.
    invitations: HashMap<StreamName, Option<(Kind, ItemPosition)>>,
    /// The position up to which the agent's connections confirmed events, once it was needed.
    confirmed: Option<Position>,
    /// Whether an agent has `focus`, so that the reason to pass matters.
    focus: bool,
    pub(crate) held: HeldBack,
}

impl<'a> Visibility<'a> {
    pub(crate) fn new(inbox: &'a Inbox, reader: &'a Reader, query: &InboxQuery<'_>, marks: &Marks) -> Self {
        let levels = marks.handovers.sessions().iter().map(|coding| coding.level(reader.now));
        let mut levels = levels.chain([reader.level()]);
        let focus = query.coding.is_some() && levels.any(|level| level == AttentionLevel::Focus);
        let held = HeldBack::of(reader, query, marks);
        Self {
            inbox,
            reader,
            sessions: HashMap::new(),
            reads: HashMap::new(),
            invitations: HashMap::new(),
            confirmed: None,
            focus,
            held,
        }
    }

    /// Why an item may pass. Looked up only if it matters.
    pub(crate) async fn passage(&self, stub: &Stub, about: Option<&SessionId>) -> Result<Passage, Fault> {
        if !self.focus && !self.held.concerns(stub.at) {
            return Ok(Passage::ORDINARY);
        }
        let (me, from) = (&self.reader.me.handle, stub.from.as_ref());
        let plain = Passage::of(me, stub.kind, from, MessageUrgency::default());
        let has_message = matches!(stub.kind, Kind::SessionMessage | Kind::SessionInvited);
        let Some(id) = about.filter(|_| has_message && !plain.passes(AttentionLevel::Focus)) else {
            return Ok(plain);
        };
        let urgency = self.inbox.0.rooms.sessions.urgency_of(me, id, stub.version).await?;
        Ok(Passage::of(me, stub.kind, from, urgency))
    }

    /// Counts an unread item that waits or waited, if nothing else keeps it from the session.
    pub(crate) fn count(
        &mut self,
        query: &InboxQuery<'_>,
        marks: &Marks,
        stub: &Stub,
        about: Option<&SessionId>,
        passage: Passage,
    ) {
        let Some(session) = query.coding.filter(|_| self.held.concerns(stub.at)) else { return };
        let is_elsewhere = match marks.handovers.addressee(about, passage, self.reader.now) {
            Ok(Some(coding)) | Err(coding) => coding.session != session,
            Ok(None) => false,
        };
        if !(is_elsewhere && passage.passes(self.reader.level())) {
            self.held.count(passage, stub.from.as_ref());
        }
    }

    /// Whether it was not seen, answered or read, and is not pending in a live session.
    pub(crate) async fn is_unread(
        &mut self,
        shelf: &Shelf,
        marks: &Marks,
        position: ItemPosition,
        stub: &Stub,
    ) -> Result<bool, Fault> {
        if !marks.is_unread(stub.kind, position) {
            return Ok(false);
        }
        let inline = self.brought_first(position, stub).await?;
        if inline.is_some_and(|(kind, position)| !marks.is_unread(kind, position)) {
            return Ok(false);
        }
        let carriers: Vec<_> = [(stub.kind, position)].into_iter().chain(inline).collect();
        if shelf.is_answered(stub) && self.was_delivered(marks, &carriers).await? {
            return Ok(false);
        }
        Ok(!self.was_read(stub).await?)
    }

    /// The invitation that carried the message, if it is the first of a transcript: the agent has it once, not twice.
    async fn brought_first(
        &mut self,
        position: ItemPosition,
        stub: &Stub,
    ) -> Result<Option<(Kind, ItemPosition)>, Fault> {
        let is_first = stub.kind == Kind::SessionMessage && stub.version == FIRST_MESSAGE && position.1 > 0;
        let Some(id) = session_of(&stub.stream).filter(|_| is_first) else { return Ok(None) };
        if let Some(known) = self.invitations.get(&stub.stream) {
            return Ok(*known);
        }
        let found = self.inbox.0.rooms.sessions.first_message_invitation(&self.reader.me.handle, &id).await?;
        let found = found.map(|(kind, position)| (kind, ItemPosition(position, 0)));
        self.invitations.insert(stub.stream.clone(), found);
        Ok(found)
    }

    /// Whether the agent has a message, so that its later message settles it. Joining settles every earlier invitation.
    async fn was_delivered(
        &mut self,
        marks: &Marks,
        carriers: &[(Kind, ItemPosition)],
    ) -> Result<bool, Fault> {
        if carriers.iter().all(|(kind, _)| *kind != Kind::SessionMessage) {
            return Ok(true);
        }
        let confirmed = match self.confirmed {
            Some(known) => known,
            None => {
                let read = self.inbox.0.cursors.confirmed(&self.reader.me.handle).await?;
                *self.confirmed.insert(read)
            }
        };
        Ok(carriers.iter().any(|(kind, position)| marks.has_arrived(*kind, *position, confirmed)))
    }

    /// Whether the agent's model has seen it among the session's events.
    async fn was_read(&mut self, stub: &Stub) -> Result<bool, Fault> {
        if stub.kind != Kind::SessionMessage {
            return Ok(false);
        }
        let number = sequence(stub.version);
        if let Some(run) = self.reads.get(&stub.stream) {
            return Ok(run.has(number));
        }
        let Some(id) = session_of(&stub.stream) else { return Ok(false) };
        let run = self.inbox.0.rooms.sessions.has_read(&self.reader.me.handle, &id).await?;
        let has = run.has(number);
        self.reads.insert(stub.stream.clone(), run);
        Ok(has)
    }

    /// Whether the item is in a session that the agent is about to leave because of a block.
    pub(crate) async fn awaits_ejection(&self, stub: &Stub) -> Result<bool, Fault> {
        let Some(id) = session_of(&stub.stream) else { return Ok(false) };
        let (me, blockers) = (&self.reader.me.handle, &self.reader.blockers);
        self.inbox.0.rooms.sessions.awaits_ejection(me, &id, blockers).await
    }

    pub(crate) async fn is_open(&mut self, stub: &Stub) -> Result<bool, Fault> {
        let by_stream = matches!(stub.kind, Kind::SessionMessage | Kind::SessionInvited);
        if let Some(known) = self.sessions.get(&stub.stream).filter(|_| by_stream) {
            return Ok(*known);
        }
        let is_open = self.inbox.is_open(self.reader, stub).await?;
        if by_stream {
            self.sessions.insert(stub.stream.clone(), is_open);
        }
        Ok(is_open)
    }
}
