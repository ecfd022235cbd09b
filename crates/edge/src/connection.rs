//! One connection from its first byte to its last: hyper above the guard, with deadlines.
//! Must not know: routes; the meaning of a request.

use std::{
    net::SocketAddr,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll},
};

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
    time::sleep_until,
};

use crate::{
    Origin,
    admission::Permit,
    answers::{Allowance, AnswerBudget},
    config::{CONNECTION_BUFFER_OCTETS_MAX, Config},
    deadlines::{Deadlines, Overdue},
    guard::{Guard, Wire},
    metrics::OperationMetrics,
    peer::Peer,
    serving::ServedConnection,
    socket::Socket,
};

/// How far the server is on its way to its end; every connection watches it.
#[derive(Default)]
pub(crate) struct Stage {
    now: AtomicU8,
    changed: Notify,
}

impl Stage {
    const DRAINING: u8 = 1;
    const CUT: u8 = 2;

    /// Connections finish the request they are at.
    pub(crate) fn drain(&self) {
        self.advance(Self::DRAINING);
    }

    /// Connections end at once.
    pub(crate) fn cut(&self) {
        self.advance(Self::CUT);
    }

    fn advance(&self, stage: u8) {
        self.now.store(stage, Ordering::Release);
        self.changed.notify_waiters();
    }
}

/// A socket that counts as an open connection for as long as anyone has it, also after an upgrade.
struct CountedSocket {
    socket: Socket,
    _permit: Permit,
}

impl AsyncRead for CountedSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_read(cx, buf)
    }
}

impl AsyncWrite for CountedSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}

/// What all connections of a server stand on.
pub(crate) struct Ground {
    pub(crate) router: axum::Router,
    pub(crate) config: Arc<Config>,
    pub(crate) stage: Stage,
    pub(crate) refused: Arc<OperationMetrics>,
    pub(crate) origin: Option<Arc<Origin>>,
    pub(crate) answers: Arc<AnswerBudget>,
}

/// Serves one connection until it ends, is handed over to a WebSocket, or the server stops.
pub(crate) async fn serve(socket: Socket, permit: Permit, peer: SocketAddr, ground: &Ground) {
    let Ground { router, config, stage, refused, origin, answers } = ground;
    let wire = Arc::new(Wire::default());
    let io = TokioIo::new(Guard::new(CountedSocket { socket, _permit: permit }, wire.clone()));
    let allowance = Allowance::new(answers.clone());
    let serving = ServedConnection {
        router: router.clone(),
        peer: Peer(peer),
        wire: wire.clone(),
        refused: refused.clone(),
        origin: origin.clone(),
        allowance: allowance.clone(),
    };
    let connection = http1::Builder::new()
        // The guard and the deadlines below do this without a timer per request.
        .header_read_timeout(None)
        .max_buf_size(CONNECTION_BUFFER_OCTETS_MAX)
        .serve_connection(io, serving)
        .with_upgrades();
    let mut connection = pin!(connection);
    let mut changed = pin!(stage.changed.notified());
    let (mut listening, mut told) = (false, false);
    let mut deadlines = Deadlines::new(config, allowance);
    let mut alarm = pin!(sleep_until(deadlines.first()));

    std::future::poll_fn(|cx| {
        loop {
            // Polled once only: the task stays the same, so its waker does. First listen, then look.
            while !listening {
                listening = changed.as_mut().poll(cx).is_pending();
                if !listening {
                    changed.set(stage.changed.notified());
                }
            }
            match stage.now.load(Ordering::Acquire) {
                Stage::CUT => return Poll::Ready(()),
                Stage::DRAINING if !told => {
                    (told, listening) = (true, false);
                    connection.as_mut().graceful_shutdown();
                }
                _ => break,
            }
        }
        loop {
            if let Poll::Ready(end) = connection.as_mut().poll(cx) {
                if let Err(fault) = end {
                    tracing::debug!(%peer, %fault, "connection ended");
                }
                return Poll::Ready(());
            }
            match deadlines.poll(&wire, alarm.as_mut(), cx) {
                None => return Poll::Pending,
                Some(Overdue::Input) => wire.set_overdue(),
                Some(Overdue::Idle) => connection.as_mut().graceful_shutdown(),
                Some(Overdue::Output) => return Poll::Ready(()),
            }
        }
    })
    .await;
}
