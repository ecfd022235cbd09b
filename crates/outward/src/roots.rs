//! The trusted certificate authorities of other servers.
//! Must not know: connections.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, pem::PemObject};

/// TLS could not be set up, or a file of authorities can't be used; for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TlsFault(String);

impl TlsFault {
    /// A fault with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Where distributions keep the bundle of public authorities, in the order tried.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// TLS with the authorities of `file`, else of the bundle in `SSL_CERT_FILE`, else of the system; no
/// file is read if TLS is not needed. Without a bundle, the fault asks for one, with `hint`, such as
/// "with --cacert".
///
/// # Errors
/// [`TlsFault`].
pub fn client_config(secure: bool, file: Option<&Path>, hint: &str) -> Result<ClientConfig, TlsFault> {
    let roots = if secure { roots(file, hint)? } else { RootCertStore::empty() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsFault(format!("TLS cannot be set up: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The authorities of `file`, else of the bundle in `SSL_CERT_FILE`, else of the system.
///
/// # Errors
/// [`TlsFault`]; without a bundle, it asks for one, with `hint`.
pub fn roots(file: Option<&Path>, hint: &str) -> Result<RootCertStore, TlsFault> {
    // Several parts of a process need the system's authorities, and reading them takes a tenth of its
    // start.
    static SYSTEM: OnceLock<RootCertStore> = OnceLock::new();
    if let (None, Some(known)) = (file, SYSTEM.get()) {
        return Ok(known.clone());
    }
    let read = read(&path(file, hint)?)?;
    Ok(if file.is_none() { SYSTEM.get_or_init(|| read).clone() } else { read })
}

fn path(file: Option<&Path>, hint: &str) -> Result<PathBuf, TlsFault> {
    file.map(PathBuf::from)
        .or_else(|| std::env::var_os("SSL_CERT_FILE").map(PathBuf::from))
        .or_else(|| SYSTEM_BUNDLES.iter().map(PathBuf::from).find(|path| path.exists()))
        .ok_or_else(|| {
            TlsFault(format!("no bundle of certificate authorities on this system; name one {hint}"))
        })
}

fn read(path: &Path) -> Result<RootCertStore, TlsFault> {
    let bad = |why: String| TlsFault(format!("the CA file {} {why}", path.display()));
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|error| bad(format!("is not PEM: {error}")))?;
        // A system's bundle may contain a certificate that the verifier rejects; the others still count.
        let _unusable = roots.add(certificate).err();
    }
    if roots.is_empty() { Err(bad("holds no usable certificate".into())) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_absent_or_empty_is_named() {
        for path in ["/nonexistent/ca.pem", "/dev/null"] {
            let fault = client_config(true, Some(Path::new(path)), "").unwrap_err();
            assert!(fault.to_string().contains(path), "{fault}");
        }
        assert!(
            client_config(false, Some(Path::new("/nonexistent/ca.pem")), "").is_ok(),
            "plain HTTP reads none"
        );
    }
}
