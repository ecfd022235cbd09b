//! The chunked framing of a body: finds its end, byte by byte (RFC 9112 section 7.1).
//! Must not know: the content of the chunks.

use super::Fault;
use crate::config::{CHUNK_LINE_BYTES_MAX, TRAILER_BYTES_MAX};

/// Hex digits of a chunk size; more are refused, so that the size can't overflow.
const SIZE_DIGITS_MAX: usize = 15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the digits of the size.
    Size { digits: usize },
    /// In an extension after the size.
    Extension,
    /// After the CR of the size line.
    SizeEnd,
    /// In the data of the chunk.
    Data,
    /// After the data: CR, then LF.
    DataEnd { cr: bool },
    /// In a trailer line, `at` bytes into it.
    Trailer { at: usize },
    /// After the CR of a trailer line of this length.
    TrailerEnd { length: usize },
}

/// The scan of a chunked body.
#[derive(Debug)]
pub(super) struct ChunkScan {
    state: State,
    /// The size of the chunk, then the rest of it.
    remaining: u64,
    /// Bytes of this size line, or of the trailer section.
    line: usize,
}

impl ChunkScan {
    pub(super) const fn new() -> Self {
        Self { state: State::Size { digits: 0 }, remaining: 0, line: 0 }
    }

    /// The number of these bytes that belong to the body, and whether it has ended.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Result<(usize, bool), (usize, Fault)> {
        let mut at = 0;
        while at < bytes.len() {
            if self.state == State::Data {
                let here = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += here;
                self.remaining -= here as u64;
                if self.remaining == 0 {
                    self.state = State::DataEnd { cr: false };
                }
                continue;
            }
            let end = self.step(bytes[at]).map_err(|fault| (at, fault))?;
            at += 1;
            if end {
                return Ok((at, true));
            }
        }
        Ok((at, false))
    }

    /// Processes one byte of the framing; returns whether it was the last of the body.
    fn step(&mut self, b: u8) -> Result<bool, Fault> {
        self.line += 1;
        self.state = match (self.state, b) {
            (State::Size { digits }, _) if b.is_ascii_hexdigit() && digits < SIZE_DIGITS_MAX => {
                let digit = char::from(b).to_digit(16).ok_or(Fault::Chunk)?;
                self.remaining = self.remaining * 16 + u64::from(digit);
                State::Size { digits: digits + 1 }
            }
            (State::Size { digits: 1.. }, b';') => State::Extension,
            (State::Size { digits: 1.. } | State::Extension, b'\r') => State::SizeEnd,
            (State::Extension, b'\t' | 0x20..=0x7e) if self.line < CHUNK_LINE_BYTES_MAX => State::Extension,
            (State::SizeEnd, b'\n') => {
                self.line = 0;
                if self.remaining == 0 { State::Trailer { at: 0 } } else { State::Data }
            }
            (State::DataEnd { cr: false }, b'\r') => State::DataEnd { cr: true },
            (State::DataEnd { cr: true }, b'\n') => {
                self.line = 0;
                State::Size { digits: 0 }
            }
            (State::Trailer { .. }, _) if self.line > TRAILER_BYTES_MAX => {
                return Err(Fault::TrailersTooLarge);
            }
            (State::Trailer { at }, b'\r') => State::TrailerEnd { length: at },
            (State::Trailer { at: 0 }, b' ' | b'\t') => return Err(Fault::FoldedHeader),
            (State::Trailer { at }, b'\t' | 0x20..=0x7e | 0x80..) => State::Trailer { at: at + 1 },
            (State::TrailerEnd { length: 0 }, b'\n') => return Ok(true),
            (State::TrailerEnd { .. }, b'\n') => State::Trailer { at: 0 },
            (_, b'\n') => return Err(Fault::BareLineFeed),
            _ => return Err(Fault::Chunk),
        };
        Ok(false)
    }
}
