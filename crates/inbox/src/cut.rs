//! The shown length of items that were cut: such an item counts as seen only up to the cut. Pure, with
//! its stored form.
//! Must not know: the readers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cursor::{ItemId, ItemPosition};

/// Most cut items of one agent whose shown length is stored. Beyond it the first is dropped, and for
/// items up to it only the state shown is claimed.
pub const CUT_ITEMS_MAX: usize = 512;

/// The shown part of an item, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Portion {
    pub(crate) shown: u64,
    #[serde(rename = "of")]
    pub(crate) all: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CutItem {
    #[serde(rename = "spot")]
    pub(crate) item_id: ItemId,
    #[serde(flatten)]
    pub(crate) portion: Portion,
}

/// The cut items whose rest was not acknowledged, with the part that a model has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CutItems {
    #[serde(default, rename = "known", skip_serializing_if = "BTreeMap::is_empty")]
    portions: BTreeMap<ItemId, Portion>,
    /// The last one that was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forgotten: Option<ItemId>,
}

impl CutItems {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Notes the part of an item that a model has. Only items of the log have a state for others.
    pub(crate) fn insert(&mut self, item: &CutItem) {
        if !matches!(item.item_id, ItemId::Log(_)) {
            return;
        }
        let portion = self.portions.entry(item.item_id).or_insert(item.portion);
        if portion.shown < item.portion.shown {
            *portion = item.portion;
        }
        while self.portions.len() > CUT_ITEMS_MAX {
            let first = self.portions.pop_first().map(|(item_id, _)| item_id);
            self.forgotten = self.forgotten.max(first);
        }
    }

    /// Notes that a model has the whole item.
    pub(crate) fn remove(&mut self, item_id: ItemId) {
        self.portions.remove(&item_id);
    }

    /// Notes that everything up to a position was acknowledged.
    pub(crate) fn acknowledged(&mut self, to: ItemPosition) {
        self.portions.retain(|item_id, _| item_id.position() > to);
    }

    /// The part of it that a model has; `None` if it is not known to be cut.
    pub(crate) fn portion(&self, item_id: ItemId) -> Option<Portion> {
        self.portions.get(&item_id).copied()
    }

    /// Whether it is unknown that a model has the whole of it.
    pub(crate) fn is_cut(&self, item_id: ItemId) -> bool {
        let is_forgotten =
            matches!(item_id, ItemId::Log(_)) && self.forgotten.is_some_and(|last| item_id <= last);
        is_forgotten || self.portions.contains_key(&item_id)
    }
}

#[cfg(test)]
mod tests {
    use plenary_kernel::Position;

    use super::*;

    fn item(number: u64, shown: u64) -> CutItem {
        CutItem {
            item_id: ItemId::Log(ItemPosition(Position(number), 0)),
            portion: Portion { shown, all: 9_000 },
        }
    }

    #[test]
    fn a_cut_item_stays_cut_until_it_is_shown_whole_or_acknowledged() {
        let mut cut = CutItems::default();
        cut.insert(&item(7, 100));
        cut.insert(&item(7, 50));
        assert_eq!(cut.portion(item(7, 0).item_id), Some(Portion { shown: 100, all: 9_000 }), "the most");
        cut.insert(&item(9, 1));
        cut.acknowledged(ItemPosition(Position(7), 0));
        assert!(!cut.is_cut(item(7, 0).item_id) && cut.is_cut(item(9, 0).item_id));
        cut.remove(item(9, 0).item_id);
        assert!(cut.is_empty());
        cut.insert(&CutItem { item_id: ItemId::Frame(3), ..item(0, 1) });
        assert!(cut.is_empty());
    }

    #[test]
    fn beyond_the_limit_a_lower_state_is_reported_and_never_a_higher_one() {
        let mut cut = CutItems::default();
        for number in 1..=CUT_ITEMS_MAX as u64 + 2 {
            cut.insert(&item(number, 1));
        }
        assert_eq!(cut.portions.len(), CUT_ITEMS_MAX);
        assert!(cut.is_cut(item(1, 0).item_id) && cut.is_cut(item(2, 0).item_id));
        assert_eq!(
            (cut.portion(item(2, 0).item_id), cut.portion(item(3, 0).item_id).is_some()),
            (None, true)
        );
    }

    #[test]
    fn the_stored_form_is_frozen() {
        let mut cut = CutItems::default();
        cut.insert(&item(7, 100));
        let form = r#"{"known":{"7.0":{"shown":100,"of":9000}}}"#;
        assert_eq!(serde_json::to_string(&cut).unwrap(), form);
        assert_eq!(serde_json::from_str::<CutItems>(form).unwrap(), cut);
        let item = serde_json::to_string(&item(7, 100)).unwrap();
        assert_eq!(item, r#"{"spot":"7.0","shown":100,"of":9000}"#);
    }
}
