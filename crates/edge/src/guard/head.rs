//! One request head, line by line: strict where hyper is lenient (RFC 9112).
//! Must not know: sockets, or the bytes after the head.

use memchr::memchr;

use super::Fault;
use crate::config::{HEAD_BYTES_MAX, HEADERS_MAX};

/// An internal method, with which the guard reports a fault to the server side; refused from clients.
pub(crate) const STAND_IN_METHOD: &str = "PLENARY-FAULT";

/// The framing of the bytes after a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    None,
    Length(u64),
    Chunked,
    /// Nothing may follow until the WebSocket handshake is answered.
    Upgrade,
}

/// The scan of a head; `advance` continues where it stopped.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    at: usize,
    lines: usize,
    blank_before: bool,
    old_version: bool,
    host: bool,
    chunked: bool,
    websocket: bool,
    length: Option<u64>,
}

impl HeadScan {
    /// Scans the head, given from its first byte. Returns its length and the framing after it once it is
    /// complete; `None` before.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Result<Option<(usize, Body)>, Fault> {
        loop {
            let rest = &bytes[self.at..];
            let Some(end) = memchr(b'\n', rest) else {
                return self.incomplete(bytes).map(|()| None);
            };
            if self.at + end >= HEAD_BYTES_MAX {
                return Err(Fault::HeadTooLarge);
            }
            let Some((b'\r', line)) = rest[..end].split_last() else { return Err(Fault::BareLineFeed) };
            self.at += end + 1;
            if self.lines == 0 {
                // One empty line before a request is allowed (RFC 9112 section 2.2).
                if line.is_empty() && !self.blank_before {
                    self.blank_before = true;
                    continue;
                }
                self.request_line(line)?;
            } else if line.is_empty() {
                return Ok(Some((self.at, self.finish()?)));
            } else {
                self.header(line)?;
            }
            self.lines += 1;
            if self.lines > HEADERS_MAX + 1 {
                return Err(Fault::HeadersTooMany);
            }
        }
    }

    /// The fault of a head whose last line is not complete, if it has one already.
    fn incomplete(&self, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.len() >= HEAD_BYTES_MAX {
            return Err(Fault::HeadTooLarge);
        }
        match bytes.first() {
            Some(0x16) => Err(Fault::TlsOnPlainPort),
            Some(b) if !is_token(*b) && *b != b'\r' => Err(Fault::RequestLine),
            _ => Ok(()),
        }
    }

    fn request_line(&mut self, line: &[u8]) -> Result<(), Fault> {
        let mut parts = line.split(|b| *b == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Fault::RequestLine);
        };
        if method.is_empty() || !method.iter().all(|b| is_token(*b)) || method == STAND_IN_METHOD.as_bytes() {
            return Err(Fault::RequestLine);
        }
        self.old_version = match version {
            b"HTTP/1.1" => false,
            b"HTTP/1.0" => true,
            other if other.starts_with(b"HTTP/") => return Err(Fault::Version),
            _ => return Err(Fault::RequestLine),
        };
        if method == b"CONNECT" {
            return Err(Fault::Connect);
        }
        let known_form = target.starts_with(b"/")
            || target.starts_with(b"http://")
            || target.starts_with(b"https://")
            || (target == b"*" && method == b"OPTIONS");
        let clean = !target.iter().fold(false, |bad, b| bad | !matches!(b, 0x21..=0x7e) | (*b == b'#'));
        if known_form && clean { Ok(()) } else { Err(Fault::RequestLine) }
    }

    fn header(&mut self, line: &[u8]) -> Result<(), Fault> {
        let length = line.iter().take_while(|b| is_token(**b)).count();
        let (name, rest) = line.split_at(length);
        let Some((colon, value)) = rest.split_first() else { return Err(Fault::HeaderName) };
        match *colon {
            b':' if length > 0 => {}
            b' ' | b'\t' if length == 0 => return Err(Fault::FoldedHeader),
            b' ' | b'\t' if value.trim_ascii_start().starts_with(b":") => {
                return Err(Fault::SpaceBeforeColon);
            }
            _ => return Err(Fault::HeaderName),
        }
        if value.iter().fold(false, |bad, b| bad | ((*b < 0x20) & (*b != b'\t')) | (*b == 0x7f)) {
            return Err(Fault::HeaderValue);
        }
        // Only these determine the end of the request or its recipient.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host(value.trim_ascii()),
            7 if name.eq_ignore_ascii_case(b"upgrade") => {
                self.websocket |= value.trim_ascii().eq_ignore_ascii_case(b"websocket");
                Ok(())
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => self.length(value.trim_ascii()),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.coding(value.trim_ascii()),
            _ => Ok(()),
        }
    }

    fn host(&mut self, value: &[u8]) -> Result<(), Fault> {
        if std::mem::replace(&mut self.host, true) {
            return Err(Fault::HostRepeated);
        }
        let clean = value.iter().all(|b| b.is_ascii_alphanumeric() || b"-._~%:[]!$&'()*+;=".contains(b));
        if clean { Ok(()) } else { Err(Fault::Host) }
    }

    fn length(&mut self, value: &[u8]) -> Result<(), Fault> {
        if self.length.is_some() {
            return Err(Fault::LengthRepeated);
        }
        if value.is_empty() {
            return Err(Fault::Length);
        }
        let mut length: u64 = 0;
        for b in value {
            let digit = char::from(*b).to_digit(10).ok_or(Fault::Length)?;
            length = length.checked_mul(10).and_then(|l| l.checked_add(digit.into())).ok_or(Fault::Length)?;
        }
        self.length = Some(length);
        Ok(())
    }

    fn coding(&mut self, value: &[u8]) -> Result<(), Fault> {
        if self.chunked || self.old_version || !value.eq_ignore_ascii_case(b"chunked") {
            return Err(Fault::Coding);
        }
        self.chunked = true;
        Ok(())
    }

    fn finish(&self) -> Result<Body, Fault> {
        if !self.host && !self.old_version {
            return Err(Fault::HostMissing);
        }
        let body = match (self.chunked, self.length) {
            (true, Some(_)) => return Err(Fault::LengthAndCoding),
            (true, None) => Body::Chunked,
            (false, None | Some(0)) => Body::None,
            (false, Some(length)) => Body::Length(length),
        };
        match (self.websocket && !self.old_version, body) {
            (true, Body::None) => Ok(Body::Upgrade),
            (true, _) => Err(Fault::UpgradeBody),
            (false, _) => Ok(body),
        }
    }
}

/// RFC 9110 section 5.6.2.
const fn is_token(b: u8) -> bool {
    const TOKEN: [bool; 256] = {
        let mut table = [false; 256];
        let mut b = 0;
        while b < 128 {
            #[expect(clippy::cast_possible_truncation, reason = "below 128")]
            let byte = b as u8;
            table[b] = byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b'!' | b'#'
                        | b'$'
                        | b'%'
                        | b'&'
                        | b'\''
                        | b'*'
                        | b'+'
                        | b'-'
                        | b'.'
                        | b'^'
                        | b'_'
                        | b'`'
                        | b'|'
                        | b'~'
                );
            b += 1;
        }
        table
    };
    TOKEN[b as usize]
}
