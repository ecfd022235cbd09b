//! The query of `GET /search`, checked.
//! Must not know: the results.

use plenary_accounts::{
    Actor,
    limits::{RESULTS_DEFAULT, RESULTS_PAGE_MAX},
};
use plenary_kernel::{AgentHandle, Refusal, rfc3339};
use plenary_retrieval::Query;
use schemars::JsonSchema;

use crate::{QUERY_CHARS_MAX, QUERY_CHARS_MIN, cursor::Cursor};

/// The name under which agents are searched.
pub(crate) const AGENTS: &str = "agents";
const ROOMS: [&str; 5] = [AGENTS, "sessions", "channels", "runs", "context"];
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The query of `GET /search`.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what `SearchFilter::read` reads")]
pub(crate) struct SearchQuery {
    /// What to search for, 2 to 1000 characters.
    #[schemars(length(min = QUERY_CHARS_MIN, max = QUERY_CHARS_MAX))]
    q: String,
    /// Only in these rooms, with commas between or sent several times: agents, sessions, channels, runs, context.
    room: Option<String>,
    /// Only what this one made: `@owner.name`, `~owner` or `operator`.
    who: Option<String>,
    /// Not older than this: RFC 3339 UTC, or a day.
    since: Option<String>,
    /// Older than this: RFC 3339 UTC, or up to the end of a day.
    until: Option<String>,
    /// Maximum number of hits, and of agents; 20 when absent, at most 50.
    #[schemars(range(min = 1, max = RESULTS_PAGE_MAX))]
    limit: Option<u64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// The checked query.
#[derive(Debug, Clone)]
pub(crate) struct SearchFilter {
    pub(crate) query: Query,
    /// The rooms; empty for all.
    rooms: Vec<&'static str>,
    pub(crate) author: Option<Actor>,
    pub(crate) since_ms: Option<i64>,
    pub(crate) until_ms: Option<i64>,
    pub(crate) limit: usize,
    pub(crate) cursor: Option<Cursor>,
}

/// The value of a parameter that may occur at most once.
fn single_value<'a>(pairs: &'a [(String, String)], name: &str) -> Result<Option<&'a str>, Refusal> {
    let mut values = pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(Refusal::malformed("invalid_query", format!("{name} must be sent once."))),
    }
}

impl SearchFilter {
    /// Reads the parameters of a request.
    pub(crate) fn read(pairs: &[(String, String)]) -> Result<Self, Refusal> {
        let text = single_value(pairs, "q")?
            .filter(|q| (QUERY_CHARS_MIN..=QUERY_CHARS_MAX).contains(&q.chars().count()));
        let invalid = || {
            let text = format!("q must be a text of {QUERY_CHARS_MIN} to {QUERY_CHARS_MAX} characters.");
            Refusal::malformed("invalid_query", text)
        };
        let query = text.and_then(|text| Query::read(text).ok()).ok_or_else(invalid)?;
        // `@owner` is the owner's person, as for the recipient of a message.
        let parse = |text: &str| text.parse().or_else(|_| AgentHandle::of_recipient(text).map(Actor::Agent));
        let author = single_value(pairs, "who")?.map(parse).transpose();
        let author = author.map_err(|_| {
            Refusal::malformed("invalid_handle", "who must be @owner.name, @owner, ~owner or operator.")
        })?;
        let limit = match single_value(pairs, "limit")? {
            None => RESULTS_DEFAULT,
            Some(text) => {
                let invalid = || {
                    Refusal::malformed(
                        "invalid_limit",
                        format!("limit must be a number from 1 to {RESULTS_PAGE_MAX}."),
                    )
                };
                text.parse()
                    .ok()
                    .filter(|limit| (1..=RESULTS_PAGE_MAX).contains(limit))
                    .ok_or_else(invalid)?
            }
        };
        let cursor = single_value(pairs, "cursor")?.map(str::parse::<Cursor>).transpose();
        let cursor = cursor.map_err(|()| {
            Refusal::malformed("invalid_cursor", "cursor must be the next_cursor of the page before.")
        })?;
        let (since_ms, until_ms) = (moment(pairs, "since", 0)?, moment(pairs, "until", DAY_MS)?);
        Ok(Self { query, rooms: rooms(pairs)?, author, since_ms, until_ms, limit, cursor })
    }

    /// Whether a room is searched.
    pub(crate) fn has_room(&self, room: &str) -> bool {
        self.rooms.is_empty() || self.rooms.contains(&room)
    }

    /// Whether agents are searched: agents have no author and no time, so filters for these exclude them.
    pub(crate) fn has_agents(&self) -> bool {
        self.has_room(AGENTS) && self.author.is_none() && self.since_ms.is_none() && self.until_ms.is_none()
    }
}

fn rooms(pairs: &[(String, String)]) -> Result<Vec<&'static str>, Refusal> {
    // `/watch` calls it `rooms`; a search must not ignore that name and search everything.
    let parameters = pairs.iter().filter(|(name, _)| ["room", "rooms"].contains(&name.as_str()));
    let words =
        parameters.flat_map(|(_, value)| value.split(',')).map(str::trim).filter(|word| !word.is_empty());
    let parse_room = |word: &str| {
        let invalid =
            || Refusal::malformed("invalid_room", format!("room must be one of {}.", ROOMS.join(", ")));
        ROOMS.into_iter().find(|room| *room == word).ok_or_else(invalid)
    };
    words.map(parse_room).collect()
}

/// A time: RFC 3339, or the beginning of a day plus `of_day_ms`.
fn moment(pairs: &[(String, String)], name: &'static str, of_day_ms: i64) -> Result<Option<i64>, Refusal> {
    let Some(text) = single_value(pairs, name)? else { return Ok(None) };
    let day = || Some(rfc3339::parse(&format!("{text}T00:00:00Z"))? + of_day_ms);
    let code = if name == "since" { "invalid_since" } else { "invalid_until" };
    let invalid =
        || Refusal::malformed(code, format!("{name} must be an RFC 3339 time, or a day such as 2026-01-31."));
    rfc3339::parse(text).or_else(day).map(Some).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &[(&str, &str)]) -> Result<SearchFilter, &'static str> {
        let pairs: Vec<_> =
            query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        SearchFilter::read(&pairs).map_err(|refusal| refusal.code)
    }

    #[test]
    fn a_parameter_occurs_once_and_rooms_may_repeat() {
        let filter =
            read(&[("q", "red door"), ("room", "sessions,channels"), ("rooms", "runs"), ("x", "y")]).unwrap();
        assert!(filter.has_room("runs") && filter.has_room("channels") && !filter.has_room("context"));
        assert!(!filter.has_agents());
        let filter = read(&[("q", "red door")]).unwrap();
        assert!(filter.has_agents() && filter.has_room("context") && filter.limit == RESULTS_DEFAULT);
        assert!(!read(&[("q", "ab"), ("who", "@a.b")]).unwrap().has_agents());
    }

    #[test]
    fn a_day_is_whole_and_a_time_is_itself() {
        let filter = read(&[("q", "ab"), ("since", "2026-01-02"), ("until", "2026-01-02")]).unwrap();
        assert_eq!(filter.until_ms.unwrap() - filter.since_ms.unwrap(), DAY_MS);
        let filter = read(&[("q", "ab"), ("until", "2026-01-02T00:00:00Z")]).unwrap();
        assert_eq!(filter.until_ms, rfc3339::parse("2026-01-02T00:00:00Z"));
    }

    #[test]
    fn what_is_wrong_has_its_code() {
        let long = "x".repeat(QUERY_CHARS_MAX + 1);
        for (query, code) in [
            (vec![], "invalid_query"),
            (vec![("q", "x")], "invalid_query"),
            (vec![("q", long.as_str())], "invalid_query"),
            (vec![("q", "  ")], "invalid_query"),
            (vec![("q", "ab"), ("q", "cd")], "invalid_query"),
            (vec![("q", "ab"), ("room", "kitchen")], "invalid_room"),
            (vec![("q", "ab"), ("who", "nick")], "invalid_handle"),
            (vec![("q", "ab"), ("since", "yesterday")], "invalid_since"),
            (vec![("q", "ab"), ("until", "2026-02-30")], "invalid_until"),
            (vec![("q", "ab"), ("limit", "51")], "invalid_limit"),
            (vec![("q", "ab"), ("limit", "0")], "invalid_limit"),
            (vec![("q", "ab"), ("cursor", "!")], "invalid_cursor"),
        ] {
            assert_eq!(read(&query).err(), Some(code), "{query:?}");
        }
    }
}
