//! Posting lists as bytes: for each document the difference of its number from the previous one, and the count of the
//! word, both as variable-length integers of seven-bit groups. Pure.
//! Must not know: the file, projects.

/// The documents that have a word, by ascending number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct List {
    /// The number of documents.
    pub(crate) count: u32,
    pub(crate) bytes: Vec<u8>,
    last: u32,
}

impl List {
    /// A list from its stored bytes.
    pub(crate) fn read(count: u32, bytes: Vec<u8>) -> Self {
        Self { count, bytes, last: 0 }
    }

    /// Appends a document, whose number must be higher than all before.
    pub(crate) fn push(&mut self, nr: u32, often: u32) {
        write_number(&mut self.bytes, nr.wrapping_sub(self.last));
        write_number(&mut self.bytes, often);
        self.last = nr;
        self.count += 1;
    }

    /// Calls `take` with each number and the count of the word. A damaged list ends early.
    pub(crate) fn each(&self, take: impl FnMut(u32, u32)) {
        each(&self.bytes, take);
    }

    /// Empties the list and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        (self.count, self.last) = (0, 0);
    }
}

/// Calls `take` with each number of a stored list and the count of the word. A damaged list ends early.
pub(crate) fn each(mut list: &[u8], mut take: impl FnMut(u32, u32)) {
    let mut nr = 0_u32;
    while !list.is_empty() {
        let (Some(distance), Some(often)) = (read_number(&mut list), read_number(&mut list)) else { return };
        nr = nr.wrapping_add(distance);
        take(nr, often);
    }
}

/// Appends a number in groups of seven bits, the lowest first.
pub(crate) fn write_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Reads such a number; `None` at a damaged one.
#[inline]
pub(crate) fn read_number(rest: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (first, remainder) = rest.split_first()?;
        *rest = remainder;
        number |= u32::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
        if shift > 28 {
            return None;
        }
    }
}

/// BM25 in Robertson's form, with the usual constants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bm25 {
    rarity: f32,
    fixed: f32,
    by_length: f32,
}

const K1: f32 = 1.2;
const B: f32 = 0.75;

impl Bm25 {
    /// For a word that `having` of `all` documents have, at this mean length.
    #[expect(clippy::cast_precision_loss, reason = "seven digits of a score are enough")]
    pub(crate) fn new(having: u64, all: u64, usual_length: f32) -> Self {
        let (having, all) = (having.min(all) as f32, all as f32);
        let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln() * (K1 + 1.0);
        Self { rarity, fixed: K1 * (1.0 - B), by_length: K1 * B / usual_length }
    }

    /// The score that the word adds to a document; above 0 if the document has it.
    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "seven digits of a score are enough")]
    pub(crate) fn score(self, often: u32, length: u32) -> f32 {
        let often = often as f32;
        self.rarity * often / (often + self.fixed + self.by_length * length as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &List) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        list.each(|nr, often| found.push((nr, often)));
        found
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let expected = [(0, 1), (1, 127), (128, 128), (20_000, 5), (u32::MAX, 70_000)];
        let mut list = List::default();
        for (nr, often) in expected {
            list.push(nr, often);
        }
        assert_eq!(read(&list), expected);
        assert_eq!(read(&List::read(5, list.bytes.clone())), expected);
        assert_eq!(list.count, 5);
    }

    #[test]
    fn a_damaged_list_ends_early() {
        for bytes in [&[1][..], &[1, 1, 0x80], &[0xff; 9], &[1, 0x80, 0x80, 0x80, 0x80, 0x80]] {
            assert!(read(&List::read(9, bytes.to_vec())).len() < 2);
        }
    }

    #[test]
    fn rare_words_and_short_texts_count_more_and_every_score_is_above_0() {
        let score = |having, often, length| Bm25::new(having, 100, 50.0).score(often, length);
        assert!(score(1, 1, 50) > score(90, 1, 50));
        assert!(score(1, 1, 50) > score(1, 1, 90));
        assert!(score(1, 2, 50) > score(1, 1, 50));
        assert!(score(100, 1, 400_000) > 0.0 && score(200, 1, 50) > 0.0);
        // ln(1 + 99.5 / 1.5) * 2.2 / (1 + 1.2)
        assert!((score(1, 1, 50) - 4.209_655).abs() < 1e-5, "{}", score(1, 1, 50));
    }
}
