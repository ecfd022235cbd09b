//! What was handed to coding agents and has not been in context since: session by session, until its next event says that
//! it was, or that it never will be. Pure, with its stored form.
//! Must not know: how hooks speak, or how marks are written.

use std::collections::BTreeMap;

use plenary_kernel::TimestampMs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cursor::{Cursor, Spot},
    kind::Kind,
    marks::Reached,
};

/// How long a session counts as live behind the last sign of it.
pub const LEASE_MS: u64 = 60_000;
/// How long a sign of life is not written again.
pub(crate) const QUIET_MS: u64 = 10_000;
/// Most sessions that are remembered of one agent; past it those that ended first are forgotten, then the oldest.
pub const SESSIONS_MAX: usize = 32;
/// Most showings of one agent that wait for an event; past it the oldest counts as never taken up.
pub const SHOWINGS_MAX: usize = 64;
/// Most pieces of news that one showing has.
pub const SHOWN_AT_ONCE_MAX: usize = 100;
/// Most pieces of news that came back and were not shown since; past it 429 `too_many_shown`.
pub const RETURNED_MAX: usize = 2_048;

/// A moment in a session of a coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// It begins or goes on, before anybody has said anything.
    Start,
    /// A person spoke.
    Prompt,
    /// A tool was used.
    Tool,
    /// The turn is about to end.
    Stop,
    /// It was woken, and has done nothing yet.
    Wake,
    /// What was said is about to be summarised.
    Compact,
    /// It ended properly.
    End,
    /// Its program is there.
    Alive,
    /// Its program is gone, and said nothing.
    Gone,
}

/// What an event makes of what was shown before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    InContext,
    Back,
    Open,
}

impl Moment {
    /// What becomes, at this moment, of a text that was handed over at another.
    fn fate(self, shown_at: Self) -> Fate {
        match self {
            Self::Prompt | Self::Tool | Self::Stop => Fate::InContext,
            Self::Start | Self::Compact | Self::Gone => Fate::Back,
            // What stood at the beginning of a session in which nothing happened, no model has seen.
            Self::End if matches!(shown_at, Self::Start | Self::Wake) => Fate::Back,
            Self::End => Fate::InContext,
            Self::Wake | Self::Alive => Fate::Open,
        }
    }

    fn ends(self) -> bool {
        matches!(self, Self::End | Self::Gone)
    }
}

/// Something that one session was handed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Showing {
    session: String,
    at: Moment,
    spots: Vec<Spot>,
    /// Up to where the page went that it is of.
    to: Reached,
    /// Whether its session was silent for too long: others may be shown it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lapsed: bool,
}

/// A session of a coding agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Coding {
    pub(crate) session: String,
    /// Which coding agent it is.
    pub(crate) client: String,
    pub(crate) began: TimestampMs,
    /// When something last happened in it.
    pub(crate) worked: TimestampMs,
    /// The last sign of it.
    pub(crate) heard: TimestampMs,
    /// When it ended, or was found to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<TimestampMs>,
    /// Whether it runs hooks; else it has tools alone.
    pub(crate) hooks: bool,
}

impl Coding {
    /// Whether it is there, as far as is known.
    pub(crate) fn is_live(&self, now: TimestampMs) -> bool {
        self.ended.is_none() && now.0.saturating_sub(self.heard.0) <= LEASE_MS
    }

    /// Since when it is not there.
    pub(crate) fn gone_since(&self) -> TimestampMs {
        self.ended.unwrap_or(self.heard)
    }
}

/// Why something waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The recipient was invited, and has not joined.
    NotJoined,
    /// A session is there; its next event takes it up.
    NextEvent,
    /// A session is there that has the tools, but runs no hook: it has to ask.
    HooksOff,
    /// The recipient's coding agent is not running.
    NoLiveSession,
}

/// What an agent's coding agents were handed, and their sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shown {
    /// Rises whenever something comes back, so that a page from before is known to lack it.
    turn: u64,
    pending: Vec<Showing>,
    /// What came back and is unread again, wherever the marks stand; with the turn it came back in.
    returned: BTreeMap<Spot, u64>,
    sessions: Vec<Coding>,
}

/// What a model has seen now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settled {
    /// Up to here its pages went.
    pub(crate) to: Vec<Reached>,
    /// Whether anything changed that is to be written.
    pub(crate) changed: bool,
}

impl Shown {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    pub(crate) fn sessions(&self) -> &[Coding] {
        &self.sessions
    }

    /// Whether a live session was handed it, and nothing is known of it yet.
    pub(crate) fn is_pending(&self, spot: Spot) -> bool {
        self.pending.iter().any(|showing| !showing.lapsed && showing.spots.contains(&spot))
    }

    /// Whether it came back.
    pub(crate) fn is_returned(&self, spot: Spot) -> bool {
        self.returned.contains_key(&spot)
    }

    /// Whether it was handed to a coding agent, whatever became of that.
    pub(crate) fn was_shown(&self, spot: Spot) -> bool {
        self.is_returned(spot) || self.pending.iter().any(|showing| showing.spots.contains(&spot))
    }

    /// The first of what came back, among the places of a kind.
    pub(crate) fn first_returned(&self, kind: Kind) -> Option<Spot> {
        self.returned.keys().find(|spot| spot.is_in_line_of(kind)).copied()
    }

    /// Whether what is written is out of date: a session was silent for too long.
    pub(crate) fn is_stale(&self, now: TimestampMs) -> bool {
        self.pending.iter().any(|showing| !showing.lapsed && !self.is_live(&showing.session, now))
    }

    fn is_live(&self, session: &str, now: TimestampMs) -> bool {
        self.sessions.iter().any(|coding| coding.session == session && coding.is_live(now))
    }

    /// What was handed to sessions that are silent is unread again. It stays with them: one that comes back has it.
    pub(crate) fn lapse(&mut self, now: TimestampMs) -> bool {
        if !self.is_stale(now) {
            return false;
        }
        self.turn += 1;
        for nth in 0..self.pending.len() {
            if !self.pending[nth].lapsed && !self.is_live(&self.pending[nth].session, now) {
                self.pending[nth].lapsed = true;
                let spots = self.pending[nth].spots.clone();
                self.bring_back(&spots);
            }
        }
        true
    }

    /// What no other session was handed meanwhile is unread again.
    fn bring_back(&mut self, spots: &[Spot]) {
        for spot in spots {
            if !self.is_pending(*spot) {
                self.returned.insert(*spot, self.turn);
            }
        }
    }

    /// A page up to `to` was acknowledged that was read in this turn, behind `after` where that is said. What came back
    /// since was not on it.
    pub(crate) fn passed(&mut self, to: &Cursor, after: Option<&Cursor>) {
        self.returned.retain(|spot, turn| *turn > to.turn || !spot.is_between(after, to));
    }

    /// A session was handed these; false past their number.
    pub(crate) fn show(
        &mut self,
        (session, client): (&str, &str),
        at: Moment,
        spots: Vec<Spot>,
        to: &Cursor,
        now: TimestampMs,
    ) -> bool {
        self.hear(session, client, at, now);
        if self.returned.len() > RETURNED_MAX {
            return false;
        }
        for spot in &spots {
            self.returned.remove(spot);
        }
        self.pending.push(Showing { session: session.to_owned(), at, spots, to: to.into(), lapsed: false });
        if self.pending.len() > SHOWINGS_MAX {
            let oldest = self.pending.iter().position(|showing| showing.lapsed).unwrap_or_default();
            let oldest = self.pending.remove(oldest);
            self.turn += 1;
            self.bring_back(&oldest.spots);
        }
        true
    }

    /// Something happened in a session.
    pub(crate) fn event(&mut self, session: &str, client: &str, at: Moment, now: TimestampMs) -> Settled {
        let mut settled = Settled { changed: self.hear(session, client, at, now), to: Vec::new() };
        let (own, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|showing| showing.session == session && at.fate(showing.at) != Fate::Open);
        self.pending = rest;
        for showing in own {
            settled.changed = true;
            match at.fate(showing.at) {
                Fate::InContext => {
                    for spot in &showing.spots {
                        self.returned.remove(spot);
                        self.pending.iter_mut().for_each(|other| other.spots.retain(|other| other != spot));
                    }
                    settled.to.push(showing.to);
                }
                // It is unread already, or somebody else has taken it up.
                Fate::Back if showing.lapsed => {}
                Fate::Back | Fate::Open => {
                    self.turn += 1;
                    self.bring_back(&showing.spots);
                }
            }
        }
        settled
    }

    /// A sign of a session; whether it is worth writing.
    fn hear(&mut self, session: &str, client: &str, at: Moment, now: TimestampMs) -> bool {
        let known = self.sessions.iter_mut().find(|coding| coding.session == session);
        let Some(coding) = known else {
            // Who is unknown and gone is nobody.
            if at.ends() {
                return false;
            }
            let (session, client) = (session.to_owned(), client.to_owned());
            let hooks = at != Moment::Alive;
            let fresh = Coding { session, client, began: now, worked: now, heard: now, ended: None, hooks };
            self.sessions.push(fresh);
            self.forget(now);
            return true;
        };
        if at.ends() {
            let was_live = coding.ended.is_none();
            coding.ended = coding.ended.or(Some(now));
            return was_live;
        }
        // Whoever looks after a session that has ended is told so, and wakes nobody.
        if at == Moment::Alive && coding.ended.is_some() {
            return false;
        }
        let is_news = coding.ended.is_some()
            || now.0.saturating_sub(coding.heard.0) >= QUIET_MS
            || (at != Moment::Alive && !coding.hooks);
        if is_news {
            coding.heard = now;
            coding.ended = None;
            if at != Moment::Alive {
                coding.worked = now;
                coding.hooks = true;
            }
        }
        is_news
    }

    fn forget(&mut self, now: TimestampMs) {
        while self.sessions.len() > SESSIONS_MAX {
            let oldest = |(_, coding): &(usize, &Coding)| (coding.is_live(now), coding.heard);
            let Some((nth, _)) = self.sessions.iter().enumerate().min_by_key(oldest) else { return };
            self.sessions.remove(nth);
        }
    }

    /// Why what was not taken up waits, and since when; `None` where no coding agent was ever heard of.
    pub(crate) fn reason(&self, now: TimestampMs) -> Option<(Reason, Option<TimestampMs>)> {
        let live = || self.sessions.iter().filter(|coding| coding.is_live(now));
        if live().any(|coding| coding.hooks) {
            return Some((Reason::NextEvent, None));
        }
        if let Some(since) = live().map(|coding| coding.began).min() {
            return Some((Reason::HooksOff, Some(since)));
        }
        let last = self.sessions.iter().map(Coding::gone_since).max()?;
        Some((Reason::NoLiveSession, Some(last)))
    }
}

#[cfg(test)]
#[path = "showing_tests.rs"]
mod tests;
