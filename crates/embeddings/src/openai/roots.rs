//! Which certificate authorities a server of embeddings is trusted by: those of the system.
//! Must not know: connections.

use std::{path::PathBuf, sync::Arc};

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::Fault;

/// The bundle to use instead of the system's.
const BUNDLE_VARIABLE: &str = "SSL_CERT_FILE";
/// Where distributions keep the bundle of public authorities, in the order tried.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// No file is read when no TLS is spoken.
pub(super) fn client_config(secure: bool) -> Result<ClientConfig, Fault> {
    let roots = if secure { read()? } else { RootCertStore::empty() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::Unusable(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn read() -> Result<RootCertStore, Fault> {
    let path = std::env::var_os(BUNDLE_VARIABLE)
        .map(PathBuf::from)
        .or_else(|| SYSTEM_BUNDLES.iter().map(PathBuf::from).find(|path| path.exists()))
        .ok_or_else(|| {
            Fault::Unusable(format!(
                "this system has no bundle of certificate authorities; name one in {BUNDLE_VARIABLE}"
            ))
        })?;
    let bad = |why: &str| Fault::Unusable(format!("the certificate authorities {} {why}", path.display()));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(&path).map_err(|_| bad("cannot be read"))? {
        // A system's bundle may hold one that the verifier does not take; the others still count.
        let _unusable = roots.add(certificate.map_err(|_| bad("are not PEM"))?).err();
    }
    if roots.is_empty() { Err(bad("hold no usable certificate")) } else { Ok(roots) }
}
