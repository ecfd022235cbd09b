//! The marks of an agent, kind by kind, and the resulting state of one message. Pure, with its stored form.
//! Must not know: how marks are written.

use std::collections::BTreeMap;

use plenary_kernel::{Position, TimestampMs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    cursor::{Cursor, ItemId, ItemPosition},
    cut::CutItem,
    handovers::{Handovers, Moment},
    kind::{Kind, Kinds},
};

/// The known state of a message for one of its recipients; each state includes the earlier ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is stored in the log.
    #[default]
    Accepted,
    /// The recipient's stack has it.
    Delivered,
    /// It was handed to the recipient's coding agent.
    Shown,
    /// The model has it in context: a later event followed in the session in which it was shown.
    InContext,
    /// The recipient had it and sent a message later.
    Answered,
    /// The recipient has acknowledged it.
    Acknowledged,
    /// The recipient can never get it.
    Expired,
}

/// A place for each kind; a missing one is before everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ReachedPositions(BTreeMap<Kind, ItemPosition>);

impl ReachedPositions {
    pub(crate) fn of(&self, kind: Kind) -> ItemPosition {
        self.0.get(&kind).copied().unwrap_or_default()
    }

    /// The lowest position of several kinds, except those with their own marks.
    pub(crate) fn lowest(&self, kinds: Kinds) -> ItemPosition {
        kinds.iter().filter(|kind| kind.is_in_line()).map(|kind| self.of(kind)).min().unwrap_or_default()
    }

    /// A cursor from which everything before is in this state.
    pub(crate) fn cursor(&self) -> Cursor {
        let lane = self.of(Kind::Frame).0.0;
        let offers = self.of(Kind::SessionOffered);
        Cursor { kinds: Kinds::ALL, position: self.lowest(Kinds::ALL), lane, offers, returns: 0 }
    }

    fn raise(&mut self, to: &Self) -> bool {
        let mut rose = false;
        for (kind, position) in &to.0 {
            if *position > self.of(*kind) {
                self.0.insert(*kind, *position);
                rose = true;
            }
        }
        rose
    }
}

impl From<&Cursor> for ReachedPositions {
    fn from(cursor: &Cursor) -> Self {
        Self(cursor.kinds.iter().filter_map(|kind| Some((kind, cursor.of(kind)?))).collect())
    }
}

/// The marks of one agent. Seen positions are delivered, and acknowledged positions are seen, except for items
/// that were handed to coding agents and are not settled yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marks {
    pub(crate) delivered: ReachedPositions,
    pub(crate) seen: ReachedPositions,
    pub(crate) acknowledged: ReachedPositions,
    #[serde(default, rename = "shown", skip_serializing_if = "Handovers::is_empty")]
    pub(crate) handovers: Handovers,
}

impl Marks {
    /// Raises the marks to a state up to the cursor, except for items that came back after it was read;
    /// returns whether anything changed. A page after `after` says nothing about earlier items.
    pub(crate) fn raise(&mut self, state: State, to: &Cursor, after: Option<&Cursor>) -> bool {
        let Some(adjoining) = self.adjoining(state, to, after) else { return false };
        let before = self.clone();
        let reached = ReachedPositions::from(&adjoining);
        if state >= State::Delivered {
            self.delivered.raise(&reached);
        }
        if state >= State::InContext {
            self.seen.raise(&reached);
            self.handovers.passed(&adjoining, after);
        }
        if state >= State::Acknowledged {
            self.acknowledged.raise(&reached);
            self.handovers.cut.acknowledged(self.acknowledged.of(Kind::SessionMessage));
        }
        before != *self
    }

    /// Notes the items of which a model has only the beginning.
    pub(crate) fn cut(&mut self, items: &[CutItem]) -> bool {
        let before = self.handovers.cut.clone();
        items.iter().for_each(|item| self.handovers.cut.insert(item));
        before != self.handovers.cut
    }

    /// Notes that a session was shown these items, of a page up to `to`, without those held for another
    /// session; false if too many items have come back.
    pub(crate) fn show(
        &mut self,
        session: (&str, &str),
        at: Moment,
        (item_ids, held): (Vec<ItemId>, &[ItemId]),
        to: &Cursor,
        now: TimestampMs,
    ) -> bool {
        self.delivered.raise(&to.into());
        self.handovers.show(session, at, (item_ids, held), to, now)
    }

    /// Notes an event of a coding session; returns whether it must be written.
    pub(crate) fn event(&mut self, session: &str, client: &str, at: Moment, now: TimestampMs) -> bool {
        let settled = self.handovers.event(session, client, at, now);
        for to in &settled.to {
            self.delivered.raise(to);
            self.seen.raise(to);
        }
        settled.changed
    }

    /// Whether it was not seen, and is not pending in a live session.
    pub(crate) fn is_unread(&self, kind: Kind, position: ItemPosition) -> bool {
        let item_id = ItemId::of(kind, position);
        !self.handovers.is_pending(item_id)
            && (self.handovers.is_returned(item_id) || position > self.seen.of(kind))
    }

    /// Whether the agent has it: it was seen, or a client has it by the marks or by what its connections confirmed. The model
    /// of a coding agent gets its messages from hooks, whatever other clients of the agent have.
    pub(crate) fn has_arrived(&self, kind: Kind, position: ItemPosition, confirmed: Position) -> bool {
        let item_id = ItemId::of(kind, position);
        let has_client = || position <= self.delivered.of(kind) || position.0 <= confirmed;
        let has_it = position <= self.seen.of(kind) || !self.handovers.has_hooks() && has_client();
        has_it && !self.handovers.is_pending(item_id) && !self.handovers.is_returned(item_id)
    }

    /// The position after which an item of a kind may be unread.
    pub(crate) fn unread_from(&self, kind: Kind) -> ItemPosition {
        let seen = self.seen.of(kind);
        self.handovers.first_returned(kind).map_or(seen, |item_id| item_id.position().before().min(seen))
    }

    /// The lowest of those places, for the kinds without their own marks.
    pub(crate) fn unread_lowest(&self, kinds: Kinds) -> ItemPosition {
        let kinds = kinds.iter().filter(|kind| kind.is_in_line());
        kinds.map(|kind| self.unread_from(kind)).min().unwrap_or_default()
    }

    /// The cursor for those of its kinds whose marks reach `after`; `None` if there are none.
    fn adjoining(&self, state: State, to: &Cursor, after: Option<&Cursor>) -> Option<Cursor> {
        let Some(after) = after else { return Some(*to) };
        let mark = match state {
            State::Accepted | State::Delivered => &self.delivered,
            State::Shown | State::InContext | State::Answered => &self.seen,
            State::Acknowledged | State::Expired => &self.acknowledged,
        };
        let kinds = to.kinds.only(|kind| after.of(kind).is_none_or(|after| after <= mark.of(kind)));
        Some(Cursor { kinds: kinds?, ..*to })
    }

    /// The state of an item by the marks.
    pub(crate) fn state(&self, kind: Kind, position: ItemPosition) -> State {
        let item_id = ItemId::of(kind, position);
        if self.handovers.was_shown(item_id) {
            State::Shown
        } else if self.handovers.is_returned(item_id) {
            State::Delivered
        } else if position <= self.acknowledged.of(kind) {
            State::Acknowledged
        } else if position <= self.seen.of(kind) {
            if self.handovers.cut.is_cut(item_id) { State::Shown } else { State::InContext }
        } else if position <= self.delivered.of(kind) {
            State::Delivered
        } else {
            State::Accepted
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATES: [State; 4] = [State::Accepted, State::Delivered, State::InContext, State::Acknowledged];

    fn cursor((bits, number, lane): (u16, u64, u64)) -> Cursor {
        let position = ItemPosition(Position(number), 0);
        Cursor { kinds: Kinds::of_bits(bits).unwrap(), position, lane, offers: position, returns: 0 }
    }

    #[test]
    fn the_stored_form_is_frozen() {
        let mut marks = Marks::default();
        marks.raise(State::Delivered, &cursor((0b1001, 12, 4)), None);
        marks.raise(State::Acknowledged, &cursor((0b10, 7, 0)), None);
        let form = concat!(
            r#"{"delivered":{"session.message":[12,0],"session.invited":[7,0],"frame":[4,0]},"#,
            r#""seen":{"session.invited":[7,0]},"acknowledged":{"session.invited":[7,0]}}"#
        );
        assert_eq!(serde_json::to_string(&marks).unwrap(), form);
        assert_eq!(serde_json::from_str::<Marks>(form).unwrap(), marks);
    }

    #[test]
    fn another_client_of_a_coding_agent_is_no_evidence_for_its_model() {
        let position = ItemPosition(Position(12), 0);
        let arrived =
            |marks: &Marks, confirmed| marks.has_arrived(Kind::SessionMessage, position, Position(confirmed));
        let mut marks = Marks::default();
        assert!(!arrived(&marks, 11) && arrived(&marks, 12));
        marks.raise(State::Delivered, &cursor((0b1, 12, 0)), None);
        assert!(arrived(&marks, 0));
        marks.event("one", "claude", Moment::Start, TimestampMs(5));
        assert!(!arrived(&marks, 12), "its hooks have not shown it");
        let mut seen = marks.clone();
        seen.raise(State::InContext, &cursor((0b1, 12, 0)), None);
        assert!(arrived(&seen, 0));
        marks.event("one", "claude", Moment::End, TimestampMs(6));
        assert!(arrived(&marks, 0));
    }

    proptest! {
        #[test]
        fn marks_only_rise_and_each_state_includes_those_before_it(
            steps in prop::collection::vec((0_usize..4, (1_u16..512, 0_u64..20, 0_u64..20)), 1..30),
            number in 0_u64..20,
        ) {
            let mut marks = Marks::default();
            for (state, to) in steps {
                let (before, to) = (marks.clone(), cursor(to));
                let rose = marks.raise(STATES[state], &to, None);
                prop_assert_eq!(rose, before != marks);
                for kind in Kind::ALL {
                    prop_assert!(marks.acknowledged.of(kind) <= marks.seen.of(kind));
                    prop_assert!(marks.seen.of(kind) <= marks.delivered.of(kind));
                    let position = ItemPosition(Position(number), 0);
                    prop_assert!(before.state(kind, position) <= marks.state(kind, position));
                    let is_covered = to.of(kind).is_some_and(|to| position <= to);
                    let now = marks.state(kind, position);
                    prop_assert!(now == before.state(kind, position) || is_covered, "only acknowledged items rise");
                }
            }
        }
    }
}
