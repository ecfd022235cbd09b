//! One connection from its first byte to its last: detects the version of HTTP, and runs hyper on the
//! guard, with deadlines.
//! Must not know: routes; the meaning of a request.

use std::{
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
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf},
    sync::Notify,
    time::{Instant, sleep_until, timeout_at},
};

use crate::{
    Origin,
    admission::Permit,
    answers::{Allowance, AnswerBudget},
    config::{CONNECTION_BUFFER_BYTES_MAX, Config},
    deadlines::{Deadlines, Overdue},
    guard::{Guard, Wire},
    http2::{self, PREFACE},
    metrics::OperationMetrics,
    peer::{Ends, LocalAddress, Peer},
    router_bridge::{RequestGate, ServedConnection},
    socket::{Alpn, Socket},
};

/// The stage of the server's shutdown; every connection watches it.
#[derive(Default)]
pub(crate) struct Stage {
    now: AtomicU8,
    pub(crate) changed: Notify,
}

impl Stage {
    pub(crate) const DRAINING: u8 = 1;
    pub(crate) const CUT: u8 = 2;

    pub(crate) fn at(&self) -> u8 {
        self.now.load(Ordering::Acquire)
    }

    /// Waits until no connection may begin a request.
    async fn drained(&self) {
        loop {
            let changed = self.changed.notified();
            if self.at() != 0 {
                return;
            }
            changed.await;
        }
    }

    /// Lets connections finish their current request.
    pub(crate) fn drain(&self) {
        self.advance(Self::DRAINING);
    }

    /// Ends connections at once.
    pub(crate) fn cut(&self) {
        self.advance(Self::CUT);
    }

    fn advance(&self, stage: u8) {
        self.now.store(stage, Ordering::Release);
        self.changed.notify_waiters();
    }
}

/// Bytes of the first read, which detects the version of HTTP: usually a head.
const FIRST_READ_BYTES: usize = 2048;

/// A socket that counts as an open connection until its last owner drops it, even after an upgrade.
struct CountedSocket {
    socket: Socket,
    /// Bytes that were already read.
    first: Vec<u8>,
    /// Receives the progress of writes, if no guard above does.
    wire: Option<Arc<Wire>>,
    permit: Permit,
}

impl CountedSocket {
    /// Reads enough bytes to detect HTTP/2.
    async fn speaks_http2(&mut self) -> std::io::Result<bool> {
        match self.socket.alpn() {
            Alpn::Http2 => return Ok(true),
            Alpn::Other => return Ok(false),
            Alpn::Unknown => {}
        }
        self.first.reserve_exact(FIRST_READ_BYTES);
        loop {
            let is_over = self.socket.read_buf(&mut self.first).await? == 0;
            let known = self.first.len().min(PREFACE.len());
            if self.first[..known] != PREFACE[..known] || is_over {
                return Ok(false);
            }
            if known == PREFACE.len() {
                return Ok(true);
            }
        }
    }

    fn watch(&self, outcome: Poll<std::io::Result<usize>>) -> Poll<std::io::Result<usize>> {
        if let Some(wire) = &self.wire {
            let written = if let Poll::Ready(Ok(written)) = &outcome { *written } else { 0 };
            wire.wrote(written, outcome.is_pending());
        }
        outcome
    }
}

impl AsyncRead for CountedSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let counted = self.get_mut();
        if counted.first.is_empty() {
            return Pin::new(&mut counted.socket).poll_read(cx, buf);
        }
        let length = counted.first.len().min(buf.remaining());
        buf.put_slice(&counted.first[..length]);
        if length == counted.first.len() {
            counted.first = Vec::new();
        } else {
            counted.first.drain(..length);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CountedSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        let counted = self.get_mut();
        let outcome = Pin::new(&mut counted.socket).poll_write(cx, buf);
        counted.watch(outcome)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let counted = self.get_mut();
        let outcome = Pin::new(&mut counted.socket).poll_write_vectored(cx, bufs);
        counted.watch(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let counted = self.get_mut();
        let outcome = Pin::new(&mut counted.socket).poll_flush(cx);
        counted.watch(outcome.map_ok(|()| 0)).map_ok(drop)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}

/// The state that all connections of a server share.
pub(crate) struct ServerContext {
    pub(crate) router: axum::Router,
    pub(crate) config: Arc<Config>,
    pub(crate) stage: Stage,
    pub(crate) refused: Arc<OperationMetrics>,
    pub(crate) origin: Option<Arc<Origin>>,
    pub(crate) answers: Arc<AnswerBudget>,
}

impl ServerContext {
    pub(crate) fn gate(&self, Ends { peer, local }: Ends) -> RequestGate {
        let Self { router, refused, origin, .. } = self;
        let (router, refused, origin) = (router.clone(), refused.clone(), origin.clone());
        RequestGate { router, peer: Peer(peer), local: LocalAddress(local), refused, origin }
    }
}

/// Serves one connection until it ends, becomes a WebSocket, or the server stops.
pub(crate) async fn serve(socket: Socket, permit: Permit, ends: Ends, context: &ServerContext) {
    let accepted_at = Instant::now();
    let mut socket = CountedSocket { socket, first: Vec::new(), wire: None, permit };
    let opening = timeout_at(accepted_at + context.config.head_deadline, socket.speaks_http2());
    let opened = tokio::select! {
        opened = opening => opened,
        () = context.stage.drained() => return,
    };
    match opened {
        Ok(Ok(true)) => {
            let (wire, permits) = (Arc::new(Wire::default()), socket.permit.peer_permits());
            socket.wire = Some(wire.clone());
            Box::pin(http2::serve(socket, &wire, permits, ends, context)).await;
        }
        Ok(Ok(false)) => serve_http1(socket, accepted_at, ends, context).await,
        // An incomplete head gets an answer, like every request that arrives too slowly.
        Err(_) if !socket.first.is_empty() => serve_http1(socket, accepted_at, ends, context).await,
        Ok(Err(_)) | Err(_) => {}
    }
}

async fn serve_http1(socket: CountedSocket, accepted_at: Instant, ends: Ends, context: &ServerContext) {
    let ServerContext { config, stage, answers, .. } = context;
    let wire = Arc::new(Wire::default());
    let io = TokioIo::new(Guard::new(socket, wire.clone()));
    let allowance = Allowance::new(answers.clone());
    let serving =
        ServedConnection { gate: context.gate(ends), wire: wire.clone(), allowance: allowance.clone() };
    let connection = http1::Builder::new()
        // The guard and the deadlines below replace this, without a timer per request.
        .header_read_timeout(None)
        .max_buf_size(CONNECTION_BUFFER_BYTES_MAX)
        .serve_connection(io, serving)
        .with_upgrades();
    let mut connection = pin!(connection);
    let mut changed = pin!(stage.changed.notified());
    let (mut listening, mut is_closing) = (false, false);
    let mut deadlines = Deadlines::new(config, allowance, accepted_at);
    let mut alarm = pin!(sleep_until(deadlines.first()));

    std::future::poll_fn(|cx| {
        loop {
            // Polled only once: the task stays the same, so its waker does. First listen, then look.
            while !listening {
                listening = changed.as_mut().poll(cx).is_pending();
                if !listening {
                    changed.set(stage.changed.notified());
                }
            }
            match stage.at() {
                Stage::CUT => return Poll::Ready(()),
                Stage::DRAINING if !is_closing => {
                    (is_closing, listening) = (true, false);
                    connection.as_mut().graceful_shutdown();
                }
                _ => break,
            }
        }
        loop {
            if let Poll::Ready(end) = connection.as_mut().poll(cx) {
                if let Err(fault) = end {
                    tracing::debug!(peer = %ends.peer, %fault, "connection ended");
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
