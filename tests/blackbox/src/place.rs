//! Where a server is and what carries the bytes there: TCP, or TLS over it.

use std::fmt;
use std::io::{Error, Result};
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A connection of either kind.
pub(crate) trait Carrier: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug> Carrier for T {}

/// A socket address, and how to speak TLS there if at all.
#[derive(Debug, Clone)]
pub struct Place {
    socket: SocketAddr,
    tls: Option<Arc<ClientConfig>>,
}

impl From<SocketAddr> for Place {
    fn from(socket: SocketAddr) -> Self {
        Self { socket, tls: None }
    }
}

impl Place {
    /// The same place, spoken to over TLS, or in plain when `None`.
    pub fn with_tls(self, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { tls, ..self }
    }

    pub(crate) async fn connect(&self) -> Result<Box<dyn Carrier>> {
        let stream = TcpStream::connect(self.socket).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::from(self.socket.ip());
        Ok(Box::new(TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?))
    }
}

/// A client's TLS that trusts this certificate and no other, in these versions.
pub fn trusting(
    certificate: CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).map_err(Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
