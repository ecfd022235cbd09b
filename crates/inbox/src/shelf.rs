//! The places of one agent's news, in order: found once, and then only what is new is looked for. Pure.
//! Must not know: how news are found, or what they say.

use std::collections::{BTreeMap, HashMap};

use plenary_kernel::{AgentHandle, Position, TimestampMs, Version};
use plenary_log::{StreamName, StreamNews};

use crate::{cursor::Place, kind::Kind, marks::Marks};

/// One piece of news, without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stub {
    pub(crate) kind: Kind,
    /// Where the event stands that it is.
    pub(crate) stream: StreamName,
    pub(crate) version: Version,
    pub(crate) at: TimestampMs,
    pub(crate) from: Option<AgentHandle>,
}

/// What was found on one stream.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) stubs: Vec<(Place, Stub)>,
    /// Everything up to here was looked at.
    pub(crate) read: Version,
    /// The agent has answered every message before.
    pub(crate) answered: Version,
    /// The agent has followed every invitation before.
    pub(crate) joined: Version,
}

/// How far the agent is on one stream.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    read: Version,
    answered: Version,
    joined: Version,
}

/// The news of one agent behind a position.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    /// Whether anything was looked for yet.
    loaded: bool,
    /// Everything behind this is here.
    from: Position,
    /// Up to this; `None` when everything is.
    until: Option<Place>,
    stubs: BTreeMap<Place, Stub>,
    standings: HashMap<StreamName, Standing>,
    /// Streams that are still to be looked at, each with the first version that was not.
    pending: HashMap<StreamName, Version>,
}

impl Shelf {
    /// These streams are to be looked at. They stay so until what they have was taken in, whatever happens meanwhile.
    pub(crate) fn note(&mut self, grown: impl IntoIterator<Item = (StreamName, Version)>) {
        for (stream, first) in grown {
            let known = self.pending.entry(stream).or_insert(first);
            *known = first.min(*known);
        }
    }

    /// A stream that is still to be looked at, and behind which version.
    pub(crate) fn next(&self) -> Option<(StreamName, Version)> {
        let (stream, first) = self.pending.iter().next()?;
        Some((stream.clone(), self.read_from(stream, *first)))
    }

    /// Whether everything behind a position is here, as far as there is room.
    pub(crate) fn covers(&self, from: Position) -> bool {
        self.loaded && self.from <= from
    }

    /// Whether so many can't be told behind a place although there may be more.
    pub(crate) fn falls_short(&self, after: Place, count: usize) -> bool {
        self.until.is_some() && after.0 > self.from && self.behind(after).take(count).count() < count
    }

    /// The last place that there was room for, if there are more.
    pub(crate) fn until(&self) -> Option<Place> {
        self.until
    }

    /// Begins anew behind a position, with these streams to look at besides those that are noted.
    pub(crate) fn begin(&mut self, from: Position, streams: Vec<StreamNews>) {
        let pending = std::mem::take(&mut self.pending);
        *self = Self { loaded: true, from, pending, ..Self::default() };
        self.note(streams.into_iter().map(|news| (news.stream, news.first)));
    }

    /// What is here can't be relied on.
    pub(crate) fn doubt(&mut self) {
        self.loaded = false;
    }

    fn read_from(&self, stream: &StreamName, first: Version) -> Version {
        let known = self.standings.get(stream).map(|standing| standing.read);
        known.unwrap_or(Version(first.0.saturating_sub(1)))
    }

    /// Takes in what was found; past `max` the newest are left for later.
    pub(crate) fn take(&mut self, stream: &StreamName, gathered: Gathered, max: usize) {
        self.pending.remove(stream);
        let standing = self.standings.entry(stream.clone()).or_default();
        standing.read = standing.read.max(gathered.read);
        standing.answered = standing.answered.max(gathered.answered);
        standing.joined = standing.joined.max(gathered.joined);
        let (from, until) = (self.from, self.until);
        let fits = |place: &Place| place.0 > from && until.is_none_or(|until| *place <= until);
        self.stubs.extend(gathered.stubs.into_iter().filter(|(place, _)| fits(place)));
        while self.stubs.len() > max {
            self.stubs.pop_last();
            self.until = self.stubs.last_key_value().map(|(place, _)| *place);
        }
    }

    /// What stands behind a place.
    pub(crate) fn behind(&self, after: Place) -> impl Iterator<Item = (Place, &Stub)> {
        let range = (std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded);
        self.stubs.range(range).map(|(place, stub)| (*place, stub))
    }

    /// Whether the agent has answered it by what it did.
    pub(crate) fn is_answered(&self, stub: &Stub) -> bool {
        let standing = self.standings.get(&stub.stream).copied().unwrap_or_default();
        match stub.kind {
            Kind::SessionMessage => stub.version < standing.answered,
            Kind::SessionInvited => stub.version < standing.joined,
            Kind::ContactRequested
            | Kind::Frame
            | Kind::ChannelMention
            | Kind::ReviewRequested
            | Kind::RunWaiting => false,
        }
    }

    /// What was seen need not be kept.
    pub(crate) fn let_go(&mut self, marks: &Marks) {
        let lowest = marks.seen.lowest(crate::kind::Kinds::ALL);
        if !self.loaded || lowest.0 <= self.from {
            return;
        }
        // A position is kept whole, or not at all.
        let kept = self.stubs.split_off(&Place(lowest.0, 0));
        self.from = Position(lowest.0.0 - 1);
        self.stubs = kept;
        if self.stubs.is_empty() {
            self.standings.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> StreamName {
        StreamName::new("sessions.session", "ses_1")
    }

    fn message(version: u64) -> (Place, Stub) {
        let from = Some("@bob.cli".parse().unwrap());
        let stub = Stub {
            kind: Kind::SessionMessage,
            stream: stream(),
            version: Version(version),
            at: TimestampMs(0),
            from,
        };
        (Place(Position(10 + version), 0), stub)
    }

    fn found(versions: std::ops::Range<u64>) -> Gathered {
        let read = Version(versions.end - 1);
        Gathered { stubs: versions.map(message).collect(), read, ..Gathered::default() }
    }

    fn places(shelf: &Shelf, after: u64) -> Vec<u64> {
        shelf.behind(Place::behind(Position(after))).map(|(place, _)| place.0.0).collect()
    }

    #[test]
    fn what_is_new_is_looked_for_behind_what_was_read() {
        let mut shelf = Shelf::default();
        assert!(!shelf.covers(Position(0)));
        shelf.note([(stream(), Version(4))]);
        shelf.begin(Position(11), vec![StreamNews { stream: stream(), first: Version(2) }]);
        assert!(shelf.covers(Position(11)) && !shelf.covers(Position(10)));
        assert_eq!(shelf.next(), Some((stream(), Version(1))));
        shelf.take(&stream(), found(1..4), 100);
        assert_eq!(places(&shelf, 0), [12, 13], "what stands before was not asked for");
        assert_eq!(shelf.next(), None);
        shelf.note([(stream(), Version(7))]);
        assert_eq!(shelf.next(), Some((stream(), Version(3))), "behind what was read");
    }

    #[test]
    fn past_its_limit_the_newest_wait_and_it_says_so() {
        let mut shelf = Shelf::default();
        shelf.begin(Position(0), Vec::new());
        shelf.take(&stream(), found(1..6), 3);
        assert_eq!(places(&shelf, 0), [11, 12, 13]);
        assert_eq!(shelf.until(), Some(Place(Position(13), 0)));
        assert!(!shelf.falls_short(Place::default(), 3), "reading again would bring no more");
        assert!(!shelf.falls_short(Place::behind(Position(11)), 2));
        assert!(shelf.falls_short(Place::behind(Position(12)), 2));
        shelf.take(&stream(), found(6..8), 3);
        assert_eq!(places(&shelf, 0), [11, 12, 13], "nothing is taken from behind a gap");
    }

    #[test]
    fn an_answer_answers_what_stands_before_it() {
        let mut shelf = Shelf::default();
        shelf.begin(Position(0), Vec::new());
        shelf.take(&stream(), Gathered { answered: Version(3), ..found(1..5) }, 100);
        let answered: Vec<bool> =
            shelf.behind(Place::default()).map(|(_, stub)| shelf.is_answered(stub)).collect();
        assert_eq!(answered, [true, true, false, false]);
    }
}
