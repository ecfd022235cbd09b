//! A change of the vector index, with its vectors, as bytes.
//! Must not know: where they are stored.

use crate::codes::{Code, DIMENSION_MAX};

/// A document with a code for each of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The id of the document.
    pub id: String,
    /// Its project.
    pub project: String,
    /// Time of creation, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// A digest of the parts: if it is unchanged, the document needs no new vectors.
    pub digest: u64,
    /// One code for each part, in order.
    pub codes: Vec<Code>,
}

/// A change.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalEntry {
    /// Adds the document, or replaces the one with its id.
    Put(Entry),
    /// Removes the document with this id.
    Delete(String),
}

const PUT: u8 = 1;
const DELETE: u8 = 2;

impl JournalEntry {
    /// Writes the stored form, version 1: the kind, then lengths and values, little-endian.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Delete(id) => {
                to.push(DELETE);
                text(to, id);
            }
            Self::Put(entry) => {
                to.push(PUT);
                text(to, &entry.id);
                text(to, &entry.project);
                to.extend(entry.created_at_ms.to_le_bytes());
                to.push(u8::from(entry.is_draft));
                to.extend(entry.digest.to_le_bytes());
                number(to, entry.codes.len());
                number(to, entry.codes.first().map_or(0, |code| code.parts.len()));
                for code in &entry.codes {
                    to.extend(code.scale.to_le_bytes());
                    to.extend(code.parts.iter().map(|part| part.cast_unsigned()));
                }
            }
        }
    }

    /// Reads one change and advances past it; `None` if there is no valid one.
    pub(crate) fn read(from: &mut &[u8]) -> Option<Self> {
        match take::<1>(from)? {
            [DELETE] => Some(Self::Delete(read_text(from)?)),
            [PUT] => {
                let (id, project) = (read_text(from)?, read_text(from)?);
                let created_at_ms = i64::from_le_bytes(take(from)?);
                let is_draft = take::<1>(from)? == [1];
                let digest = u64::from_le_bytes(take(from)?);
                let (count, dimension) = (read_number(from)?, read_number(from)?);
                if dimension > DIMENSION_MAX || count.checked_mul(dimension + 4)? > from.len() {
                    return None;
                }
                let mut codes = Vec::with_capacity(count);
                for _ in 0..count {
                    let scale = f32::from_le_bytes(take(from)?);
                    let (parts, rest) = from.split_at_checked(dimension)?;
                    *from = rest;
                    codes.push(Code { parts: parts.iter().map(|part| part.cast_signed()).collect(), scale });
                }
                Some(Self::Put(Entry { id, project, created_at_ms, is_draft, digest, codes }))
            }
            _ => None,
        }
    }
}

pub(crate) fn number(to: &mut Vec<u8>, number: usize) {
    to.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

pub(crate) fn text(to: &mut Vec<u8>, text: &str) {
    number(to, text.len());
    to.extend(text.as_bytes());
}

pub(crate) fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(*head)
}

pub(crate) fn read_number(from: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(take(from)?)).ok()
}

pub(crate) fn read_text(from: &mut &[u8]) -> Option<String> {
    let length = read_number(from)?;
    let (text, rest) = from.split_at_checked(length)?;
    *from = rest;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_frozen() {
        let put = JournalEntry::Put(Entry {
            id: "a".into(),
            project: "p".into(),
            created_at_ms: 258,
            is_draft: true,
            digest: 3,
            codes: vec![Code { parts: vec![1, -2], scale: 0.5 }],
        });
        let golden = [
            &[1, 1, 0, 0, 0, b'a', 1, 0, 0, 0, b'p', 2, 1, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0][..],
            &[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 63, 1, 254],
            &[2, 1, 0, 0, 0, b'b'],
        ]
        .concat();
        let mut bytes = Vec::new();
        put.write(&mut bytes);
        JournalEntry::Delete("b".into()).write(&mut bytes);
        assert_eq!(bytes, golden);
        let mut from = golden.as_slice();
        assert_eq!(JournalEntry::read(&mut from), Some(put));
        assert_eq!(JournalEntry::read(&mut from), Some(JournalEntry::Delete("b".into())));
        assert_eq!(JournalEntry::read(&mut from), None);
        for end in 0..41 {
            assert_eq!(JournalEntry::read(&mut &golden[..end]), None, "broken off at {end}");
        }
    }
}
