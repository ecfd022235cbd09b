//! Which certificate authorities are trusted.
//! Must not know: connections.

use std::{path::PathBuf, sync::Arc};

use plenary_roots::RootsFault;
use rustls::ClientConfig;

use crate::{Error, Result};

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
    pub(crate) fn client_config(&self) -> Result<Arc<ClientConfig>> {
        let file = match self {
            Self::System => None,
            Self::File(path) => Some(path.as_path()),
        };
        let config = plenary_roots::client_config(file).map_err(|fault| match fault {
            RootsFault::NoBundle => Error::Invalid(
                "no bundle of certificate authorities on this system; name one with --cacert".into(),
            ),
            RootsFault::File { .. } | RootsFault::Tls(_) => Error::Invalid(fault.to_string()),
        })?;
        Ok(Arc::new(config))
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
