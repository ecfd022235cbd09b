//! Requests that are being made count towards the limits already: simultaneous ones do not exceed a limit together.
//! Must not know: the limits.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// A list whose length is limited: an index and the prefix of its keys.
pub(crate) type List = (&'static str, String);

/// How many requests are being made, by the lists that they will be in.
#[derive(Debug, Default)]
pub(crate) struct Underway(Mutex<BTreeMap<List, usize>>);

/// Counts one request until it is dropped.
pub(crate) struct UnderwayRequest<'a> {
    underway: &'a Underway,
    lists: [List; 2],
}

impl Underway {
    pub(crate) fn begin(&self, lists: [List; 2]) -> UnderwayRequest<'_> {
        let mut counts = self.0.lock();
        for list in &lists {
            *counts.entry(list.clone()).or_default() += 1;
        }
        UnderwayRequest { underway: self, lists }
    }

    /// The number of requests besides the caller's own. One that is stored by now may be among them.
    pub(crate) fn others(&self, list: &List) -> usize {
        self.0.lock().get(list).map_or(0, |count| count - 1)
    }
}

impl Drop for UnderwayRequest<'_> {
    fn drop(&mut self) {
        let mut counts = self.underway.0.lock();
        for list in &self.lists {
            if let Some(count) = counts.get_mut(list) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(list);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_counts_the_others_of_its_lists_until_they_are_made() {
        let underway = Underway::default();
        let lists = |agent: &str| [("of", agent.to_owned()), ("all", "ann".to_owned())];
        let one = underway.begin(lists("cc"));
        let others = |list: usize| underway.others(&lists("cc")[list]);
        assert_eq!((others(0), others(1)), (0, 0));
        let two = underway.begin(lists("cc"));
        let three = underway.begin(lists("other"));
        assert_eq!((others(0), others(1)), (1, 2));
        drop(two);
        assert_eq!((others(0), others(1)), (0, 1));
        drop((one, three));
        assert!(underway.0.lock().is_empty());
    }
}
