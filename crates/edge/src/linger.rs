//! The end of a connection whose peer may still be sending: a reset must not destroy the answer.
//! Must not know: why the connection ends.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

use crate::config::{LINGER, LINGER_BYTES_MAX};

/// Closes a stream: shuts down the output, and then, if input is still expected, reads and drops some of
/// it.
#[derive(Default)]
pub(crate) struct Linger {
    input_expected: bool,
    is_shut: bool,
    dropped: usize,
    until: Option<Pin<Box<Sleep>>>,
}

impl Linger {
    /// Notes that the peer has more to send; closing at once would reset the connection before the
    /// answer is read.
    pub(crate) fn expect_input(&mut self) {
        self.input_expected = true;
    }

    /// Drives the close to its end: after `LINGER`, `LINGER_BYTES_MAX` or the peer's own close.
    pub(crate) fn poll<IO>(&mut self, mut io: Pin<&mut IO>, cx: &mut Context<'_>) -> Poll<io::Result<()>>
    where
        IO: AsyncRead + AsyncWrite,
    {
        if !self.is_shut {
            ready!(io.as_mut().poll_shutdown(cx))?;
            self.is_shut = true;
        }
        if !self.input_expected {
            return Poll::Ready(Ok(()));
        }
        let until = self.until.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + LINGER)));
        let mut space = [0; 4096];
        while self.dropped < LINGER_BYTES_MAX && until.as_mut().poll(cx).is_pending() {
            let mut input = ReadBuf::new(&mut space);
            ready!(io.as_mut().poll_read(cx, &mut input))?;
            match input.filled().len() {
                0 => break,
                length => self.dropped += length,
            }
        }
        Poll::Ready(Ok(()))
    }
}
