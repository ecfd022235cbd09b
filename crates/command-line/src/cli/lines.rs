//! Lines on standard input and output, for commands that a program starts and that exchange one-line messages.
//! Must not know: the content of a line.

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Stdin},
    sync::mpsc,
};

use super::failure::Failure;

/// Largest line that is read, in bytes; a larger one ends the command.
pub(crate) const LINE_BYTES_MAX: u64 = 8 << 20;
/// Maximum number of lines queued for a slow reader; after that, writers wait.
pub(crate) const LINES_WAITING_MAX: usize = 64;

/// Standard input by lines.
pub(crate) struct Lines {
    input: BufReader<Stdin>,
    line: Vec<u8>,
}

impl Lines {
    /// Reads standard input from here on.
    pub(crate) fn new() -> Self {
        Self { input: BufReader::new(tokio::io::stdin()), line: Vec::new() }
    }

    /// The next line that is not blank; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>, Failure> {
        loop {
            self.line.clear();
            let count = (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line).await;
            let count = count.map_err(|e| Failure::local(format!("standard input cannot be read: {e}")))?;
            if count == 0 {
                return Ok(None);
            }
            if count as u64 == LINE_BYTES_MAX && self.line.last() != Some(&b'\n') {
                return Err(Failure::local(format!("a line is larger than {} MiB", LINE_BYTES_MAX >> 20)));
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some(self.line.trim_ascii()))
    }
}

/// Writes lines to standard output until every sender is dropped.
pub(crate) async fn write(mut lines: mpsc::Receiver<String>) -> Result<(), Failure> {
    let mut output = tokio::io::stdout();
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}
