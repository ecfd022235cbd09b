//! A certificate of a server under test, made for it and signed by itself.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, SupportedProtocolVersion};

use crate::process::write_file;
use crate::trusting;

/// A certificate for this machine, and its key.
#[derive(Debug)]
pub struct Certificate {
    /// The certificate, a PEM file.
    pub file: PathBuf,
    /// Its key, a PEM file.
    pub key: PathBuf,
    der: CertificateDer<'static>,
}

impl Certificate {
    /// Makes one and writes its files.
    pub fn make(directory: &Path) -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("the names can be certified");
        let (file, key) = (directory.join("cert.pem"), directory.join("key.pem"));
        write_file(&file, &made.cert.pem());
        write_file(&key, &made.signing_key.serialize_pem());
        std::fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("the key can be closed");
        Self { file, key, der: made.cert.der().clone() }
    }

    /// A client's TLS that trusts this certificate alone, in these versions.
    pub fn trusted(&self, versions: &[&'static SupportedProtocolVersion]) -> Arc<ClientConfig> {
        trusting(self.der.clone(), versions).expect("the certificate can be trusted")
    }
}
