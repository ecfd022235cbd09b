//! One read of an inbox: from where, what of it the agent may see, and how much is unread.
//! Must not know: HTTP, or how long anybody waits.

use std::collections::HashMap;

use plenary_kernel::{AgentHandle, Position};
use plenary_log::{Fault, StreamName};
use plenary_sessions::{event::sequence, news::session_of, reads::Run};

use crate::{
    Inbox, NEWS_KEPT_MAX,
    cursor::{Cursor, Place},
    desk::Desk,
    kind::{Kind, Kinds},
    marks::{Marks, State},
    merging::{Heard, Next, merged},
    shelf::{Gathered, Shelf, Stub},
    telling::{Reader, framed},
    wire::{Item, Page},
};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    /// Behind this; absent: what is unread.
    pub(crate) after: Option<Cursor>,
    pub(crate) limit: usize,
    pub(crate) kinds: Kinds,
    /// Nothing counts as delivered.
    pub(crate) peek: bool,
}

impl Ask {
    /// Behind which place a kind is asked for.
    pub(crate) fn start(&self, kind: Kind, marks: &Marks) -> Place {
        self.after.and_then(|after| after.of(kind)).unwrap_or_else(|| marks.seen.of(kind))
    }

    /// The lowest of those places.
    fn lowest(&self, marks: &Marks) -> Place {
        let kinds = self.kinds.iter().filter(|kind| *kind != Kind::Frame);
        kinds.map(|kind| self.start(kind, marks)).min().unwrap_or_default()
    }
}

/// What of an agent's news was counted and picked, before anything of it is told.
struct Picked {
    stubs: Vec<(Place, Stub, u64)>,
    unread: u64,
    /// Whether not everything was counted.
    is_cut: bool,
    /// Whether there are more behind the last.
    more: bool,
    /// Up to here everything that was asked for is among them.
    end: Place,
}

impl Inbox {
    /// A page of an agent's inbox. What is given counts as delivered, unless it is only peeked at.
    pub(crate) async fn page(&self, me: &AgentHandle, ask: &Ask) -> Result<Page, Fault> {
        let desk = self.0.desks.open(me);
        let marks = self.marks(me).await?;
        let through = self.observed().await?;
        let reader = self.reader(me).await?;
        let picked = self.pick(&desk, &reader, ask, &marks, through).await?;
        let frames = Heard::of(self, &reader, ask, &marks);
        let merged = merged(&picked.stubs, &frames.news, ask.limit);
        let (durable, ephemeral) = (merged.iter().filter(|next| next.is_stub()).count(), merged.len());
        let ephemeral = ephemeral - durable;
        let mut items: Vec<Item> = Vec::with_capacity(merged.len());
        for next in &merged {
            match next {
                Next::Stub(place, stub, newer) => {
                    items.extend(self.item(&reader, *place, stub, *newer).await?)
                }
                Next::Frame(frame, newer) => items.push(framed(&reader, frame, *newer)),
            }
        }
        let is_whole = durable == picked.stubs.len();
        let place = match durable.checked_sub(1) {
            _ if is_whole => picked.end,
            Some(last) => picked.stubs[last].0,
            None => ask.lowest(&marks),
        };
        let cursor = Cursor { kinds: ask.kinds, place, lane: frames.passed(ephemeral) };
        if !items.is_empty() && !ask.peek {
            self.raise(me, State::Delivered, &cursor).await?;
        }
        Ok(Page {
            items,
            unread: picked.unread + frames.unread,
            unread_at_least: picked.is_cut,
            cursor: cursor.text(me),
            more: picked.more || !is_whole || ephemeral < frames.news.len(),
            timed_out: false,
        })
    }

    /// How many are unread, and whether there are more than were counted.
    pub(crate) async fn unread(&self, me: &AgentHandle, marks: &Marks) -> Result<(u64, bool), Fault> {
        let desk = self.0.desks.open(me);
        let through = self.observed().await?;
        let ask = Ask { after: None, limit: 0, kinds: Kinds::ALL, peek: true };
        let reader = self.reader(me).await?;
        let picked = self.pick(&desk, &reader, &ask, marks, through).await?;
        desk.shelf.lock().await.let_go(marks);
        Ok((picked.unread + Heard::of(self, &reader, &ask, marks).unread, picked.is_cut))
    }

    async fn pick(
        &self,
        desk: &Desk,
        reader: &Reader,
        ask: &Ask,
        marks: &Marks,
        through: Position,
    ) -> Result<Picked, Fault> {
        let mut shelf = desk.shelf.lock().await;
        self.bring_up(desk, &mut shelf, reader, ask, marks).await?;
        let mut open = Openness { inbox: self, reader, sessions: HashMap::new(), reads: HashMap::new() };
        let unread_from = marks.seen.lowest(ask.kinds);
        let (mut behind, mut unread) = (Vec::new(), 0);
        for (place, stub) in shelf.behind(unread_from.min(ask.lowest(marks))) {
            if place.0 > through || !ask.kinds.has(stub.kind) {
                continue;
            }
            let is_unread =
                place > marks.seen.of(stub.kind) && !shelf.is_answered(stub) && !open.was_read(stub).await?;
            let is_asked = place > ask.start(stub.kind, marks) && (ask.after.is_some() || is_unread);
            if (is_unread || is_asked) && open.is_open(stub).await? {
                unread += u64::from(is_unread);
                behind.extend(is_asked.then_some((place, stub)));
            }
        }
        let last = behind.iter().take(ask.limit).next_back().map(|(place, _)| *place).unwrap_or_default();
        let is_full = behind.len() > ask.limit;
        Ok(Picked {
            stubs: with_newer(&behind, ask.limit),
            unread,
            is_cut: shelf.until().is_some() || !shelf.covers(before(unread_from.0)),
            more: is_full || shelf.until().is_some(),
            end: if is_full { last } else { shelf.until().unwrap_or(Place::behind(through)) },
        })
    }

    /// Looks for what the shelf does not have yet.
    async fn bring_up(
        &self,
        desk: &Desk,
        shelf: &mut Shelf,
        reader: &Reader,
        ask: &Ask,
        marks: &Marks,
    ) -> Result<(), Fault> {
        let me = &reader.me.handle;
        let start = ask.lowest(marks);
        let from = before(start.min(marks.seen.lowest(ask.kinds)).0);
        shelf.note(desk.take_grown());
        if desk.was_doubted() {
            shelf.doubt();
        }
        if !shelf.covers(from) {
            shelf.begin(from, self.streams(me, from).await?);
        } else if shelf.falls_short(start, ask.limit + 1) {
            let from = before(start.0);
            shelf.begin(from, self.streams(me, from).await?);
        }
        while let Some((stream, after)) = shelf.next() {
            let gathered = self.gather(me, &stream, after).await;
            let gathered = Fault::past_damage(gathered, "a damaged stream is left out of an inbox")?;
            let nothing = || Gathered { read: after, ..Gathered::default() };
            shelf.take(&stream, gathered.unwrap_or_else(nothing), NEWS_KEPT_MAX);
        }
        Ok(())
    }
}

/// A transcript stands at one position: what is asked for may begin within it.
fn before(position: Position) -> Position {
    Position(position.0.saturating_sub(1))
}

/// The first of these, each with how many newer ones of the same place there are.
fn with_newer(behind: &[(Place, &Stub)], limit: usize) -> Vec<(Place, Stub, u64)> {
    let mut newer: HashMap<&StreamName, u64> = HashMap::new();
    for (_, stub) in behind {
        *newer.entry(&stub.stream).or_default() += 1;
    }
    let first = behind.iter().take(limit).map(|(place, stub)| {
        let left = newer.entry(&stub.stream).or_default();
        *left = left.saturating_sub(1);
        (*place, (*stub).clone(), *left)
    });
    first.collect()
}

/// Which news the agent may be told of; of a session it is asked once.
struct Openness<'a> {
    inbox: &'a Inbox,
    reader: &'a Reader,
    sessions: HashMap<StreamName, bool>,
    reads: HashMap<StreamName, Run>,
}

impl Openness<'_> {
    /// Whether the agent has got it by reading the session's events.
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
        self.reads.insert(stub.stream.clone(), run);
        Ok(run.has(number))
    }

    async fn is_open(&mut self, stub: &Stub) -> Result<bool, Fault> {
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
