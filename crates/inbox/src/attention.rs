//! The items that may disturb a coding agent at its attention level, and the items that wait. Pure.
//! Must not know: how news are found, or their content.

use std::collections::BTreeMap;

use plenary_accounts::{Attention, AttentionLevel};
use plenary_kernel::{AgentHandle, TimestampMs};
use plenary_sessions::urgency::MessageUrgency;

use crate::{
    inbox_read::InboxQuery,
    items::Reader,
    kind::Kind,
    marks::Marks,
    wire::{AttentionDigest, WaitedFrom},
};

/// How many senders a digest names.
const SENDERS_MAX: usize = 10;

/// The attention levels that let an item pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passage {
    passes_focus: bool,
}

impl Passage {
    /// Whether it passes `focus`: items from agents of the same owner, urgent items, and replies to
    /// the agent.
    pub(crate) fn of(
        me: &AgentHandle,
        kind: Kind,
        from: Option<&AgentHandle>,
        urgency: MessageUrgency,
    ) -> Self {
        let is_own = from.is_none_or(|from| from.owner() == me.owner());
        let is_answer = urgency.is_reply || kind == Kind::RequestAnswered;
        Self { passes_focus: is_own || is_answer || urgency.is_urgent }
    }

    /// An item that passes only `open`.
    pub(crate) const ORDINARY: Self = Self { passes_focus: false };

    /// Whether this level lets it pass.
    pub(crate) fn passes(self, level: AttentionLevel) -> bool {
        match level {
            AttentionLevel::Open => true,
            AttentionLevel::Focus => self.passes_focus,
            AttentionLevel::Dnd => false,
        }
    }
}

/// The items that are held back from the reading coding session, and their digest.
#[derive(Debug, Default)]
pub(crate) struct HeldBack {
    /// The stricter period of the agent and the session, or the last ended one that was not reported
    /// yet.
    period: Option<Attention>,
    is_over: bool,
    waited: u64,
    from: BTreeMap<AgentHandle, u64>,
}

impl HeldBack {
    /// For the reading coding session, if there is one.
    pub(crate) fn of(reader: &Reader, query: &InboxQuery<'_>, marks: &Marks) -> Self {
        let Some(session) = query.coding else { return Self::default() };
        let presence = marks.handovers.sessions().iter().find(|coding| coding.session == session);
        let (own, digest_at) =
            presence.map_or((None, None), |presence| (presence.attention, presence.digest_at));
        Self::new((reader.me.state.attention(), own), digest_at, reader.now)
    }

    /// For the agent and one of its sessions; `digest_at` is when the session last got a digest.
    pub(crate) fn new(
        (agent, session): (Option<Attention>, Option<Attention>),
        digest_at: Option<TimestampMs>,
        now: TimestampMs,
    ) -> Self {
        let both = || agent.into_iter().chain(session);
        let strictest = both().max_by_key(|period| period.level_at(now));
        if let Some(period) = strictest.filter(|period| period.level_at(now) != AttentionLevel::Open) {
            return Self { period: Some(period), ..Self::default() };
        }
        let unreported = both().filter(|period| period.until > digest_at);
        Self { period: unreported.max_by_key(|period| period.until), is_over: true, ..Self::default() }
    }

    /// Whether the passage of an item from that time matters.
    pub(crate) fn concerns(&self, at: TimestampMs) -> bool {
        self.period.is_some_and(|period| !self.is_over || period.covers(at))
    }

    /// Counts an unread item if the period holds or held it back.
    pub(crate) fn count(&mut self, passage: Passage, from: Option<&AgentHandle>) {
        if self.period.is_some_and(|period| !passage.passes(period.level)) {
            self.waited += 1;
            if let Some(from) = from {
                *self.from.entry(from.clone()).or_default() += 1;
            }
        }
    }

    /// The digest for a page; `None` if the level is open and no item waited.
    pub(crate) fn digest(self) -> Option<AttentionDigest> {
        let period = self.period.filter(|_| !self.is_over || self.waited > 0)?;
        let mut from: Vec<WaitedFrom> =
            self.from.into_iter().map(|(agent, items)| WaitedFrom { agent, items }).collect();
        from.sort_by_key(|waited| std::cmp::Reverse(waited.items));
        from.truncate(SENDERS_MAX);
        Some(AttentionDigest {
            level: if self.is_over { AttentionLevel::Open } else { period.level },
            was: self.is_over.then_some(period.level),
            since: period.since.rfc3339(),
            until: period.until.map(TimestampMs::rfc3339),
            waited: self.waited,
            from,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(handle: &str) -> AgentHandle {
        handle.parse().unwrap()
    }

    fn period(level: AttentionLevel, since: u64, until: Option<u64>) -> Option<Attention> {
        Some(Attention { level, since: TimestampMs(since), until: until.map(TimestampMs) })
    }

    #[test]
    fn focus_passes_items_of_the_same_owner_urgent_items_and_replies() {
        let (me, own, other) = (agent("@nick.cc"), agent("@nick.web"), agent("@bob.cc"));
        let (plain, message) = (MessageUrgency::default(), Kind::SessionMessage);
        for (kind, from, urgency, passes) in [
            (message, Some(&own), plain, true),
            (message, Some(&other), plain, false),
            (message, Some(&other), MessageUrgency { is_urgent: true, ..plain }, true),
            (message, Some(&other), MessageUrgency { is_reply: true, ..plain }, true),
            (Kind::SessionOffered, Some(&other), plain, false),
            (Kind::RequestAnswered, Some(&other), plain, true),
            (Kind::RunWaiting, None, plain, true),
        ] {
            let passage = Passage::of(&me, kind, from, urgency);
            assert_eq!(passage.passes(AttentionLevel::Focus), passes, "{kind:?} {from:?}");
            assert!(passage.passes(AttentionLevel::Open) && !passage.passes(AttentionLevel::Dnd));
        }
    }

    #[test]
    fn waiting_items_are_reported_while_they_wait_and_once_afterwards() {
        use AttentionLevel::{Dnd, Focus};
        let ms = TimestampMs;
        let (focus, dnd) = (period(Focus, 10, Some(50)), period(Dnd, 20, Some(40)));
        let mut held_back = HeldBack::new((focus, dnd), None, ms(30));
        held_back.count(Passage::ORDINARY, Some(&agent("@bob.cc")));
        held_back.count(Passage { passes_focus: true }, Some(&agent("@bob.cc")));
        let digest = held_back.digest().unwrap();
        assert_eq!((digest.level, digest.waited, digest.from[0].items), (Dnd, 2, 2));
        let mut held_back = HeldBack::new((focus, dnd), None, ms(45));
        held_back.count(Passage { passes_focus: true }, None);
        assert_eq!(held_back.digest().unwrap().waited, 0, "focus holds, and lets it pass");
        let mut held_back = HeldBack::new((focus, dnd), None, ms(60));
        assert!(held_back.concerns(ms(15)) && !held_back.concerns(ms(55)));
        held_back.count(Passage::ORDINARY, None);
        let digest = held_back.digest().unwrap();
        assert_eq!((digest.level, digest.was, digest.waited), (AttentionLevel::Open, Some(Focus), 1));
        assert_eq!(HeldBack::new((focus, dnd), None, ms(60)).digest(), None, "no item waited");
        assert!(!HeldBack::new((focus, dnd), Some(ms(51)), ms(60)).concerns(ms(15)), "it was reported");
        assert_eq!(HeldBack::default().digest(), None);
    }
}
