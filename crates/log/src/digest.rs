//! Checksums of stored records, so that damaged bytes are noticed at a read and never served. Stored
//! beside each event, index row, row and key; a frozen form.
//!
//! CRC-32, because the threat is a faulty disk and not a forger: it detects every damage within four
//! bytes, and any other with an error rate of one in four thousand million. It takes four bytes, and a
//! check costs less than a copy.
//!
//! Must not know: any database.

use crc32fast::Hasher;

use crate::{KeyRecord, Row, StoredEvent};

/// Bytes that are gathered before they are hashed.
const BUFFER_BYTES: usize = 512;

/// Small parts on their way to the hasher: it takes a long run of bytes many times faster than short ones.
struct PartBuffer {
    hasher: Hasher,
    bytes: [u8; BUFFER_BYTES],
    filled: usize,
}

impl PartBuffer {
    fn add(&mut self, part: &[u8]) {
        if part.len() > BUFFER_BYTES - self.filled {
            self.pass_on();
        }
        match self.bytes.get_mut(self.filled..self.filled + part.len()) {
            Some(place) => {
                place.copy_from_slice(part);
                self.filled += part.len();
            }
            None => self.hasher.update(part),
        }
    }

    fn pass_on(&mut self) {
        self.hasher.update(&self.bytes[..self.filled]);
        self.filled = 0;
    }
}

/// A checksum. Each part is hashed with its length, so that no byte can move from one part to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u32);

impl Digest {
    /// The checksum of an event and its position. It includes the stream by name.
    pub fn event(event: &StoredEvent) -> Self {
        let StoredEvent { position, stream, version, kind, form, at, envelope, payload } = event;
        let numbers = [position.0, version.0, u64::from(*form), at.0];
        Self::of(&numbers, &[stream.as_str().as_bytes(), kind.as_bytes(), envelope, payload])
    }
    /// The checksum of an index row.
    pub fn index(name: &str, key: &str, value: &[u8]) -> Self {
        Self::of(&[], &[name.as_bytes(), key.as_bytes(), value])
    }
    /// The checksum of a row.
    pub fn row(name: &str, row: &Row) -> Self {
        Self::of(&[row.revision], &[name.as_bytes(), &row.value])
    }
    /// The checksum of a claimed key.
    pub fn key(scope: &str, key: &str, record: &KeyRecord) -> Self {
        Self::parts_of_key(scope, key, &record.digest, &record.outcome)
    }
    /// The checksum of a key that is being claimed.
    pub fn parts_of_key(scope: &str, key: &str, digest: &[u8; 32], outcome: &[u8]) -> Self {
        Self::of(&[], &[scope.as_bytes(), key.as_bytes(), digest, outcome])
    }

    fn of(numbers: &[u64], parts: &[&[u8]]) -> Self {
        let mut buffer = PartBuffer { hasher: Hasher::new(), bytes: [0; BUFFER_BYTES], filled: 0 };
        for number in numbers {
            buffer.add(&number.to_le_bytes());
        }
        for part in parts {
            buffer.add(&(part.len() as u64).to_le_bytes());
            buffer.add(part);
        }
        buffer.pass_on();
        Self(buffer.hasher.finalize())
    }

    /// The stored form.
    pub fn stored(self) -> i32 {
        self.0.cast_signed()
    }
    /// Whether this is the stored checksum. Records from before checksums have none, and pass.
    pub fn agrees(self, stored: Option<i32>) -> bool {
        stored.is_none_or(|stored| stored == self.stored())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use plenary_kernel::{Position, TimestampMs, Version};

    use super::*;
    use crate::StreamName;

    /// CRC-32 as in zlib, over little-endian numbers and lengths.
    const GOLDEN: [i32; 4] = [1_763_925_012, 743_531_798, 1_767_607_356, 1_080_480_544];

    fn event() -> StoredEvent {
        StoredEvent {
            position: Position(7),
            stream: StreamName::new("test.stream", "a"),
            version: Version(3),
            kind: "Happened".into(),
            form: 2,
            at: TimestampMs(1_700_000_000_000),
            envelope: Bytes::from_static(b"envelope"),
            payload: Bytes::from_static(b"payload"),
        }
    }

    #[test]
    fn stored_checksums_are_frozen() {
        let row = Row { revision: 4, value: Bytes::from_static(b"value") };
        let record = KeyRecord { digest: [9; 32], outcome: Bytes::from_static(b"outcome") };
        assert_eq!(Digest::event(&event()).stored(), GOLDEN[0]);
        assert_eq!(Digest::index("test.index", "key", b"value").stored(), GOLDEN[1]);
        assert_eq!(Digest::row("row/1", &row).stored(), GOLDEN[2]);
        assert_eq!(Digest::key("scope", "key", &record).stored(), GOLDEN[3]);
    }

    #[test]
    fn the_checksum_of_parts_of_any_length_is_that_of_all_their_bytes() {
        for length in [0, 1, BUFFER_BYTES - 17, BUFFER_BYTES - 16, BUFFER_BYTES, 3 * BUFFER_BYTES] {
            let (first, second) = (vec![1; length], vec![2; BUFFER_BYTES / 2]);
            let numbers = [7, length as u64];
            let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            for part in [&first, &second, &first] {
                bytes.extend((part.len() as u64).to_le_bytes());
                bytes.extend(part);
            }
            assert_eq!(
                Digest::of(&numbers, &[&first, &second, &first]).0,
                crc32fast::hash(&bytes),
                "{length}"
            );
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed_wherever_it_is() {
        let good = Digest::event(&event());
        assert!(good.agrees(None) && good.agrees(Some(good.stored())));
        let flips: [fn(&mut StoredEvent); 8] = [
            |event| event.position.0 ^= 1,
            |event| event.stream = StreamName::new("test.stream", "b"),
            |event| event.version.0 ^= 1 << 40,
            |event| event.kind = "Happenef".into(),
            |event| event.form ^= 1,
            |event| event.at.0 ^= 1,
            |event| event.envelope = Bytes::from_static(b"envelopepa"),
            |event| event.payload = Bytes::from_static(b"yload"),
        ];
        for flip in flips {
            let mut event = event();
            flip(&mut event);
            assert!(!Digest::event(&event).agrees(Some(good.stored())), "{event:?}");
        }
        for bit in 0..event().payload.len() * 8 {
            let mut event = event();
            let mut payload = event.payload.to_vec();
            payload[bit / 8] ^= 1 << (bit % 8);
            event.payload = payload.into();
            assert_ne!(Digest::event(&event), good, "bit {bit}");
        }
    }

    #[test]
    fn a_byte_that_moves_to_the_next_part_is_noticed() {
        assert_ne!(Digest::index("a", "bc", b"d"), Digest::index("ab", "c", b"d"));
        assert_ne!(Digest::index("a", "b", b"cd"), Digest::index("a", "bc", b"d"));
    }
}
