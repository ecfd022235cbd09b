//! The trusted certificate authorities, and the TLS configuration with them.
//! Must not know: connections.

use std::{path::PathBuf, sync::Arc};

use rustls::ClientConfig;

use crate::{Error, Result};

/// The certificate authorities that a client trusts; read only when the server's URL is `https`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Roots {
    /// The bundle named by `SSL_CERT_FILE`, else the system's.
    #[default]
    System,
    /// The certificates of a PEM file, and no others.
    File(PathBuf),
}

impl Roots {
    pub(crate) fn client_config(&self) -> Result<Arc<ClientConfig>> {
        let file = if let Self::File(path) = self { Some(path.as_path()) } else { None };
        let config = plenary_outward::client_config(true, file, "with --cacert");
        config.map(Arc::new).map_err(|fault| Error::Invalid(fault.to_string()))
    }
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
