//! The listening socket: accepts connections within the limits, and ends them.
//! Must not know: the service.

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener as StdListener},
    sync::Arc,
    time::{Duration, Instant},
};

use plenary_kernel::{LinePause, Shares};
use socket2::{Domain, Protocol, SockRef, Socket as RawSocket, Type};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::{
    Origin,
    admission::{Admission, Permit},
    answers::AnswerBudget,
    config::{
        ACCEPT_FAULT_EVERY, ACCEPT_PAUSE, Config, LISTEN_BACKLOG, TURNED_AWAY_MAX,
        TURNED_AWAY_PER_ADDRESS_MAX,
    },
    connection::{self, ServerContext, Stage},
    linger::Linger,
    metrics::Metrics,
    origin::network_block,
    peer::Ends,
    socket::Socket,
};

/// The answer to a connection beyond a limit.
const TURNED_AWAY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
    content-length: 75\r\nretry-after: 1\r\nconnection: close\r\n\r\n\
    {\"error\":{\"code\":\"too_many_connections\",\"message\":\"Too many connections.\"}}";

/// Why the edge cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct ListenFault {
    /// The address.
    pub address: SocketAddr,
    /// The cause.
    pub source: io::Error,
}

/// The result of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopReport {
    /// Connections that were still open when the deadline passed.
    pub cut: usize,
}

/// A bound address that does not serve yet.
#[derive(Debug)]
pub struct Listener {
    bound: TcpListener,
    address: SocketAddr,
    config: Arc<Config>,
    origin: Option<Arc<Origin>>,
}

/// The state that all connections of a listener share.
struct ListenerState {
    context: ServerContext,
    admission: Arc<Admission>,
    turned_away: Shares<IpAddr>,
    tls: Option<TlsAcceptor>,
    metrics: Metrics,
}

impl Listener {
    /// Binds the address; with port 0 the system chooses one, see [`Listener::address`]. Must be called within a
    /// runtime.
    ///
    /// # Errors
    /// When the address is taken, or not ours.
    pub fn bind(address: SocketAddr, config: Config) -> Result<Self, ListenFault> {
        let fault = |source| ListenFault { address, source };
        let bound = listen(address).and_then(TcpListener::from_std).map_err(fault)?;
        let address = bound.local_addr().map_err(fault)?;
        Ok(Self { bound, address, config: Arc::new(config), origin: None })
    }

    /// The bound address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts only requests for this server that no page of another site sent, see [`Origin::admits`].
    pub fn known_as(mut self, origin: Origin) -> Self {
        self.origin = Some(Arc::new(origin));
        self
    }

    /// Serves the router until `stop` is cancelled; then accepts no more connections, lets requests and
    /// WebSockets finish until the drain deadline, and cuts the rest.
    pub async fn serve(self, router: axum::Router, metrics: &Metrics, stop: CancellationToken) -> StopReport {
        let Self { bound, address, config, origin } = self;
        let shared = Arc::new(ListenerState {
            admission: Admission::new(&config, metrics.connections()),
            turned_away: Shares::new(TURNED_AWAY_MAX, TURNED_AWAY_PER_ADDRESS_MAX),
            tls: config.tls.clone().map(TlsAcceptor::from),
            metrics: metrics.clone(),
            context: ServerContext {
                router,
                answers: AnswerBudget::new(&config),
                config,
                stage: Stage::default(),
                refused: metrics.operation("malformed", None),
                origin,
            },
        });
        tracing::info!(%address, tls = shared.tls.is_some(), "listening");
        stop.run_until_cancelled(accept(&bound, &shared)).await;
        drop(bound);
        let ServerContext { config, stage, .. } = &shared.context;
        stage.drain();
        let drained = timeout(config.drain_deadline, shared.admission.empty()).await;
        let cut = if drained.is_ok() { 0 } else { shared.admission.open() };
        stage.cut();
        tracing::info!(%address, cut, "stopped");
        StopReport { cut }
    }
}

fn listen(address: SocketAddr) -> io::Result<StdListener> {
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(LISTEN_BACKLOG)?;
    Ok(socket.into())
}

async fn accept(bound: &TcpListener, shared: &Arc<ListenerState>) {
    let shortage = LinePause::new(ACCEPT_FAULT_EVERY);
    loop {
        match bound.accept().await {
            Ok((stream, peer)) => take(stream, peer, shared),
            Err(fault) if is_of_one_connection(&fault) => {}
            Err(fault) => {
                if let Some(attempts) = shortage.count(Instant::now()) {
                    tracing::warn!(%fault, attempts, "connections wait, as none can be accepted");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_of_one_connection(fault: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(fault.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn take(stream: TcpStream, peer: SocketAddr, shared: &Arc<ListenerState>) {
    let Some(permit) = shared.admission.admit(peer.ip()) else {
        shared.metrics.connection_refused();
        turn_away(stream, peer, shared);
        return;
    };
    let socket = SockRef::from(&stream);
    let tuned = socket
        .set_tcp_nodelay(true)
        .and_then(|()| socket.set_send_buffer_size(shared.context.config.send_buffer_bytes));
    if let Err(fault) = tuned {
        tracing::debug!(%peer, %fault, "connection lost at once");
        return;
    }
    let Ok(local) = stream.local_addr() else { return };
    tokio::spawn(start(stream, permit, Ends { peer, local }, shared.clone()));
}

async fn start(stream: TcpStream, permit: Permit, ends: Ends, shared: Arc<ListenerState>) {
    let peer = ends.peer;
    let socket = match &shared.tls {
        None => Socket::Plain(stream),
        Some(tls) => match timeout(shared.context.config.handshake_deadline, tls.accept(stream)).await {
            Ok(Ok(stream)) => Socket::Tls(Box::new(stream)),
            Ok(Err(fault)) => {
                tracing::debug!(%peer, %fault, "TLS handshake failed");
                return;
            }
            Err(_) => {
                tracing::debug!(%peer, "TLS handshake too slow");
                return;
            }
        },
    };
    connection::serve(socket, permit, ends, &shared.context).await;
}

/// Answers a connection beyond a limit, if it speaks plain HTTP and there are not too many of them.
fn turn_away(mut stream: TcpStream, peer: SocketAddr, shared: &ListenerState) {
    let Ok(share) = shared.turned_away.take(network_block(peer.ip()), 1) else { return };
    if shared.tls.is_some() {
        return;
    }
    tokio::spawn(async move {
        let _share = share;
        if timeout(Duration::from_secs(1), stream.write_all(TURNED_AWAY)).await.is_ok_and(|sent| sent.is_ok())
        {
            let mut linger = Linger::default();
            linger.expect_input();
            let _ = std::future::poll_fn(|cx| linger.poll(std::pin::Pin::new(&mut stream), cx)).await;
        }
    });
}
