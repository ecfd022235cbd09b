//! TLS from two PEM files: a certificate chain and its key. They are read again while the server runs, because certificates are
//! renewed.
//! Must not know: the clients, or when the files are read again.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use rustls::{
    ServerConfig,
    crypto::ring,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
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

/// The two files of a running server. Connections that begin after a renewal get the new certificate.
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    current: Arc<CertifiedKey>,
    /// The content of the files when they were last read, whether or not it could be used.
    seen: Contents,
}

/// The content of both files, or why they cannot be read.
#[derive(PartialEq, Eq)]
struct Contents {
    certificate: Result<Vec<u8>, io::ErrorKind>,
    key: Result<Vec<u8>, io::ErrorKind>,
}

impl TlsFiles {
    /// Reads a chain and its key, both PEM.
    ///
    /// # Errors
    /// The file and its defect.
    pub fn open(certificate: &Path, key: &Path) -> Result<Arc<Self>, TlsFault> {
        let seen = Contents::read(certificate, key);
        let current = Arc::new(seen.certified()?);
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        Ok(Arc::new(Self { certificate, key, loaded: Mutex::new(Loaded { current, seen }) }))
    }

    /// Reads the files again, and returns whether they have changed. If they cannot be used, the last pair stays in use; this is
    /// reported once for one content.
    ///
    /// # Errors
    /// The file and its defect.
    pub fn read_again(&self) -> Result<bool, TlsFault> {
        let seen = Contents::read(&self.certificate, &self.key);
        let mut loaded = self.loaded.lock();
        if loaded.seen == seen {
            return Ok(false);
        }
        let certified = seen.certified();
        loaded.seen = seen;
        loaded.current = Arc::new(certified?);
        Ok(true)
    }

    /// The file of the key.
    pub fn key(&self) -> &Path {
        &self.key
    }

    /// TLS 1.2 and 1.3 with these files. A client that supports HTTP/1.1 gets it; HTTP/2 is for clients that support nothing
    /// else, such as gRPC.
    ///
    /// # Errors
    /// The protocol versions cannot be used.
    pub fn config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, TlsFault> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsFault::Pair)?
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
        Ok(Arc::new(config))
    }
}

impl ResolvesServerCert for TlsFiles {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.loaded.lock().current.clone())
    }
}

impl fmt::Debug for TlsFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsFiles").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl Contents {
    fn read(certificate: &Path, key: &Path) -> Self {
        let read = |path| fs::read(path).map_err(|error: io::Error| error.kind());
        Self { certificate: read(certificate), key: read(key) }
    }

    fn certified(&self) -> Result<CertifiedKey, TlsFault> {
        let unread = |kind: &io::ErrorKind| pem::Error::Io((*kind).into());
        let certificate = self.certificate.as_ref().map_err(|kind| TlsFault::Certificate(unread(kind)))?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
        let chain = chain.map_err(TlsFault::Certificate)?;
        if chain.is_empty() {
            return Err(TlsFault::NoCertificate);
        }
        let key = self.key.as_ref().map_err(|kind| TlsFault::Key(unread(kind)))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(TlsFault::Key)?;
        CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(TlsFault::Pair)
    }
}

/// TLS with the chain in `certificate` and the key in `key`, which are read once.
///
/// # Errors
/// The file and its defect.
pub fn tls_config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsFault> {
    TlsFiles::open(certificate, key)?.config()
}
