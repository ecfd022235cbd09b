//! TLS from two PEM files: a certificate chain and its key.
//! Must not know: the clients.

use std::{path::Path, sync::Arc};

use rustls::{ServerConfig, crypto::ring};
use rustls_pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject},
};

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsFault {
    /// The certificate file cannot be read, or is not PEM.
    #[error("the certificate file cannot be read: {0}")]
    Certificate(#[source] pem::Error),
    /// The certificate file holds no certificate.
    #[error("the certificate file contains no certificate")]
    NoCertificate,
    /// The key file cannot be read, is not PEM, or contains no private key.
    #[error("the key file cannot be read: {0}")]
    Key(#[source] pem::Error),
    /// Certificate and key do not match, or have an unsupported kind.
    #[error("the certificate and the key cannot be used: {0}")]
    Pair(#[source] rustls::Error),
}

/// TLS 1.2 and 1.3 with the chain in `certificate` and the key in `key`, both PEM. A client that
/// supports HTTP/1.1 gets it; HTTP/2 is for clients that support nothing else, such as gRPC.
///
/// # Errors
/// The file and its defect.
pub fn tls_config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsFault> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(TlsFault::Certificate)?;
    if chain.is_empty() {
        return Err(TlsFault::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(TlsFault::Key)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsFault::Pair)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(TlsFault::Pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    Ok(Arc::new(config))
}
