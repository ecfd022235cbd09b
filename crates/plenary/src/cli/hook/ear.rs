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

/// What is not known within that has not happened.
const AT_ONCE: Duration = Duration::from_millis(1);

/// The other end.
pub(super) enum Ear {
    Pipe(Sender),
    Socket(UnixStream),
    /// A file or a terminal, of which nothing is known.
    Other,
}

impl Ear {
    /// Of this process's standard error.
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

    /// Whether it is there.
    pub(super) async fn hears(&self) -> bool {
        let gone = match self {
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
        !gone
    }
}
