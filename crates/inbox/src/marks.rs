//! How far an agent has got, kind by kind, and what that makes of one message. Pure, with its stored form.
//! Must not know: how marks are written.

use std::collections::BTreeMap;

pub use plenary_wire::inbox::State;
use serde::{Deserialize, Serialize};

use crate::{
    cursor::{Cursor, Place},
    kind::{Kind, Kinds},
};

/// A place for each kind; none is before everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Reached(BTreeMap<Kind, Place>);

impl Reached {
    /// How far, for a kind.
    pub(crate) fn of(&self, kind: Kind) -> Place {
        self.0.get(&kind).copied().unwrap_or_default()
    }

    /// The lowest of several kinds; those with marks of their own do not count.
    pub(crate) fn lowest(&self, kinds: Kinds) -> Place {
        kinds.iter().filter(|kind| kind.is_in_line()).map(|kind| self.of(kind)).min().unwrap_or_default()
    }

    /// From where on everything is reached by this: a cursor to go on from.
    pub(crate) fn cursor(&self) -> Cursor {
        let lane = self.of(Kind::Frame).0.0;
        let offers = self.of(Kind::SessionOffered);
        Cursor { kinds: Kinds::ALL, place: self.lowest(Kinds::ALL), lane, offers }
    }

    fn raise(&mut self, to: &Cursor) -> bool {
        let mut rose = false;
        for kind in to.kinds.iter() {
            let place = to.of(kind).unwrap_or_default();
            if place > self.of(kind) {
                self.0.insert(kind, place);
                rose = true;
            }
        }
        rose
    }
}

/// The marks of one agent. Every place that is seen is delivered, every place that is acknowledged is seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marks {
    pub(crate) delivered: Reached,
    pub(crate) seen: Reached,
    pub(crate) acknowledged: Reached,
}

impl Marks {
    /// Everything up to the cursor has come so far; whether that was news.
    pub(crate) fn raise(&mut self, state: State, to: &Cursor) -> bool {
        let delivered = state >= State::Delivered && self.delivered.raise(to);
        let seen = state >= State::Seen && self.seen.raise(to);
        let acknowledged = state >= State::Acknowledged && self.acknowledged.raise(to);
        delivered || seen || acknowledged
    }

    /// What the marks say of something at a place.
    pub(crate) fn state(&self, kind: Kind, place: Place) -> State {
        if place <= self.acknowledged.of(kind) {
            State::Acknowledged
        } else if place <= self.seen.of(kind) {
            State::Seen
        } else if place <= self.delivered.of(kind) {
            State::Delivered
        } else {
            State::Accepted
        }
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::Position;
    use proptest::prelude::*;

    use super::*;

    const STATES: [State; 4] = [State::Accepted, State::Delivered, State::Seen, State::Acknowledged];

    fn cursor((bits, at, lane): (u16, u64, u64)) -> Cursor {
        let place = Place(Position(at), 0);
        Cursor { kinds: Kinds::of_bits(bits).unwrap(), place, lane, offers: place }
    }

    #[test]
    fn the_stored_form_is_frozen() {
        let mut marks = Marks::default();
        marks.raise(State::Delivered, &cursor((0b1001, 12, 4)));
        marks.raise(State::Acknowledged, &cursor((0b10, 7, 0)));
        let form = concat!(
            r#"{"delivered":{"session.message":[12,0],"session.invited":[7,0],"frame":[4,0]},"#,
            r#""seen":{"session.invited":[7,0]},"acknowledged":{"session.invited":[7,0]}}"#
        );
        assert_eq!(serde_json::to_string(&marks).unwrap(), form);
        assert_eq!(serde_json::from_str::<Marks>(form).unwrap(), marks);
    }

    proptest! {
        #[test]
        fn marks_only_rise_and_each_state_includes_those_before_it(
            steps in prop::collection::vec((0_usize..4, (1_u16..256, 0_u64..20, 0_u64..20)), 1..30),
            asked in 0_u64..20,
        ) {
            let mut marks = Marks::default();
            for (state, to) in steps {
                let (before, to) = (marks.clone(), cursor(to));
                let rose = marks.raise(STATES[state], &to);
                prop_assert_eq!(rose, before != marks);
                for kind in Kind::ALL {
                    prop_assert!(marks.acknowledged.of(kind) <= marks.seen.of(kind));
                    prop_assert!(marks.seen.of(kind) <= marks.delivered.of(kind));
                    let place = Place(Position(asked), 0);
                    prop_assert!(before.state(kind, place) <= marks.state(kind, place));
                    let said = to.of(kind).is_some_and(|to| place <= to);
                    let now = marks.state(kind, place);
                    prop_assert!(now == before.state(kind, place) || said, "nothing is claimed that was not said");
                }
            }
        }
    }
}
