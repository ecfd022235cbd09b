//! TLS to the server, as in libpq: `sslmode` and `sslrootcert` of the URL, and the connections.
//! Must not know: the protocol on them.

use std::{
    future::Future,
    io,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use percent_encoding::percent_decode_str;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;

use crate::target::OpenError;

/// The protocol name for a TLS handshake without a prior request (ALPN).
const PROTOCOL: &[u8] = b"postgresql";

/// How far the server is authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// No TLS.
    Disable,
    /// TLS if the server supports it, with any certificate.
    Prefer,
    /// TLS with any certificate; with authorities, as `VerifyCa`.
    Require,
    /// TLS with a certificate of one of the authorities.
    VerifyCa,
    /// TLS with a certificate of one of the authorities that names the host of the URL.
    VerifyFull,
}

impl Mode {
    fn of(text: &str) -> Result<Self, OpenError> {
        Ok(match text {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                let known = "disable, prefer, require, verify-ca or verify-full";
                return Err(OpenError::Options(format!("sslmode={text}: it is {known}")));
            }
        })
    }

    /// The mode for the driver, which does not handle certificates.
    fn of_driver(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require | Self::VerifyCa | Self::VerifyFull => "require",
        }
    }
}

/// The TLS options of a URL, and the URL for the driver.
#[derive(Debug, PartialEq, Eq)]
struct TlsRequest {
    mode: Mode,
    roots: Option<PathBuf>,
    url: String,
}

impl TlsRequest {
    fn of(url: &str) -> Result<Self, OpenError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            // `name=value`: the driver knows all options except those of certificates, and refuses
            // unknown ones.
            return Ok(Self { mode: Mode::Prefer, roots: None, url: url.to_owned() });
        }
        let (base, options) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut others) = (Mode::Prefer, None, Vec::new());
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            match name {
                "sslmode" => mode = Mode::of(&value)?,
                "sslrootcert" => roots = Some(PathBuf::from(&*value)).filter(|path| *path != *"system"),
                _ => others.push(option.to_owned()),
            }
        }
        if mode == Mode::VerifyCa && roots.is_none() {
            // A certificate of any host from a public authority would pass.
            let text = "sslmode=verify-ca needs sslrootcert=FILE; with public authorities use verify-full";
            return Err(OpenError::Options(text.into()));
        }
        others.push(format!("sslmode={}", mode.of_driver()));
        Ok(Self { mode, roots, url: format!("{base}?{}", others.join("&")) })
    }
}

/// The URL for the driver, and its TLS.
pub(crate) fn parse(url: &str) -> Result<(String, Tls), OpenError> {
    let request = TlsRequest::of(url)?;
    let tls = Tls(Arc::new(config(&request)?));
    Ok((request.url, tls))
}

fn config(request: &TlsRequest) -> Result<ClientConfig, OpenError> {
    let bad = |error: String| OpenError::Options(format!("TLS to PostgreSQL: {error}"));
    let provider = Arc::new(ring::default_provider());
    let certified = |roots: RootCertStore| {
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|error| bad(error.to_string()))
    };
    let roots = || {
        plenary_outward::roots(request.roots.as_deref(), "with sslrootcert=FILE")
            .map_err(|fault| bad(fault.to_string()))
    };
    let verifier: Arc<dyn ServerCertVerifier> = match (request.mode, &request.roots) {
        (Mode::VerifyFull, _) => certified(roots()?)?,
        (Mode::VerifyCa, _) | (Mode::Require, Some(_)) => {
            Arc::new(Nameless { authorities: Some(certified(roots()?)?), provider: provider.clone() })
        }
        (Mode::Disable | Mode::Prefer | Mode::Require, _) => {
            Arc::new(Nameless { authorities: None, provider: provider.clone() })
        }
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

/// Accepts a server whatever its name. With authorities one of them must have certified it; without any
/// it accepts every server, as libpq does with `require`: the connection is encrypted, but the server is
/// not authenticated.
#[derive(Debug)]
struct Nameless {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Nameless {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The verifier checks the name last.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// How connections are encrypted. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = EncryptedStream<S>;
    type TlsConnect = TlsHandshake;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<TlsHandshake, Self::Error> {
        // A Unix socket has no host name, and its server no TLS.
        let host = if host.is_empty() { "localhost" } else { host };
        Ok(TlsHandshake {
            connector: TlsConnector::from(self.0.clone()),
            host: ServerName::try_from(host.to_owned())?,
        })
    }
}

/// A connection before its TLS handshake.
pub(crate) struct TlsHandshake {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for TlsHandshake {
    type Stream = EncryptedStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(
            async move { Ok(EncryptedStream(Box::new(self.connector.connect(self.host, stream).await?))) },
        )
    }
}

/// An encrypted connection.
pub(crate) struct EncryptedStream<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for EncryptedStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for EncryptedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for EncryptedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_tls_are_removed_and_all_others_stay() {
        let request =
            |options: &str| TlsRequest::of(&format!("postgres://a@h:1/x{options}")).expect("an option");
        for (options, mode, roots, rest) in [
            ("", Mode::Prefer, None, "?sslmode=prefer"),
            ("?sslmode=disable", Mode::Disable, None, "?sslmode=disable"),
            ("?sslmode=require&a=b", Mode::Require, None, "?a=b&sslmode=require"),
            (
                "?sslrootcert=/a%20b.pem&sslmode=verify-ca",
                Mode::VerifyCa,
                Some("/a b.pem"),
                "?sslmode=require",
            ),
            ("?c&sslmode=verify-full", Mode::VerifyFull, None, "?c&sslmode=require"),
            ("?sslmode=verify-full&sslrootcert=system", Mode::VerifyFull, None, "?sslmode=require"),
        ] {
            let found = request(options);
            assert_eq!((found.mode, found.roots), (mode, roots.map(PathBuf::from)), "{options}");
            assert_eq!(found.url, format!("postgres://a@h:1/x{rest}"), "{options}");
        }
    }

    #[test]
    fn what_is_not_known_or_proves_nothing_is_refused() {
        for (url, expected) in [
            ("postgres://h/x?sslmode=allow", "verify-full"),
            ("postgres://h/x?sslmode=", "verify-full"),
            ("postgres://h/x?sslmode=verify-ca", "sslrootcert=FILE"),
            ("postgres://h/x?sslmode=verify-full&sslrootcert=/nowhere.pem", "/nowhere.pem"),
        ] {
            let refused = parse(url).map(drop).expect_err(url).to_string();
            assert!(refused.contains(expected), "{url}: {refused}");
        }
    }
}
