//! Items that were shown to coding agents and are not in context yet: by session, until its next event decides. Pure,
//! with its stored form.
//! Must not know: the protocol of hooks, or how marks are written.

use std::collections::{BTreeMap, BTreeSet};

use plenary_accounts::{Attention, AttentionChange, AttentionLevel};
use plenary_kernel::{SessionId, TimestampMs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    absence::Absence,
    attention::Passage,
    cursor::{Cursor, ItemId},
    cut::{CutItem, CutItems, Portion},
    kind::Kind,
    marks::ReachedPositions,
};

/// How long a session counts as live after its last sign of life.
pub const LEASE_MS: u64 = 60_000;
/// How long a further sign of life is not written.
pub(crate) const QUIET_MS: u64 = 10_000;
/// Most sessions of one agent that are stored; beyond it those that ended first are dropped, then the
/// oldest.
pub const SESSIONS_MAX: usize = 32;
/// Most pending handovers of one agent; beyond it the oldest counts as never taken up.
pub const SHOWINGS_MAX: usize = 64;
/// Most items of one handover.
pub const SHOWN_AT_ONCE_MAX: usize = 100;
/// How long a turn counts as in progress after its last event: an interrupted turn has no end event.
pub(crate) const TURN_MS: u64 = 10 * 60_000;
/// Most sessions of the network in which a coding session is known to have spoken; beyond it the first
/// is dropped.
pub(crate) const SPOKE_IN_MAX: usize = 32;
/// Most items that came back and were not shown since; beyond it 429 `too_many_shown`.
pub const RETURNED_MAX: usize = 2_048;

/// An event of a coding session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Moment {
    /// The session starts or resumes, before any prompt.
    Start,
    /// A person sent a prompt.
    Prompt,
    /// A tool was used.
    Tool,
    /// The turn is about to end.
    Stop,
    /// The session was woken and has done nothing yet.
    Wake,
    /// The context is about to be summarised.
    Compact,
    /// The session ended normally.
    End,
    /// It sent a message in a session of the network, `session_id`.
    Spoke,
    /// Its program is running.
    Alive,
    /// Its program has ended without an end event.
    Gone,
}

/// The effect of an event on earlier handovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    InContext,
    Back,
    Open,
}

impl Moment {
    /// The effect of this event on a text that was handed over at another.
    fn fate(self, shown_at: Self) -> Fate {
        match self {
            Self::Prompt | Self::Tool | Self::Stop => Fate::InContext,
            Self::Start | Self::Compact | Self::Gone => Fate::Back,
            // No model has seen a text that was shown at the start of a session without any activity.
            Self::End if matches!(shown_at, Self::Start | Self::Wake) => Fate::Back,
            Self::End => Fate::InContext,
            Self::Wake | Self::Spoke | Self::Alive => Fate::Open,
        }
    }

    /// Whether a turn is in progress afterwards; `None` if this does not change.
    fn is_working(self) -> Option<bool> {
        match self {
            Self::Prompt | Self::Tool | Self::Wake => Some(true),
            Self::Start | Self::Stop => Some(false),
            Self::Spoke | Self::Compact | Self::Alive | Self::End | Self::Gone => None,
        }
    }

    /// Whether hooks report it.
    fn is_of_hook(self) -> bool {
        !matches!(self, Self::Alive | Self::Spoke)
    }

    fn ends(self) -> bool {
        matches!(self, Self::End | Self::Gone)
    }
}

/// The items that one session was shown at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Handover {
    session: String,
    at: Moment,
    #[serde(rename = "spots")]
    item_ids: Vec<ItemId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cut: Vec<CutItem>,
    /// The positions up to which its page went.
    to: ReachedPositions,
    /// Whether its session was silent for too long: other sessions may be shown the items.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    lapsed: bool,
}

/// A coding session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionPresence {
    pub(crate) session: String,
    /// The coding agent.
    pub(crate) client: String,
    pub(crate) began: TimestampMs,
    /// When something last happened in it.
    pub(crate) worked: TimestampMs,
    #[serde(rename = "heard")]
    pub(crate) last_sign: TimestampMs,
    /// When it ended, or was found to have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<TimestampMs>,
    /// Whether it runs hooks; otherwise it only has tools.
    pub(crate) hooks: bool,
    /// Whether a turn of its model is in progress, according to its events.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) working: bool,
    /// The last period in which it did not let everything disturb it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attention: Option<Attention>,
    /// When it last got a digest of waiting items.
    #[serde(default, rename = "told", skip_serializing_if = "Option::is_none")]
    pub(crate) digest_at: Option<TimestampMs>,
    /// Sessions of the network in which it was the last of its agent's to speak, the last one last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) spoke_in: Vec<SessionId>,
}

impl SessionPresence {
    /// Whether it counts as live. A sign far ahead of a clock that was set back is as old as it is far.
    pub(crate) fn is_live(&self, now: TimestampMs) -> bool {
        self.ended.is_none() && now.0.abs_diff(self.last_sign.0) <= LEASE_MS
    }

    /// Whether a turn is in progress.
    pub(crate) fn is_working(&self, now: TimestampMs) -> bool {
        self.working && now.0.abs_diff(self.worked.0) <= TURN_MS
    }

    /// Its current attention level.
    pub(crate) fn level(&self, now: TimestampMs) -> AttentionLevel {
        self.attention.map_or(AttentionLevel::Open, |attention| attention.level_at(now))
    }

    /// When it ended.
    pub(crate) fn ended_at(&self) -> TimestampMs {
        self.ended.unwrap_or(self.last_sign)
    }
}

/// Why a message waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The recipient was invited but has not joined.
    NotJoined,
    /// The recipient has left, and gets the message when it next reads what it missed.
    Left,
    /// The message was cut, and its rest was not read.
    RestUnread,
    /// Only agents of the same owner, urgent messages and replies may disturb the recipient or its coding session.
    Focus,
    /// Nothing may disturb the recipient or its coding session.
    Dnd,
    /// A coding session is live; its next event receives the message.
    NextEvent,
    /// A live coding session has tools but no hooks: it must read its inbox.
    HooksOff,
    /// The recipient's coding agent is not running.
    NoLiveSession,
    /// The recipient's network does not answer, or is no longer linked.
    PeerUnreachable,
    /// This network stores as much at the recipient's network as it may.
    PeerFull,
}

/// The handovers to an agent's coding agents, and their sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Handovers {
    /// Rises whenever an item comes back, so that an earlier page is known to lack it.
    #[serde(rename = "turn")]
    returns: u64,
    pending: Vec<Handover>,
    /// Items that came back and are unread again, whatever the marks; with the number of returns at that
    /// time.
    returned: BTreeMap<ItemId, u64>,
    /// Those of them that no session was ever shown: a page left them out for another session.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    held: BTreeSet<ItemId>,
    /// The items of which a model has the beginning.
    #[serde(default, skip_serializing_if = "CutItems::is_empty")]
    pub(crate) cut: CutItems,
    sessions: Vec<SessionPresence>,
}

/// The effect of an event on the marks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SettledMarks {
    /// The positions up to which the pages of confirmed handovers went.
    pub(crate) to: Vec<ReachedPositions>,
    /// Whether the change must be written.
    pub(crate) changed: bool,
}

impl Handovers {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn returns(&self) -> u64 {
        self.returns
    }

    pub(crate) fn sessions(&self) -> &[SessionPresence] {
        &self.sessions
    }

    /// Whether hooks run in a coding session that has not ended.
    pub(crate) fn has_hooks(&self) -> bool {
        self.sessions.iter().any(|coding| coding.hooks && coding.ended.is_none())
    }

    /// Whether a live session was shown it, without a known result yet.
    pub(crate) fn is_pending(&self, item_id: ItemId) -> bool {
        self.pending.iter().any(|handover| !handover.lapsed && handover.item_ids.contains(&item_id))
    }

    /// Whether it came back.
    pub(crate) fn is_returned(&self, item_id: ItemId) -> bool {
        self.returned.contains_key(&item_id)
    }

    /// Whether it was shown to a coding agent, whatever the result.
    pub(crate) fn was_shown(&self, item_id: ItemId) -> bool {
        (self.is_returned(item_id) && !self.held.contains(&item_id))
            || self.pending.iter().any(|handover| handover.item_ids.contains(&item_id))
    }

    /// The shown part of an item that was cut.
    pub(crate) fn portion(&self, item_id: ItemId) -> Option<Portion> {
        let pending = self.pending.iter().flat_map(|handover| &handover.cut);
        let pending = pending.filter(|item| item.item_id == item_id).map(|item| item.portion);
        pending.chain(self.cut.portion(item_id)).max_by_key(|portion| portion.shown)
    }

    /// Notes the items of the last handover that were cut.
    pub(crate) fn note_cut(&mut self, items: Vec<CutItem>) {
        if let Some(last) = self.pending.last_mut() {
            last.cut = items;
        }
    }

    /// The first item of a kind that came back.
    pub(crate) fn first_returned(&self, kind: Kind) -> Option<ItemId> {
        self.returned.keys().find(|item_id| item_id.is_in_line_of(kind)).copied()
    }

    /// Whether an item is for a coding session. An item of a session of the network is for the live
    /// coding session that spoke there last; any other for the working one, else the most recently used
    /// one, of those that it may disturb. Without a live session it is for any reader.
    pub(crate) fn is_for(
        &self,
        session: &str,
        about: Option<&SessionId>,
        passage: Passage,
        now: TimestampMs,
    ) -> bool {
        match self.addressee(about, passage, now) {
            Ok(coding) => coding.is_none_or(|coding| coding.session == session),
            Err(_) => false,
        }
    }

    /// The live session that an item is for, if there is one; an error is a session that it waits for,
    /// as it may not disturb it.
    pub(crate) fn addressee(
        &self,
        about: Option<&SessionId>,
        passage: Passage,
        now: TimestampMs,
    ) -> Result<Option<&SessionPresence>, &SessionPresence> {
        let live = || self.sessions.iter().filter(|coding| coding.hooks && coding.is_live(now));
        let may = |coding: &SessionPresence| passage.passes(coding.level(now));
        if let Some(in_session) = about.and_then(|id| live().find(|coding| coding.spoke_in.contains(id))) {
            return if may(in_session) { Ok(Some(in_session)) } else { Err(in_session) };
        }
        let used = live().max_by_key(|coding| (may(coding), coding.is_working(now), coding.worked));
        used.map_or(Ok(None), |used| if may(used) { Ok(Some(used)) } else { Err(used) })
    }

    /// Whether an item of a session of the network waits for another live coding session, which spoke there last.
    pub(crate) fn waits_elsewhere(&self, session: &str, about: &SessionId, now: TimestampMs) -> bool {
        let mut live = self.sessions.iter().filter(|coding| coding.hooks && coding.is_live(now));
        live.any(|coding| coding.session != session && coding.spoke_in.contains(about))
    }

    /// Whether a coding session besides this one is known.
    pub(crate) fn has_sessions_besides(&self, session: &str) -> bool {
        self.sessions.iter().any(|coding| coding.session != session)
    }

    /// Sets the attention of a live session; `None` if there is none.
    pub(crate) fn attend(&mut self, session: &str, to: AttentionChange, now: TimestampMs) -> Option<bool> {
        let coding =
            self.sessions.iter_mut().find(|coding| coding.session == session && coding.is_live(now))?;
        let before = coding.attention;
        coding.attention = to.after(before, now);
        Some(coding.attention != before)
    }

    /// Notes that a session got the digest of waiting items.
    pub(crate) fn note_digest(&mut self, session: &str, now: TimestampMs) {
        if let Some(coding) = self.sessions.iter_mut().find(|coding| coding.session == session) {
            coding.digest_at = Some(now);
        }
    }

    /// Notes that a coding session spoke in a session of the network: further items of that session are
    /// for it.
    pub(crate) fn note_spoke(&mut self, session: &str, id: &SessionId) -> bool {
        let is_known =
            |coding: &SessionPresence| coding.session == session && coding.spoke_in.last() == Some(id);
        if self.sessions.iter().any(is_known) {
            return false;
        }
        for coding in &mut self.sessions {
            coding.spoke_in.retain(|known| known != id);
            if coding.session == session {
                coding.spoke_in.push(id.clone());
                let surplus = coding.spoke_in.len().saturating_sub(SPOKE_IN_MAX);
                coding.spoke_in.drain(..surplus);
            }
        }
        true
    }

    /// Keeps items that a page left out for another session unread, however far the page went.
    fn hold(&mut self, item_ids: &[ItemId]) {
        if !item_ids.is_empty() {
            self.returns += 1;
            self.held
                .extend(item_ids.iter().filter(|item_id| !self.was_shown(**item_id)).collect::<Vec<_>>());
            self.bring_back(item_ids);
        }
    }

    /// Keeps items unread that a page up to `to` left out, before the page is acknowledged; returns whether anything changed.
    pub(crate) fn keep(&mut self, item_ids: &[ItemId], to: &Cursor) -> bool {
        let is_kept = |item_id: &ItemId| self.returned.get(item_id).is_some_and(|at| *at > to.returns);
        let item_ids: Vec<ItemId> = item_ids.iter().filter(|item_id| !is_kept(item_id)).copied().collect();
        self.hold(&item_ids);
        !item_ids.is_empty()
    }

    /// Whether the stored state is outdated: a session was silent for too long.
    pub(crate) fn is_stale(&self, now: TimestampMs) -> bool {
        self.pending.iter().any(|handover| !handover.lapsed && !self.is_live(&handover.session, now))
    }

    fn is_live(&self, session: &str, now: TimestampMs) -> bool {
        self.sessions.iter().any(|coding| coding.session == session && coding.is_live(now))
    }

    /// Gives sessions that could not report during an absence of this process the time of a lease from its end.
    pub(crate) fn excuse(&mut self, absence: &Absence, now: TimestampMs) {
        for coding in self.sessions.iter_mut().filter(|coding| coding.ended.is_none()) {
            if absence.excuses(coding.last_sign, now) {
                coding.last_sign = absence.end;
            }
        }
    }

    /// Makes items of silent sessions unread again. They stay with the session, in case it comes back.
    pub(crate) fn lapse(&mut self, now: TimestampMs) -> bool {
        if !self.is_stale(now) {
            return false;
        }
        self.returns += 1;
        for nth in 0..self.pending.len() {
            if !self.pending[nth].lapsed && !self.is_live(&self.pending[nth].session, now) {
                self.pending[nth].lapsed = true;
                let item_ids = self.pending[nth].item_ids.clone();
                self.bring_back(&item_ids);
            }
        }
        true
    }

    /// Makes items unread again that no other session was shown meanwhile.
    fn bring_back(&mut self, item_ids: &[ItemId]) {
        for item_id in item_ids {
            if !self.is_pending(*item_id) {
                self.returned.insert(*item_id, self.returns);
            }
        }
    }

    /// Notes that a page up to `to`, read after `after`, was acknowledged. Items that came back after
    /// it was read were not on it.
    pub(crate) fn passed(&mut self, to: &Cursor, after: Option<&Cursor>) {
        self.returned.retain(|item_id, returns| *returns > to.returns || !item_id.is_between(after, to));
        self.held.retain(|item_id| self.returned.contains_key(item_id));
    }

    /// Whether more than `RETURNED_MAX` items were returned, so that settled ones must be dropped.
    pub(crate) fn is_crowded(&self) -> bool {
        self.returned.len() > RETURNED_MAX
    }

    /// Drops items that came back and that the agent has settled by its actions since.
    pub(crate) fn settle(&mut self, item_ids: &[ItemId]) {
        for item_id in item_ids {
            self.returned.remove(item_id);
            self.held.remove(item_id);
        }
    }

    /// Notes that a session was shown these items; false beyond the limit of items that came back, unless all of
    /// these are among them.
    pub(crate) fn show(
        &mut self,
        (session, client): (&str, &str),
        at: Moment,
        (item_ids, held): (Vec<ItemId>, &[ItemId]),
        to: &Cursor,
        now: TimestampMs,
    ) -> bool {
        self.note_sign(session, client, at, now);
        let adds = held.iter().chain(&item_ids).any(|item_id| !self.is_returned(*item_id));
        if adds && self.is_crowded() {
            return false;
        }
        self.hold(held);
        self.settle(&item_ids);
        let (session, to) = (session.to_owned(), to.into());
        self.pending.push(Handover { session, at, item_ids, cut: Vec::new(), to, lapsed: false });
        if self.pending.len() > SHOWINGS_MAX {
            let oldest = self.pending.iter().position(|handover| handover.lapsed).unwrap_or_default();
            let oldest = self.pending.remove(oldest);
            self.returns += 1;
            self.bring_back(&oldest.item_ids);
        }
        true
    }

    /// Processes an event of a session.
    pub(crate) fn event(
        &mut self,
        session: &str,
        client: &str,
        at: Moment,
        now: TimestampMs,
    ) -> SettledMarks {
        let mut settled = SettledMarks { changed: self.note_sign(session, client, at, now), to: Vec::new() };
        let (of_session, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|handover| handover.session == session && at.fate(handover.at) != Fate::Open);
        self.pending = rest;
        for handover in of_session {
            settled.changed = true;
            match at.fate(handover.at) {
                Fate::InContext => {
                    self.settle(&handover.item_ids);
                    for item_id in &handover.item_ids {
                        self.cut.remove(*item_id);
                        self.pending
                            .iter_mut()
                            .for_each(|other| other.item_ids.retain(|other| other != item_id));
                    }
                    handover.cut.iter().for_each(|item| self.cut.insert(item));
                    settled.to.push(handover.to);
                }
                // It is unread already, or another session has taken it up.
                Fate::Back if handover.lapsed => {}
                Fate::Back | Fate::Open => {
                    self.returns += 1;
                    self.bring_back(&handover.item_ids);
                }
            }
        }
        settled
    }

    /// Notes a sign of life of a session; returns whether it must be written.
    fn note_sign(&mut self, session: &str, client: &str, at: Moment, now: TimestampMs) -> bool {
        // After the clock was set back, a session with a later time would count as the one used last.
        self.sessions.iter_mut().for_each(|coding| coding.worked = coding.worked.min(now));
        let used_last = self.sessions.iter().map(|coding| coding.worked).max().unwrap_or_default();
        let known = self.sessions.iter_mut().find(|coding| coding.session == session);
        let Some(coding) = known else {
            // The end of an unknown session is ignored.
            if at.ends() {
                return false;
            }
            let (session, client) = (session.to_owned(), client.to_owned());
            let new = SessionPresence {
                session,
                client,
                began: now,
                worked: now,
                last_sign: now,
                ended: None,
                hooks: at.is_of_hook(),
                working: at.is_working().unwrap_or_default(),
                attention: None,
                digest_at: None,
                spoke_in: Vec::new(),
            };
            self.sessions.push(new);
            self.forget(now);
            return true;
        };
        if at.ends() {
            let was_live = coding.ended.is_none();
            coding.ended = coding.ended.or(Some(now));
            coding.working = false;
            return was_live;
        }
        // A supervisor of a session that has ended learns this, and does not revive it.
        if at == Moment::Alive && coding.ended.is_some() {
            return false;
        }
        let working = at.is_working().unwrap_or(coding.working);
        let is_news = coding.ended.is_some()
            || (at.is_of_hook() && coding.worked < used_last)
            || now.0.abs_diff(coding.last_sign.0) >= QUIET_MS
            || (at.is_of_hook() && !coding.hooks)
            || working != coding.working;
        if is_news {
            coding.last_sign = now;
            coding.ended = None;
            coding.working = working;
            if at.is_of_hook() {
                coding.worked = now;
                coding.hooks = true;
            }
        }
        is_news
    }

    fn forget(&mut self, now: TimestampMs) {
        while self.sessions.len() > SESSIONS_MAX {
            let oldest = |(_, coding): &(usize, &SessionPresence)| (coding.is_live(now), coding.last_sign);
            let Some((nth, _)) = self.sessions.iter().enumerate().min_by_key(oldest) else { return };
            self.sessions.remove(nth);
        }
    }

    /// Why an item waits that was not taken up, and since when; `None` if there was never a coding
    /// agent.
    pub(crate) fn reason(&self, now: TimestampMs) -> Option<(Reason, Option<TimestampMs>)> {
        let live = || self.sessions.iter().filter(|coding| coding.is_live(now));
        if live().any(|coding| coding.hooks) {
            return Some((Reason::NextEvent, None));
        }
        if let Some(since) = live().map(|coding| coding.began).min() {
            return Some((Reason::HooksOff, Some(since)));
        }
        let last = self.sessions.iter().map(SessionPresence::ended_at).max()?;
        Some((Reason::NoLiveSession, Some(last)))
    }
}

#[cfg(test)]
#[path = "handovers_tests.rs"]
mod tests;
