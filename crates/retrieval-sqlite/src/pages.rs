//! Pages of posting lists: the lists of consecutive words as bytes, so that one row has many words. Each entry has the
//! length of the beginning that the word shares with the previous one, the length of the rest, the rest, the number of
//! documents, the length of the list, and the list. A long list is a page by itself: its bytes alone. Pure.
//! Must not know: the file, projects.

use crate::lists::{List, read_number, write_number};

/// Bytes of a page. A row of this size needs no overflow pages in the file.
const PAGE_BYTES_MAX: usize = 1_700;
/// A longer list is a page by itself.
const SHARED_LIST_BYTES_MAX: usize = 850;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// Its first word.
    pub(crate) first: String,
    /// The number of documents of a long list; `None` if the page has entries.
    pub(crate) count: Option<u32>,
    pub(crate) bytes: Vec<u8>,
}

/// Puts lists into pages, in the order of their words.
#[derive(Debug, Default)]
pub(crate) struct PageWriter {
    page: Page,
    last: String,
}

impl PageWriter {
    /// Appends a list. Passes each page that is complete to `give`.
    pub(crate) fn push<E>(
        &mut self,
        word: &str,
        list: &List,
        mut give: impl FnMut(&Page) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_long = list.bytes.len() > SHARED_LIST_BYTES_MAX;
        if is_long || self.page.bytes.len() + list.bytes.len() + word.len() > PAGE_BYTES_MAX {
            self.finish(&mut give)?;
        }
        if is_long {
            return give(&Page {
                first: word.to_owned(),
                count: Some(list.count),
                bytes: list.bytes.clone(),
            });
        }
        let Page { first, bytes, .. } = &mut self.page;
        if bytes.is_empty() {
            word.clone_into(first);
        }
        let shared = self.last.bytes().zip(word.bytes()).take_while(|(before, now)| before == now).count();
        let rest = &word.as_bytes()[shared..];
        write_length(bytes, shared);
        write_length(bytes, rest.len());
        bytes.extend_from_slice(rest);
        write_number(bytes, list.count);
        write_length(bytes, list.bytes.len());
        bytes.extend_from_slice(&list.bytes);
        word.clone_into(&mut self.last);
        Ok(())
    }

    /// Passes the page that was begun to `give`.
    pub(crate) fn finish<E>(&mut self, mut give: impl FnMut(&Page) -> Result<(), E>) -> Result<(), E> {
        if !self.page.bytes.is_empty() {
            give(&self.page)?;
        }
        self.page.bytes.clear();
        self.last.clear();
        Ok(())
    }
}

fn write_length(bytes: &mut Vec<u8>, length: usize) {
    write_number(bytes, u32::try_from(length).unwrap_or(u32::MAX));
}

/// Reads the lists of a page, one after the other.
#[derive(Debug)]
pub(crate) struct PageReader {
    page: Page,
    /// The end of the current entry.
    end: usize,
    word: Vec<u8>,
    count: u32,
    /// The start of the current list.
    list: usize,
}

impl PageReader {
    /// Begins before the first list.
    pub(crate) fn new(page: Page) -> Self {
        Self { page, end: 0, word: Vec::new(), count: 0, list: 0 }
    }

    /// Goes to the next list. `false` at the end, or at damage.
    pub(crate) fn step(&mut self) -> bool {
        self.entry().is_some()
    }

    fn entry(&mut self) -> Option<()> {
        let mut rest = self.page.bytes.get(self.end..).filter(|rest| !rest.is_empty())?;
        if let Some(count) = self.page.count {
            self.word.extend_from_slice(self.page.first.as_bytes());
            (self.count, self.list, self.end) = (count, 0, self.page.bytes.len());
            return Some(());
        }
        let shared = read_length(&mut rest)?;
        let length = read_length(&mut rest)?;
        let (added, mut rest) = rest.split_at_checked(length)?;
        if shared > self.word.len() {
            return None;
        }
        self.word.truncate(shared);
        self.word.extend_from_slice(added);
        self.count = read_number(&mut rest)?;
        let length = read_length(&mut rest)?;
        self.list = self.page.bytes.len() - rest.len();
        self.end = self.list.checked_add(length).filter(|end| *end <= self.page.bytes.len())?;
        Some(())
    }

    /// The bytes of the current word.
    pub(crate) fn word(&self) -> &[u8] {
        &self.word
    }

    /// The bytes of the current list.
    pub(crate) fn list(&self) -> &[u8] {
        &self.page.bytes[self.list..self.end]
    }

    /// The number of documents in the list of a word; `None` if the page does not have it.
    pub(crate) fn find(&mut self, word: &str) -> Option<u32> {
        while self.step() {
            if *self.word >= *word.as_bytes() {
                return (self.word == word.as_bytes()).then_some(self.count);
            }
        }
        None
    }
}

fn read_length(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(read_number(rest)?).ok()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn list(count: u32) -> List {
        let mut list = List::default();
        (0..count).for_each(|nr| list.push(nr * 3, 1));
        list
    }

    fn pages(lists: &[(String, List)]) -> Vec<Page> {
        let (mut pages, mut writer) = (Vec::new(), PageWriter::default());
        let mut give = |page: &Page| {
            pages.push(Page { first: page.first.clone(), count: page.count, bytes: page.bytes.clone() });
            Ok::<(), Infallible>(())
        };
        for (word, list) in lists {
            writer.push(word, list, &mut give).unwrap();
        }
        writer.finish(&mut give).unwrap();
        pages
    }

    #[test]
    fn lists_are_read_as_they_were_written() {
        let mut lists: Vec<_> = (0..900).map(|nth| (format!("w{nth:04}é"), list(1 + nth % 40))).collect();
        for long in [0, 17, 18, 899] {
            lists[long].1 = list(2_000);
        }
        let pages = pages(&lists);
        let is_small = |page: &Page| page.count.is_some() || page.bytes.len() <= PAGE_BYTES_MAX + 16;
        assert!(pages.iter().all(is_small) && pages.len() > 20);
        assert!(pages.is_sorted_by(|page, next| page.first < next.first));
        let mut expected = lists.iter();
        for page in pages {
            let first = page.first.clone();
            let mut reader = PageReader::new(page);
            assert_eq!(
                reader.find(&first),
                lists.iter().find(|(word, _)| *word == first).map(|(_, list)| list.count)
            );
            reader = PageReader::new(reader.page);
            while reader.step() {
                let (word, list) = expected.next().unwrap();
                assert_eq!(
                    (reader.word(), reader.count, reader.list()),
                    (word.as_bytes(), list.count, &list.bytes[..])
                );
            }
        }
        assert!(expected.next().is_none());
    }

    #[test]
    fn a_word_is_found_in_its_page_and_no_other() {
        let mut pages =
            pages(&[("ab".to_owned(), list(1)), ("abd".to_owned(), list(2)), ("c".to_owned(), list(3))]);
        let page = pages.pop().unwrap();
        let mut reader = PageReader::new(page);
        for (word, count) in
            [("ab", Some(1)), ("abc", None), ("abd", Some(2)), ("b", None), ("c", Some(3)), ("d", None)]
        {
            reader = PageReader::new(reader.page);
            assert_eq!(reader.find(word), count, "{word}");
        }
    }

    #[test]
    fn the_stored_form_is_frozen() {
        let written =
            pages(&[("ab".to_owned(), list(1)), ("ad".to_owned(), list(2)), ("b".to_owned(), list(900))]);
        assert_eq!(written[0].bytes, b"\x00\x02ab\x01\x02\x00\x01\x01\x01d\x02\x04\x00\x01\x03\x01");
        assert_eq!((written[0].first.as_str(), written[0].count), ("ab", None));
        assert_eq!((written[1].first.as_str(), written[1].count), ("b", Some(900)));
        assert_eq!(written[1].bytes, list(900).bytes);
    }

    #[test]
    fn a_damaged_page_ends_early() {
        for bytes in [&b"\x00"[..], b"\x00\x05ab", b"\x01\x01a\x01\x00", b"\x00\x01a\x01\x09\x00", b"\x80"] {
            let mut reader = PageReader::new(Page { bytes: bytes.to_vec(), ..Page::default() });
            assert!(!reader.step(), "{bytes:?}");
        }
    }
}
