//! Connections to the one server of a client: TCP, with TLS if the URL is `https`.
//! Must not know: HTTP or WebSocket, which use these connections.

mod server_proof;
mod stream;
mod tls;

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_util::rt::TokioIo;
use plenary_outward::deepest;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

pub(crate) use server_proof::ServerProof;
pub(crate) use stream::Stream;
pub use tls::Roots;

use crate::FaultKind;

/// A failure to connect.
#[derive(Debug, thiserror::Error)]
#[error("{detail}")]
pub(crate) struct ConnectFault {
    pub(crate) kind: FaultKind,
    pub(crate) detail: String,
}

/// Makes connections; cheap to clone.
#[derive(Clone)]
pub(crate) struct Connector {
    tls: Option<Arc<rustls::ClientConfig>>,
    timeout: Duration,
    proving: Option<Arc<ServerProof>>,
}

impl Connector {
    /// `tls` is required for https and wss URLs.
    pub(crate) fn new(
        tls: Option<Arc<rustls::ClientConfig>>,
        timeout: Duration,
        proving: Option<ServerProof>,
    ) -> Self {
        Self { tls, timeout, proving: proving.map(Arc::new) }
    }

    /// Connects to the host and port of a URL, with TLS for `https` and `wss`, within the time limit.
    pub(crate) async fn connect(&self, uri: &Uri) -> Result<Stream, ConnectFault> {
        let late = |_| ConnectFault {
            kind: FaultKind::Unreachable,
            detail: format!("no connection within {} s", self.timeout.as_secs_f32()),
        };
        tokio::time::timeout(self.timeout, self.dial(uri)).await.map_err(late)?
    }

    async fn dial(&self, uri: &Uri) -> Result<Stream, ConnectFault> {
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let secure = matches!(uri.scheme_str(), Some("https" | "wss"));
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let addresses: Vec<_> = tokio::net::lookup_host((host, port))
            .await
            .map_err(|e| ConnectFault { kind: FaultKind::Resolve, detail: e.to_string() })?
            .collect();
        let mut tcp = TcpStream::connect(addresses.as_slice()).await.map_err(|e| tcp_fault(&e))?;
        // Without this, small requests would wait for each other's acknowledgements.
        tcp.set_nodelay(true).map_err(|e| tcp_fault(&e))?;
        if !secure {
            if let Some(proving) = &self.proving {
                let reached = tcp.peer_addr().map_err(|e| tcp_fault(&e))?;
                proving.require_proof(&mut tcp, reached).await?;
            }
            return Ok(Stream::plain(tcp));
        }
        let tls_fault = |detail: String| ConnectFault { kind: FaultKind::Tls, detail };
        let config = self.tls.clone().ok_or_else(|| tls_fault("the client was built without TLS".into()))?;
        let name = ServerName::try_from(host.to_owned()).map_err(|e| tls_fault(e.to_string()))?;
        let stream = TlsConnector::from(config).connect(name, tcp).await;
        stream.map(Stream::tls).map_err(|e| ConnectFault { kind: handshake_kind(&e), detail: deepest(&e) })
    }
}

/// The kind of a failed TLS handshake.
fn handshake_kind(error: &io::Error) -> FaultKind {
    use rustls::{CertificateError, Error};
    match error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => FaultKind::WrongName,
        Some(Error::InvalidMessage(_)) => FaultKind::NotTls,
        _ => FaultKind::Tls,
    }
}

fn tcp_fault(error: &io::Error) -> ConnectFault {
    let refused = error.kind() == io::ErrorKind::ConnectionRefused;
    let kind = if refused { FaultKind::Refused } else { FaultKind::Unreachable };
    ConnectFault { kind, detail: deepest(error) }
}

impl tower::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = ConnectFault;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, ConnectFault>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectFault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect(&uri).await.map(TokioIo::new) })
    }
}

#[cfg(test)]
mod tests {
    use rustls::{CertificateError, Error, InvalidMessage};

    use super::*;

    #[test]
    fn a_wrong_name_and_a_port_without_tls_are_told_from_an_unknown_authority() {
        for (error, kind) in [
            (Error::InvalidCertificate(CertificateError::NotValidForName), FaultKind::WrongName),
            (Error::InvalidCertificate(CertificateError::UnknownIssuer), FaultKind::Tls),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), FaultKind::NotTls),
        ] {
            assert_eq!(handshake_kind(&io::Error::new(io::ErrorKind::InvalidData, error)), kind);
        }
    }
}
