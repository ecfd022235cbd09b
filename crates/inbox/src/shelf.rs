//! The positions of one agent's news, in order: found once, afterwards only new ones are searched. Items are shown as
//! soon as they are found: a read does not wait for all streams of an agent. Pure.
//! Must not know: how news are found, or their content.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use plenary_kernel::{AgentHandle, Position, TimestampMs, Version};
use plenary_log::{StreamName, StreamNews};

use crate::{cursor::ItemPosition, feed::StreamGrowth, kind::Kind};

/// The first length of log that one listing covers; it doubles after a listing without results.
const WINDOW_MIN: u64 = 512;
/// The longest length of log that one listing covers.
const WINDOW_MAX: u64 = 8_192;

/// An item without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stub {
    pub(crate) kind: Kind,
    /// The stream and version of its event.
    pub(crate) stream: StreamName,
    pub(crate) version: Version,
    pub(crate) at: TimestampMs,
    pub(crate) from: Option<AgentHandle>,
    /// The position of the item that it repeats; see [`plenary_room::News::reminds_of`].
    pub(crate) reminds_of: Option<ItemPosition>,
    /// See [`plenary_room::News::about`].
    pub(crate) about: Option<Arc<str>>,
}

/// The items of one stream.
#[derive(Debug, Default)]
pub(crate) struct UnreadStream {
    pub(crate) stubs: Vec<(ItemPosition, Stub)>,
    /// Everything up to here was read.
    pub(crate) read: Version,
    /// The version of the agent's last message.
    pub(crate) answered: Version,
    /// The agent has followed every earlier invitation.
    pub(crate) joined: Version,
}

/// The agent's progress on one stream.
#[derive(Debug, Clone, Copy, Default)]
struct StreamMarks {
    read: Version,
    answered: Version,
    joined: Version,
    /// The last repetition.
    reminder: Option<ItemPosition>,
}

/// The shelves of one agent.
#[derive(Debug, Default)]
pub(crate) struct Shelves {
    /// Items from agents that the agent knows, from its own sessions, and from the server.
    pub(crate) known: Shelf,
    /// The invitations of strangers.
    pub(crate) offered: Shelf,
    /// Streams with new events that are on no shelf's list yet. They stay here until they are, so that a
    /// failed or dropped read loses nothing.
    pub(crate) grown: HashMap<StreamName, StreamGrowth>,
}

/// How far the streams with news are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ShelfCoverage {
    /// All of them.
    #[default]
    Whole,
    /// Those with news up to a position.
    UpTo(Position),
    /// Those up to a key, in an order other than that of their news.
    UpToKey(Option<String>),
}

/// The items of one agent after a position.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    /// Whether a search was started.
    loaded: bool,
    /// Everything after this is here, or on a stream that is pending or not listed.
    from: Position,
    /// Only up to this; `None` if there is no limit.
    until: Option<ItemPosition>,
    /// Settled items up to this were dropped.
    thinned: Option<ItemPosition>,
    listing: ShelfCoverage,
    window: u64,
    stubs: BTreeMap<ItemPosition, Stub>,
    stream_marks: HashMap<StreamName, StreamMarks>,
    /// The streams to read, each with its first unread event.
    pending: HashMap<StreamName, StreamGrowth>,
    /// The streams to read, ordered by the position of that event.
    order: BTreeSet<(Position, StreamName)>,
}

impl Shelf {
    /// Adds streams to read. They stay pending until their items were added, whatever happens
    /// meanwhile.
    pub(crate) fn note(&mut self, grown: impl IntoIterator<Item = (StreamName, StreamGrowth)>) {
        for (stream, first) in grown {
            let known = self.pending.insert(stream.clone(), first);
            let first = known.map_or(first, |known| known.min(first));
            if let Some(known) = known {
                self.order.remove(&(known.at, stream.clone()));
                self.pending.insert(stream.clone(), first);
            }
            self.order.insert((first.at, stream));
        }
    }

    /// The first streams to read, each with the version to read after.
    pub(crate) fn first(&self, count: usize) -> Vec<(StreamName, Version)> {
        let first = self.order.iter().take(count);
        first.map(|(_, stream)| (stream.clone(), self.read_from(stream))).collect()
    }

    /// Whether a stream is still to be read.
    pub(crate) fn is_pending(&self, stream: &StreamName) -> bool {
        self.pending.contains_key(stream)
    }

    /// The version after which a pending stream must be read.
    pub(crate) fn read_from(&self, stream: &StreamName) -> Version {
        let known = self.stream_marks.get(stream).map(|marks| marks.read);
        let first = self.pending.get(stream).map_or(Version::ZERO, |first| first.version);
        known.unwrap_or(Version(first.0.saturating_sub(1)))
    }

    /// Whether a stream was read.
    pub(crate) fn knows(&self, stream: &StreamName) -> bool {
        self.stream_marks.contains_key(stream)
    }

    /// The number of streams to read.
    pub(crate) fn waiting(&self) -> usize {
        self.order.len()
    }

    /// Whether the shelf has, or will have, everything after a position, within its limit.
    pub(crate) fn covers(&self, from: Position) -> bool {
        self.loaded && self.from <= from
    }

    /// Whether there is nothing more to read.
    pub(crate) fn is_whole(&self) -> bool {
        self.order.is_empty() && self.listing == ShelfCoverage::Whole
    }

    /// Whether there is more to read now: not if the search must be restarted.
    pub(crate) fn has_more(&self) -> bool {
        self.loaded && !self.is_whole()
    }

    /// Whether more items may exist after a position than can be reported.
    pub(crate) fn falls_short(&self, after: ItemPosition, count: usize) -> bool {
        let is_cut = self.is_whole() && self.until.is_some();
        is_cut && after.0 > self.from && self.items_after(after).take(count).count() < count
    }

    /// The last position within the limit, if the shelf is full.
    pub(crate) fn limit(&self) -> Option<ItemPosition> {
        self.until
    }

    /// Whether settled items after a place are missing.
    pub(crate) fn lacks(&self, after: ItemPosition) -> bool {
        self.thinned.is_some_and(|thinned| after < thinned)
    }

    /// Drops settled items of a full shelf, and continues after its last position with these streams.
    pub(crate) fn make_room(
        &mut self,
        settled: &[ItemPosition],
        streams: Vec<StreamNews>,
        listing: ShelfCoverage,
    ) {
        for position in settled {
            self.stubs.remove(position);
        }
        self.thinned = self.until.take();
        // The streams were read further than the shelf had room; they are read again from there.
        self.stream_marks.clear();
        self.list(streams, listing);
    }

    /// The position up to which everything is here, if there is or may be more.
    pub(crate) fn end(&self) -> Option<ItemPosition> {
        let pending =
            self.order.first().map(|(at, _)| ItemPosition::end_of(Position(at.0.saturating_sub(1))));
        let listed = match &self.listing {
            ShelfCoverage::Whole => None,
            ShelfCoverage::UpTo(position) => Some(ItemPosition::end_of(*position)),
            ShelfCoverage::UpToKey(_) => Some(ItemPosition::end_of(self.from)),
        };
        [self.until, pending, listed].into_iter().flatten().min()
    }

    /// The position after which the search covers everything.
    pub(crate) fn from(&self) -> Position {
        self.from
    }

    /// The extent of the listing.
    pub(crate) fn listing(&self) -> &ShelfCoverage {
        &self.listing
    }

    /// The length of log to list next, in positions.
    pub(crate) fn window(&self) -> u64 {
        self.window.clamp(WINDOW_MIN, WINDOW_MAX)
    }

    /// Adds listed streams, and the new extent of the listing.
    pub(crate) fn list(&mut self, streams: Vec<StreamNews>, listing: ShelfCoverage) {
        self.window = if streams.is_empty() { self.window() * 2 } else { WINDOW_MIN };
        self.listing = listing;
        self.note(streams.into_iter().map(|news| {
            let first = StreamGrowth { version: news.first, at: news.at };
            (news.stream, first)
        }));
    }

    /// Restarts the search after a position, with these streams to read besides the marked ones.
    pub(crate) fn begin(&mut self, from: Position, streams: Vec<StreamNews>, listing: ShelfCoverage) {
        let (pending, order) = (std::mem::take(&mut self.pending), std::mem::take(&mut self.order));
        *self = Self { loaded: true, from, pending, order, ..Self::default() };
        self.list(streams, listing);
    }

    /// Marks the content as unreliable.
    pub(crate) fn invalidate(&mut self) {
        self.loaded = false;
    }

    /// Adds the items of a stream; beyond `max` the newest are left for later.
    pub(crate) fn take(&mut self, stream: &StreamName, gathered: UnreadStream, max: usize) {
        if let Some(first) = self.pending.remove(stream) {
            self.order.remove(&(first.at, stream.clone()));
        }
        let marks = self.stream_marks.entry(stream.clone()).or_default();
        marks.read = marks.read.max(gathered.read);
        marks.answered = marks.answered.max(gathered.answered);
        marks.joined = marks.joined.max(gathered.joined);
        let (from, until) = (self.from, self.until);
        let fits =
            |position: &ItemPosition| position.0 > from && until.is_none_or(|until| *position <= until);
        for (position, stub) in gathered.stubs.into_iter().filter(|(position, _)| fits(position)) {
            let earlier = stub.reminds_of.and_then(|_| marks.reminder.replace(position));
            if let Some(earlier) = earlier {
                self.stubs.remove(&earlier);
            }
            self.stubs.insert(position, stub);
        }
        while self.stubs.len() > max {
            self.stubs.pop_last();
            self.until = self.stubs.last_key_value().map(|(position, _)| *position);
        }
        self.drop_later_streams();
    }

    /// Streams beyond the last item within the limit need not be read.
    fn drop_later_streams(&mut self) {
        let Some(until) = self.until else { return };
        while let Some((at, stream)) = self.order.last().filter(|(at, _)| *at > until.0).cloned() {
            self.order.remove(&(at, stream.clone()));
            self.pending.remove(&stream);
        }
        if matches!(self.listing, ShelfCoverage::UpTo(listed) if listed >= until.0) {
            self.listing = ShelfCoverage::Whole;
        }
    }

    /// The items after a position, up to where everything is here.
    pub(crate) fn items_after(&self, after: ItemPosition) -> impl Iterator<Item = (ItemPosition, &Stub)> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let end = self.end();
        // A range that ends before it begins is empty, and not allowed.
        let is_empty = end.is_some_and(|end| end <= after);
        let range = (Excluded(after), end.filter(|_| !is_empty).map_or(Unbounded, Included));
        let stubs = self.stubs.range(range).map(|(position, stub)| (*position, stub));
        stubs.take(if is_empty { 0 } else { usize::MAX })
    }

    /// Whether the agent sent a message, or joined, after it.
    pub(crate) fn is_answered(&self, stub: &Stub) -> bool {
        let marks = self.stream_marks.get(&stub.stream).copied().unwrap_or_default();
        match stub.kind {
            Kind::SessionMessage => stub.version < marks.answered,
            Kind::SessionInvited | Kind::SessionOffered => stub.version < marks.joined,
            Kind::ContactRequested
            | Kind::Frame
            | Kind::ChannelMention
            | Kind::ReviewRequested
            | Kind::RunWaiting
            | Kind::RequestAnswered => false,
        }
    }

    /// Drops the items that were seen up to a position.
    pub(crate) fn drop_seen(&mut self, lowest: ItemPosition) {
        if !self.loaded || lowest.0 <= self.from {
            return;
        }
        // All items of a position are dropped, or none.
        let later = self.stubs.split_off(&ItemPosition(lowest.0, 0));
        self.from = Position(lowest.0.0 - 1);
        self.stubs = later;
        if self.stubs.is_empty() {
            self.stream_marks.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> StreamName {
        StreamName::new("sessions.session", "ses_1")
    }

    fn message(version: u64) -> (ItemPosition, Stub) {
        let from = Some("@bob.cli".parse().unwrap());
        let stub = Stub {
            kind: Kind::SessionMessage,
            stream: stream(),
            version: Version(version),
            at: TimestampMs(0),
            from,
            reminds_of: None,
            about: None,
        };
        (ItemPosition(Position(10 + version), 0), stub)
    }

    fn stream_with(versions: std::ops::Range<u64>) -> UnreadStream {
        let read = Version(versions.end - 1);
        UnreadStream { stubs: versions.map(message).collect(), read, ..UnreadStream::default() }
    }

    fn positions(shelf: &Shelf, after: u64) -> Vec<u64> {
        shelf.items_after(ItemPosition::end_of(Position(after))).map(|(position, _)| position.0.0).collect()
    }

    fn grown(version: u64) -> StreamGrowth {
        StreamGrowth { version: Version(version), at: Position(10 + version) }
    }

    fn news(version: u64) -> StreamNews {
        let StreamGrowth { version: first, at } = grown(version);
        StreamNews { stream: stream(), first, at }
    }

    #[test]
    fn a_known_stream_is_read_after_its_last_read_version() {
        let mut shelf = Shelf::default();
        assert!(!shelf.covers(Position(0)));
        shelf.note([(stream(), grown(4))]);
        shelf.begin(Position(11), vec![news(2)], ShelfCoverage::Whole);
        assert!(shelf.covers(Position(11)) && !shelf.covers(Position(10)));
        assert_eq!(shelf.first(1), [(stream(), Version(1))]);
        shelf.take(&stream(), stream_with(1..4), 100);
        assert_eq!(positions(&shelf, 0), [12, 13], "earlier items are not included");
        assert!(shelf.first(1).is_empty());
        shelf.note([(stream(), grown(7))]);
        assert_eq!(shelf.first(1), [(stream(), Version(3))], "after the last read version");
    }

    #[test]
    fn a_full_shelf_keeps_the_oldest_items_and_reports_its_end() {
        let mut shelf = Shelf::default();
        shelf.begin(Position(0), Vec::new(), ShelfCoverage::Whole);
        shelf.take(&stream(), stream_with(1..6), 3);
        assert_eq!(positions(&shelf, 0), [11, 12, 13]);
        assert_eq!(shelf.end(), Some(ItemPosition(Position(13), 0)));
        assert!(!shelf.falls_short(ItemPosition::default(), 3), "reading again would bring no more");
        assert!(!shelf.falls_short(ItemPosition::end_of(Position(11)), 2));
        assert!(shelf.falls_short(ItemPosition::end_of(Position(12)), 2));
        shelf.take(&stream(), stream_with(6..8), 3);
        assert_eq!(positions(&shelf, 0), [11, 12, 13], "no item after a gap is added");
    }

    #[test]
    fn a_full_shelf_of_settled_items_makes_room_for_later_ones() {
        let mut shelf = Shelf::default();
        shelf.begin(Position(0), Vec::new(), ShelfCoverage::Whole);
        shelf.take(&stream(), stream_with(1..7), 3);
        assert_eq!(
            (shelf.limit(), shelf.lacks(ItemPosition::default())),
            (Some(ItemPosition(Position(13), 0)), false)
        );
        let settled = [ItemPosition(Position(12), 0), ItemPosition(Position(13), 0)];
        shelf.make_room(&settled, vec![news(3)], ShelfCoverage::Whole);
        assert_eq!((positions(&shelf, 0), shelf.is_whole()), (vec![11], false));
        assert_eq!(shelf.first(1), [(stream(), Version(2))], "from the end of the items that fitted");
        shelf.take(&stream(), stream_with(3..7), 100);
        assert_eq!((positions(&shelf, 0), shelf.end()), (vec![11, 13, 14, 15, 16], None));
        assert!(
            shelf.lacks(ItemPosition::end_of(Position(12)))
                && !shelf.lacks(ItemPosition::end_of(Position(13)))
        );
        shelf.begin(Position(0), Vec::new(), ShelfCoverage::Whole);
        assert!(!shelf.lacks(ItemPosition::default()));
    }

    #[test]
    fn items_before_the_first_pending_stream_are_visible() {
        let other = StreamName::new("sessions.session", "ses_2");
        let mut shelf = Shelf::default();
        let later = StreamNews { stream: other.clone(), first: Version(1), at: Position(13) };
        shelf.begin(Position(0), vec![later, news(1)], ShelfCoverage::UpTo(Position(14)));
        assert_eq!(shelf.first(1), [(stream(), Version(0))], "the oldest first");
        shelf.take(&stream(), stream_with(1..6), 100);
        assert_eq!(positions(&shelf, 0), [11, 12], "the other stream has something at 13");
        assert_eq!(shelf.end(), Some(ItemPosition::end_of(Position(12))));
        shelf.take(&other, UnreadStream::default(), 100);
        assert_eq!((positions(&shelf, 0), shelf.is_whole()), (vec![11, 12, 13, 14], false));
        shelf.list(Vec::new(), ShelfCoverage::Whole);
        assert_eq!((positions(&shelf, 0), shelf.is_whole()), (vec![11, 12, 13, 14, 15], true));
        shelf.note([(other.clone(), StreamGrowth { version: Version(4), at: Position(20) })]);
        shelf.note([(other, StreamGrowth { version: Version(2), at: Position(12) })]);
        assert_eq!((shelf.waiting(), positions(&shelf, 0)), (1, vec![11]));
    }

    #[test]
    fn a_full_shelf_searches_no_later_stream() {
        let mut shelf = Shelf::default();
        let later = (0..9).map(|nth| {
            let stream = StreamName::new("sessions.session", &format!("ses_{nth}0"));
            StreamNews { stream, first: Version(1), at: Position(20 + nth) }
        });
        shelf.begin(Position(0), later.chain([news(1)]).collect(), ShelfCoverage::UpTo(Position(30)));
        shelf.take(&stream(), stream_with(1..6), 3);
        assert!(shelf.is_whole() && positions(&shelf, 0) == [11, 12, 13]);
    }

    #[test]
    fn a_listing_by_key_shows_no_items_until_it_is_complete() {
        let mut shelf = Shelf::default();
        shelf.begin(Position(0), vec![news(1)], ShelfCoverage::UpToKey(Some("ses_1".into())));
        shelf.take(&stream(), stream_with(1..3), 100);
        assert_eq!(positions(&shelf, 0), Vec::<u64>::new());
        shelf.list(Vec::new(), ShelfCoverage::Whole);
        assert_eq!(positions(&shelf, 0), [11, 12]);
    }

    #[test]
    fn an_answer_answers_the_items_before_it() {
        let mut shelf = Shelf::default();
        shelf.begin(Position(0), Vec::new(), ShelfCoverage::Whole);
        shelf.take(&stream(), UnreadStream { answered: Version(3), ..stream_with(1..5) }, 100);
        let answered: Vec<bool> =
            shelf.items_after(ItemPosition::default()).map(|(_, stub)| shelf.is_answered(stub)).collect();
        assert_eq!(answered, [true, true, false, false]);
    }
}
