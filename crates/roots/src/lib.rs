//! Which certificate authorities a client trusts, and the TLS configuration made of them.
//! Must not know: connections, or what is said over them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, pem::PemObject};

/// Where distributions keep the bundle of public authorities, in the order tried.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Why there is nothing to trust by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootsFault {
    /// Neither was a file named nor does the system have one.
    #[error("this system has no bundle of certificate authorities; name one in SSL_CERT_FILE")]
    NoBundle,
    /// A file is not what it must be.
    #[error("the file of certificate authorities {} {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No version of TLS can be spoken.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// TLS with the authorities of `file`; without it, of `SSL_CERT_FILE`, else of the system.
///
/// # Errors
/// When there are none, or they can't be read.
pub fn client_config(file: Option<&Path>) -> Result<ClientConfig, RootsFault> {
    with(read(&path(file)?)?)
}

/// TLS that trusts nobody, for a client that speaks none: no file is read.
///
/// # Errors
/// When no version of TLS can be spoken.
pub fn plain_config() -> Result<ClientConfig, RootsFault> {
    with(RootCertStore::empty())
}

fn with(roots: RootCertStore) -> Result<ClientConfig, RootsFault> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| RootsFault::Tls(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn path(file: Option<&Path>) -> Result<PathBuf, RootsFault> {
    file.map(PathBuf::from)
        .or_else(|| std::env::var_os("SSL_CERT_FILE").map(PathBuf::from))
        .or_else(|| SYSTEM_BUNDLES.iter().map(PathBuf::from).find(|path| path.exists()))
        .ok_or(RootsFault::NoBundle)
}

fn read(path: &Path) -> Result<RootCertStore, RootsFault> {
    let bad = |why: String| RootsFault::File { path: path.to_owned(), why };
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|error| bad(format!("is not PEM: {error}")))?;
        // A system's bundle may hold one that the verifier does not take; the others still count.
        let _unusable = roots.add(certificate).err();
    }
    if roots.is_empty() { Err(bad("holds no usable certificate".to_owned())) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_absent_or_empty_is_named() {
        for path in ["/nonexistent/ca.pem", "/dev/null"] {
            let fault = client_config(Some(Path::new(path))).unwrap_err();
            assert!(fault.to_string().contains(path), "{fault}");
        }
        let fault = client_config(Some(Path::new("/dev/null"))).unwrap_err();
        assert!(fault.to_string().contains("no usable certificate"), "{fault}");
    }

    #[test]
    fn who_speaks_no_tls_needs_no_file() {
        assert!(plain_config().is_ok());
    }
}
