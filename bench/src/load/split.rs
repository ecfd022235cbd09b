//! Bytes of a socket, cut into messages. Must not know: what a message says.

use anyhow::{Result, bail};

/// How messages are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Each has this many bytes.
    Fixed(usize),
    /// WebSocket frames of a server.
    WebSocket,
    /// Server-sent events in chunks. What HTTP puts between chunks stays in front of the event behind it; an event
    /// that is torn over two chunks is whole all the same, unless its empty line is torn.
    Events,
}

/// The offset of an event's data: after the chunk's size and the id.
const DATA_WITHIN: usize = 80;

/// A message in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Message,
    /// It wants to be answered.
    Ping,
    /// The server closes.
    Close,
    /// Nothing that matters here.
    Other,
}

/// The message at the beginning of a buffer: its kind, where its payload begins, and where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    pub(crate) payload: usize,
    pub(crate) end: usize,
}

impl Framing {
    /// The first message of a buffer; `None` while it is not whole.
    pub(crate) fn first(self, bytes: &[u8]) -> Result<Option<Piece>> {
        let piece = match self {
            Self::Fixed(bytes) => Piece { kind: Kind::Message, payload: 0, end: bytes },
            Self::WebSocket => match frame(bytes)? {
                Some(piece) => piece,
                None => return Ok(None),
            },
            Self::Events => match memchr::memmem::find(bytes, b"\n\n") {
                Some(at) => event(bytes, at + 2),
                None => return Ok(None),
            },
        };
        Ok((piece.end <= bytes.len()).then_some(piece))
    }
}

/// An event or a comment that ends there.
fn event(bytes: &[u8], end: usize) -> Piece {
    let head = &bytes[..end.min(DATA_WITHIN)];
    let kind = if memchr::memmem::find(head, b"\ndata:").is_some() { Kind::Message } else { Kind::Other };
    Piece { kind, payload: 0, end }
}

/// A frame's head, as servers send it: whole messages, not masked.
fn frame(bytes: &[u8]) -> Result<Option<Piece>> {
    let [first, second, rest @ ..] = bytes else { return Ok(None) };
    let (length, payload) = match second {
        0..126 => (usize::from(*second), 2),
        126 => match rest.first_chunk::<2>() {
            Some(bytes) => (usize::from(u16::from_be_bytes(*bytes)), 4),
            None => return Ok(None),
        },
        127 => match rest.first_chunk::<8>() {
            Some(bytes) => (usize::try_from(u64::from_be_bytes(*bytes))?, 10),
            None => return Ok(None),
        },
        _ => bail!("the server masks its frames"),
    };
    let kind = match first {
        0x81 | 0x82 => Kind::Message,
        0x89 => Kind::Ping,
        0x88 => Kind::Close,
        0x8a => Kind::Other,
        _ => bail!("a frame that begins with {first:#x}"),
    };
    Ok(Some(Piece { kind, payload, end: payload + length }))
}

/// The answer to a ping. The mask is zero, so that the payload is unchanged.
pub(crate) fn pong(payload: &[u8]) -> Vec<u8> {
    // Control frames carry at most 125 bytes.
    let length = u8::try_from(payload.len()).unwrap_or(125).min(125);
    let mut frame = vec![0x8a, 0x80 | length, 0, 0, 0, 0];
    frame.extend_from_slice(&payload[..usize::from(length)]);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_each_length_are_cut() {
        for length in [0_usize, 125, 126, 65_535, 65_536] {
            let mut bytes = vec![0x81];
            match length {
                0..126 => bytes.push(u8::try_from(length).unwrap()),
                126..65_536 => {
                    bytes.push(126);
                    bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
                }
                _ => {
                    bytes.push(127);
                    bytes.extend((length as u64).to_be_bytes());
                }
            }
            let payload = bytes.len();
            bytes.resize(payload + length, b'x');
            let whole = Piece { kind: Kind::Message, payload, end: payload + length };
            assert_eq!(Framing::WebSocket.first(&bytes).unwrap(), Some(whole));
            assert_eq!(Framing::WebSocket.first(&bytes[..bytes.len() - 1]).unwrap(), None);
        }
        assert!(Framing::WebSocket.first(&[0x01, 0]).is_err(), "a fragment");
    }

    #[test]
    fn events_are_cut_out_of_chunks() {
        let bytes = b"1a\r\nid: 7\ndata: {\"a\":\"b\"}\n\n\r\n13\r\n: keepalive\n\n\r\n";
        let first = Framing::Events.first(bytes).unwrap().unwrap();
        assert_eq!((first.kind, &bytes[first.end - 3..first.end]), (Kind::Message, &b"}\n\n"[..]));
        let second = Framing::Events.first(&bytes[first.end..]).unwrap().unwrap();
        assert_eq!(second.kind, Kind::Other);
        assert!(Framing::Events.first(&bytes[first.end + second.end..]).unwrap().is_none());
    }

    #[test]
    fn messages_of_one_length_are_cut() {
        let piece = Framing::Fixed(3).first(b"abcdef").unwrap().unwrap();
        assert_eq!((piece.payload, piece.end), (0, 3));
        assert!(Framing::Fixed(3).first(b"ab").unwrap().is_none());
    }
}
