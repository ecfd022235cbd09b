//! Posting lists of common words in memory: one byte for each document of a range, with the count of the word.
//! Scoring them is much faster than reading them, so the last used lists are cached.
//! Must not know: the file.

use std::{collections::HashMap, sync::Arc};

use pulp::Arch;

use crate::lists::{Bm25, List};

/// Size of the cache, in bytes.
pub(crate) const LISTS_BYTES_MAX: usize = 64 << 20;
/// Shorter lists are fast enough without.
const COUNT_MIN: u32 = 16_384;
/// A list has at least one of this many documents of its range.
const SPARSENESS_MAX: u32 = 16;

/// The count of a word in each document of a range. Counts above 255 are cut: a score hardly rises there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dense {
    /// The number of documents with the word.
    pub(crate) count: u32,
    first: usize,
    often: Vec<u8>,
}

impl Dense {
    /// Makes a dense list, if the list is long enough.
    pub(crate) fn of(list: &List) -> Option<Self> {
        if list.count < COUNT_MIN {
            return None;
        }
        let (mut first, mut last) = (None, 0);
        list.each(|nr, _| {
            first.get_or_insert(nr);
            last = nr;
        });
        let first = first?;
        let span = last.checked_sub(first)?;
        if span / SPARSENESS_MAX > list.count {
            return None;
        }
        let mut often = vec![0; usize::try_from(span).ok()? + 1];
        list.each(|nr, count| {
            let index = nr.checked_sub(first).and_then(|nr| usize::try_from(nr).ok());
            if let Some(often) = index.and_then(|index| often.get_mut(index)) {
                *often = u8::try_from(count).unwrap_or(u8::MAX);
            }
        });
        Some(Self { count: list.count, first: usize::try_from(first).ok()?, often })
    }

    /// The number of documents with the word and a number below `end`.
    pub(crate) fn count_before(&self, end: usize) -> u64 {
        let counts = self.often.iter().take(end.saturating_sub(self.first));
        counts.map(|often| u64::from(*often > 0)).sum()
    }

    /// Adds the score of the word to each document.
    pub(crate) fn add(&self, bm25: Bm25, lengths: &[u32], scores: &mut [f32]) {
        let (Some(scores), Some(lengths)) = (scores.get_mut(self.first..), lengths.get(self.first..)) else {
            return;
        };
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for ((score, length), often) in scores.iter_mut().zip(lengths).zip(&self.often) {
                    *score += bm25.score(u32::from(*often), *length);
                }
            },
        );
    }
}

/// Run, project and word of a list; the bytes of a run never change until the index is rebuilt.
type Key = (i64, i64, String);

/// The recently used lists.
#[derive(Debug, Default)]
pub(crate) struct DenseLists {
    lists: HashMap<Key, (Arc<Dense>, u64)>,
    bytes: usize,
    clock: u64,
    /// How often lists were dropped because their runs were deleted.
    era: u64,
}

impl DenseLists {
    pub(crate) fn era(&self) -> u64 {
        self.era
    }

    pub(crate) fn get(&mut self, key: &Key) -> Option<Arc<Dense>> {
        self.clock += 1;
        let (list, used) = self.lists.get_mut(key)?;
        *used = self.clock;
        Some(list.clone())
    }

    /// Caches a list that was read in `era`, if that is still the current one; drops the least recently used
    /// lists for it.
    pub(crate) fn keep(&mut self, era: u64, key: Key, list: Arc<Dense>) {
        if era != self.era {
            return;
        }
        self.clock += 1;
        self.bytes += list.often.len();
        if let Some((old, _)) = self.lists.insert(key, (list, self.clock)) {
            self.bytes -= old.often.len();
        }
        while self.bytes > LISTS_BYTES_MAX {
            let oldest = self.lists.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            let Some((dropped, _)) = oldest.and_then(|key| self.lists.remove(&key)) else { return };
            self.bytes -= dropped.often.len();
        }
    }

    /// Drops the lists of deleted runs.
    pub(crate) fn forget(&mut self, runs: &[i64]) {
        self.era += 1;
        self.lists.retain(|(run, _, _), (list, _)| {
            let stays = !runs.contains(run);
            self.bytes -= if stays { 0 } else { list.often.len() };
            stays
        });
    }

    pub(crate) fn clear(&mut self) {
        *self = Self { era: self.era + 1, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(count: u32, distance: u32) -> List {
        let mut list = List::default();
        (0..count).for_each(|nth| list.push(7 + nth * distance, 1 + nth % 300));
        list
    }

    #[test]
    fn a_list_scores_as_it_does_without() {
        let list = list(COUNT_MIN, 3);
        let dense = Dense::of(&list).unwrap();
        let lengths: Vec<u32> = (0..3 * COUNT_MIN + 9).map(|nr| 20 + nr % 70).collect();
        let bm25 = Bm25::new(u64::from(COUNT_MIN), u64::from(3 * COUNT_MIN), 50.0);
        let mut found = vec![0.0; lengths.len()];
        dense.add(bm25, &lengths, &mut found);
        let mut expected = vec![0.0_f32; lengths.len()];
        list.each(|nr, often| {
            let nr = usize::try_from(nr).unwrap();
            expected[nr] += bm25.score(often.min(255), lengths[nr]);
        });
        let differs = found.iter().zip(&expected).any(|(found, expected)| (found - expected).abs() > 1e-6);
        assert!(!differs);
        dense.add(bm25, &[], &mut []);
        assert_eq!(
            [0, 7, 8, 11, 99_999].map(|end| dense.count_before(end)),
            [0, 0, 1, 2, u64::from(COUNT_MIN)]
        );
    }

    #[test]
    fn short_and_sparse_lists_stay_as_they_are() {
        assert_eq!(Dense::of(&list(COUNT_MIN - 1, 1)), None);
        assert_eq!(Dense::of(&list(COUNT_MIN, SPARSENESS_MAX + 2)), None);
    }

    #[test]
    fn past_their_memory_the_lists_that_were_used_longest_ago_give_way() {
        let mut lists = DenseLists::default();
        let third = || Arc::new(Dense { count: 1, first: 0, often: vec![1; LISTS_BYTES_MAX / 3] });
        let key = |run| (run, 1, "word".to_owned());
        for run in 1..=3 {
            lists.keep(0, key(run), third());
        }
        lists.get(&key(1));
        lists.keep(0, key(4), third());
        assert!(lists.get(&key(2)).is_none() && lists.get(&key(1)).is_some() && lists.get(&key(4)).is_some());
        assert!(lists.bytes <= LISTS_BYTES_MAX);
        lists.forget(&[1, 3]);
        assert!(lists.get(&key(1)).is_none() && lists.bytes == LISTS_BYTES_MAX / 3);
    }

    #[test]
    fn a_list_of_a_removed_run_is_not_cached() {
        let mut lists = DenseLists::default();
        let (key, list) = ((1, 1, "word".to_owned()), Arc::new(Dense { count: 1, first: 0, often: vec![1] }));
        for end in [|lists: &mut DenseLists| lists.clear(), |lists: &mut DenseLists| lists.forget(&[1])] {
            let era = lists.era();
            end(&mut lists);
            lists.keep(era, key.clone(), list.clone());
            assert!(lists.get(&key).is_none());
        }
    }
}
