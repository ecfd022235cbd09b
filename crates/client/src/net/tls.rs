//! Which certificate authorities are trusted, and the TLS configuration made of them.
//! Must not know: connections.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::{Error, Result};

/// Where distributions keep the bundle of public authorities, in the order tried.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The certificate authorities a client trusts; read only when the server's URL is `https`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Roots {
    /// The bundle named by `SSL_CERT_FILE`, else the system's.
    #[default]
    System,
    /// The certificates of a PEM file, and no others.
    File(PathBuf),
}

impl Roots {
    fn path(&self) -> Result<PathBuf> {
        match self {
            Self::File(path) => Ok(path.clone()),
            Self::System => std::env::var_os("SSL_CERT_FILE")
                .map(PathBuf::from)
                .or_else(|| SYSTEM_BUNDLES.iter().map(PathBuf::from).find(|path| path.exists()))
                .ok_or_else(|| {
                    Error::Invalid(
                        "no bundle of certificate authorities on this system; name one with --cacert".into(),
                    )
                }),
        }
    }

    pub(crate) fn client_config(&self) -> Result<Arc<ClientConfig>> {
        let store = read_roots(&self.path()?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::Invalid(format!("TLS cannot be set up: {e}")))?
            .with_root_certificates(store)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }
}

fn read_roots(path: &Path) -> Result<RootCertStore> {
    let bad = |why: String| Error::Invalid(format!("the CA file {} {why}", path.display()));
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|e| bad(format!("cannot be read: {e}")))?;
    let mut store = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|e| bad(format!("is not PEM: {e}")))?;
        // A system bundle may hold a certificate the verifier does not take; the others still count.
        let _unusable = store.add(certificate).err();
    }
    if store.is_empty() {
        return Err(bad("holds no usable certificate".into()));
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_file_that_is_absent_or_empty_is_named_in_the_error() {
        let error = Roots::File("/nonexistent/ca.pem".into()).client_config().unwrap_err();
        assert!(error.to_string().contains("/nonexistent/ca.pem"), "{error}");
        let error = Roots::File("/dev/null".into()).client_config().unwrap_err();
        assert!(error.to_string().contains("no usable certificate"), "{error}");
    }
}
