//! WebSocket frames as bytes (RFC 6455 section 5), with no opinion about what to do with them: tests must be able to
//! send wrong ones and to leave pings unanswered.

use std::io::{Error, ErrorKind, Result};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Continuation of a fragmented message.
pub const CONTINUATION: u8 = 0x0;
/// A text message.
pub const TEXT: u8 = 0x1;
/// A binary message.
pub const BINARY: u8 = 0x2;
/// The closing handshake.
pub const CLOSE: u8 = 0x8;
/// A ping.
pub const PING: u8 = 0x9;
/// A pong.
pub const PONG: u8 = 0xA;

/// The mask of every frame that the suite sends; the server must not care which it is.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// One frame from client to server. `masked: false` breaks the rule on purpose.
pub fn encode(fin: bool, opcode: u8, payload: &[u8], masked: bool) -> Vec<u8> {
    let mut frame = vec![if fin { 0x80 | opcode } else { opcode }];
    let mask_bit = if masked { 0x80 } else { 0 };
    match payload.len() {
        length @ 0..=125 => frame.push(mask_bit | u8::try_from(length).expect("below 126")),
        length @ 126..=65_535 => {
            frame.push(mask_bit | 126);
            frame.extend_from_slice(&u16::try_from(length).expect("below 65536").to_be_bytes());
        }
        length => {
            frame.push(mask_bit | 127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    if masked {
        frame.extend_from_slice(&MASK);
        frame.extend(payload.iter().enumerate().map(|(at, byte)| byte ^ MASK[at % 4]));
    } else {
        frame.extend_from_slice(payload);
    }
    frame
}

/// Reads whole messages from the server's side of a connection.
#[derive(Debug)]
pub struct FrameReader<R> {
    stream: R,
    buffer: BytesMut,
    partial: Option<(u8, Vec<u8>)>,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Starts with what was already read after the upgrade's head.
    pub fn new(stream: R, buffer: BytesMut) -> Self {
        Self { stream, buffer, partial: None }
    }

    /// The next control frame or whole message: opcode and payload.
    pub async fn next(&mut self) -> Result<(u8, Vec<u8>)> {
        loop {
            let (fin, opcode, payload) = self.frame().await?;
            match (opcode, fin) {
                (CLOSE | PING | PONG, true) => return Ok((opcode, payload)),
                (CLOSE | PING | PONG, false) => return Err(protocol_error("a fragmented control frame")),
                (CONTINUATION, _) => {
                    let (opcode, mut whole) =
                        self.partial.take().ok_or_else(|| protocol_error("nothing to continue"))?;
                    whole.extend_from_slice(&payload);
                    if fin {
                        return Ok((opcode, whole));
                    }
                    self.partial = Some((opcode, whole));
                }
                (TEXT | BINARY, true) if self.partial.is_none() => return Ok((opcode, payload)),
                (TEXT | BINARY, false) if self.partial.is_none() => self.partial = Some((opcode, payload)),
                _ => return Err(protocol_error("a message inside a message, or an unknown opcode")),
            }
        }
    }

    async fn frame(&mut self) -> Result<(bool, u8, Vec<u8>)> {
        self.need(2).await?;
        let (first, second) = (self.buffer[0], self.buffer[1]);
        if first & 0x70 != 0 || second & 0x80 != 0 {
            return Err(protocol_error("a reserved bit is set, or the server masks"));
        }
        let extra = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        self.need(2 + extra).await?;
        self.buffer.advance(2);
        let length = match extra {
            2 => u64::from(self.buffer.get_u16()),
            8 => self.buffer.get_u64(),
            _ => u64::from(second & 0x7f),
        };
        let length = usize::try_from(length).map_err(|_| protocol_error("a frame too long"))?;
        self.need(length).await?;
        let payload = self.buffer.split_to(length).to_vec();
        Ok((first & 0x80 != 0, first & 0x0f, payload))
    }

    async fn need(&mut self, length: usize) -> Result<()> {
        while self.buffer.len() < length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "the server closed the connection"));
            }
        }
        Ok(())
    }
}

fn protocol_error(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
