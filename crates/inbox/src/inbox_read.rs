//! One read of an inbox: its start, the items that the agent may see, and the number of unread ones.
//! Must not know: HTTP, or the duration of a wait.

use std::{collections::HashMap, sync::Arc, time::Duration};

use plenary_kernel::{AgentHandle, Position, SessionId};
use plenary_log::{Fault, StreamName};
use plenary_sessions::{news::session_of, urgency::MessageUrgency};
use tokio::time::Instant;

use crate::{
    HELD_MAX, Inbox, NEWS_KEPT_MAX,
    attention::{HeldBack, Passage},
    cursor::{Cursor, ItemId, ItemPosition},
    feed::AgentFeed,
    items::{Reader, framed, remaining_chars},
    kind::{Kind, Kinds},
    marks::Marks,
    merged_order::{Next, RetainedNews, merged},
    news_search::ShelfLookup,
    shelf::{Shelf, Shelves, Stub},
    visibility::Visibility,
    wire::{Item, Page},
};

/// How many streams a read examines before it answers; if it finds nothing, it examines twice as many each time.
const READ_AT_ONCE: usize = 64;
/// How many streams it examines at once at most. It answers that there may be more when it has examined as many, and
/// the time is over.
const READ_AT_ONCE_MAX: usize = 512;
/// How long a read without results looks further.
const SEARCH_TIME: Duration = Duration::from_millis(50);

/// The parameters of a read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InboxQuery<'a> {
    /// The start; absent: at the unread items.
    pub(crate) after: Option<Cursor>,
    pub(crate) limit: usize,
    pub(crate) kinds: Kinds,
    /// The coding session whose hook reads: it gets only items for it, and of those only what may disturb it.
    pub(crate) coding: Option<&'a str>,
    /// The coding session whose model asks: it gets everything except what waits for another live session.
    pub(crate) asked_in: Option<&'a str>,
}

impl InboxQuery<'_> {
    /// The unread items of every kind, for any reader.
    pub(crate) const fn of_all(limit: usize) -> Self {
        Self { after: None, limit, kinds: Kinds::ALL, coding: None, asked_in: None }
    }

    /// The position after which a kind is read.
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
    /// The position after which items may be unread.
    unread_from: ItemPosition,
    /// The position after which items may be requested.
    start: ItemPosition,
    is_on_shelf: fn(Kind) -> bool,
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
            offered = PickedStubs::default();
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
        let offers_next = offers.iter().map(|(position, stub, newer)| Next::Stub(*position, stub, *newer));
        for next in merged.iter().copied().chain(offers_next) {
            let room = remaining_chars(&items);
            match next {
                Next::Stub(position, stub, newer) => {
                    items.extend(self.item(&reader, position, stub, newer, room).await?);
                }
                Next::Frame(frame, newer) => items.push(framed(&reader, frame, newer, room)),
            }
        }
        let position = match durable.checked_sub(1) {
            _ if is_whole => known.end,
            Some(last) => known.stubs[last].0,
            None => query.lowest(&marks),
        };
        let held = known.held.iter().filter(|(item_position, _)| *item_position <= position);
        let lane = frames.passed(ephemeral);
        let frames_held = frames_held.into_iter().filter(|number| *number <= lane).map(ItemId::Frame);
        let held = held.map(|(position, kind)| ItemId::of(*kind, *position)).chain(frames_held);
        let held = held.map(|item_id| item_id.to_string()).collect();
        let offers_end = match offers.last() {
            _ if !is_for_it => query.start(Kind::SessionOffered, &marks),
            _ if !more_known && offers.len() == offered.stubs.len() => offered.end,
            Some((last, ..)) => *last,
            None => query.start(Kind::SessionOffered, &marks),
        };
        let returns = marks.handovers.returns();
        let cursor = Cursor { kinds: query.kinds, position, lane, offers: offers_end, returns };
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
        let (handovers, now) = (&marks.handovers, self.0.clock.now());
        match (query.coding, query.asked_in) {
            (Some(session), _) => {
                passage.passes(reader.level()) && handovers.is_for(session, about, passage, now)
            }
            (None, Some(session)) => !about.is_some_and(|id| handovers.waits_elsewhere(session, id, now)),
            (None, None) => true,
        }
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
        let (mut passing, mut held_numbers) = (Vec::new(), Vec::new());
        for frame in std::mem::take(&mut frames.news) {
            let passage = Passage::of(me, Kind::Frame, Some(&frame.from), MessageUrgency::default());
            if held_back.concerns(frame.at) {
                held_back.count(passage, Some(&frame.from));
            }
            if self.is_for(query, marks, reader, None, passage) {
                passing.push(frame);
            } else {
                let is_unread = marks.is_unread(Kind::Frame, ItemPosition(Position(frame.number), 0));
                frames.unread = frames.unread.saturating_sub(u64::from(is_unread));
                held_numbers.push(frame.number);
            }
        }
        if passing.is_empty() || held.len() + held_numbers.len() > HELD_MAX {
            return Vec::new();
        }
        frames.news = passing;
        held_numbers
    }

    /// The number of unread items, and whether there are more than were counted.
    pub(crate) async fn unread(&self, me: &AgentHandle, marks: &Marks) -> Result<(u64, bool), Fault> {
        let feed = self.0.feeds.open(me);
        let through = self.observed().await?;
        let query = InboxQuery::of_all(0);
        let reader = self.reader(me).await?;
        let (known, offered, _) = self.pick(&feed, &reader, &query, marks, through).await?;
        let mut shelves = feed.shelves.lock().await;
        shelves.known.drop_seen(marks.unread_lowest(Kinds::ALL));
        shelves.offered.drop_seen(marks.unread_from(Kind::SessionOffered));
        drop(shelves);
        let frames = RetainedNews::of(self, &reader, &query, marks).unread;
        Ok((known.unread + offered.unread + frames, known.is_cut || offered.is_cut))
    }

    /// The unread items up to a cursor that wait for other live coding sessions than this one.
    pub(crate) async fn waiting_elsewhere(
        &self,
        me: &AgentHandle,
        session: &str,
        to: &Cursor,
    ) -> Result<Vec<ItemId>, Fault> {
        let (feed, marks) = (self.0.feeds.open(me), self.settled_marks(me).await?);
        if !marks.handovers.has_sessions_besides(session) {
            return Ok(Vec::new());
        }
        let (through, reader) = (self.observed().await?, self.reader(me).await?);
        let query = InboxQuery { asked_in: Some(session), kinds: to.kinds, ..InboxQuery::of_all(0) };
        let (known, ..) = self.pick(&feed, &reader, &query, &marks, through).await?;
        let is_covered =
            |(position, kind): &(ItemPosition, Kind)| to.of(*kind).is_some_and(|to| *position <= to);
        let held = known.held.into_iter().filter(is_covered);
        Ok(held.map(|(position, kind)| ItemId::of(kind, position)).collect())
    }

    /// Returned items that the agent has settled since by answering, joining or reading. Empty unless more than
    /// `RETURNED_MAX` items were returned.
    pub(crate) async fn settled_since(&self, me: &AgentHandle) -> Result<Vec<ItemId>, Fault> {
        let marks = self.settled_marks(me).await?;
        if !marks.handovers.is_crowded() {
            return Ok(Vec::new());
        }
        let (feed, reader) = (self.0.feeds.open(me), self.reader(me).await?);
        let query = InboxQuery::of_all(0);
        let mut shelves = feed.shelves.lock().await;
        self.bring_up_to_date(&feed, &mut shelves, &reader, &query, &marks).await?;
        let mut visibility = Visibility::new(self, &reader, &query, &marks);
        let mut settled = Vec::new();
        for shelf in [&shelves.known, &shelves.offered] {
            for (position, stub) in shelf.items_after(ItemPosition::default()) {
                let item_id = ItemId::of(stub.kind, position);
                let is_returned = marks.handovers.is_returned(item_id);
                if is_returned && !visibility.is_unread(shelf, &marks, position, stub).await? {
                    settled.push(item_id);
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
        self.bring_up_to_date(feed, &mut shelves, reader, query, marks).await?;
        let mut visibility = Visibility::new(self, reader, query, marks);
        let mut work = READ_AT_ONCE;
        let deadline = Instant::now() + SEARCH_TIME;
        let known = loop {
            let (unread_from, start) = (marks.unread_lowest(query.kinds), query.lowest(marks));
            let pick = ShelfScan { shelf: &shelves.known, unread_from, start, is_on_shelf: Kind::is_in_line };
            visibility.held = HeldBack::of(reader, query, marks);
            let known = pick.picked(&mut visibility, query, marks, through).await?;
            if !known.stubs.is_empty() || work > READ_AT_ONCE_MAX && Instant::now() >= deadline {
                break known;
            }
            let me = &reader.me.handle;
            let has_room = query.after.is_none()
                && self.make_room(me, &mut shelves.known, &mut visibility, marks).await?;
            if !has_room && (query.limit == 0 || !shelves.known.has_more()) {
                break known;
            }
            // Everything found so far is settled; unread streams may have later items.
            let mut budget = work.min(READ_AT_ONCE_MAX);
            self.read_pending(me, &mut shelves.known, ShelfLookup::Known, &mut budget).await?;
            work = work.saturating_mul(2);
        };
        let mut offered = PickedStubs::default();
        if query.kinds.has(Kind::SessionOffered) {
            let (unread_from, start) =
                (marks.unread_from(Kind::SessionOffered), query.start(Kind::SessionOffered, marks));
            let is_on_shelf = |kind| kind == Kind::SessionOffered;
            let pick = ShelfScan { shelf: &shelves.offered, unread_from, start, is_on_shelf };
            offered = pick.picked(&mut visibility, query, marks, through).await?;
            // Each of these streams has one invitation.
            offered.unread += u64::try_from(shelves.offered.waiting()).unwrap_or(u64::MAX);
        }
        if shelves.known.has_more() || shelves.offered.has_more() {
            self.search_in_background(&reader.me.handle, feed);
        }
        Ok((known, offered, visibility.held))
    }

    /// Looks for the items that the shelves lack.
    async fn bring_up_to_date(
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
        let mut work = READ_AT_ONCE;
        if query.kinds.iter().any(Kind::is_in_line) {
            let positions = (query.lowest(marks), marks.unread_lowest(query.kinds));
            self.reach(me, known, ShelfLookup::Known, query, positions, &mut work).await?;
        }
        if query.kinds.has(Kind::SessionOffered) {
            let kind = Kind::SessionOffered;
            let positions = (query.start(kind, marks), marks.unread_from(kind));
            self.reach(me, offered, ShelfLookup::Offered, query, positions, &mut work).await?;
        }
        Ok(())
    }

    /// Looks for the items of one shelf from the start of the read on, and from the first unread item on if that is
    /// earlier and both fit. A shelf that is full before a page ends begins again at the start of the page.
    async fn reach(
        &self,
        me: &AgentHandle,
        shelf: &mut Shelf,
        lookup: ShelfLookup,
        query: &InboxQuery<'_>,
        (start, unread_from): (ItemPosition, ItemPosition),
        work: &mut usize,
    ) -> Result<(), Fault> {
        let from = before(start.min(unread_from).0);
        let is_covered = match query.after {
            Some(_) => shelf.covers(before(start.0)) && !shelf.lacks(start),
            None => shelf.covers(from),
        };
        if !is_covered {
            self.begin_shelf(me, shelf, lookup, from).await?;
        }
        self.read_pending(me, shelf, lookup, work).await?;
        if shelf.falls_short(start, query.limit + 1) {
            self.begin_shelf(me, shelf, lookup, before(start.0)).await?;
            self.read_pending(me, shelf, lookup, work).await?;
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
        visibility: &mut Visibility<'_>,
        marks: &Marks,
    ) -> Result<bool, Fault> {
        let Some(until) = shelf.limit() else { return Ok(false) };
        let mut settled = Vec::new();
        for (position, stub) in shelf.items_after(ItemPosition::default()) {
            // An item that a coding session was shown may come back.
            let is_shown = marks.handovers.was_shown(ItemId::of(stub.kind, position));
            if !is_shown && !visibility.is_unread(shelf, marks, position, stub).await? {
                settled.push(position);
            }
        }
        if settled.len() < NEWS_KEPT_MAX / 2 {
            return Ok(false);
        }
        let (streams, listing) = self.list_known(me, before(until.0)).await?;
        shelf.make_room(&settled, streams, listing);
        Ok(true)
    }

    /// Adds the streams with new events. Streams that were read before are read again at once, so
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
            for ((shelf, lookup), was_known) in shelves.into_iter().zip(was_known) {
                if was_known {
                    let after = shelf.read_from(&stream);
                    for unread in self.read_streams(me, lookup, &[(stream.clone(), after)]).await? {
                        shelf.take(&stream, unread, NEWS_KEPT_MAX);
                    }
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
        visibility: &mut Visibility<'_>,
        query: &InboxQuery<'_>,
        marks: &Marks,
        through: Position,
    ) -> Result<PickedStubs, Fault> {
        let Self { shelf, unread_from, start, is_on_shelf } = *self;
        let (mut requested, mut held, mut unread, mut is_held_up) = (Vec::new(), Vec::new(), 0, false);
        let mut waiting = None;
        for (position, stub) in shelf.items_after(unread_from.min(start)) {
            if position.0 > through || !query.kinds.has(stub.kind) || !is_on_shelf(stub.kind) {
                continue;
            }
            let start = query.start(stub.kind, marks);
            let is_coming = |earlier: &_| *earlier > start && marks.is_unread(stub.kind, *earlier);
            let repeated = stub.reminds_of.filter(is_coming);
            // An urgent message passes, although the invitation before it waits.
            if repeated.is_some_and(|earlier| held.iter().all(|(position, _)| *position != earlier)) {
                continue;
            }
            let is_unread = visibility.is_unread(shelf, marks, position, stub).await?;
            let is_requested = position > start && (query.after.is_some() || is_unread);
            if !is_unread && !is_requested {
                continue;
            }
            if visibility.is_open(stub).await? {
                let about = session_of(&stub.stream);
                let passage = visibility.passage(stub, about.as_ref()).await?;
                let is_for_it = !stub.kind.is_in_line()
                    || visibility.inbox.is_for(query, marks, visibility.reader, about.as_ref(), passage);
                if repeated.is_some() && !is_for_it {
                    continue;
                }
                if is_unread {
                    visibility.count(query, marks, stub, about.as_ref(), passage);
                    unread += u64::from(is_for_it);
                }
                if is_requested && is_for_it {
                    requested.push((position, stub));
                } else if is_requested {
                    held.push((position, stub.kind));
                    is_held_up = held.len() == HELD_MAX;
                    if is_held_up {
                        break;
                    }
                }
            } else if visibility.awaits_ejection(stub).await? {
                // The page ends here, so that no cursor passes what the agent may read once it has left.
                waiting = Some(position.before());
                break;
            }
        }
        let last =
            requested.iter().take(query.limit).next_back().map(|(position, _)| *position).unwrap_or_default();
        let last_held = held.last().map(|(position, _)| *position).filter(|_| is_held_up);
        let is_full = requested.len() > query.limit;
        let last = if is_full { last } else { last_held.unwrap_or(last) };
        let (is_full, end) = (is_full || is_held_up, shelf.end().into_iter().chain(waiting).min());
        let all = end.unwrap_or(ItemPosition::end_of(through)).min(ItemPosition::end_of(through));
        Ok(PickedStubs {
            stubs: with_newer(&requested, query.limit),
            unread,
            is_cut: is_held_up || end.is_some() || !shelf.covers(before(unread_from.0)),
            // The growth of the session by the ejection wakes who waits.
            more: is_full || shelf.end().is_some(),
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

/// The first items, each with the number of newer ones of the same stream.
fn with_newer(requested: &[(ItemPosition, &Stub)], limit: usize) -> Vec<(ItemPosition, Stub, u64)> {
    let mut newer: HashMap<&StreamName, u64> = HashMap::new();
    for (_, stub) in requested {
        *newer.entry(&stub.stream).or_default() += 1;
    }
    let first = requested.iter().take(limit).map(|(position, stub)| {
        let count = newer.entry(&stub.stream).or_default();
        *count = count.saturating_sub(1);
        (*position, (*stub).clone(), *count)
    });
    first.collect()
}
