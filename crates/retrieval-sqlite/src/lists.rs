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
        write(&mut self.bytes, nr.wrapping_sub(self.last));
        write(&mut self.bytes, often);
        self.last = nr;
        self.count += 1;
    }

    /// Adds the documents of a later list, whose numbers are higher. What is damaged is left out.
    pub(crate) fn append(&mut self, later: &Self) {
        let mut rest = &later.bytes[..];
        let (mut nr, mut start, mut end) = (0_u32, 0, 0);
        while let (Some(distance), Some(_)) = (number(&mut rest), number(&mut rest)) {
            nr = nr.wrapping_add(distance);
            self.count += 1;
            if end == 0 {
                write(&mut self.bytes, distance.wrapping_sub(self.last));
                start = encoded(distance);
            }
            end = later.bytes.len() - rest.len();
        }
        if end > 0 {
            self.bytes.extend_from_slice(&later.bytes[start..end]);
            self.last = nr;
        }
    }

    /// Each number, and how often the word counts there. What is damaged ends early.
    pub(crate) fn each(&self, mut take: impl FnMut(u32, u32)) {
        let (mut rest, mut nr) = (&self.bytes[..], 0_u32);
        while !rest.is_empty() {
            let (Some(distance), Some(often)) = (number(&mut rest), number(&mut rest)) else { return };
            nr = nr.wrapping_add(distance);
            take(nr, often);
        }
    }
}

fn write(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// How many bytes a number takes.
fn encoded(number: u32) -> usize {
    let bits = u32::BITS - number.max(1).leading_zeros();
    usize::try_from(bits.div_ceil(7)).unwrap_or_default()
}

#[inline]
fn number(rest: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (first, behind) = rest.split_first()?;
        *rest = behind;
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
        let wanted = [(0, 1), (1, 127), (128, 128), (20_000, 5), (u32::MAX, 70_000)];
        let mut list = List::default();
        for (nr, often) in wanted {
            list.push(nr, often);
        }
        assert_eq!(read(&list), wanted);
        assert_eq!(read(&List::read(5, list.bytes.clone())), wanted);
        assert_eq!(list.count, 5);
    }

    #[test]
    fn an_appended_list_is_as_if_it_had_been_pushed() {
        let (first, later) = ([(3, 1), (130, 2)], [(131, 700), (16_600, 1), (3_000_000, 9)]);
        let of = |entries: &[(u32, u32)]| {
            let mut list = List::default();
            entries.iter().for_each(|(nr, often)| list.push(*nr, *often));
            List::read(list.count, list.bytes)
        };
        let mut all = List::default();
        all.append(&of(&first));
        all.append(&List::default());
        all.append(&of(&later));
        all.push(3_000_001, 4);
        assert_eq!(read(&all), [&first[..], &later, &[(3_000_001, 4)]].concat());
        assert_eq!(all.count, 6);
        let mut damaged = of(&later);
        damaged.bytes.extend([5, 0x80]);
        let mut all = of(&[(1, 1)]);
        all.last = 1;
        all.append(&damaged);
        assert_eq!((all.count, read(&all).len()), (4, 4), "what is damaged is left out");
        for number in [0, 1, 127, 128, 16_383, 16_384, u32::MAX] {
            let mut bytes = Vec::new();
            write(&mut bytes, number);
            assert_eq!(encoded(number), bytes.len());
        }
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
