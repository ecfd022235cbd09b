//! Checks whether the parent process still reads standard error.
//! Must not know: the output.

use std::{
    io,
    os::{fd::AsFd as _, unix::net},
    time::Duration,
};

use rustix::fs::{FileType, fstat};
use tokio::{
    io::Interest,
    net::{UnixStream, unix::pipe::Sender},
    time::timeout,
};

/// How long the check may take; without a result by then, the reader counts as present.
const AT_ONCE: Duration = Duration::from_millis(1);

/// The reading end of a pipe or socket.
pub(super) enum StderrReader {
    Pipe(Sender),
    Socket(UnixStream),
    /// A file or a terminal, which cannot be checked.
    Other,
}

impl StderrReader {
    /// The reading end of this process's standard error.
    pub(super) fn of_stderr() -> Self {
        Self::of(&io::stderr()).unwrap_or(Self::Other)
    }

    fn of(out: &io::Stderr) -> io::Result<Self> {
        let end = out.as_fd().try_clone_to_owned()?;
        let kind = FileType::from_raw_mode(fstat(&end)?.st_mode);
        if kind == FileType::Fifo {
            return Ok(Self::Pipe(Sender::from_owned_fd(end)?));
        }
        if kind == FileType::Socket {
            let stream = net::UnixStream::from(end);
            stream.set_nonblocking(true)?;
            return Ok(Self::Socket(UnixStream::from_std(stream)?));
        }
        Ok(Self::Other)
    }

    /// Whether the reader still exists.
    pub(super) async fn is_open(&self) -> bool {
        let is_closed = match self {
            Self::Pipe(pipe) => {
                let ready = timeout(AT_ONCE, pipe.ready(Interest::WRITABLE)).await;
                ready.is_ok_and(|ready| ready.is_ok_and(|ready| ready.is_write_closed()))
            }
            Self::Socket(stream) => {
                let ready = timeout(AT_ONCE, stream.ready(Interest::READABLE)).await;
                ready.is_ok_and(|ready| ready.is_ok_and(|ready| ready.is_read_closed()))
            }
            Self::Other => false,
        };
        !is_closed
    }
}
