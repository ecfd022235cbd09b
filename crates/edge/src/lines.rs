//! Reads request bodies line by line, at any length, with one line in memory.
//! Must not know: the meaning of a line.

use axum::body::{Body, Bytes};
use bytes::BytesMut;
use http::request::Parts;
use http_body_util::BodyExt;
use plenary_kernel::Refusal;

use crate::{
    answers::Allowance,
    bodies::BodyShare,
    body::{body_refusal, check_coding},
};

/// One line of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Its bytes, without the line feed and a carriage return before it.
    Bytes(Bytes),
    /// A line over the limit, which was skipped.
    TooLong,
}

/// A body as lines; the last one may lack its line feed.
#[derive(Debug)]
pub struct Lines {
    body: Body,
    buffer: BytesMut,
    /// Bytes of `buffer` that were searched and have no line feed.
    looked: usize,
    bytes_max: usize,
    /// Whether the rest of the line is skipped.
    skips: bool,
    is_over: bool,
    share: BodyShare,
    allowance: Option<Allowance>,
}

impl Lines {
    /// The lines of a body, each of limited length.
    ///
    /// # Errors
    /// 415 for a compressed body.
    pub fn new(parts: &Parts, body: Body, bytes_max: usize) -> Result<Self, Refusal> {
        check_coding(&parts.headers)?;
        let (buffer, share) = (BytesMut::new(), BodyShare::default());
        let allowance = parts.extensions.get().cloned();
        Ok(Self { body, buffer, looked: 0, bytes_max, skips: false, is_over: false, share, allowance })
    }

    /// The next line; `None` after the last. Cancel-safe.
    ///
    /// # Errors
    /// 408 for a body that came too slowly; 400 for broken framing or one that ended too early; 429 or 503 `overloaded` without
    /// memory for the line.
    pub async fn next(&mut self) -> Result<Option<Line>, Refusal> {
        loop {
            if let Some(end) = self.buffer[self.looked..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.looked + end + 1).freeze();
                self.looked = 0;
                return Ok(Some(self.ended(&line.slice(..line.len() - 1))));
            }
            self.looked = self.buffer.len();
            if self.looked > self.bytes_max {
                self.buffer.clear();
                (self.looked, self.skips) = (0, true);
            }
            if self.is_over {
                let rest = self.buffer.split().freeze();
                self.looked = 0;
                let is_line = self.skips || !rest.is_empty();
                return Ok(is_line.then(|| self.ended(&rest)));
            }
            self.share.count(self.buffer.len(), self.allowance.as_ref())?;
            match self.body.frame().await {
                None => self.is_over = true,
                Some(Err(error)) => return Err(body_refusal(&error)),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }

    fn ended(&mut self, line: &Bytes) -> Line {
        if std::mem::take(&mut self.skips) || line.len() > self.bytes_max {
            return Line::TooLong;
        }
        let end = line.len() - usize::from(line.ends_with(b"\r"));
        Line::Bytes(line.slice(..end))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{FutureExt, stream};

    use super::*;

    fn lines(pieces: &[&'static str]) -> Vec<String> {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok::<_, Infallible>(*piece)).collect();
        let body = Body::from_stream(stream::iter(pieces));
        let (parts, ()) = http::Request::new(()).into_parts();
        let mut lines = Lines::new(&parts, body, 4).unwrap();
        let mut read = Vec::new();
        while let Some(line) = lines.next().now_or_never().unwrap().unwrap() {
            read.push(match line {
                Line::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                Line::TooLong => "!".to_owned(),
            });
        }
        read
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        assert_eq!(lines(&["ab\ncd\r\n\nef"]), ["ab", "cd", "", "ef"]);
        assert_eq!(lines(&["a", "b\nc", "d\r", "\n", "\ne", "f"]), ["ab", "cd", "", "ef"]);
        assert_eq!(lines(&[""]), Vec::<String>::new());
        assert_eq!(lines(&["a\n"]), ["a"]);
    }

    #[test]
    fn at_the_limit_a_line_is_read_and_one_byte_more_is_passed_over() {
        assert_eq!(lines(&["abcd\nx\n"]), ["abcd", "x"]);
        assert_eq!(lines(&["abcde\nx\n"]), ["!", "x"]);
        assert_eq!(lines(&["ab", "cdefgh", "ijkl", "m\nx"]), ["!", "x"]);
        assert_eq!(lines(&["abcdefgh"]), ["!"]);
    }
}
