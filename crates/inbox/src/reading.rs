//! One read of an inbox: its start, the items that the agent may see, and the number of unread ones.
//! Must not know: HTTP, or the duration of a wait.

use std::{collections::HashMap, sync::Arc, time::Duration};

use plenary_kernel::{AgentHandle, Position, SessionId};
use plenary_log::{Fault, StreamName};
use plenary_sessions::{news::session_of, pressing::Pressing};
use tokio::time::Instant;

use crate::{
    HELD_MAX, Inbox, NEWS_KEPT_MAX,
    attention::{HeldBack, Passage},
    cursor::{Cursor, ItemId, ItemPosition},
    feed::AgentFeed,
    gathering::ShelfLookup,
    kind::{Kind, Kinds},
    marks::Marks,
    merging::{Next, RetainedNews, merged},
    shelf::{Shelf, Shelves, Stub},
    telling::{Reader, framed, remaining_chars},
    visibility::Visibility,
    wire::{Item, Page},
};

/// How many streams a read examines before it answers; if it finds nothing, it examines twice as many each time.
const LOOKED_AT_ONCE: usize = 64;
/// How many streams it examines at once at most. It answers that there may be more when it has examined as many, and
/// the time is over.
const LOOKED_AT_MAX: usize = 512;
/// How long a read without results looks further.
const LOOK_FURTHER: Duration = Duration::from_millis(50);

/// The parameters of a read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InboxQuery<'a> {
    /// The start; absent: at the unread items.
    pub(crate) after: Option<Cursor>,
    pub(crate) limit: usize,
    pub(crate) kinds: Kinds,
    /// The reading coding session, which gets no items for others.
    pub(crate) coding: Option<&'a str>,
}

impl InboxQuery<'_> {
    /// The place after which a kind is read.
    pub(crate) fn start(&self, kind: Kind, marks: &Marks) -> ItemPosition {
        self.after.and_then(|after| after.of(kind)).unwrap_or_else(|| marks.unread_from(kind))
    }

    /// The lowest of those places, for the kinds without their own marks.
    fn lowest(&self, marks: &Marks) -> ItemPosition {
        let kinds = self.kinds.iter().filter(|kind| kind.is_in_line());
        kinds.map(|kind| self.start(kind, marks)).min().unwrap_or_default()
    }
}

/// The items of a shelf that were counted and picked, before their texts are read.
#[derive(Default)]
struct PickedStubs {
    stubs: Vec<(ItemPosition, Stub, u64)>,
    unread: u64,
    /// Whether not everything was counted.
    is_cut: bool,
    /// Whether there are more after the last.
    more: bool,
    /// All requested items up to here are included.
    end: ItemPosition,
    /// Items for another coding session.
    held: Vec<(ItemPosition, Kind)>,
}

/// The parameters of picking from one shelf.
struct ShelfScan<'a> {
    shelf: &'a Shelf,
    /// The place after which items may be unread.
    unread_from: ItemPosition,
    /// The place after which items may be requested.
    start: ItemPosition,
    is_wanted: fn(Kind) -> bool,
}

impl Inbox {
    /// A page of an agent's inbox. It marks nothing.
    pub(crate) async fn page(&self, me: &AgentHandle, query: &InboxQuery<'_>) -> Result<Page, Fault> {
        let feed = self.0.feeds.open(me);
        let marks = self.settled_marks(me).await?;
        let through = self.observed().await?;
        let reader = self.reader(me).await?;
        let (known, mut offered, mut held_back) = self.pick(&feed, &reader, query, &marks, through).await?;
        let mut frames = RetainedNews::of(self, &reader, query, &marks);
        let is_for_it = self.is_for(query, &marks, &reader, None, Passage::ORDINARY);
        let frames_held =
            self.hold_frames(&mut frames, query, &marks, &reader, (&known.held, &mut held_back));
        if !is_for_it {
            // The cursor of offers stays where it is, and nothing has to be held.
            offered =
                PickedStubs { unread: offered.unread, is_cut: offered.is_cut, ..PickedStubs::default() };
        }
        let merged = merged(&known.stubs, &frames.news, query.limit);
        let (durable, ephemeral) = (merged.iter().filter(|next| next.is_stub()).count(), merged.len());
        let ephemeral = ephemeral - durable;
        let is_whole = durable == known.stubs.len();
        let more_known = known.more || !is_whole || ephemeral < frames.news.len();
        // Offers of strangers follow when there are no other items.
        let room = if more_known { 0 } else { query.limit - merged.len() };
        let offers = &offered.stubs[..room.min(offered.stubs.len())];
        let mut items: Vec<Item> = Vec::with_capacity(merged.len() + offers.len());
        let offers_next = offers.iter().map(|(place, stub, newer)| Next::Stub(*place, stub, *newer));
        for next in merged.iter().copied().chain(offers_next) {
            let room = remaining_chars(&items);
            match next {
                Next::Stub(place, stub, newer) => {
                    items.extend(self.item(&reader, place, stub, newer, room).await?);
                }
                Next::Frame(frame, newer) => items.push(framed(&reader, frame, newer, room)),
            }
        }
        let place = match durable.checked_sub(1) {
            _ if is_whole => known.end,
            Some(last) => known.stubs[last].0,
            None => query.lowest(&marks),
        };
        let held = known.held.iter().filter(|(at, _)| *at <= place);
        let lane = frames.passed(ephemeral);
        let frames_held = frames_held.into_iter().filter(|number| *number <= lane).map(ItemId::Frame);
        let held = held.map(|(place, kind)| ItemId::of(*kind, *place)).chain(frames_held);
        let held = held.map(|spot| spot.to_string()).collect();
        let offers_end = match offers.last() {
            _ if !is_for_it => query.start(Kind::SessionOffered, &marks),
            _ if !more_known && offers.len() == offered.stubs.len() => offered.end,
            Some((last, ..)) => *last,
            None => query.start(Kind::SessionOffered, &marks),
        };
        let turn = marks.shown.turn();
        let cursor = Cursor { kinds: query.kinds, place, lane, offers: offers_end, turn };
        Ok(Page {
            more: more_known || offered.more || offers.len() < offered.stubs.len(),
            items,
            unread: known.unread + frames.unread + offered.unread,
            unread_at_least: known.is_cut || offered.is_cut,
            from_strangers: offered.unread,
            cursor: cursor.text(me),
            held,
            attention: query.coding.and_then(|_| held_back.digest()),
            timed_out: false,
        })
    }

    /// Whether an item is for the reading coding session, by the session of the network that it belongs
    /// to. An item that may not disturb the agent is for none.
    fn is_for(
        &self,
        query: &InboxQuery<'_>,
        marks: &Marks,
        reader: &Reader,
        about: Option<&SessionId>,
        passage: Passage,
    ) -> bool {
        let Some(session) = query.coding else { return true };
        passage.passes(reader.level()) && marks.shown.is_for(session, about, passage, self.0.clock.now())
    }

    /// Removes the frames that are not for the session; returns the numbers of those that a page may
    /// pass over. If none is for it, or too many are held already, the cursor of frames stays where it
    /// is.
    fn hold_frames(
        &self,
        frames: &mut RetainedNews,
        query: &InboxQuery<'_>,
        marks: &Marks,
        reader: &Reader,
        (held, held_back): (&[(ItemPosition, Kind)], &mut HeldBack),
    ) -> Vec<u64> {
        let me = &reader.me.handle;
        let (mut passing, mut left) = (Vec::new(), Vec::new());
        for frame in std::mem::take(&mut frames.news) {
            let passage = Passage::of(me, Kind::Frame, Some(&frame.from), Pressing::default());
            if held_back.concerns(frame.at) {
                held_back.count(passage, Some(&frame.from));
            }
            if self.is_for(query, marks, reader, None, passage) {
                passing.push(frame);
            } else {
                left.push(frame.number);
            }
        }
        if passing.is_empty() || held.len() + left.len() > HELD_MAX {
            return Vec::new();
        }
        frames.news = passing;
        left
    }

    /// The number of unread items, and whether there are more than were counted.
    pub(crate) async fn unread(&self, me: &AgentHandle, marks: &Marks) -> Result<(u64, bool), Fault> {
        let feed = self.0.feeds.open(me);
        let through = self.observed().await?;
        let query = InboxQuery { after: None, limit: 0, kinds: Kinds::ALL, coding: None };
        let reader = self.reader(me).await?;
        let (known, offered, _) = self.pick(&feed, &reader, &query, marks, through).await?;
        let mut shelves = feed.shelves.lock().await;
        shelves.known.let_go(marks.unread_lowest(Kinds::ALL));
        shelves.offered.let_go(marks.unread_from(Kind::SessionOffered));
        drop(shelves);
        let frames = RetainedNews::of(self, &reader, &query, marks).unread;
        Ok((known.unread + offered.unread + frames, known.is_cut || offered.is_cut))
    }

    /// Returned items that the agent has settled since by answering, joining or reading. Empty unless more than
    /// `RETURNED_MAX` items were returned.
    pub(crate) async fn settled_since(&self, me: &AgentHandle) -> Result<Vec<ItemId>, Fault> {
        let marks = self.settled_marks(me).await?;
        if !marks.shown.is_crowded() {
            return Ok(Vec::new());
        }
        let (feed, reader) = (self.0.feeds.open(me), self.reader(me).await?);
        let query = InboxQuery { after: None, limit: 0, kinds: Kinds::ALL, coding: None };
        let mut shelves = feed.shelves.lock().await;
        self.bring_up(&feed, &mut shelves, &reader, &query, &marks).await?;
        let mut open = Visibility::new(self, &reader, &query, &marks);
        let mut settled = Vec::new();
        for shelf in [&shelves.known, &shelves.offered] {
            for (place, stub) in shelf.items_after(ItemPosition::default()) {
                let spot = ItemId::of(stub.kind, place);
                let is_returned = marks.shown.is_returned(spot);
                if is_returned && !open.is_unread(shelf, &marks, place, stub).await? {
                    settled.push(spot);
                }
            }
        }
        Ok(settled)
    }

    /// The requested items of both shelves, as far as they are found at once. The background search
    /// finds the rest.
    async fn pick(
        &self,
        feed: &Arc<AgentFeed>,
        reader: &Reader,
        query: &InboxQuery<'_>,
        marks: &Marks,
        through: Position,
    ) -> Result<(PickedStubs, PickedStubs, HeldBack), Fault> {
        let mut shelves = feed.shelves.lock().await;
        self.bring_up(feed, &mut shelves, reader, query, marks).await?;
        let mut open = Visibility::new(self, reader, query, marks);
        let mut work = LOOKED_AT_ONCE;
        let deadline = Instant::now() + LOOK_FURTHER;
        let known = loop {
            let (unread_from, start) = (marks.unread_lowest(query.kinds), query.lowest(marks));
            let pick = ShelfScan { shelf: &shelves.known, unread_from, start, is_wanted: Kind::is_in_line };
            open.held = HeldBack::of(reader, query, marks);
            let known = pick.picked(&mut open, query, marks, through).await?;
            if !known.stubs.is_empty() || work > LOOKED_AT_MAX && Instant::now() >= deadline {
                break known;
            }
            let me = &reader.me.handle;
            let has_room =
                query.after.is_none() && self.make_room(me, &mut shelves.known, &mut open, marks).await?;
            if !has_room && (query.limit == 0 || !shelves.known.goes_on()) {
                break known;
            }
            // Everything found so far is settled; unread streams may have later items.
            let mut left = work.min(LOOKED_AT_MAX);
            self.look(me, &mut shelves.known, ShelfLookup::Known, &mut left).await?;
            work = work.saturating_mul(2);
        };
        let mut offered = PickedStubs::default();
        if query.kinds.has(Kind::SessionOffered) {
            let (unread_from, start) =
                (marks.unread_from(Kind::SessionOffered), query.start(Kind::SessionOffered, marks));
            let is_wanted = |kind| kind == Kind::SessionOffered;
            let pick = ShelfScan { shelf: &shelves.offered, unread_from, start, is_wanted };
            offered = pick.picked(&mut open, query, marks, through).await?;
            // Each of these streams has one invitation.
            offered.unread += u64::try_from(shelves.offered.waiting()).unwrap_or(u64::MAX);
        }
        if shelves.known.goes_on() || shelves.offered.goes_on() {
            self.go_on(&reader.me.handle, feed);
        }
        Ok((known, offered, open.held))
    }

    /// Looks for the items that the shelves lack.
    async fn bring_up(
        &self,
        feed: &AgentFeed,
        shelves: &mut Shelves,
        reader: &Reader,
        query: &InboxQuery<'_>,
        marks: &Marks,
    ) -> Result<(), Fault> {
        let me = &reader.me.handle;
        self.take_grown(me, feed, shelves).await?;
        let Shelves { known, offered, .. } = shelves;
        let mut work = LOOKED_AT_ONCE;
        if query.kinds.iter().any(Kind::is_in_line) {
            let places = (query.lowest(marks), marks.unread_lowest(query.kinds));
            self.reach(me, known, ShelfLookup::Known, query, places, &mut work).await?;
        }
        if query.kinds.has(Kind::SessionOffered) {
            let kind = Kind::SessionOffered;
            let places = (query.start(kind, marks), marks.unread_from(kind));
            self.reach(me, offered, ShelfLookup::Offered, query, places, &mut work).await?;
        }
        Ok(())
    }

    /// Looks for the items of one shelf from the start of the read on, and from the first unread item on if that is
    /// earlier and both fit. A shelf that is full before a page ends begins again at the start of the page.
    async fn reach(
        &self,
        me: &AgentHandle,
        shelf: &mut Shelf,
        on: ShelfLookup,
        query: &InboxQuery<'_>,
        (start, unread_from): (ItemPosition, ItemPosition),
        work: &mut usize,
    ) -> Result<(), Fault> {
        let from = before(start.min(unread_from).0);
        let is_there = match query.after {
            Some(_) => shelf.covers(before(start.0)) && !shelf.lacks(start),
            None => shelf.covers(from),
        };
        if !is_there {
            self.begin_shelf(me, shelf, on, from).await?;
        }
        self.look(me, shelf, on, work).await?;
        if shelf.falls_short(start, query.limit + 1) {
            self.begin_shelf(me, shelf, on, before(start.0)).await?;
            self.look(me, shelf, on, work).await?;
        }
        Ok(())
    }

    /// Drops the settled items of a full shelf, so that later ones fit. False if the shelf is not full, or full of
    /// unread items. An old unread item, or a mark of one kind that never rises, would otherwise hide everything
    /// beyond the shelf for ever.
    async fn make_room(
        &self,
        me: &AgentHandle,
        shelf: &mut Shelf,
        open: &mut Visibility<'_>,
        marks: &Marks,
    ) -> Result<bool, Fault> {
        let Some(until) = shelf.cut_at() else { return Ok(false) };
        let mut settled = Vec::new();
        for (place, stub) in shelf.items_after(ItemPosition::default()) {
            // What a coding session was shown may come back.
            let is_shown = marks.shown.was_shown(ItemId::of(stub.kind, place));
            if !is_shown && !open.is_unread(shelf, marks, place, stub).await? {
                settled.push(place);
            }
        }
        if settled.len() < NEWS_KEPT_MAX / 2 {
            return Ok(false);
        }
        let (streams, listing) = self.list_known(me, before(until.0)).await?;
        shelf.make_room(&settled, streams, listing);
        Ok(true)
    }

    /// Takes over the streams with new events. Streams that were read before are read again at once, so
    /// that an answer settles the items that it answers.
    async fn take_grown(
        &self,
        me: &AgentHandle,
        feed: &AgentFeed,
        shelves: &mut Shelves,
    ) -> Result<(), Fault> {
        let Shelves { known, offered, grown } = shelves;
        feed.move_grown(grown);
        while let Some((stream, first)) = grown.iter().next().map(|(stream, first)| (stream.clone(), *first))
        {
            let is_offered = match session_of(&stream) {
                Some(id) => self.0.rooms.sessions.is_offered(me, &id).await?,
                None => false,
            };
            let was_known = [known.knows(&stream), offered.knows(&stream)];
            if was_known[0] || !is_offered {
                known.note([(stream.clone(), first)]);
            }
            if was_known[1] || is_offered {
                offered.note([(stream.clone(), first)]);
            }
            grown.remove(&stream);
            let shelves = [(&mut *known, ShelfLookup::Known), (&mut *offered, ShelfLookup::Offered)];
            for ((shelf, on), was_known) in shelves.into_iter().zip(was_known) {
                if was_known {
                    let after = shelf.read_from(&stream);
                    self.look_at(me, shelf, on, &stream, after).await?;
                }
            }
        }
        if feed.take_stale() {
            known.invalidate();
            offered.invalidate();
        }
        Ok(())
    }
}

impl ShelfScan<'_> {
    async fn picked(
        &self,
        open: &mut Visibility<'_>,
        query: &InboxQuery<'_>,
        marks: &Marks,
        through: Position,
    ) -> Result<PickedStubs, Fault> {
        let Self { shelf, unread_from, start, is_wanted } = *self;
        let (mut behind, mut held, mut unread, mut is_held_up) = (Vec::new(), Vec::new(), 0, false);
        for (place, stub) in shelf.items_after(unread_from.min(start)) {
            if place.0 > through || !query.kinds.has(stub.kind) || !is_wanted(stub.kind) {
                continue;
            }
            let is_unread = open.is_unread(shelf, marks, place, stub).await?;
            let is_requested = place > query.start(stub.kind, marks) && (query.after.is_some() || is_unread);
            if (is_unread || is_requested) && open.is_open(stub).await? {
                unread += u64::from(is_unread);
                let about = session_of(&stub.stream);
                let passage = open.passage(stub, about.as_ref()).await?;
                if is_unread {
                    open.count(query, marks, stub, about.as_ref(), passage);
                }
                let is_for = || open.inbox.is_for(query, marks, open.reader, about.as_ref(), passage);
                if is_requested && (!stub.kind.is_in_line() || is_for()) {
                    behind.push((place, stub));
                } else if is_requested {
                    held.push((place, stub.kind));
                    is_held_up = held.len() == HELD_MAX;
                    if is_held_up {
                        break;
                    }
                }
            }
        }
        let last = behind.iter().take(query.limit).next_back().map(|(place, _)| *place).unwrap_or_default();
        let last_held = held.last().map(|(place, _)| *place).filter(|_| is_held_up);
        let is_full = behind.len() > query.limit;
        let last = if is_full { last } else { last_held.unwrap_or(last) };
        let (is_full, end) = (is_full || is_held_up, shelf.end());
        let all = end.unwrap_or(ItemPosition::end_of(through)).min(ItemPosition::end_of(through));
        Ok(PickedStubs {
            stubs: with_newer(&behind, query.limit),
            unread,
            is_cut: is_held_up || end.is_some() || !shelf.covers(before(unread_from.0)),
            more: is_full || end.is_some(),
            // A cursor never moves back.
            end: if is_full { last } else { all.max(start) },
            held,
        })
    }
}

/// A transcript has one position: the start of a read may be within it.
fn before(position: Position) -> Position {
    Position(position.0.saturating_sub(1))
}

/// The first items, each with the number of newer ones of the same place.
fn with_newer(behind: &[(ItemPosition, &Stub)], limit: usize) -> Vec<(ItemPosition, Stub, u64)> {
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
