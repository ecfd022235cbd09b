//! Schedules the preparation of notifications: owners concurrently, one worker per owner. An owner whose
//! notifications fail pauses longer and longer, without delaying the others.
//! Must not know: the notifications, or how they are prepared.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use plenary_kernel::OwnerName;
use tokio::time::Instant;

use crate::limits::{PUSH_OWNERS_MAX, PUSH_PAUSE, PUSH_PAUSE_MAX};

/// A task, and the id of a configuration.
pub(super) type Item = (String, String);

/// The due notifications, by owner.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    owners: BTreeMap<OwnerName, Waiting>,
    at_work: usize,
}

/// The due notifications of one owner.
#[derive(Debug, Default)]
struct Waiting {
    items: BTreeSet<Item>,
    is_at_work: bool,
    /// The last pause; zero after a success.
    pause: Duration,
    until: Option<Instant>,
}

impl Schedule {
    /// Adds a due notification; a pause continues.
    pub(super) fn mark(&mut self, owner: OwnerName, item: Item) {
        self.owners.entry(owner).or_default().items.insert(item);
    }

    /// Starts the work for the next owner, if the limit allows: returns all its due notifications.
    pub(super) fn begin(&mut self, now: Instant) -> Option<(OwnerName, BTreeSet<Item>)> {
        if self.at_work >= PUSH_OWNERS_MAX {
            return None;
        }
        let is_due = |waiting: &Waiting| {
            !waiting.is_at_work && !waiting.items.is_empty() && waiting.until.is_none_or(|until| until <= now)
        };
        let (owner, waiting) = self.owners.iter_mut().find(|(_, waiting)| is_due(waiting))?;
        waiting.is_at_work = true;
        self.at_work += 1;
        Some((owner.clone(), std::mem::take(&mut waiting.items)))
    }

    /// Ends the work for an owner; `unsent` is due again.
    pub(super) fn end(&mut self, owner: &OwnerName, unsent: BTreeSet<Item>, now: Instant) {
        self.at_work = self.at_work.saturating_sub(1);
        let Some(waiting) = self.owners.get_mut(owner) else { return };
        waiting.is_at_work = false;
        let is_done = unsent.is_empty();
        waiting.items.extend(unsent);
        if is_done && waiting.items.is_empty() {
            self.owners.remove(owner);
        } else if is_done {
            (waiting.pause, waiting.until) = (Duration::ZERO, None);
        } else {
            waiting.pause = (waiting.pause * 2).clamp(PUSH_PAUSE, PUSH_PAUSE_MAX);
            waiting.until = Some(now + waiting.pause);
        }
    }

    /// When the first pause ends.
    pub(super) fn next(&self) -> Option<Instant> {
        self.owners.values().filter(|waiting| !waiting.is_at_work).filter_map(|waiting| waiting.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(n: usize) -> OwnerName {
        format!("o{n}").parse().unwrap()
    }

    fn item(task: &str) -> Item {
        (task.to_owned(), "c".to_owned())
    }

    #[test]
    fn an_owner_whose_notifications_fail_pauses_ever_longer_and_delays_no_other() {
        let (mut schedule, mut now) = (Schedule::default(), Instant::now());
        schedule.mark(owner(1), item("a"));
        let mut pauses = Vec::new();
        for n in 0..9 {
            let (owner_name, items) = schedule.begin(now).unwrap();
            schedule.end(&owner_name, items, now);
            assert_eq!(schedule.begin(now), None, "it pauses");
            // A new task does not end the pause, and another owner does not wait for it.
            schedule.mark(owner(1), item("b"));
            schedule.mark(owner(2), item(&n.to_string()));
            let (owner_name, _) = schedule.begin(now).unwrap();
            assert_eq!(owner_name, owner(2));
            schedule.end(&owner_name, BTreeSet::new(), now);
            let until = schedule.next().unwrap();
            pauses.push((until - now).as_secs());
            now = until;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        let (owner_name, items) = schedule.begin(now).unwrap();
        assert_eq!((&owner_name, items), (&owner(1), BTreeSet::from([item("a"), item("b")])));
        schedule.end(&owner_name, BTreeSet::new(), now);
        assert_eq!((schedule.next(), schedule.owners.len()), (None, 0), "nothing is left of it");
    }

    #[test]
    fn one_owner_is_served_once_at_a_time_and_all_owners_up_to_a_limit() {
        let (mut schedule, now) = (Schedule::default(), Instant::now());
        for n in 0..=PUSH_OWNERS_MAX {
            schedule.mark(owner(n), item("a"));
        }
        let started: Vec<_> = std::iter::from_fn(|| schedule.begin(now)).collect();
        assert_eq!(started.len(), PUSH_OWNERS_MAX);
        let (first, _) = &started[0];
        schedule.mark(first.clone(), item("b"));
        schedule.end(first, BTreeSet::new(), now);
        // Items that were marked meanwhile are due without a pause.
        let next: BTreeSet<_> = schedule.begin(now).into_iter().map(|(owner_name, _)| owner_name).collect();
        assert_eq!(next.len(), 1);
        assert_eq!(schedule.begin(now), None);
    }
}
