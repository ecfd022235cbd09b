//! The rights of a token: rooms to read or to write, and optionally a limit to sessions, channels and projects. Pure.
//! Must not know: the owner of the token, or how a request names its target.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use plenary_kernel::MalformedText;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::{SCOPE_BYTES_MAX, SCOPE_IDS_MAX};

/// The rooms that a scope can name.
pub const SCOPED_ROOMS: [&str; 8] =
    ["accounts", "sessions", "frames", "channels", "context", "runs", "requests", "inbox"];

plenary_kernel::words! {
    /// The kind of access to a room.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Access {
        /// Reading.
        Read = "read",
        /// Reading and writing.
        Write = "write",
    }
}

/// The rights of a token. Its text has words with spaces between: `read` and `write` for every room, `sessions:read`,
/// `session:ID`, `channel:ID` and `project:ID`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    everywhere: Option<Access>,
    rooms: BTreeMap<&'static str, Access>,
    sessions: BTreeSet<String>,
    channels: BTreeSet<String>,
    projects: BTreeSet<String>,
}

/// The part of a request that a scope decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Demand<'a> {
    pub(crate) room: &'a str,
    pub(crate) access: Access,
    /// The session in its path.
    pub(crate) session: Option<&'a str>,
    /// The channel in its path.
    pub(crate) channel: Option<&'a str>,
    /// The project in its path.
    pub(crate) project: Option<&'a str>,
}

impl Scope {
    /// Every room.
    pub fn everywhere(access: Access) -> Self {
        Self { everywhere: Some(access), ..Self::default() }
    }

    /// One room; no access for a name that is not in [`SCOPED_ROOMS`].
    pub fn of_room(room: &str, access: Access) -> Self {
        let room = SCOPED_ROOMS.into_iter().find(|known| *known == room);
        Self { rooms: room.into_iter().map(|room| (room, access)).collect(), ..Self::default() }
    }

    /// Whether it is limited to sessions, channels or projects.
    pub fn is_limited(&self) -> bool {
        self.id_sets().iter().any(|ids| !ids.is_empty())
    }

    fn id_sets(&self) -> [&BTreeSet<String>; 3] {
        [&self.sessions, &self.channels, &self.projects]
    }

    fn access(&self, room: &str) -> Option<Access> {
        self.everywhere.max(self.rooms.get(room).copied())
    }

    /// Whether it has the access to the room, whatever it is limited to.
    pub(crate) fn grants(&self, demand: &Demand<'_>) -> bool {
        self.access(demand.room) >= Some(demand.access)
    }

    /// Whether a request is within it. A scope that is limited to sessions, channels and projects admits requests that name one
    /// of them, and reads of accounts; an inbox or a search would show other sessions.
    pub(crate) fn admits(&self, demand: &Demand<'_>) -> bool {
        if !self.grants(demand) {
            return false;
        }
        let is_among = |ids: &BTreeSet<String>, id: Option<&str>| id.is_some_and(|id| ids.contains(id));
        match demand.room {
            _ if !self.is_limited() => true,
            "sessions" => is_among(&self.sessions, demand.session),
            // Ids of channels are read without regard to case and to white space around them (CH-29).
            "channels" => demand.channel.is_some_and(|id| {
                self.channels.iter().any(|channel| channel.eq_ignore_ascii_case(id.trim()))
            }),
            "context" => is_among(&self.projects, demand.project),
            "accounts" => demand.access == Access::Read,
            _ => false,
        }
    }

    /// Whether it admits reading in a room, in this session and in a project with one of these names if the room
    /// has projects. For operations that show several rooms at once.
    pub fn reads(&self, room: &str, session: Option<&str>, projects: &[String]) -> bool {
        let demand = |project| Demand { room, access: Access::Read, session, channel: None, project };
        self.admits(&demand(None)) || projects.iter().any(|project| self.admits(&demand(Some(project))))
    }

    /// The ids in a room, sessions or projects, to which it is limited; `None` if it is not limited.
    pub fn limits_in(&self, room: &str) -> Option<Vec<&str>> {
        let ids = match room {
            "sessions" => Some(&self.sessions),
            "context" => Some(&self.projects),
            _ => None,
        };
        self.is_limited().then(|| ids.into_iter().flatten().map(String::as_str).collect())
    }

    /// Whether it covers the other scope.
    pub fn covers(&self, other: &Self) -> bool {
        let mut id_sets = other.id_sets().into_iter().zip(self.id_sets());
        let is_limited_as_much =
            !self.is_limited() || other.is_limited() && id_sets.all(|(theirs, ours)| theirs.is_subset(ours));
        let mut rooms = SCOPED_ROOMS.iter();
        is_limited_as_much
            && other.everywhere <= self.everywhere
            && rooms.all(|room| other.access(room) <= self.access(room))
    }

    /// The intersection; `None` if it is empty, or too long for one scope. The limits of both apply.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        let room = |room| Some((room, self.access(room).min(other.access(room))?));
        let both = |ours: &BTreeSet<String>, theirs: &BTreeSet<String>| match (
            self.is_limited(),
            other.is_limited(),
        ) {
            (false, _) => theirs.clone(),
            (true, false) => ours.clone(),
            (true, true) => ours & theirs,
        };
        let met = Self {
            everywhere: self.everywhere.min(other.everywhere),
            rooms: SCOPED_ROOMS.into_iter().filter_map(room).collect(),
            sessions: both(&self.sessions, &other.sessions),
            channels: both(&self.channels, &other.channels),
            projects: both(&self.projects, &other.projects),
        };
        // Two limits with an empty intersection admit nothing.
        let is_not_empty = met.is_limited() || !self.is_limited() && !other.is_limited();
        met.to_string().parse().ok().filter(|_| is_not_empty)
    }

    /// Whether a value is known here: as a right, or as a limit to one id, well formed or not.
    pub fn is_known(value: &str) -> bool {
        value.parse::<Self>().is_ok() || Self::is_limit(value)
    }

    /// Whether a value limits a scope to a session, a channel or a project, well formed or not.
    fn is_limit(value: &str) -> bool {
        ["session:", "channel:", "project:"].iter().any(|prefix| value.starts_with(prefix))
    }

    /// Its values, without repetition.
    pub fn values(&self) -> impl Iterator<Item = String> {
        let everywhere = self.everywhere.map(|access| access.as_str().to_owned());
        let rooms = self.rooms.iter().map(|(room, access)| format!("{room}:{}", access.as_str()));
        let sessions = self.sessions.iter().map(|id| format!("session:{id}"));
        let channels = self.channels.iter().map(|id| format!("channel:{id}"));
        let projects = self.projects.iter().map(|id| format!("project:{id}"));
        everywhere.into_iter().chain(rooms).chain(sessions).chain(channels).chain(projects)
    }

    fn take(&mut self, value: &str) -> Option<()> {
        if let Some(access) = Access::named(value) {
            self.everywhere = self.everywhere.max(Some(access));
            return Some(());
        }
        let (kind, rest) = value.split_once(':')?;
        let is_id = || (1..=128).contains(&rest.len()) && rest.bytes().all(is_of_id);
        match kind {
            "session" if is_id() => drop(self.sessions.insert(rest.to_owned())),
            "channel" if is_id() => drop(self.channels.insert(rest.to_owned())),
            "project" if is_id() => drop(self.projects.insert(rest.to_owned())),
            _ => {
                let room = SCOPED_ROOMS.into_iter().find(|room| *room == kind)?;
                let access = self.rooms.get(room).copied().max(Some(Access::named(rest)?))?;
                self.rooms.insert(room, access);
            }
        }
        Some(())
    }
}

/// Ids of sessions, channels and projects, with the characters that RFC 6749 (3.3) permits in a scope.
fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte)
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.values().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{value}")?;
        }
        Ok(())
    }
}

impl FromStr for Scope {
    type Err = MalformedText;

    fn from_str(text: &str) -> Result<Self, MalformedText> {
        let expected = "read, write, ROOM:read, ROOM:write, session:ID, channel:ID or project:ID, with spaces between, at least one of \
             them no ID; a ROOM is accounts, sessions, frames, channels, context, runs, requests or inbox";
        let wrong = || MalformedText { what: "scope", expected };
        if text.len() > SCOPE_BYTES_MAX {
            return Err(wrong());
        }
        let mut scope = Self::default();
        for value in text.split(' ').filter(|value| !value.is_empty()) {
            scope.take(value).ok_or_else(wrong)?;
        }
        // A right to every room makes the values of single rooms redundant.
        let everywhere = scope.everywhere;
        scope.rooms.retain(|_, access| Some(*access) > everywhere);
        let is_empty = everywhere.is_none() && scope.rooms.is_empty();
        let ids: usize = scope.id_sets().iter().map(|ids| ids.len()).sum();
        if is_empty || ids > SCOPE_IDS_MAX { Err(wrong()) } else { Ok(scope) }
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        plenary_kernel::json::parse_text(deserializer, str::parse)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::subsequence};

    use super::*;

    fn scope(text: &str) -> Scope {
        text.parse().unwrap()
    }

    fn demand<'a>(room: &'a str, access: Access) -> Demand<'a> {
        Demand { room, access, session: None, channel: None, project: None }
    }

    #[test]
    fn a_scope_is_read_as_it_is_written_each_word_once() {
        for (text, written) in [
            ("read", "read"),
            (" write  read ", "write"),
            ("sessions:read sessions:write inbox:read", "inbox:read sessions:write"),
            ("read sessions:write sessions:read", "read sessions:write"),
            ("write sessions:read", "write"),
            ("sessions:write session:b session:a project:p", "sessions:write session:a session:b project:p"),
            ("channels:read channel:b channel:a", "channels:read channel:a channel:b"),
        ] {
            assert_eq!(scope(text).to_string(), written);
            assert_eq!(scope(written), scope(text));
        }
        for bad in
            ["", " ", "admin", "session:a", "project:", "sessions", "sessions:rw", "console:read", "read\tx"]
        {
            assert!(bad.parse::<Scope>().is_err(), "{bad}");
        }
        assert!("read ".repeat(SCOPE_BYTES_MAX / 5 + 1).parse::<Scope>().is_err());
        let many: String = (0..=SCOPE_IDS_MAX).map(|id| format!(" session:{id}")).collect();
        assert!(format!("read{many}").parse::<Scope>().is_err());
    }

    #[test]
    fn the_refusal_of_a_scope_names_every_room() {
        let refusal = "x".parse::<Scope>().unwrap_err().to_string();
        assert!(SCOPED_ROOMS.iter().all(|room| refusal.contains(room)), "{refusal}");
    }

    #[test]
    fn reading_is_not_writing_and_one_room_is_not_another() {
        let reads = scope("sessions:read");
        assert!(reads.admits(&demand("sessions", Access::Read)));
        assert!(!reads.admits(&demand("sessions", Access::Write)));
        assert!(!reads.admits(&demand("inbox", Access::Read)));
        let all = scope("read inbox:write");
        assert!(all.admits(&demand("channels", Access::Read)) && all.admits(&demand("inbox", Access::Write)));
        assert!(!all.admits(&demand("channels", Access::Write)));
    }

    #[test]
    fn a_scope_limited_to_sessions_reaches_nothing_that_shows_others() {
        let limited = scope("write session:a project:p channel:c");
        let named = |room, session, project| {
            limited.admits(&Demand { room, access: Access::Write, session, channel: None, project })
        };
        let of_channel = |channel| limited.admits(&Demand { channel, ..demand("channels", Access::Write) });
        assert!(of_channel(Some("c")) && !of_channel(Some("d")) && !of_channel(None));
        assert!(named("sessions", Some("a"), None) && named("context", None, Some("p")));
        assert!(!named("sessions", Some("b"), None) && !named("sessions", None, None));
        assert!(!named("context", Some("a"), None) && !named("context", None, Some("q")));
        for room in ["inbox", "channels", "frames", "runs", "requests", "accounts", "console"] {
            assert!(!named(room, Some("a"), Some("p")), "{room}");
        }
        assert!(limited.admits(&demand("accounts", Access::Read)));
    }

    #[test]
    fn a_search_shows_of_each_room_what_a_request_there_would() {
        let project = ["nick:p".to_owned(), "p".to_owned()];
        let all = scope("read");
        assert!(all.reads("sessions", Some("a"), &[]) && all.reads("context", None, &project));
        let limited = scope("read session:a project:p");
        assert!(limited.reads("sessions", Some("a"), &[]) && !limited.reads("sessions", Some("b"), &[]));
        assert!(
            limited.reads("context", None, &project) && !limited.reads("context", None, &["q".to_owned()])
        );
        assert!(!limited.reads("channels", None, &[]) && !limited.reads("runs", None, &[]));
        assert_eq!(
            (limited.limits_in("sessions"), limited.limits_in("context")),
            (Some(vec!["a"]), Some(vec!["p"]))
        );
        assert_eq!((limited.limits_in("channels"), all.limits_in("sessions")), (Some(Vec::new()), None));
        let room = scope("accounts:read channels:read");
        assert!(room.reads("channels", None, &[]) && !room.reads("sessions", Some("a"), &[]));
    }

    #[test]
    fn a_child_is_never_wider() {
        for (wide, narrow) in [
            ("write", "write"),
            ("write", "read sessions:write session:a"),
            ("read sessions:write", "sessions:write inbox:read"),
            ("write session:a session:b", "sessions:write session:b"),
        ] {
            assert!(scope(wide).covers(&scope(narrow)), "{wide}: {narrow}");
        }
        for (narrow, wide) in [
            ("read", "write"),
            ("read", "sessions:write"),
            ("sessions:write", "sessions:write inbox:read"),
            // Rooms of later versions are not included.
            (
                "accounts:read sessions:read frames:read channels:read context:read runs:read requests:read inbox:read",
                "read",
            ),
            ("write session:a", "write"),
            ("write session:a", "write session:b"),
            ("write channel:a", "write session:a"),
            ("write session:a", "write session:a channel:c"),
            ("write session:a", "write session:a project:p"),
        ] {
            assert!(!scope(narrow).covers(&scope(wide)), "{narrow}: {wide}");
        }
    }

    #[test]
    fn what_both_admit_keeps_every_hold() {
        for (one, other, both) in [
            ("write", "read", Some("read")),
            ("sessions:read inbox:write", "read", Some("inbox:read sessions:read")),
            ("read sessions:write", "read inbox:write", Some("read")),
            ("write", "read session:a", Some("read session:a")),
            ("write session:a session:b", "read session:b project:p", Some("read session:b")),
            ("write session:a", "write session:b", None),
            ("write session:a", "write project:a", None),
            ("sessions:read", "inbox:read", None),
        ] {
            let both = both.map(ToOwned::to_owned);
            assert_eq!(scope(one).meet(&scope(other)).map(|met| met.to_string()), both, "{one}, {other}");
            assert_eq!(scope(other).meet(&scope(one)).map(|met| met.to_string()), both, "{other}, {one}");
        }
    }

    #[test]
    fn what_both_admit_can_be_written_down_or_is_nothing() {
        let rooms = SCOPED_ROOMS.map(|room| format!("{room}:read")).join(" ");
        let limits: String = (0..30).map(|nth| format!(" session:{nth:0>127}")).collect();
        assert!(scope(&rooms).meet(&scope(&format!("read{limits}"))).is_none(), "longer than a scope may be");
    }

    fn any_scope() -> impl Strategy<Value = Scope> {
        let rooms = SCOPED_ROOMS.iter().flat_map(|room| [format!("{room}:read"), format!("{room}:write")]);
        let limits = ["session:a", "session:b", "channel:a", "channel:b", "project:a", "project:p"]
            .map(ToOwned::to_owned);
        let rights: Vec<_> = ["read".to_owned(), "write".to_owned()].into_iter().chain(rooms).collect();
        (subsequence(rights, 1..6), subsequence(limits.to_vec(), 0..4))
            .prop_map(|(rights, limits)| scope(&[rights, limits].concat().join(" ")))
    }

    proptest! {
        #[test]
        fn what_both_admit_is_all_that_both_cover(one in any_scope(), other in any_scope(), third in any_scope()) {
            let met = one.meet(&other);
            if let Some(met) = &met {
                prop_assert!(one.covers(met) && other.covers(met), "{one}, {other}: {met}");
            }
            if one.covers(&third) && other.covers(&third) {
                prop_assert!(met.is_some_and(|met| met.covers(&third)), "{one}, {other}: {third}");
            }
        }
    }
}
