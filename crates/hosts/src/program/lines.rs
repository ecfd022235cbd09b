//! Lines of a pipe, bounded: a line that is too long to be an event is discarded up to its end.
//! Must not know: the content of a line.

use std::convert::Infallible;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Longest line, in bytes: an event, or an artifact of 5 MiB in base64. Larger artifacts are sent as a URL.
pub(crate) const LINE_BYTES_MAX: usize = 8 << 20;

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A complete line.
    Whole(Vec<u8>),
    /// A line longer than [`LINE_BYTES_MAX`], discarded.
    TooLong,
}

/// The lines of a pipe. Text after the last line end is a line too.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    bytes_max: usize,
    line: Vec<u8>,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::bounded(reader, LINE_BYTES_MAX)
    }

    pub(crate) fn bounded(reader: R, bytes_max: usize) -> Self {
        Self { reader: BufReader::new(reader), bytes_max, line: Vec::new(), is_too_long: false }
    }

    /// The next line; `None` at the end. A broken pipe counts as ended. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        loop {
            let buffer = self.reader.fill_buf().await.unwrap_or_default();
            if buffer.is_empty() {
                return (self.is_too_long || !self.line.is_empty()).then(|| self.take());
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let piece = &buffer[..end.unwrap_or(buffer.len())];
            if self.is_too_long || self.line.len() + piece.len() > self.bytes_max {
                self.is_too_long = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(piece);
            }
            let consumed = end.map_or(buffer.len(), |end| end + 1);
            self.reader.consume(consumed);
            if end.is_some() {
                return Some(self.take());
            }
        }
    }

    /// Reads and discards input forever.
    pub(crate) async fn drain(&mut self) -> Infallible {
        // A broken pipe counts as ended.
        let _ = tokio::io::copy_buf(&mut self.reader, &mut tokio::io::sink()).await;
        std::future::pending().await
    }

    fn take(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) { Line::TooLong } else { Line::Whole(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], bytes_max: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::bounded(text, bytes_max);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await {
            all.push(if let Line::Whole(line) = line { Some(line) } else { None });
        }
        all
    }

    #[tokio::test]
    async fn a_line_past_the_limit_is_thrown_away_and_the_next_is_whole() {
        let whole = |line: &str| Some(line.as_bytes().to_vec());
        assert_eq!(lines(b"abcd\nabcde\nxy", 4).await, [whole("abcd"), None, whole("xy")]);
        assert_eq!(lines(b"\n\na", 4).await, [whole(""), whole(""), whole("a")]);
        assert_eq!(lines(b"abcdefghij", 4).await, [None]);
        assert_eq!(lines(b"", 4).await, []);
    }
}
